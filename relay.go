package ralph

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/process"
)

// A Relay drives the loop of one session whose events come from other processes: from
// the hooks of a client, which are programs that the client starts at certain events,
// waits for, and obeys. The hooks ask by [AskRelay], through a Unix socket and with a
// secret of the session. Decisions and verifications are made by the process that has
// the Relay, which need not be a child of the client. A hook can only claim, cancel and
// end: the agent can start hooks too, so a Relay takes nothing else from them, above
// all no verdict.
//
// To keep the client's session going, the Relay answers its stop event with the next
// prompt. A hook that must answer before the verification has ended is answered with
// [StillVerifying], and the next one gets the verdict. A prompt that no hook has
// taken is given to the next one: a hook that died, or whose answer came too late,
// spends no iteration.
//
// Its methods may be called concurrently, but for Listen, Launch and Attend, and for Close
// beside one of these.
type Relay struct {
	Hook *Hook // its Inject must be the Relay's; required
	// Session is the ID by which Hook knows the session. Client is the ID that the
	// client's events have for it; "" = that of the first session that comes to rest,
	// for clients that choose it themselves. Events of other sessions are answered with
	// nothing: they belong to clients that the agent has started.
	Session, Client string
	// File is the path of a file to which the Relay writes its place while it listens,
	// for hooks that do not have it in their environment. Only this user can read it;
	// what is at the path before is replaced. "" = none.
	File string

	mu       sync.Mutex
	place    string             // "" = it does not listen
	secret   string             // what the place begins with
	folder   string             // of the socket
	cancel   context.CancelFunc // ends Listen
	running  sync.WaitGroup     // what Listen has begun
	ended    chan string        // why the session has
	client   string             // Client, or what is taken for it
	turn     *relayTurn         // nil = the Hook has done with the last stop
	note     string             // for the next answer
	launched string             // mark of the client that was launched last
	heard    bool               // a hook of the session has asked
	unread   int                // how often in a row the last words could not be read
}

// RelayPlace is the environment variable in which the hooks of a client that a [Relay]
// has launched find where to ask ([AskRelay]). Only they have it; a file would be found
// by the hooks of every other session too.
const RelayPlace = "RALPH_HOOK"

// Listen lets hooks ask, and returns at once with the place for [AskRelay]; the place
// holds the secret. Close, or the end of ctx, ends it: verifications that hooks have
// begun are cancelled, and hooks that wait get the zero [Answer]. Close must be called,
// unless there is an error.
func (r *Relay) Listen(ctx context.Context) (place string, err error) {
	if r.Hook == nil {
		return "", errors.New("ralph: Relay has no Hook")
	}
	if err := r.Hook.usable(r.Session); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		return "", errors.New("ralph: Relay: it listens already")
	}
	r.secret, r.ended, r.client, r.heard = rand.Text(), make(chan string, 1), r.Client, false
	socket, err := r.open()
	if err != nil {
		return "", errors.Join(fmt.Errorf("ralph: Relay: %w", err), r.remove())
	}
	ctx, r.cancel = context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { socket.Close() })
	r.running.Go(func() { r.accept(ctx, socket) })
	return r.place, nil
}

// open makes what Listen needs on disk, which remove removes.
//
// A Unix socket in a folder of this user alone, and no port: nobody else can connect,
// and no firewall is in the way. Its path must be short, for the kernel's address has
// little room; a long TMPDIR is passed over for /tmp.
func (r *Relay) open() (socket net.Listener, err error) {
	const longest = 90 // bytes: systems have room for little more than a hundred
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		if dir, err = filepath.Abs(dir); err == nil && len(dir)+len("/ralph-1234567890") <= longest {
			r.folder, err = os.MkdirTemp(dir, "ralph-")
			break
		}
	}
	if err == nil {
		socket, err = net.Listen("unix", filepath.Join(r.folder, "hook"))
	}
	if err != nil {
		return nil, err
	}
	r.place = r.secret + "@" + socket.Addr().String()
	if r.File == "" {
		return socket, nil
	}
	if err = file.Folder(filepath.Dir(r.File)); err == nil {
		if err = os.Remove(r.File); err == nil || errors.Is(err, fs.ErrNotExist) { // its mode, too, is somebody else's
			err = file.Put("", r.File, []byte(r.place))
		}
	}
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	return socket, nil
}

// remove removes what open has made. The file is removed only if it is still this
// Relay's: another one may have begun to listen since.
func (r *Relay) remove() (err error) {
	if r.File != "" && r.place != "" {
		if text, _ := file.Read("", r.File, len(r.place)); string(text) == r.place { // else it is another Relay's
			err = os.Remove(r.File)
		}
	}
	if r.folder != "" {
		err = errors.Join(err, os.RemoveAll(r.folder))
	}
	r.place, r.folder = "", ""
	return err
}

// Close ends Listen, waits for what the hooks' events have begun, and removes the
// socket and the file. Since it waits, the functions of the Hook must not call it. A
// Relay that does not listen is closed already, which is no error.
func (r *Relay) Close() error {
	r.mu.Lock()
	cancel := r.cancel
	r.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	r.running.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = nil
	return r.remove()
}

// Launch runs a client, listens to its hooks until it has ended, and then ends what it
// has left running; the command lines of that, at most 20, are returned. The place is
// in the client's environment, as [RelayPlace]. A client that fails is no error: what
// has become of the loop is in the Hook's Store. If ctx is done, the client is asked to
// end, and killed after five seconds. If cmd.WaitDelay is 0, it is set to two seconds,
// so that a process which holds the client's output open cannot keep Launch waiting.
//
// Processes of the client are found by their environment, on Linux only; one that has
// cleared its environment is not found.
func (r *Relay) Launch(ctx context.Context, cmd *exec.Cmd) (ended []string, err error) {
	place, err := r.Listen(ctx)
	if err != nil {
		return nil, err
	}
	mark := NewMark()
	ended, err = r.mark(ctx, mark)
	if err != nil {
		return ended, errors.Join(err, r.Close())
	}
	cmd.Env = append(cmd.Environ(), process.Under(mark), RelayPlace+"="+place)
	cmd.WaitDelay = cmp.Or(cmd.WaitDelay, 2*time.Second)
	if err := cmd.Start(); err != nil {
		return ended, errors.Join(fmt.Errorf("ralph: Relay: %w", err), r.Close())
	}
	exited := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-exited:
			return
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // where there is none it is killed
		select {
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
		case <-exited:
		}
	}()
	_ = cmd.Wait()
	close(exited)
	closed := r.Close() // what is left asks nothing more
	if ctx.Err() == nil && !r.asked() {
		r.Hook.tell(ctx, Notice{Session: r.Session, Title: "Ralph Loop", Variant: "warning", Message: "No hook of the session has asked: are they switched off?"})
	}
	left, err := r.mark(ctx, "")
	return append(ended, left...), errors.Join(err, closed)
}

// asked reports whether a hook of the session has asked since Listen. A client that
// ended without a single question has its hooks switched off, and no loop ran at all.
func (r *Relay) asked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heard
}

// mark ends what is left of the client that was launched last, be it by a process that was
// killed, and keeps the mark of the one that is next.
//
// The mark is in the store before the client runs: if this process is killed, the one
// that goes on with the session finds the client, which would otherwise work on unseen
// beside the new one.
func (r *Relay) mark(ctx context.Context, next string) (ended []string, err error) {
	ctx = context.WithoutCancel(ctx)
	err = r.Hook.update(ctx, r.Session, func(x HookState) (HookState, error) {
		r.launched = cmp.Or(r.launched, x.Mark)
		return x, nil
	})
	if err == nil && r.launched != "" {
		if ended, err = EndLeft(r.launched); errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	r.launched = next
	return ended, errors.Join(err, r.Hook.update(ctx, r.Session, func(x HookState) (HookState, error) {
		if x.Active() {
			x.Mark = next
		}
		return x, nil
	}))
}

// Attend listens to the hooks of a client that runs already, and blocks until the loop
// or the session ends. It returns why the session has ended, or "" if the loop has.
// ready is called once, when hooks can ask. client is the process ID of the client,
// whose end ends the session; 0 = it is not known. The error is the cause of ctx, or of
// the Store if that cannot be read for ten seconds.
func (r *Relay) Attend(ctx context.Context, client int, ready func()) (why string, err error) {
	if _, err := r.Listen(ctx); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	ready()
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case why := <-r.ended:
			return cmp.Or(why, "ended"), nil
		case <-time.After(time.Second):
		}
		active, err := r.Hook.Active(ctx, r.Session)
		if failed++; err == nil {
			failed = 0
		}
		if failed > attendFails || err == nil && !active {
			r.settle(ctx)
			return "", err
		}
		if client > 0 && !process.Alive(client) {
			return "its client has ended", nil
		}
	}
}

// attendFails is how often in a row, once a second, Attend may fail to read the loop. A
// store on a network may be away for a moment; a loop that nobody can read for longer
// is given up.
const attendFails = 10

// settle waits until the Hook has done with the last stop: what it says of the end is told.
func (r *Relay) settle(ctx context.Context) {
	r.mu.Lock()
	turn := r.turn
	r.mu.Unlock()
	if turn != nil {
		select {
		case <-turn.done:
		case <-ctx.Done():
		}
	}
}

// NewSession makes an ID for a session: a random UUID, which is what most clients take
// for one.
func NewSession() string {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
