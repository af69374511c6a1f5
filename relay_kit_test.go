package ralph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

const doneText = "<promise>DONE</promise>"

// A relayed is a session with a loop and its Relay, which listens.
type relayed struct {
	*ralph.Relay
	store    ralph.MemoryStore
	place    string
	verified atomic.Int32
	begun    chan struct{} // gets a value for each verification that begins
	verdict  chan ralph.Verdict
}

// newRelay starts a loop in session "s". A claim is verified when a verdict is given.
func newRelay(t testing.TB, task ralph.Task) *relayed {
	t.Helper()
	r := &relayed{begun: make(chan struct{}, 100), verdict: make(chan ralph.Verdict, 100)}
	r.Relay = &ralph.Relay{Session: "s", Client: "c"}
	r.Hook = &ralph.Hook{Store: &r.store, Inject: r.Inject, Notify: r.Notify, Delay: -1, Recovery: -1, Verifier: ralph.VerifierFunc(func(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
		r.verified.Add(1)
		r.begun <- struct{}{}
		select {
		case v := <-r.verdict:
			return v, nil
		case <-ctx.Done():
			return ralph.Verdict{}, context.Cause(ctx)
		}
	})}
	if task.Prompt == "" {
		task.Prompt = "Do it."
	}
	if _, err := r.Hook.Start(t.Context(), "s", task); err != nil {
		t.Fatal(err)
	}
	r.listen(t)
	return r
}

func (r *relayed) listen(t testing.TB) {
	t.Helper()
	place, err := r.Listen(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	r.place = place
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// stop is a stop event of the client.
func (r *relayed) stop(t testing.TB, text string, within time.Duration) ralph.Answer {
	t.Helper()
	a, err := ralph.AskRelay(t.Context(), ralph.Ask{Kind: ralph.AskStop, Session: "c", Text: text, Within: within}, r.place)
	if err != nil {
		t.Error(err)
	}
	return a
}

// later answers when the hook has its answer.
func (r *relayed) later(t testing.TB, text string) <-chan ralph.Answer {
	got := make(chan ralph.Answer, 1)
	go func() { got <- r.stop(t, text, 0) }()
	return got
}

// iteration asserts where the loop stands.
func (r *relayed) iteration(t testing.TB, want int) {
	t.Helper()
	if x, err := r.Hook.State(context.WithoutCancel(t.Context()), "s"); err != nil || x.State.Iteration != want {
		t.Errorf("iteration %d, %v; want %d", x.State.Iteration, err, want)
	}
}

// raw is a hook that does not keep to what AskRelay does. It begins with its place's secret.
func (r *relayed) raw(t testing.TB, text string) net.Conn {
	t.Helper()
	_, path, _ := strings.Cut(r.place, "@")
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, _ = conn.Write([]byte(text)) // the Relay may have closed it
	return conn
}

func (r *relayed) secret() string { secret, _, _ := strings.Cut(r.place, "@"); return secret }

func (r *relayed) question(text string) string {
	q, _ := json.Marshal(ralph.Ask{Kind: ralph.AskStop, Session: "c", Text: text})
	return r.secret() + string(q)
}

// until waits for what others do.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("not ", what)
		}
	}
}

// runAsk is the program of a hook: it asks, and prints the answer.
func runAsk() {
	var q ralph.Ask
	if err := json.Unmarshal([]byte(os.Getenv("RALPH_TEST_ASK")), &q); err != nil {
		panic(err)
	}
	a, err := ralph.AskRelay(context.Background(), q, os.Getenv(ralph.RelayPlace))
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(a.Prompt)
}

// asks is the program of a hook that asks at a stop.
func asks(t *testing.T, place, text string) (cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	q, _ := json.Marshal(ralph.Ask{Kind: ralph.AskStop, Session: "c", Text: text})
	cmd, out = exec.Command(os.Args[0]), new(bytes.Buffer)
	cmd.Env = append(os.Environ(), agentMode+"=ask", "RALPH_TEST_ASK="+string(q), ralph.RelayPlace+"="+place)
	cmd.Stdout = out
	return cmd, out
}

// runRelay is a program with a Relay, which prints the place, and that it verifies. With
// so many files open it has no room for more; 0 = as many as it may.
func runRelay(files int) {
	r := &ralph.Relay{Session: "s", Client: "c"}
	r.Hook = &ralph.Hook{Store: &ralph.MemoryStore{}, Inject: r.Inject, Delay: -1, Verifier: verify.String{}}
	r.Hook.Verifier = ralph.VerifierFunc(func(ctx context.Context, _ ralph.Claim) (ralph.Verdict, error) {
		fmt.Println("verifying")
		<-ctx.Done()
		return ralph.Verdict{}, context.Cause(ctx)
	})
	if _, err := r.Hook.Start(context.Background(), "s", ralph.Task{Prompt: "Do it."}); err != nil {
		panic(err)
	}
	place, err := r.Listen(context.Background())
	if err != nil {
		panic(err)
	}
	limitFiles(files)
	fmt.Println(place)
	select {}
}
