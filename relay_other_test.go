//go:build !linux

package ralph_test

func limitFiles(int) {}
