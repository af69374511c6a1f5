package ralph

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/process"
)

// A Relay drives the loop of one session whose events come from other processes: from
// the hooks of a client, each of which is a program that it starts, waits for, and does
// what it prints. They ask by [AskRelay], through a Unix socket and with a secret of the
// session; who decides and verifies is the process that has the Relay, which need not be
// one of the client's. What asks can only claim: a Relay takes nothing else from it.
//
// The client's session is kept from coming to rest by the answer to its stop event,
// which is the next prompt. A hook that must answer before the verification has ended
// is answered with StillVerifying, and the next one gets the verdict.
type Relay struct {
	Hook *Hook // its Inject must be the Relay's; required
	// Session is the loop's, as Hook knows it. Client is the ID by which the client's
	// events name it; "" = the first one that comes to rest says it, for clients that
	// choose it themselves. Events of others are answered with nothing: they are of
	// clients that the agent has started.
	Session, Client string
	// File tells hooks that were not given the place in their environment where it is,
	// while the Relay listens: a file of this user alone. "" = none.
	File string

	mu     sync.Mutex
	turn   *relayTurn
	note   string
	stops  chan relayStop
	ended  chan string
	secret string
	socket net.Listener
	folder string
}

// StillVerifying is what a session is told that cannot rest yet, for its claim is
// being verified.
const StillVerifying = "The verification of your claim is still running. Change nothing: end your answer, and wait for the result."

// What a session's hooks may ask.
const (
	AskStop   = "stop"   // the agent wants to come to rest: with the next prompt it goes on
	AskEnd    = "end"    // the session has ended
	AskCancel = "cancel" // its user cancels the loop
)

// An Ask is what a hook tells a Relay, and an Answer what it is told.
type Ask struct {
	Secret  string        `json:"secret"` // set by AskRelay
	Kind    string        `json:"kind"`   // AskStop, AskEnd, AskCancel
	Session string        `json:"session"`
	Text    string        `json:"text,omitempty"`   // AskStop: the agent's last words; AskEnd: why, clear = for good
	Turn    string        `json:"turn,omitempty"`   // see [Turn.ID]
	Within  time.Duration `json:"within,omitempty"` // AskStop: how long the hook can wait, 0 = for ever
}

// An Answer is what a hook makes known to its client. The zero value lets it go on as if
// there were no hook.
type Answer struct {
	Prompt string `json:"prompt,omitempty"` // the session goes on with it
	Note   string `json:"note,omitempty"`   // for its user
	Ours   bool   `json:"ours,omitempty"`   // the session is the Relay's
}

const maxAsk = 64 << 20 // bytes, more than an agent says

// A relayStop is a hook that waits for its answer.
type relayStop struct {
	answer chan Answer
	sent   chan error
}

// A relayTurn is what the Hook makes of a stop; several may wait for it, one after the
// other.
type relayTurn struct {
	done     chan struct{}
	injected bool // answered: the next stop is another turn's
	err      error
}

// Listen lets hooks ask, until Close or the end of ctx, which also ends what their
// events have begun. It returns the place, which [AskRelay] takes; it holds the secret.
func (r *Relay) Listen(ctx context.Context) (place string, err error) {
	r.stops, r.ended, r.secret = make(chan relayStop), make(chan string, 1), rand.Text()
	if r.folder, err = os.MkdirTemp("", "ralph-"); err == nil && len(r.folder) > 90 { // a socket's path is short
		os.Remove(r.folder)
		r.folder, err = os.MkdirTemp("/tmp", "ralph-")
	}
	if err == nil {
		r.socket, err = net.Listen("unix", filepath.Join(r.folder, "hook"))
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("ralph: Relay: %w", err), r.Close())
	}
	place = r.secret + "@" + r.socket.Addr().String()
	if r.File != "" {
		if err = file.Folder(filepath.Dir(r.File)); err == nil {
			err = file.Put("", r.File, []byte(place))
		}
		if err != nil {
			return "", errors.Join(fmt.Errorf("ralph: Relay: %w", err), r.Close())
		}
	}
	context.AfterFunc(ctx, func() { r.socket.Close() })
	go func() {
		for {
			conn, err := r.socket.Accept()
			if err != nil {
				return // it is closed
			}
			go r.serve(ctx, conn)
		}
	}()
	return place, nil
}

// Launch runs a client, with the place in its environment, as RelayPlace, and ends what
// it leaves running, which it returns: the command lines, at most 20, as far as the system
// can tell. It listens while the client runs. That the client fails is no error: what
// has become of the loop is in the Hook's Store. If ctx is done, the client is asked to
// end, and killed after five seconds.
func (r *Relay) Launch(ctx context.Context, cmd *exec.Cmd) (ended []string, err error) {
	place, err := r.Listen(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	mark := NewMark()
	id, _, _ := strings.Cut(mark, "-")
	cmd.Env = append(cmd.Environ(), "RALPH_RUN_"+id+"=1", RelayPlace+"="+place)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("ralph: Relay: %w", err)
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
	ended, err = EndLeft(mark)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return ended, err
}

// Attend listens to a client that runs already, until the loop or the session ends, and
// returns why, or "" for the loop. ready is called when hooks can ask. A client whose
// process ID is given (0 = it is not known) has ended when that process has.
func (r *Relay) Attend(ctx context.Context, client int, ready func()) (why string, err error) {
	if _, err := r.Listen(ctx); err != nil {
		return "", err
	}
	defer r.Close()
	ready()
	for {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case why := <-r.ended:
			return cmp.Or(why, "ended"), nil
		case <-time.After(time.Second):
		}
		if active, err := r.Hook.Active(ctx, r.Session); err != nil || !active {
			return "", err
		}
		if client > 0 && !process.Alive(client) {
			return "its client has ended", nil
		}
	}
}

// RelayPlace is the variable in whose value a launched client's hooks find the place.
const RelayPlace = "RALPH_HOOK"

// Close ends Listen. What it left on disk is removed.
func (r *Relay) Close() error {
	var errs []error
	if r.socket != nil {
		if err := r.socket.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if r.File != "" && r.socket != nil {
		if err := os.Remove(r.File); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if r.folder != "" {
		errs = append(errs, os.RemoveAll(r.folder))
	}
	return errors.Join(errs...)
}

// Notify is a [Hook.Notify]: the session's user is told with the next answer.
func (r *Relay) Notify(_ context.Context, n Notice) { r.tell(n.Title + ": " + n.Message) }

func (r *Relay) tell(note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note = note
}

// Inject is a [Hook.Inject]: the prompt is the answer to the stop that waits for one, or
// to the next. The error is that of sending it.
func (r *Relay) Inject(ctx context.Context, _, prompt string) error {
	select {
	case s := <-r.stops:
		r.mu.Lock()
		r.turn.injected = true
		r.mu.Unlock()
		s.answer <- Answer{Prompt: prompt}
		return <-s.sent
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serve answers one hook.
func (r *Relay) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var q Ask
	if json.NewDecoder(io.LimitReader(conn, maxAsk)).Decode(&q) != nil || subtle.ConstantTimeCompare([]byte(q.Secret), []byte(r.secret)) != 1 {
		return
	}
	send := func(a Answer) error {
		r.mu.Lock()
		a.Note, r.note = r.note, ""
		r.mu.Unlock()
		a.Ours = true
		return json.NewEncoder(conn).Encode(a)
	}
	switch {
	case !r.is(q):
		_ = json.NewEncoder(conn).Encode(Answer{})
	case q.Kind == AskStop:
		gone := make(chan struct{})
		go func() { defer close(gone); io.Copy(io.Discard, conn) }()
		r.rest(ctx, q, gone, send)
	case q.Kind == AskCancel:
		if _, err := r.Hook.Cancel(ctx, r.Session); err != nil {
			r.tell(err.Error())
		}
		_ = send(Answer{}) // what it was asked for is done
	case q.Kind == AskEnd:
		if q.Text == "clear" {
			_ = r.Hook.Deleted(ctx, r.Session) // the session is gone in any case
		}
		_ = send(Answer{})
		select {
		case r.ended <- q.Text:
		default:
		}
	}
}

// is reports whether an event is of the session.
func (r *Relay) is(q Ask) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Client == "" && q.Kind == AskStop {
		r.Client = q.Session
	}
	return q.Session != "" && q.Session == r.Client
}

// rest answers a stop.
func (r *Relay) rest(ctx context.Context, q Ask, gone <-chan struct{}, send func(Answer) error) {
	s := relayStop{make(chan Answer, 1), make(chan error, 1)}
	var due <-chan time.Time
	if q.Within > 0 {
		timer := time.NewTimer(q.Within)
		defer timer.Stop()
		due = timer.C
	}
	for {
		turn, waits := r.turnOf(ctx, q)
		stops := r.stops
		if !waits {
			stops = nil
		}
		select {
		case stops <- s:
			s.sent <- send(<-s.answer)
		case <-turn.done:
			if !waits { // that was the turn before
				continue
			}
			if turn.err != nil {
				r.tell(turn.err.Error())
			}
			_ = send(Answer{}) // the session may rest
		case <-due:
			_ = send(Answer{Prompt: StillVerifying})
		case <-gone:
		case <-ctx.Done():
		}
		return
	}
}

// turnOf is the turn that a stop is of, and whether that still waits for its answer.
func (r *Relay) turnOf(ctx context.Context, q Ask) (t *relayTurn, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn != nil {
		select {
		case <-r.turn.done:
		default:
			return r.turn, !r.turn.injected
		}
	}
	t = &relayTurn{done: make(chan struct{})}
	r.turn = t
	go func() {
		defer close(t.done)
		_, t.err = r.Hook.Idle(ctx, Turn{Session: r.Session, ID: q.Turn, Text: q.Text, Final: true})
	}()
	return t, true
}

// NewSession makes an ID for a session: a random UUID, which is what most clients take
// for one.
func NewSession() string {
	var b [16]byte
	rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// AskRelay asks a session's [Relay]. The places are tried in turn: one whose Relay has
// another session says so ([Answer.Ours]). Without any that has it the answer is zero; the
// error says that the process which decides about the session does not answer.
func AskRelay(ctx context.Context, q Ask, places ...string) (a Answer, err error) {
	for _, place := range places {
		secret, path, ok := strings.Cut(place, "@")
		if !ok {
			continue
		}
		if a, err = askRelay(ctx, q, secret, path); err == nil && a.Ours {
			return a, nil
		}
	}
	return Answer{}, err
}

func askRelay(ctx context.Context, q Ask, secret, path string) (a Answer, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return a, fmt.Errorf("ralph: nobody drives this session any more: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	q.Secret = secret
	if err = json.NewEncoder(conn).Encode(q); err == nil {
		err = json.NewDecoder(io.LimitReader(conn, maxAsk)).Decode(&a)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("ralph: nobody drives this session any more: %w", err)
	}
	return a, nil
}
