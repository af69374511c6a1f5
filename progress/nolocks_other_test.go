//go:build !linux

package progress_test

import "errors"

func withoutLocks([]string) error { return errors.ErrUnsupported }
