package process

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// grow makes a pipe hold more, so that an agent that prints much is not woken
// for every 64 KiB. It is no matter if that fails.
func grow(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}

// awaitExit returns when the child has exited and does not reap it: until that
// is done, its process ID, and with it its group's, cannot be given to another.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// A tree is the processes of a run.
type tree struct {
	root   int // 0 = none
	mark   mark
	name   []byte // the mark in the environment of all that did not clear theirs
	born   uint64 // the root's start, in the kernel's ticks
	begun  time.Time
	again  time.Duration  // after which process IDs may have begun again
	lineal map[int]uint64 // descendants by parentage, with their start
	doubts map[int]int    // how often nothing could be read of a process
	ended  []string       // what was killed, see Exit
	told   map[int]bool   // of what is in it
	buf    []byte         // for reading
}

func newTree(pid int, m mark) *tree {
	t := &tree{root: pid, mark: m, name: []byte(m.variable()), begun: time.Now(), again: again(), lineal: map[int]uint64{}, doubts: map[int]int{}, told: map[int]bool{}}
	if s, ok := readStat(pid); ok {
		t.born = s.start
	}
	return t
}

// signal signals the root's process group.
func (t *tree) signal(s signal) { syscall.Kill(-t.root, s) }

// note remembers who descends from the root now.
func (t *tree) note() {
	stats := map[int]stat{}
	for _, pid := range pids() {
		if s, ok := readStat(pid); ok {
			stats[pid] = s
		}
	}
	in := map[int]bool{t.root: true}
	for grown := true; grown; {
		grown = false
		for pid, s := range stats {
			if !in[pid] && in[s.parent] {
				in[pid], grown = true, true
				t.lineal[pid] = s.start
			}
		}
	}
}

// Bounds of the search for survivors.
const (
	giveUp   = 10 * time.Second // on killing: one that sleeps in the kernel cannot be killed
	doubtful = 50               // passes on a process of which nothing can be read
)

// end kills what is left of the run: whoever has the mark, the descendants that
// were noted, and the group. It looks until it is sure that there is none left:
// those that are being killed may start others, one that is just starting a program
// shows no environment, and one that is gone before it could be looked at may have
// left a child that was not there yet. It reports whether it came to an end.
func (t *tree) end() bool {
	for deadline := time.Now().Add(giveUp); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		found, unsure := t.sweep() // before the group, so that what is killed can be told
		if t.root > 0 {
			t.signal(kill)
		}
		if !found && !unsure {
			return true
		}
	}
	return false
}

// sweep kills what it finds. It reports whether it found anything, and whether
// there was anything it could not tell.
func (t *tree) sweep() (found, unsure bool) {
	for pid, start := range maps.Clone(t.lineal) {
		if !t.slay(pid, func() bool { s, ok := readStat(pid); return ok && s.start == start && !s.dead }) {
			delete(t.lineal, pid)
			continue
		}
		found = true
	}
	for _, pid := range t.younger() {
		switch marked, known := t.marked(pid); {
		case marked:
			found = t.slay(pid, func() bool { marked, _ := t.marked(pid); return marked }) || found
		case !known && t.doubts[pid] < doubtful:
			t.doubts[pid]++
			unsure = true
		}
	}
	return found, unsure
}

// endWriters kills who can still write to the pipes. They were handed down by
// the root, so it is of the run, unless it is older: a program may pass its
// output on to a service, as ssh does to the master of its connections.
func (t *tree) endWriters(pipes []*os.File) {
	links := map[string]bool{}
	for _, f := range pipes {
		if info, err := f.Stat(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				links["pipe:["+strconv.FormatUint(s.Ino, 10)+"]"] = true
			}
		}
	}
	for _, pid := range t.younger() {
		t.slay(pid, func() bool {
			s, ok := readStat(pid)
			return ok && t.born > 0 && s.start >= t.born && writes(pid, links)
		})
	}
}

// writes reports whether a process has one of the files open for writing. What
// is read from has the same name.
func writes(pid int, links map[string]bool) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	files, _ := os.ReadDir(proc + "/fd") // another user's: none
	for _, f := range files {
		if link, err := os.Readlink(proc + "/fd/" + f.Name()); err != nil || !links[link] {
			continue
		}
		info, _ := os.ReadFile(proc + "/fdinfo/" + f.Name())
		for line := range strings.Lines(string(info)) {
			flags, ok := strings.CutPrefix(line, "flags:")
			if mode, err := strconv.ParseUint(strings.TrimSpace(flags), 8, 64); ok && err == nil && mode&syscall.O_ACCMODE != syscall.O_RDONLY {
				return true
			}
		}
	}
	return false
}

// slay kills a process if it still is the one that is meant, once a handle
// keeps its ID from being given to another.
func (t *tree) slay(pid int, meant func() bool) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	if !meant() {
		return false
	}
	line := commandLine(pid)
	if p.Signal(kill) != nil {
		return false
	}
	t.tell(pid, line)
	return true
}

// tell keeps a process's command line, to be told of.
func (t *tree) tell(pid int, line string) {
	if line != "" && !isWatchdog(line) && len(t.ended) < maxEnded && !t.told[pid] {
		t.ended, t.told[pid] = append(t.ended, line), true
	}
}

// Bounds of what is told of what was killed.
const (
	maxEnded = 64
	maxLine  = 1 << 10
)

// isWatchdog reports whether a command line is that of a watchdog of a program inside
// the run, which has just ended and leaves its watchdog to end by itself.
func isWatchdog(line string) bool {
	own := "sh -c " + script
	return line == strings.TrimSpace(own[:min(maxLine, len(own))])
}

// commandLine is what a process was started with; "" = it is none of a program's.
func commandLine(pid int) string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	defer f.Close()
	line := make([]byte, maxLine)
	n, _ := io.ReadFull(f, line)
	return string(bytes.TrimSpace(bytes.ReplaceAll(line[:n], []byte{0}, []byte{' '})))
}

// marked reports whether a process has the mark: its limit, or the name in the
// environment it was started with.
func (t *tree) marked(pid int) (marked, known bool) {
	limit, err := t.limitOf(pid)
	if t.mark.holds(limit) {
		s, ok := readStat(pid)
		return ok && !s.dead, ok
	}
	env, envErr := t.read(pid, "environ")
	if envErr == nil && len(env) > 0 || envErr == unix.EACCES || envErr == unix.EPERM { // another user's is not of the run
		return bytes.Contains(env, t.name), true
	}
	if t.mark.limit > 0 && err == nil { // one that is just starting a program has its limit already
		return false, true
	}
	s, ok := readStat(pid)
	return false, ok && s.hasNone()
}

// limitOf is a process's hard limit of file locks, if that can be a mark. Of
// another user's process only a file tells it.
func (t *tree) limitOf(pid int) (uint64, error) {
	if t.mark.limit == 0 {
		return 0, nil
	}
	limit, err := hardLimit(pid)
	if err != unix.EPERM {
		return limit, err
	}
	text, err := t.read(pid, "limits")
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("Max file locks")); ok {
			if fields := bytes.Fields(rest); len(fields) > 1 {
				limit, _ = strconv.ParseUint(string(fields[1]), 10, 64) // "unlimited" is no mark
			}
		}
	}
	return limit, err
}

// read reads a file of the kernel's about a process, with as few system calls as
// can be: there may be many processes. What it returns is good until the next call.
func (t *tree) read(pid int, name string) ([]byte, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if t.buf == nil {
		t.buf = make([]byte, 16<<10)
	}
	for n := 0; ; {
		if n == len(t.buf) {
			t.buf = append(t.buf, make([]byte, n)...)
		}
		switch k, err := unix.Read(fd, t.buf[n:]); {
		case err == unix.EINTR:
		case err != nil || k <= 0:
			return t.buf[:n], err
		default:
			n += k
		}
	}
}

// hasNone reports whether a process whose environment cannot be read, or is
// empty, has none for good. One that is just starting a program has none yet, and
// one that has gone may have left a child that was not there before.
func (s stat) hasNone() bool { return s.dead || s.kernel || s.cleared }

// End kills what is left of a run that this program did not start, or has no
// more hold of, by its mark. It returns the command lines of what was killed, as
// [Exit] has them. It is an error if text is no mark, this program itself has it, or
// something of it could not be ended.
func End(text string) ([]string, error) {
	t, err := treeOf(text)
	if err != nil {
		return nil, err
	}
	if own, _ := t.marked(os.Getpid()); own {
		return nil, errors.New("this program itself is of that run")
	}
	t.look() // what ends because another one of them does is told too
	if !t.end() {
		return t.ended, errors.New("some of the run's processes could not be ended")
	}
	return t.ended, nil
}

// Left returns the command lines of what is left of such a run, and ends nothing.
func Left(text string) ([]string, error) {
	t, err := treeOf(text)
	if err != nil {
		return nil, err
	}
	t.look()
	return t.ended, nil
}

// look names what there is of the run.
func (t *tree) look() {
	for range 10 {
		unsure := false
		for _, pid := range t.younger() {
			marked, known := t.marked(pid)
			if marked {
				t.tell(pid, commandLine(pid))
			}
			unsure = unsure || !known
		}
		if !unsure {
			break
		}
		time.Sleep(time.Millisecond) // one that is just starting a program will soon show what it is
	}
}

// treeOf is the tree of a run whose root is not known.
func treeOf(text string) (*tree, error) {
	m, err := parseMark(text)
	if err != nil {
		return nil, err
	}
	t := newTree(0, m)
	t.begun = time.Time{} // some time ago
	return t, nil
}

// A stat is what the kernel tells of a process.
type stat struct {
	parent  int
	start   uint64
	dead    bool // it waits to be reaped
	kernel  bool // a thread of the kernel's own
	cleared bool // its environment is empty, and not because it is just starting a program
}

func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(data)
}

// parseStat reads /proc/PID/stat. The second field, the name in brackets, may hold
// blanks and brackets; what is counted here begins after it, with the third.
func parseStat(data []byte) (stat, bool) {
	const kernelThread = 0x00200000 // PF_KTHREAD
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 49 {
		return stat{}, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	flags, err2 := strconv.ParseUint(fields[6], 10, 64)
	start, err3 := strconv.ParseUint(fields[19], 10, 64)
	return stat{
		parent: parent, start: start,
		dead:   fields[0] == "Z" || fields[0] == "X",
		kernel: flags&kernelThread != 0,
		// Where its environment begins and ends: 0 while a program is being started,
		// and if it is another user's.
		cleared: fields[47] == fields[48] && fields[48] != "0",
	}, cmp.Or(err1, err2, err3) == nil
}
