package progress_test

import (
	"syscall"
	"testing"
)

// mountDisk mounts a small disk, or mounts it again, until the test ends.
func mountDisk(t *testing.T, path, options string, readOnly bool) {
	t.Helper()
	flags := uintptr(0)
	if readOnly {
		flags = syscall.MS_REMOUNT | syscall.MS_RDONLY
	}
	if err := syscall.Mount("tmpfs", path, "tmpfs", flags, options); err != nil {
		t.Skip(err)
	}
	if !readOnly {
		t.Cleanup(func() {
			if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
}
