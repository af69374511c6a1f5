// Package process runs a command, streams what it prints and leaves none of its
// processes behind.
//
// Agents start their tools in sessions of their own, so neither the direct
// child nor its process group is all there is to end. Every run gets an
// environment name of its own, RALPH_RUN_<id>=1, and on Linux a hard limit of its
// own, which its processes inherit; there the survivors are found by them,
// wherever they are and whatever they have closed or cleared. Elsewhere ending
// the process group is the best that can be done.
//
// A shell in a session of its own, one for this program, ends what is left of
// the runs if this program dies without doing so.
package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// A Cmd is a command to run.
type Cmd struct {
	Args []string // program and arguments; the program is looked up in Env's PATH
	Dir  string   // "" = the current directory
	Env  []string // the complete environment; nil = this process's

	// Stdin is handed over through a pipe, then end of file. A child that does
	// not read it is no error.
	Stdin []byte

	// StdinFile, if set, is the command's standard input instead: the reading
	// end of a pipe. Run closes it.
	StdinFile *os.File

	// Stdout and Stderr get what the command prints, each from one goroutine
	// and before Run returns. nil = discard. What a writer answers does not
	// stop the command; if it panics, the command is stopped.
	Stdout, Stderr io.Writer

	// Mark is what the run's processes are known by: what [NewMark] has made, for
	// this run alone. "" = one that nobody is told.
	Mark string
	// Sandbox has it started with fewer rights. Nil = with all of this program's.
	Sandbox *sandbox.Rules
	// Warn, if set, is told before the command begins what does not hold on this
	// system, once in this program.
	Warn func(text string)

	Grace time.Duration // between interrupt, terminate and kill; 0 = 5 s
	Drain time.Duration // for output that others print after the command has exited; 0 = 2 s
}

// An Exit is how a command ended.
type Exit struct {
	Code    int    // -1 if it was ended by a signal
	Signal  string // that signal's name
	Stopped bool   // it was ended because the context was done
	Cut     bool   // a process that outlived it held its output open, and was cut off

	// Ended are the command lines of the processes that were left when the command
	// had ended, and were killed: the first 64, each at most 1 KiB, as they come.
	// On Linux only.
	Ended []string
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "ended by signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// ErrStart is wrapped by errors of commands that could not be started; they
// also wrap exec.ErrNotFound, fs.ErrNotExist or fs.ErrPermission.
var ErrStart = errors.New("cannot start")

// An OutputError is the panic of a writer, with its stack.
type OutputError struct{ panicked error }

func (e *OutputError) Error() string { return e.panicked.Error() }

type hurryKey struct{}

// Hurry returns a context with which Run no longer asks a command to end, nor
// waits for it to do so, but kills it, once now is closed and the context done.
func Hurry(ctx context.Context, now <-chan struct{}) context.Context {
	return context.WithValue(ctx, hurryKey{}, now)
}

// Run runs the command to its end and until none of its processes is left. When
// ctx is done, the command's process group is interrupted, after Grace
// terminated, after another Grace killed, and the error is context.Cause(ctx).
// If a writer panics, the command is ended in the same way, and the error is an
// [OutputError]. A command that was started and not stopped is no error, however
// it ended.
func Run(ctx context.Context, c Cmd) (Exit, error) {
	if c.StdinFile != nil {
		defer c.StdinFile.Close()
	}
	if ctx.Err() != nil {
		return Exit{Code: -1}, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := start(c, cancel)
	if err != nil {
		return Exit{Code: -1}, err
	}
	return r.wait(ctx)
}

type run struct {
	Cmd
	cmd     *exec.Cmd
	tree    *tree
	exited  chan struct{} // the direct child is a zombie, or the command behind it has ended
	front   *sandbox.Front
	over    chan struct{} // the direct child is gone
	readers []*os.File
	read    chan struct{} // both pipes are at their end
	stdin   *os.File
	writing atomic.Int32 // readers that are handing over what they read
	moved   atomic.Int64 // bytes that were read

	cancel context.CancelFunc
	broken atomic.Pointer[OutputError]
}

func start(c Cmd, cancel context.CancelFunc) (*run, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return nil, fmt.Errorf("%w: no command", ErrStart)
	}
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	m := newMark()
	if c.Mark != "" {
		given, err := parseMark(c.Mark)
		if err != nil {
			return nil, fmt.Errorf("%w %s: %w", ErrStart, c.Args[0], err)
		}
		if m.id = given.id; given.fits(ownLimit()) {
			m.limit = given.limit
		}
	}
	program, err := LookPath(c.Args[0], c.Dir, env)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrStart, c.Args[0], err)
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil {
			return nil, fmt.Errorf("%w %s: working directory: %w", ErrStart, c.Args[0], err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("%w %s: working directory %s: %w: not a directory", ErrStart, c.Args[0], c.Dir, fs.ErrInvalid)
		}
	}
	r := &run{Cmd: c, cancel: cancel, exited: make(chan struct{}), read: make(chan struct{}), over: make(chan struct{})}
	env = append(slices.Clone(env), m.variable())
	if c.Dir != "" {
		if dir, err := filepath.Abs(c.Dir); err == nil {
			env = append(env, "PWD="+dir) // some tools believe it more than the kernel
		}
	}
	r.cmd = &exec.Cmd{Path: program, Args: c.Args, Dir: c.Dir, Env: env, SysProcAttr: ownGroup()}
	return r, r.begin(m)
}

// begin starts the command on pipes of its own, and what serves them.
func (r *run) begin(m mark) error {
	if err := supported(); err != nil {
		return fmt.Errorf("%w %s: %w", ErrStart, r.Args[0], err)
	}
	var files []*os.File
	pipe := func() (*os.File, *os.File, error) {
		pr, pw, err := os.Pipe()
		if err == nil {
			files = append(files, pr, pw)
		}
		return pr, pw, err
	}
	inR, inW, err1 := pipe()
	outR, outW, err2 := pipe()
	errR, errW, err3 := pipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		grow(outR)
		r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = cmp.Or(r.StdinFile, inR), outW, errW
		err = r.launch(m)
	}
	if err != nil {
		close(r.over)
		for _, f := range files {
			f.Close()
		}
		return fmt.Errorf("%w %s: %w", ErrStart, r.Args[0], err)
	}
	inR.Close()
	if r.StdinFile != nil {
		r.StdinFile.Close() // the command's copy is the last: when it is gone, writers are told
	}
	outW.Close()
	errW.Close()
	r.stdin, r.readers = inW, []*os.File{outR, errR}
	r.tree = newTree(r.cmd.Process.Pid, m)

	go func() {
		io.Copy(inW, bytes.NewReader(r.Stdin))
		inW.Close()
	}()
	var readers sync.WaitGroup
	readers.Go(func() { r.pump(outR, r.Stdout) })
	readers.Go(func() { r.pump(errR, r.Stderr) })
	go func() { readers.Wait(); close(r.read) }()
	go func() { r.await(); close(r.exited) }()
	return nil
}

func (r *run) await() {
	if r.front != nil {
		r.front.Await()
		return
	}
	awaitExit(r.cmd)
}

// leave ends the shell in front of the command, which is what tells how that ended.
// What the command has left is killed before, so that it is told; what else it does
// there, such as to tell of an end that is none, ends with it.
func (r *run) leave() {
	r.tree.sweep()
	r.front.Close()
	exited := make(chan struct{})
	go func() { awaitExit(r.cmd); close(exited) }()
	select {
	case <-exited:
	case <-time.After(time.Second):
	}
}

// launch starts the command, marked and known to the watchdog.
func (r *run) launch(m mark) error {
	tell := func(what string, why error) {
		if r.Warn == nil || !host.first(what) {
			return
		}
		if why != nil {
			what += ": " + why.Error()
		}
		r.Warn(what)
	}
	warn := func(what string, err error) {
		if err != nil {
			tell(what, err)
		}
	}
	begin := func(cmd *exec.Cmd, watch func(pid int)) (*exec.Cmd, error) {
		started, unmarked, err := launch(cmd, m, watch)
		warn("processes that clear their environment and leave their session may not be found", unmarked)
		return started, err
	}
	watch := func(pid int) {
		warn("if this program is killed, processes that it has started may live on", host.watch(pid, m))
	}
	var err error
	if r.Sandbox == nil {
		held(func() { r.cmd, err = begin(r.cmd, watch) }, r.over)
		return err
	}
	r.cmd, r.front, err = r.Sandbox.Start(r.cmd, sandbox.Launch{
		Start: func(cmd *exec.Cmd) (*exec.Cmd, error) {
			return begin(cmd, func(pid int) { elsewhere(func() { watch(pid) }) }) // a watchdog that starts now must not be restricted
		},
		Kill: func(cmd *exec.Cmd) {
			_ = cmd.Process.Kill()
			host.forget(cmd.Process.Pid)
			_ = cmd.Wait() // it was killed
		},
		Warn: tell,
		Over: r.over,
	})
	return err
}

// elsewhere calls f on another thread than the one that this goroutine is locked to.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

// maxPiped is more than both pipes can hold.
const maxPiped = 4 << 20

// maxRead is the size of a read from an agent that prints much.
const maxRead = 256 << 10

// pump passes on what it reads, in big pieces if there is much.
func (r *run) pump(from *os.File, to io.Writer) {
	buf := make([]byte, 8<<10)
	n := 0
	write := func() error { to.Write(buf[:n]); return nil }
	for {
		var err error
		n, err = from.Read(buf)
		if n > 0 && to != nil {
			r.moved.Add(int64(n))
			r.writing.Add(1)
			if panicked := plugin.Call("writer of the output", write); panicked != nil {
				r.broken.Store(&OutputError{panicked})
				to = nil
				r.cancel()
			}
			r.writing.Add(-1)
		}
		if err != nil {
			return
		}
		if n == len(buf) && n < maxRead {
			buf = make([]byte, maxRead)
		}
	}
}

func (r *run) wait(ctx context.Context) (Exit, error) {
	var e Exit
	select {
	case <-r.exited:
		e.Cut = !r.drain(ctx)
	case <-ctx.Done():
		e.Stopped = true
		r.stop(ctx)
	}
	if r.front != nil {
		r.leave()
	}
	r.tree.end()
	r.stdin.Close()
	if !r.settled(100 * time.Millisecond) {
		r.tree.endWriters(r.readers)
	}
	if !r.settled(time.Second) {
		e.Cut = true
		for _, f := range r.readers {
			f.SetReadDeadline(time.Now())
		}
		<-r.read
	}
	for _, f := range r.readers {
		f.Close()
	}
	host.forget(r.cmd.Process.Pid)
	e.Ended = r.tree.ended
	r.cmd.Wait() // its state says all there is to say
	close(r.over)
	e.Code, e.Signal = exitOf(r.cmd.ProcessState)
	if broken := r.broken.Load(); broken != nil {
		return e, broken
	}
	if e.Stopped {
		return e, context.Cause(ctx)
	}
	return e, nil
}

// drain waits for output that comes after the command's exit, from a tee in the
// background or from a daemon that holds the pipe for ever. A writer that takes
// its time is no daemon: what the command printed is handed over in full, which
// at its exit is no more than the pipes hold.
func (r *run) drain(ctx context.Context) bool {
	before := r.moved.Load()
	half := time.NewTicker(cmp.Or(r.Drain, 2*time.Second) / 2)
	defer half.Stop()
	for idle := 0; idle < 2; {
		select {
		case <-r.read:
			return true
		case <-ctx.Done():
			return false
		case <-half.C:
		}
		if idle++; r.writing.Load() > 0 && r.moved.Load()-before <= maxPiped {
			idle = 0
		}
	}
	select {
	case <-r.read:
		return true
	default:
		return false
	}
}

func (r *run) settled(within time.Duration) bool {
	select {
	case <-r.read:
		return true
	case <-time.After(within):
		return false
	}
}

// stop ends the direct child, with its group. Its descendants are noted before
// each step: once it is gone, nothing links them to it but the mark, which may
// not have been to be had.
func (r *run) stop(ctx context.Context) {
	grace := cmp.Or(r.Grace, 5*time.Second)
	hurry, _ := ctx.Value(hurryKey{}).(<-chan struct{}) // nil = never
	for _, signal := range []signal{interrupt, terminate} {
		r.tree.note()
		r.tree.signal(signal)
		select {
		case <-r.exited:
			return
		case <-time.After(grace):
			continue
		case <-hurry:
		}
		break
	}
	r.tree.note()
	r.tree.signal(kill)
	<-r.exited
}
