//go:build race

package ralph_test

const race = true
