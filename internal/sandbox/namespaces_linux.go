package sandbox

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setUp makes the namespaces of a process that waits for it what they are to be:
// the caller's own IDs, a loopback that is up, a /proc of its own, and empty folders
// in place of what is hidden.
func (n namespaces) setUp(pid int) error {
	if n.flags&unix.CLONE_NEWUSER != 0 {
		if err := mapOwnIDs(pid); err != nil {
			return err
		}
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(pidfd)
	v := visit{pidfd: uintptr(pidfd), flags: n.flags}
	if n.flags&unix.CLONE_NEWNS != 0 {
		v.mounts = append(v.mounts, newMount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")) // what is mounted here stays here
	}
	for _, path := range n.hide {
		over, err := cover(path)
		if err != nil {
			return err
		}
		v.mounts = append(v.mounts, over)
	}
	if n.flags&unix.CLONE_NEWPID != 0 {
		v.proc = newMount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	return v.pay()
}

// mapOwnIDs has a process in a user namespace of its own be who we are, and nobody
// else.
func mapOwnIDs(pid int) error {
	proc := "/proc/" + strconv.Itoa(pid)
	same := func(id int) string { return fmt.Sprintf("%d %d 1", id, id) }
	return cmp.Or(
		os.WriteFile(proc+"/setgroups", []byte("deny"), 0),
		os.WriteFile(proc+"/uid_map", []byte(same(os.Geteuid())), 0),
		os.WriteFile(proc+"/gid_map", []byte(same(os.Getegid())), 0),
	)
}

// cover is what is mounted to hide a path: an empty folder over a folder, an empty
// file over anything else.
func cover(path string) (mount, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return mount{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return mount{}, err
	}
	if info.IsDir() {
		return newMount("none", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "size=4k,mode=555"), nil
	}
	return newMount("/dev/null", path, "", unix.MS_BIND, ""), nil
}

// A mount is the arguments of the system call.
type mount struct {
	source, target, kind *byte
	flags                uintptr
	data                 *byte
}

func newMount(source, target, kind string, flags uintptr, data string) mount {
	text := func(s string) *byte { return &append([]byte(s), 0)[0] } // none holds a NUL
	return mount{text(source), text(target), text(kind), flags, text(data)}
}

// A visit is what is done in the namespaces of another process.
type visit struct {
	pidfd, flags uintptr
	mounts       []mount
	proc         mount // done in the PID namespace

	loopback [40]byte // struct ifreq
	report   uintptr  // where it is told how it went
	failed   [2]uint32
}

// Steps of a visit, as they are reported.
const (
	entering = iota + 1
	upping
	mounting
	mountingProc
)

var steps = [...]string{entering: "setns", upping: "loopback", mounting: "mount", mountingProc: "mount of /proc"}

// patience is how long a visit may take. Its system calls wait for nothing.
const patience = 10 * time.Second

// pay has the visit paid by a copy of this program: a thread cannot enter a user
// namespace, for that holds for a whole process. The copy has one thread, runs
// nothing but [visit.run], and exits.
func (v *visit) pay() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	v.report = w.Fd()
	copy(v.loopback[:], "lo")
	binary.NativeEndian.PutUint16(v.loopback[unix.IFNAMSIZ:], unix.IFF_UP|unix.IFF_RUNNING)
	pid, errno := v.send()
	w.Close()
	if errno != 0 {
		return os.NewSyscallError("clone", errno)
	}
	_ = r.SetReadDeadline(time.Now().Add(patience))
	report, err := io.ReadAll(r)
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	for { // a program that reaps all its children may have taken it away
		if _, werr := unix.Wait4(pid, nil, 0, nil); werr != unix.EINTR {
			break
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("setting up the namespaces: %w", err)
	case len(report) != 8:
		return errors.New("setting up the namespaces: it was ended")
	}
	what, code := binary.NativeEndian.Uint32(report), binary.NativeEndian.Uint32(report[4:])
	if code != 0 {
		return os.NewSyscallError(steps[what], syscall.Errno(code))
	}
	return nil
}

// send forks on a thread that takes no signal, which would come to the copy too.
func (v *visit) send() (pid int, errno syscall.Errno) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before) // it fails for no such arguments
	pid, errno = v.run()
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	runtime.KeepAlive(v)
	return pid, errno
}

// run forks, and returns in this program alone. In the copy nothing of Go's runtime
// works: no memory is allocated, no stack grows, no lock is taken, no signal is
// handled. There are only system calls, on memory that was there before.
//
//go:norace
//go:nosplit
func (v *visit) run() (pid int, errno syscall.Errno) {
	child, errno := fork()
	if child != 0 || errno != 0 {
		return int(child), errno
	}
	if v.enter() && v.upLoopback() && v.mountAll() && v.mountProc() {
		v.tell(0, 0)
	}
	exit()
	return 0, 0
}

//go:norace
//go:nosplit
func (v *visit) enter() bool {
	_, _, errno := syscall.RawSyscall(unix.SYS_SETNS, v.pidfd, v.flags, 0)
	return v.ok(entering, errno)
}

//go:norace
//go:nosplit
func (v *visit) upLoopback() bool {
	if v.flags&unix.CLONE_NEWNET == 0 {
		return true
	}
	fd, _, errno := syscall.RawSyscall(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&v.loopback)))
	}
	return v.ok(upping, errno)
}

//go:norace
//go:nosplit
func (v *visit) mountAll() bool {
	for i := range v.mounts {
		if !v.ok(mounting, v.mounts[i].do()) {
			return false
		}
	}
	return true
}

// mountProc forks again, for only a child is in the PID namespace, and what is
// mounted is that of who mounts it.
//
//go:norace
//go:nosplit
func (v *visit) mountProc() bool {
	if v.flags&unix.CLONE_NEWPID == 0 {
		return true
	}
	child, errno := fork()
	if child == 0 && errno == 0 {
		if v.ok(mountingProc, v.proc.do()) {
			v.tell(0, 0)
		}
		exit()
	}
	if v.ok(mountingProc, errno) {
		syscall.RawSyscall6(unix.SYS_WAIT4, child, 0, 0, 0, 0, 0)
	}
	return false // it has been told
}

// ok reports whether a step went well. If not, it is told.
//
//go:norace
//go:nosplit
func (v *visit) ok(step uint32, errno syscall.Errno) bool {
	if errno != 0 {
		v.tell(step, uint32(errno))
	}
	return errno == 0
}

//go:norace
//go:nosplit
func (v *visit) tell(step, code uint32) {
	v.failed[0], v.failed[1] = step, code
	syscall.RawSyscall(unix.SYS_WRITE, v.report, uintptr(unsafe.Pointer(&v.failed)), 8)
}

//go:norace
//go:nosplit
func (m *mount) do() syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_MOUNT, uintptr(unsafe.Pointer(m.source)), uintptr(unsafe.Pointer(m.target)),
		uintptr(unsafe.Pointer(m.kind)), m.flags, uintptr(unsafe.Pointer(m.data)), 0)
	return errno
}

//go:norace
//go:nosplit
func fork() (uintptr, syscall.Errno) {
	var pid uintptr
	var errno syscall.Errno
	if runtime.GOARCH == "s390x" { // has the first two the other way round
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, 0, uintptr(unix.SIGCHLD), 0, 0, 0, 0)
	} else {
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	}
	return pid, errno
}

//go:norace
//go:nosplit
func exit() {
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}
