package ralph

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// StillVerifying is the prompt for a session whose claim is still being verified when
// its hook has to answer: clients end hooks that take too long. It tells the agent to
// do nothing, since what it changed now would be verified too.
const StillVerifying = "The verification of your claim is still running. Change nothing: end your answer, and wait for the result."

// What a session's hooks may ask.
const (
	AskStop   = "stop"   // the agent wants to come to rest: with the next prompt it goes on
	AskEnd    = "end"    // the session has ended
	AskCancel = "cancel" // its user cancels the loop
)

// An Ask is what a hook tells a [Relay] of its session; the Relay's [Answer] is what
// the hook is to do.
//
// It is data, and not to be trusted: the agent can send one as well as a hook can.
// Session must be the Relay's, and text is only looked at for the promise.
type Ask struct {
	Kind    string `json:"kind"`    // AskStop, AskEnd or AskCancel; others are answered with nothing
	Session string `json:"session"` // the client's ID of it, see [Relay.Client]
	// Text is the agent's last words, for AskStop, or why the session has ended, for
	// AskEnd; "clear" says that it will not be opened again.
	Text string `json:"text,omitempty"`
	Turn string `json:"turn,omitempty"` // see [Turn.ID]
	// Unread says that the agent's last words could not be read, for AskStop: the session
	// is told to say them again, at most three times.
	Unread bool `json:"unread,omitempty"`
	// Within is how long the hook can wait for an answer to AskStop; 0 = for ever. In JSON
	// it is in nanoseconds.
	Within time.Duration `json:"within,omitempty"`
}

// An Answer is what a hook makes known to its client. The zero value lets it go on as if
// there were no hook.
type Answer struct {
	Prompt string `json:"prompt,omitempty"` // the session goes on with it
	Note   string `json:"note,omitempty"`   // for its user
	Ours   bool   `json:"ours,omitempty"`   // the session is the Relay's
}

const (
	maxAsk = 64 << 20 // bytes, more than an agent says
	// relayPatience is how long is waited for a question, and until an answer was read.
	relayPatience = 5 * time.Second
)

// A relayHook is a hook that asks. It gets one answer, and says that it has read it: a
// prompt that was written to a socket whose reader has died would be lost, and the
// session would rest with its loop unfinished.
type relayHook struct {
	conn net.Conn
	gone chan struct{} // it has read the answer, or cannot any more:
	err  error

	mu       sync.Mutex
	answered bool
}

// A relayTurn is what the Hook makes of a stop. Clients that run several hooks for one
// stop ask several times: they share a turn, so that the claim is verified once.
type relayTurn struct {
	done  chan struct{}
	hooks []*relayHook // of this stop: one of them gets the prompt
	past  bool         // it was given out: who comes now is another turn's
	err   error
}

// askAgain is what a session is told whose last words could not be read.
const askAgain = "Your last answer could not be read. Change nothing, and end with the last line of that answer once more."

// again reports whether a session is to say its last words again. It spends no iteration.
//
// Clients write their transcript late, or in a form that is not known yet: the agent
// can repeat its last line, while an answer that was not read would be taken for one
// without the promise. It is asked at most maxUnread times, since a client that never
// can be read would go on for ever.
func (r *Relay) again(ctx context.Context, q Ask) bool {
	active, err := false, error(nil)
	if q.Unread {
		active, err = r.Hook.Active(ctx, r.Session)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !active || err != nil || r.unread == maxUnread || r.turn != nil {
		r.unread = 0
		return false
	}
	r.unread++
	return true
}

// maxUnread is how often in a row a session is asked again.
const maxUnread = 3

// Notify is a [Hook.Notify]: the session's user is told with the next answer.
func (r *Relay) Notify(_ context.Context, n Notice) { r.tell(n.Title + ": " + n.Message) }

// tell keeps what the user is to be told with the next answer. Only the newest is kept:
// what was told before it is out of date.
func (r *Relay) tell(note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note = note
}

// Inject is a [Hook.Inject]: it answers the stop event that waits for an answer with the
// prompt. It is an error if no stop event waits, or if the hook that asked has died before
// it read the answer. The Hook then injects the prompt at the next stop.
func (r *Relay) Inject(_ context.Context, _, prompt string) error {
	var hooks []*relayHook
	r.mu.Lock()
	if r.turn != nil {
		hooks, r.turn.past = r.turn.hooks, true
	}
	r.mu.Unlock()
	for _, h := range slices.Backward(hooks) { // earlier ones may be of an earlier stop
		if r.answer(h, Answer{Prompt: prompt}) == nil {
			return nil
		}
	}
	return errNoHook
}

// errNoHook is no failure: it happens whenever a hook is ended while the claim is
// verified. The Hook keeps the prompt and injects it at the next stop.
var errNoHook = errors.New("ralph: no hook waits for it; the next one gets it")

// warn tells people that a stop could not be dealt with, and returns what of that is
// not in the note yet. It is told as a notice too, for the answer is read only by a
// hook that is still there.
func (r *Relay) warn(ctx context.Context, err error) string {
	if !errors.Is(err, errNoHook) {
		r.Hook.tell(ctx, Notice{Session: r.Session, Title: "Ralph Loop", Variant: "warning", Message: err.Error()})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.Contains(r.note, err.Error()) {
		return ""
	}
	return err.Error()
}

// accept serves hooks until the socket is closed. Running out of file descriptors is no
// reason to stop: the session would rest unjudged.
func (r *Relay) accept(ctx context.Context, socket net.Listener) {
	for {
		conn, err := socket.Accept()
		switch {
		case err == nil:
			r.running.Go(func() { r.serve(ctx, conn) })
		case errors.Is(err, net.ErrClosed) || !pause(ctx, hookLook): // else there are too many
			return
		}
	}
}

// serve answers one hook.
//
// The secret comes first and has a fixed length, so that nothing of a stranger's is
// decoded before it is known to be none. The deadline is for those who connect and say
// nothing: they must not hold a goroutine for good.
func (r *Relay) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(relayPatience))
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
	secret := make([]byte, len(r.secret))
	in := json.NewDecoder(io.LimitReader(conn, maxAsk))
	var q Ask
	if _, err := io.ReadFull(conn, secret); err != nil || subtle.ConstantTimeCompare(secret, []byte(r.secret)) != 1 {
		return // nothing is kept of what comes without it
	}
	if in.Decode(&q) != nil || !stop() {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	h := &relayHook{conn: conn, gone: make(chan struct{})}
	r.running.Go(func() {
		defer close(h.gone)
		h.err = in.Decode(new(bool))
	})
	switch {
	case !r.is(q):
		_ = json.NewEncoder(conn).Encode(Answer{})
	case q.Kind == AskStop:
		r.rest(ctx, q, h)
	case q.Kind == AskCancel:
		if _, err := r.Hook.Cancel(ctx, r.Session); err != nil {
			r.tell(err.Error())
		}
		_ = r.answer(h, Answer{}) // what it was asked for is done
	case q.Kind == AskEnd:
		if q.Text == "clear" {
			_ = r.Hook.Deleted(ctx, r.Session) // the session is gone in any case
		}
		_ = r.answer(h, Answer{})
		select {
		case r.ended <- q.Text:
		default:
		}
	default:
		_ = r.answer(h, Answer{})
	}
}

// is reports whether an event is of the session. Without a Client the first session
// that stops is taken for it: clients that the agent starts later have other IDs, and
// get no say.
func (r *Relay) is(q Ask) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == "" && q.Kind == AskStop {
		r.client = q.Session
	}
	is := q.Session != "" && q.Session == r.client
	r.heard = r.heard || is
	return is
}

// answer answers a hook, once. The error says that it has not read the answer. What
// could not be told is kept for the next answer.
func (r *Relay) answer(h *relayHook, a Answer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answered {
		return errors.New("it has its answer")
	}
	h.answered = true
	r.mu.Lock()
	a.Note, r.note = strings.Trim(r.note+"\n"+a.Note, "\n"), ""
	r.mu.Unlock()
	a.Ours = true
	_ = h.conn.SetDeadline(time.Now().Add(relayPatience))
	err := json.NewEncoder(h.conn).Encode(a)
	if err == nil {
		<-h.gone
		err = h.err
	}
	if err != nil && a.Note != "" {
		r.mu.Lock()
		r.note = cmp.Or(r.note, a.Note) // the newest
		r.mu.Unlock()
	}
	return err
}

// rest answers a stop: with the prompt, which Inject gives out while the Hook deals
// with the stop; with nothing, when the Hook has done and the session may rest; or,
// when the hook has no more time, with StillVerifying.
func (r *Relay) rest(ctx context.Context, q Ask, h *relayHook) {
	var due <-chan time.Time
	if q.Within > 0 {
		timer := time.NewTimer(q.Within)
		defer timer.Stop()
		due = timer.C
	}
	if r.again(ctx, q) {
		_ = r.answer(h, Answer{Prompt: askAgain})
		return
	}
	for {
		turn, of := r.join(ctx, q, h)
		a := Answer{} // the session may rest
		select {
		case <-turn.done:
			if !of {
				continue
			}
			if turn.err != nil {
				a.Note = r.warn(ctx, turn.err)
			}
		case <-due:
			a.Prompt = StillVerifying
		case <-h.gone:
			return
		case <-ctx.Done():
		}
		_ = r.answer(h, a)
		return
	}
}

// join has a hook wait for what the Hook makes of its stop. If it is of another one
// than that which the Hook still deals with, it waits for the end of that first. The
// Hook works on one stop at a time in a goroutine that outlives the hook which asked:
// the verification goes on while that is told to wait.
func (r *Relay) join(ctx context.Context, q Ask, h *relayHook) (t *relayTurn, of bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn == nil {
		t := &relayTurn{done: make(chan struct{})}
		r.turn = t
		r.running.Go(func() {
			defer close(t.done)
			_, t.err = r.Hook.Idle(ctx, Turn{Session: r.Session, ID: q.Turn, Text: q.Text, Final: true})
			r.mu.Lock()
			defer r.mu.Unlock()
			r.turn = nil
		})
	}
	if r.turn.past {
		return r.turn, false
	}
	r.turn.hooks = append(r.turn.hooks, h)
	return r.turn, true
}

// AskRelay asks the [Relay] of a session, and blocks until that has answered: for
// AskStop that is after the verification. It tries the places in turn, without those
// that are "", until it finds the Relay that has the session ([Answer.Ours]). If none
// has, the answer is zero and the error nil: the session is nobody's. An error says
// that a place does not answer, so nobody may be driving the session any more, or it is
// the cause of ctx.
func AskRelay(ctx context.Context, q Ask, places ...string) (Answer, error) {
	var errs []error
	for _, place := range places {
		if place == "" {
			continue
		}
		a, err := askRelay(ctx, q, place)
		if err == nil && a.Ours {
			return a, nil
		}
		errs = append(errs, err)
	}
	if err := context.Cause(ctx); err != nil {
		return Answer{}, err
	}
	if err := errors.Join(errs...); err != nil {
		return Answer{}, fmt.Errorf("ralph: nobody drives this session any more: %w", err)
	}
	return Answer{}, nil
}

func askRelay(ctx context.Context, q Ask, place string) (a Answer, err error) {
	secret, path, ok := strings.Cut(place, "@")
	if !ok {
		return a, errors.New("what should name its place does not")
	}
	text, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err = conn.Write(append([]byte(secret), text...)); err == nil {
		err = json.NewDecoder(io.LimitReader(conn, maxAsk)).Decode(&a)
	}
	if err != nil {
		return Answer{}, err
	}
	_, _ = io.WriteString(conn, "true\n") // it was read; if nobody waits for that, it was all the same
	return a, nil
}
