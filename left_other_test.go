//go:build !linux

package ralph_test

func runHost(string) {}
