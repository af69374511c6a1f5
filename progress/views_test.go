package progress_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// viewed is a file's content.
func viewed(t *testing.T, path string) map[string]any {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// events are those of a loop, as drivers record them, one a second.
type events struct {
	t    *testing.T
	log  ralph.ProgressLog
	s    ralph.State
	time time.Time
}

func (e *events) add(ev ralph.Event) {
	e.t.Helper()
	ev.Time, ev.Loop, ev.Task, ev.Agent = e.time, e.s.Loop, e.s.Task.ID, e.s.Task.Agent
	e.s = e.s.Apply(ev)
	if err := e.log.Append(e.t.Context(), ev); err != nil {
		e.t.Fatal(err)
	}
	e.time = e.time.Add(time.Second)
}

func (e *events) start() {
	e.t.Helper()
	s := e.s
	e.add(ralph.Event{Kind: ralph.EventLoopStarted, State: &s})
}

// attempt adds one that says something.
func (e *events) attempt(output string, it ralph.Iteration) {
	e.t.Helper()
	it.Number, it.Attempt = e.s.Iteration, e.s.Attempt
	begun := ralph.Iteration{Number: it.Number, Attempt: it.Attempt}
	e.add(ralph.Event{Kind: ralph.EventIterationStarted, Iteration: begun})
	e.add(ralph.Event{Kind: ralph.EventAnswered, Iteration: begun, Answer: &ralph.Response{Output: output}})
	it.End = e.time
	e.add(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it})
}

func (e *events) stop() {
	e.t.Helper()
	s := e.s
	e.add(ralph.Event{Kind: ralph.EventLoopStopped, State: &s})
}

// noon is a time that is not told in UTC.
var noon = time.Date(2024, 1, 15, 12, 0, 0, 5e8, time.FixedZone("", 2*3600))

// TestStateFile: programs read nine keys, in camel case, and when the loop has
// ended it is not active.
func TestStateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".ralph", "ralph-loop-state.json")
	task := ralph.Task{ID: "T1", Title: "Log in", Prompt: "Do <it>\x1b.", Promise: "DONE", Limits: ralph.Limits{Iterations: 2}}
	e := &events{t: t, log: &progress.StateFile{Path: path}, s: ralph.Start(task), time: noon}
	e.add(ralph.Event{Kind: ralph.EventIterationStarted}) // of a loop of which nothing is known
	e.start()
	want := map[string]any{
		"active": true, "iteration": 1., "maxIterations": 2., "completionPromise": "DONE", "startedAt": "2024-01-15T10:00:01Z",
		"prompt": "Do <it>\x1b.", "sessionId": "T1", "description": "Log in",
	}
	check := func(when string) {
		t.Helper()
		if diff := cmp.Diff(want, viewed(t, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("started")
	e.attempt("so far", ralph.Iteration{Outcome: ralph.OutcomeSuccess, Session: "abc"})
	want["iteration"], want["lastIterationAt"], want["sessionId"] = 2., "2024-01-15T10:00:04Z", "abc"
	check("one iteration")
	e.add(ralph.Event{Kind: ralph.EventLimitsChanged, State: &ralph.State{Task: ralph.Task{Limits: ralph.Limits{Iterations: -1, Duration: time.Hour}}}})
	want["maxIterations"] = -1.
	check("unlimited")

	// Resumed by another process, which has the loop's start on record.
	e.log = &progress.StateFile{Path: path}
	first := ralph.Start(task)
	if err := e.log.Append(t.Context(), ralph.Event{Kind: ralph.EventLoopStarted, Time: noon.Add(time.Second), Loop: "T1", State: &first}); err != nil {
		t.Fatal(err)
	}
	e.start()
	want["sessionId"] = "T1" // it may be another one
	want["lastIterationAt"] = "2024-01-15T10:00:04Z"
	check("resumed")
	e.add(ralph.Event{Kind: ralph.EventCancelled})
	want["active"] = false
	check("cancelled")
	e.stop()
	check("stopped")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got := read(t, filepath.Join(filepath.Dir(path), ".gitignore")); got != "*\n" {
		t.Errorf(".gitignore: %q", got)
	}
	unset := &events{t: t, log: &progress.StateFile{Path: path}, s: ralph.Start(ralph.Task{Agent: "coder", Prompt: "p"}), time: noon}
	unset.start()
	want = map[string]any{"active": true, "iteration": 1., "maxIterations": 10., "completionPromise": "COMPLETE", "startedAt": "2024-01-15T10:00:00Z", "prompt": "p", "sessionId": "coder"}
	check("what nobody has said")
}

// TestTaskFile: of each task programs read how far its loop is, or why it failed.
func TestTaskFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "metadata.json")
	log := &progress.TaskFile{Path: path}
	begin := func(id, agent string) *events {
		e := &events{t: t, log: log, s: ralph.Start(ralph.Task{ID: id, Agent: agent, Prompt: "p", Limits: ralph.Limits{Iterations: 2}}), time: noon}
		e.start()
		return e
	}
	active := func(stage string, iteration float64) map[string]any {
		return map[string]any{"ralph": map[string]any{"stage": stage, "iteration": iteration, "max_iterations": 2., "started_at": "2024-01-15T10:00:00Z", "completion_promise": "COMPLETE"}}
	}
	check := func(when string, want map[string]any) {
		t.Helper()
		if diff := cmp.Diff(want, viewed(t, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	one, two := begin("T1", "coder"), begin("T2", "tester")
	one.attempt("first", ralph.Iteration{Outcome: ralph.OutcomeSuccess})
	check("two tasks", map[string]any{"T1": active("coder", 2), "T2": active("tester", 1)})
	one.attempt(strings.Repeat("ü", 4000)+"end", ralph.Iteration{Outcome: ralph.OutcomeSuccess})
	one.stop()
	two.attempt("done", ralph.Iteration{Outcome: ralph.OutcomeSuccess, Claimed: true, Verdict: ralph.Pass()})
	two.stop()
	got := viewed(t, path)
	failure := got["T1"].(map[string]any)["ralph_failure"].(map[string]any)
	if out := failure["last_output"].(string); len(out) > 4<<10 || len(out) < 4<<10-4 || strings.Trim(out, "ü") != "end" {
		t.Errorf("last output: %d bytes, %q", len(out), strings.Trim(out, "ü"))
	}
	failure["last_output"] = ""
	if diff := cmp.Diff(map[string]any{"T1": map[string]any{"ralph_failure": map[string]any{
		"stage": "coder", "iterations_used": 2., "last_output": "",
		"reason": "iterations: the limit of iterations, 2, is reached, and the task is not verified",
	}}, "T2": map[string]any{}}, got); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
	begin("T1", "reviewer")
	check("again", map[string]any{"T1": active("reviewer", 1), "T2": map[string]any{}})
	resumed := ralph.Start(ralph.Task{ID: "T3", Agent: "qa", Prompt: "p"})
	resumed.Iteration = 4
	three := &events{t: t, log: log, s: resumed, time: noon}
	three.start()
	three.add(ralph.Event{Kind: ralph.EventCancelled, Text: "enough"})
	if diff := cmp.Diff(map[string]any{"ralph_failure": map[string]any{"stage": "qa", "iterations_used": 3., "last_output": "", "reason": "cancelled: enough"}},
		viewed(t, path)["T3"]); diff != "" {
		t.Errorf("resumed and cancelled (-want +got):\n%s", diff)
	}
}

// TestViewsWriteWhatChanged: a view is not written for what does not change it, and
// one that could not be written is written with the next event.
func TestViewsWriteWhatChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "view")
	log := &progress.StateFile{Path: path}
	s := ralph.Start(ralph.Task{ID: "T", Prompt: "p"})
	start := ralph.Event{Kind: ralph.EventLoopStarted, Loop: "T", State: &s, Time: noon}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), start); err == nil || !strings.HasPrefix(err.Error(), "progress: "+path) {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	begun := ralph.Event{Kind: ralph.EventIterationStarted, Loop: "T", Iteration: ralph.Iteration{Number: 1, Attempt: 1}}
	if err := log.Append(t.Context(), begun); err != nil || viewed(t, path)["active"] != true {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), ralph.Event{Kind: ralph.EventPaused, Loop: "T"}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("written although nothing has changed")
	}
	for _, log := range []ralph.ProgressLog{&progress.StateFile{}, &progress.TaskFile{}} {
		if err := log.Append(t.Context(), start); err == nil {
			t.Error("a view without a path")
		}
	}
}
