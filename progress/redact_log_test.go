package progress_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/progress/progresstest"
	"github.com/ralph-loop/ralph/verify"
)

// jsonLog is a log that can be read back.
type jsonLog struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *jsonLog) Append(_ context.Context, ev ralph.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return json.NewEncoder(&l.out).Encode(ev)
}

func (l *jsonLog) events() (events []ralph.Event, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.out.Bytes()) {
		var ev ralph.Event
		if err := json.Unmarshal(line, &ev); err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// TestRedactLogConforms: with nothing to hide, a redacted log is as good as the log.
func TestRedactLogConforms(t *testing.T) {
	t.Parallel()
	type redacted struct {
		ralph.ProgressLog
		to *jsonLog
	}
	err := progresstest.TestLog(
		func() (ralph.ProgressLog, error) {
			to := &jsonLog{}
			return redacted{progress.Redactor{Secrets: []string{"not in it"}}.Log(to), to}, nil
		},
		progresstest.Traits{
			Shared: true,
			Read:   func(log ralph.ProgressLog) ([]ralph.Event, error) { return log.(redacted).to.events() },
			Failing: func() (ralph.ProgressLog, error) {
				return progress.Redactor{}.Log(progresstest.FailAfter(nil, 0, nil)), nil
			},
		},
	)
	if err != nil {
		t.Error(err)
	}
}

const hidden = "hidden value"

// fill sets every text below v to the hidden value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct || v.Type().Elem().Kind() == reflect.Float64 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`"` + hidden + `"`))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{hidden: hidden}))
	case reflect.String:
		v.SetString(hidden)
	}
}

// diff lists the places in which two values differ.
func diff(a, b reflect.Value, path string, places *[]string) {
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			diff(a.Elem(), b.Elem(), path, places)
			return
		}
	case reflect.Struct:
		if a.Type() != reflect.TypeFor[time.Time]() {
			for i := range a.NumField() {
				diff(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name, places)
			}
			return
		}
	}
	if !reflect.DeepEqual(a.Interface(), b.Interface()) {
		text := strings.ReplaceAll(fmt.Sprintf("%+v", a.Interface()), hidden, "[redacted:named]")
		if got := fmt.Sprintf("%+v", b.Interface()); got != text && a.Kind() != reflect.Slice {
			path += " " + got
		}
		*places = append(*places, strings.TrimPrefix(path, "."))
	}
}

// TestRedactLogFields: which texts of an event are redacted, and that the event itself
// is not changed. It fails when an event gets a new text that is redacted.
func TestRedactLogFields(t *testing.T) {
	t.Parallel()
	said := []string{
		"Answer.Ended", "Answer.Files", "Answer.Learnings", "Answer.Output",
		"Iteration.Ended", "Iteration.Error", "Iteration.Files", "Iteration.Learnings", "Iteration.Obstacle", "Iteration.Unseen", "Iteration.Verdict.Checks", "Iteration.Verdict.Feedback",
		"State.Blind", "State.Detail", "State.Ended", "State.Feedback", "State.Files", "State.Guidance", "State.Lessons", "State.Obstacle", "State.Unseen", "State.Verdict.Checks", "State.Verdict.Feedback",
		"Text",
	}
	task := []string{
		"Meta map[" + hidden + ":[redacted:named]]", "State.Task.Acceptance", "State.Task.HowVerified", "State.Task.Outcome", "State.Task.Prompt", "State.Task.Spec", "State.Task.Success", "State.Task.Title",
	}
	for _, tt := range []struct {
		task bool
		want []string
	}{{false, said}, {true, slices.Sorted(slices.Values(slices.Concat(said, task)))}} {
		var given, kept, got ralph.Event
		fill(reflect.ValueOf(&given).Elem())
		fill(reflect.ValueOf(&kept).Elem())
		log := progress.Redactor{Secrets: []string{hidden}, Task: tt.task}.Log(ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error {
			got = ev
			return nil
		}))
		if err := log.Append(t.Context(), given); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kept, given); diff != "" {
			t.Errorf("the event was changed (-want +got):\n%s", diff)
		}
		var places []string
		diff(reflect.ValueOf(given), reflect.ValueOf(got), "", &places)
		slices.Sort(places)
		if diff := cmp.Diff(tt.want, places); diff != "" {
			t.Errorf("Task %v (-want +got):\n%s", tt.task, diff)
		}
		for _, list := range [][]ralph.Check{got.Iteration.Verdict.Checks, got.State.Verdict.Checks} {
			want := []ralph.Check{{Name: "[redacted:named]", Status: hidden, Detail: "[redacted:named]", Digest: hidden}}
			if diff := cmp.Diff(want, list); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
		}
	}
}

// TestRedactLogFolds: a loop that says secrets everywhere leaves none in its log, and
// the log folds to the state that the loop ended in, but for the words.
func TestRedactLogFolds(t *testing.T) {
	t.Parallel()
	const token = "hidden-" + "value-1"
	r := progress.Redactor{Secrets: []string{token}}
	to := &jsonLog{}
	local := &ralph.Local{
		Log: r.Log(to),
		Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
			cost := 0.5
			resp := ralph.Response{
				Output: "I used " + token + "\n<promise>COMPLETE</promise>", Learnings: []string{token}, Files: []string{token},
				Usage: ralph.Usage{Requests: 2, InputTokens: 5, CostUSD: &cost}, Session: "s",
			}
			if req.Iteration == 2 && req.Attempt == 1 {
				return ralph.Response{}, ralph.RetryAfter(fmt.Errorf("no credit for %s", token), time.Nanosecond)
			}
			return resp, nil
		}),
		Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
			if c.Iteration < 3 {
				v := ralph.Reject("the server says: " + token + " is not valid")
				v.Checks = []ralph.Check{{Name: "curl " + token, Status: ralph.CheckFailed, Detail: token}}
				return v, nil
			}
			return verify.String{Contains: []string{token}}.Verify(context.Background(), c)
		}),
		Control: func(_ context.Context, s ralph.State) (ralph.State, error) {
			if s.Iteration == 2 && len(s.Guidance) == 0 {
				return s.Guide("the key is " + token), nil
			}
			return s, nil
		},
		Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
	}
	final, err := local.Run(t.Context(), ralph.Start(ralph.Task{ID: "T", Prompt: "do it"}))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(to.out.String(), token) || strings.Count(to.out.String(), "[redacted:named]") < 20 {
		t.Errorf("the log holds the secret:\n%s", to.out.String())
	}
	events, err := to.events()
	if err != nil {
		t.Fatal(err)
	}
	var folded ralph.State
	for _, ev := range events {
		folded = folded.Apply(ev)
	}
	want, _ := json.Marshal(final)
	got, _ := json.Marshal(folded)
	if diff := cmp.Diff(strings.ReplaceAll(string(want), token, "[redacted:named]"), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRedactLogKeepsBounds: feedback full of short secrets gets no longer than 8 KiB.
func TestRedactLogKeepsBounds(t *testing.T) {
	t.Parallel()
	var got ralph.Event
	log := progress.Redactor{Secrets: []string{"secret"}}.Log(ralph.ProgressLogFunc(func(_ context.Context, ev ralph.Event) error { got = ev; return nil }))
	state := ralph.State{Feedback: strings.Repeat("é", 95) + strings.Repeat("secret ", 1100)}
	if err := log.Append(t.Context(), ralph.Event{State: &state}); err != nil {
		t.Fatal(err)
	}
	if n := len(got.State.Feedback); n > 8<<10 || n < 8<<10-4 || strings.ToValidUTF8(got.State.Feedback, "") != got.State.Feedback {
		t.Error(n)
	}
}

func ExampleRedactor() {
	r := progress.Redactor{Secrets: []string{"correct horse"}}
	w := r.Writer(os.Stdout)
	fmt.Fprint(w, "the passphrase is correct ")
	fmt.Fprint(w, "horse, and DB_PASSWORD=hunter2\n")
	w.Close()
	fmt.Println(r.String("https://app:hunter2@db.example"))
	// Output:
	// the passphrase is [redacted:named], and DB_PASSWORD=[redacted:password]
	// https://app:[redacted:password]@db.example
}

// A banner for which nothing that looks like a key gets through: neither in the
// agent's output nor in what is said of its iterations.
func ExampleRedactor_Log() {
	r := progress.Redactor{}
	banner := &progress.Banner{W: os.Stdout, Mode: "build"}
	output := r.Writer(banner)
	log := r.Log(banner)
	fmt.Fprintln(output, "export API_TOKEN=0a1b2c3d4e5f6a7b8c9d")
	output.Close()
	log.Append(context.Background(), ralph.Event{Kind: ralph.EventIterationEnded, Iteration: ralph.Iteration{
		Number: 1, Outcome: ralph.OutcomeFailure, Fault: ralph.FaultError, Error: "refused: Authorization: Bearer 0a1b2c3d4e5f6a7b8c9d",
	}})
	// Output:
	// export API_TOKEN=[redacted:secret]
	// --------------------------------------------------------------------------------
	// ITERATION 1 COMPLETE
	// End Time: 0001-01-01T00:00:00Z
	// Duration: 0s
	// Retries: 0
	// Status: failure (error: refused: Authorization: Bearer [redacted:authorization])
	// ================================================================================
}
