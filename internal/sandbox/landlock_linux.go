package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock has to say, by the version of its interface that has it first.
// Devices are never made: as root that would be a way to any disk.
const (
	writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	devices  = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	moving   = unix.LANDLOCK_ACCESS_FS_REFER // from folder to folder; without it that is refused everywhere
	emptying = unix.LANDLOCK_ACCESS_FS_TRUNCATE
	reading  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	ofFiles  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | emptying
	scopes   = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET

	withMoving, withEmptying, withScopes = 2, 3, 6
)

// always are the devices that any program may write to.
var always = [...]string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}

// version is that of the kernel's Landlock; the error says why there is none.
func version() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// ruleset makes the rules for a kernel of this version. Whoever has the file can
// put themselves under them.
func (r *Rules) ruleset(version int) (*os.File, error) {
	write := uint64(writing)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: writing | devices}
	if version >= withMoving {
		write |= moving
	}
	if version >= withEmptying {
		write |= emptying
	}
	if version >= withScopes {
		attr.Scoped = scopes
	}
	attr.Handled_access_fs |= write
	if r.read != nil {
		attr.Handled_access_fs |= reading
		write |= reading
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	set := os.NewFile(fd, "landlock")
	for _, grant := range []struct {
		paths  []string
		access uint64
	}{{slices.Concat(r.write, always[:]), write}, {r.read, reading}} {
		for _, path := range grant.paths {
			if err := allow(set, path, grant.access); err != nil {
				set.Close()
				return nil, err
			}
		}
	}
	return set, nil
}

// allow grants access to a path, if there is one.
func allow(set *os.File, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || err == unix.ENOTDIR {
		return nil // who cannot reach it needs no grant
	}
	if err != nil {
		return fmt.Errorf("sandbox: %w", &fs.PathError{Op: "open", Path: path, Err: err})
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("sandbox: %w", &fs.PathError{Op: "stat", Path: path, Err: err})
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set.Fd(), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("sandbox: %w", &fs.PathError{Op: "landlock_add_rule", Path: path, Err: errno})
	}
	return nil
}

// restrict puts this thread under the rules, for ever. Only root can do so without
// giving up what setuid programs would grant.
func restrict(set *os.File) error {
	_, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set.Fd(), 0, 0)
	if errno == unix.EPERM {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl", err)
		}
		_, _, errno = unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set.Fd(), 0, 0)
	}
	if errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// onThread calls f on a thread that ends with it, so that nothing of what f does to
// its thread is left. That is never the program's first thread, which cannot end,
// and whose rights /proc and other programs take for those of the whole: if it is
// the one that is given, it is held until another has done the work. The thread ends
// when over is closed, nil = at once: a command may get a signal at its death.
func onThread(f func(), over <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // and is not unlocked: the thread ends with the goroutine
		first := unix.Gettid() == unix.Getpid()
		if first {
			onThread(f, over)
		} else {
			f()
		}
		close(done)
		switch {
		case first:
			runtime.UnlockOSThread()
		case over != nil:
			<-over
		}
	}()
	<-done
}
