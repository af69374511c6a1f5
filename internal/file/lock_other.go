//go:build !windows && (!unix || solaris || aix)

package file

import (
	"errors"
	"os"
)

// Lock says that this system has no locks.
func Lock(*os.File, LockMode) error { return errors.ErrUnsupported }

// Unlock does nothing.
func Unlock(*os.File) error { return nil }
