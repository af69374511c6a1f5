//go:build !race

package verify_test

const race = false
