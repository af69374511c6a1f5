package ralph_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// careful is a verifier, and a runner, with all that one may have.
type careful struct {
	asked    []string // in this order
	prepare  func(ralph.Task) (ralph.Task, error)
	validate func(ralph.Task) error
}

func (c *careful) Verify(context.Context, ralph.Claim) (ralph.Verdict, error) {
	c.asked = append(c.asked, "verify")
	return ralph.Pass(), nil
}

func (c *careful) Run(context.Context, ralph.Request) (ralph.Response, error) {
	c.asked = append(c.asked, "run")
	return ralph.Response{Output: done}, nil
}

func (c *careful) Validate(t ralph.Task) error {
	c.asked = append(c.asked, "validate")
	if c.validate == nil {
		return nil
	}
	return c.validate(t)
}

func (c *careful) Prepare(_ context.Context, t ralph.Task) (ralph.Task, error) {
	c.asked = append(c.asked, "prepare")
	if c.prepare == nil {
		return t, nil
	}
	return c.prepare(t)
}

// TestNothingRunsThatCannotBeVerified: what a verifier or a runner says to the
// task is asked for before the first attempt, and costs no run of the agent.
func TestNothingRunsThatCannotBeVerified(t *testing.T) {
	t.Parallel()
	refuses := &careful{validate: func(ralph.Task) error { return errors.New("no judge is logged in") }}
	panics := &careful{validate: func(ralph.Task) error { panic("oops") }}
	fails := &careful{prepare: func(ralph.Task) (ralph.Task, error) { return ralph.Task{}, errors.New("no such file") }}
	breaks := &careful{prepare: func(ralph.Task) (ralph.Task, error) { panic("oops") }}
	changes := &careful{prepare: func(t ralph.Task) (ralph.Task, error) { t.Success = "anything"; return t, nil }}
	resumed := ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."}).Next(ralph.Iteration{Number: 1, Attempt: 1})
	for name, tt := range map[string]struct {
		l    ralph.Local
		s    ralph.State
		want string
		only bool // Run alone: Iterate and Observe prepare nothing
	}{
		"the verifier refuses":   {ralph.Local{Verifier: refuses}, ralph.Start(resumed.Task), "ralph: verifier: no judge is logged in", false},
		"of a loop that goes on": {ralph.Local{Verifier: refuses}, resumed, "ralph: verifier: no judge is logged in", false},
		"the verifier panics":    {ralph.Local{Verifier: panics}, ralph.Start(resumed.Task), "ralph: verifier: Validate panicked: oops", false},
		"it cannot prepare":      {ralph.Local{Verifier: fails}, ralph.Start(resumed.Task), "ralph: verifier: no such file", true},
		"it panics on it":        {ralph.Local{Verifier: breaks}, ralph.Start(resumed.Task), "ralph: verifier: Verifier panicked: oops", true},
		"it changes the task":    {ralph.Local{Verifier: changes}, ralph.Start(resumed.Task), "ralph: verifier: Prepare has changed the task's Success;", true},
	} {
		t.Run(name, func(t *testing.T) {
			ran := false
			log := &memory{}
			tt.l.Log = log
			tt.l.Runner = ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
				ran = true
				return ralph.Response{Output: done}, nil
			})
			got, err := tt.l.Run(t.Context(), tt.s)
			if diff := cmp.Diff(asJSON(t, tt.s), asJSON(t, got)); diff != "" {
				t.Errorf("the state was changed: %s", diff)
			}
			errs := []error{err}
			if !tt.only {
				_, iterate := tt.l.Iterate(t.Context(), tt.s)
				_, observe := tt.l.Observe(t.Context(), tt.s, ralph.Response{Output: done})
				errs = append(errs, iterate, observe)
			}
			for _, err := range errs {
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("got %v, want %s…", err, tt.want)
				}
			}
			if ran || len(log.lines) > 0 {
				t.Errorf("the agent ran: %v; recorded: %s", ran, log.kinds(t))
			}
		})
	}
}

// TestRunnerIsAskedToo: by Run and Iterate, but not where the answer comes from
// elsewhere.
func TestRunnerIsAskedToo(t *testing.T) {
	t.Parallel()
	l := &ralph.Local{Runner: &careful{validate: func(ralph.Task) error { return errors.New("not here") }}, Verifier: verify.String{}}
	s := ralph.Start(ralph.Task{Prompt: "Do it."})
	_, run := l.Run(t.Context(), s)
	_, iterate := l.Iterate(t.Context(), s)
	for _, err := range []error{run, iterate} {
		if err == nil || err.Error() != "ralph: runner: not here" {
			t.Error(err)
		}
	}
	if it, err := l.Observe(t.Context(), s, ralph.Response{Output: done}); err != nil || !it.Verdict.Passed {
		t.Errorf("%+v, %v", it, err)
	}
}

// TestCommandValidate: what is wrong with a command is known before it is run, and
// a loop is told so at once.
func TestCommandValidate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/agent", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		command ralph.Command
		want    string // "" = nothing is wrong
	}{
		"good":                      {ralph.Command{Args: []string{"true"}}, ""},
		"in the workspace":          {ralph.Command{Args: []string{"./agent"}}, ""},
		"no arguments":              {ralph.Command{}, "no Args"},
		"not installed":             {ralph.Command{Args: []string{"no-such-agent"}}, "agent: no-such-agent: executable file not found in $PATH (is it installed, and in PATH?)"},
		"not there":                 {ralph.Command{Args: []string{"./no-such-agent"}}, "no such file or directory (is it installed"},
		"a PATH of its own":         {ralph.Command{Args: []string{"true"}, Env: []string{"PATH=/nonexistent"}}, "agent: true: executable file not found"},
		"unknown format":            {ralph.Command{Args: []string{"true"}, Format: "morse"}, `unknown format "morse"; the known ones are`},
		"a model, and no flag":      {ralph.Command{Args: []string{"true"}, Model: "x"}, "ModelFlag"},
		"a model":                   {ralph.Command{Args: []string{"true"}, Model: "x", ModelFlag: "--model"}, ""},
		"a filter not installed":    {ralph.Command{Args: []string{"true"}, Filter: ralph.Filter{Response: []string{"no-such-filter"}}}, "response filter: no-such-filter: executable file not found"},
		"a display is not required": {ralph.Command{Args: []string{"true"}, Filter: ralph.Filter{Display: []string{"no-such-filter"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := ralph.Task{Prompt: "Do it.", Dir: dir, Limits: ralph.Limits{Iterations: 1, Retries: -1}}
			if err := tt.command.Validate(task); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if tt.want == "" {
				return
			}
			log := &memory{}
			_, err := (&ralph.Local{Runner: &tt.command, Verifier: verify.String{}, Log: log}).Run(t.Context(), ralph.Start(task))
			if err == nil || !strings.HasPrefix(err.Error(), "ralph: runner: ") || strings.Count(err.Error(), "ralph: ") != 1 || !strings.Contains(err.Error(), tt.want) || len(log.lines) > 0 {
				t.Errorf("%v, recorded %s", err, log.kinds(t))
			}
		})
	}
	if err := (&ralph.Command{Args: []string{"no-such-agent"}}).Validate(ralph.Task{}); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
}

// TestPrepareOnce: a verifier prepares a loop before its start is recorded, and
// never again; Validate sees what it has prepared.
func TestPrepareOnce(t *testing.T) {
	t.Parallel()
	hash := "1"
	v := &careful{prepare: func(t ralph.Task) (ralph.Task, error) {
		t.Guarded = map[string]string{"a": hash, "mine": hash}
		return t, nil
	}}
	v.validate = func(t ralph.Task) error {
		if t.Guarded["a"] != "1" || t.Guarded["mine"] != "agreed" {
			return errors.New("nothing is guarded")
		}
		return nil
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	log := &memory{}
	l := &ralph.Local{Runner: ralph.Replay(done), Verifier: v, Log: log, Control: func(ctx context.Context, s ralph.State) (ralph.State, error) {
		cancel(errors.New("Ctrl-C"))
		return s, context.Cause(ctx)
	}}
	task := ralph.Task{Prompt: "Do it.", Guarded: map[string]string{"mine": "agreed"}}
	s, err := l.Run(ctx, ralph.Start(task))
	if err == nil || s.Iteration != 1 || s.Attempt != 1 {
		t.Fatalf("%v: %s", err, describe(s))
	}
	if diff := cmp.Diff([]string{"prepare", "validate"}, v.asked); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{"a": "1", "mine": "agreed"}
	if diff := cmp.Diff(want, log.events(t)[0].State.Task.Guarded); diff != "" {
		t.Errorf("on record: %s", diff)
	}
	if len(task.Guarded) != 1 {
		t.Errorf("the caller's task was changed: %v", task.Guarded)
	}

	// The agent has not run, but time has passed: what it was at the start counts.
	hash = "2"
	l.Control, v.asked = nil, nil
	s, err = l.Run(t.Context(), s)
	if diff := cmp.Diff(want, s.Task.Guarded); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]string{"validate", "verify"}, v.asked); diff != "" {
		t.Error(diff)
	}

	// Neither is a loop prepared that has run already, without this.
	old := ralph.Start(ralph.Task{Prompt: "Do it.", Guarded: want}).Next(ralph.Iteration{Number: 1, Attempt: 1})
	v.asked, l.Runner = nil, ralph.Replay("", done)
	if _, err := l.Run(t.Context(), old); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"validate", "verify"}, v.asked); diff != "" {
		t.Error(diff)
	}
}

// TestPrepareOfOtherDrivers: Local.Prepare is what Run does, and leaves the rest
// to the driver. RunAll prepares each of its loops.
func TestPrepareOfOtherDrivers(t *testing.T) {
	t.Parallel()
	v := &careful{prepare: func(t ralph.Task) (ralph.Task, error) { t.Guarded = map[string]string{"a": t.ID}; return t, nil }}
	l := &ralph.Local{Runner: v, Verifier: v}
	s, err := l.Prepare(t.Context(), ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}))
	if err != nil || !s.Prepared || s.Task.Guarded["a"] != "T1" {
		t.Errorf("%+v, %v", s, err)
	}
	again, err := l.Prepare(t.Context(), s)
	if diff := cmp.Diff(asJSON(t, s), asJSON(t, again)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]string{"prepare", "validate", "validate", "validate", "validate"}, v.asked); diff != "" {
		t.Error(diff)
	}
	v.asked = nil
	for s, err := range ralph.RunAll(t.Context(), l, 1, ralph.Start(ralph.Task{ID: "T1", Prompt: "Do it."}), ralph.Start(ralph.Task{ID: "T2", Prompt: "Do it."})) {
		if err != nil || s.Task.Guarded["a"] != s.Task.ID {
			t.Errorf("%+v, %v", s.Task, err)
		}
	}
	final, err := l.Prepare(t.Context(), s.Cancel("enough"))
	if err != nil || final.Stop != ralph.StopCancelled {
		t.Errorf("%+v, %v", final, err)
	}
	if _, err := (&ralph.Local{Runner: v}).Prepare(t.Context(), s); err == nil {
		t.Error("without a verifier")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Prepare(ctx, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
