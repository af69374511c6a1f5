//go:build !linux

package main

func landlock() bool { return false }
