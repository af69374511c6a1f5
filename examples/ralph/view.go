package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// A view is how a run is shown while it runs: by a display on standard error, which what
// is said meanwhile goes through too; with --json as lines on standard output; with
// --quiet not at all.
type view struct {
	*progress.Display
	log  ralph.ProgressLog // that shows what happens, without secrets
	out  *outlet
	json io.Writer // nil = not asked for

	unpriced atomic.Int64 // attempts that have ended here and of which the cost is not known
}

// view begins to show a run, of which agents are the clients.
func (s *shared) view(e env, agents ...ralph.Runner) *view {
	v := &view{Display: &progress.Display{W: io.Discard}, out: e.stderr.(*outlet)}
	if !s.quiet && !s.json {
		v.Display = progress.DisplayOn(v.out.Writer, os.Getenv)
		v.W = plainly{v.out}
	}
	v.Agent, v.Verifying, v.Redact = namesOf(agents), s.verifying, redact().Writer
	v.log = redact().Log(ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		if ev.Kind == ralph.EventPaused {
			e.say("'%s' is paused; 'ralph resume %s' lets it go on", ev.Loop, word(ev.Loop))
		}
		if ev.Kind == ralph.EventIterationEnded && ev.Iteration.Usage.CostUSD == nil && ev.Iteration.Fault != ralph.FaultInterrupted {
			v.unpriced.Add(1)
		}
		return cmp.Or(v.Append(ctx, ev), v.print(ev))
	}))
	if s.json {
		v.json = e.stdout
	}
	v.out.through.Store(v.Display)
	return v
}

// print prints an event for programs, if that is asked for.
func (v *view) print(ev any) error {
	if v.json == nil {
		return nil
	}
	text, err := asJSON(ev, "")
	if err == nil {
		_, err = io.WriteString(v.json, text)
	}
	return err
}

// pipeline prints what happens in a pipeline beside its loops.
func (v *view) pipeline(ev pipeline.Event) error {
	ev.State, ev.Text, ev.Output = nil, redact().String(ev.Text), redact().String(ev.Output)
	return v.print(map[string]pipeline.Event{"pipeline": ev})
}

// close ends it: what is said from now on is shown as it comes.
func (v *view) close() {
	v.out.through.Store(nil)
	v.Close() // that nobody reads it ends the run
}

// output shows what an agent says.
func (v *view) output(req ralph.Request) (display, raw io.Writer) { return v.Output(req), nil }

// plainly is an outlet for what is safe to show and has our own control sequences.
type plainly struct{ *outlet }

func (p plainly) Write(text []byte) (int, error) { return len(text), p.raw(string(text)) }

// namesOf is the name of the clients, "" = they have several.
func namesOf(agents []ralph.Runner) (name string) {
	for i, agent := range agents {
		c, ok := agent.(*ralph.Command)
		if !ok || len(c.Args) == 0 {
			return ""
		}
		its := strings.TrimSuffix(filepath.Base(c.Args[0]), ".exe")
		if last := c.Args[len(c.Args)-1]; last == "demo-agent" {
			its = last
		}
		if i > 0 && its != name {
			return ""
		}
		name = its
	}
	return name
}

// verifying is what verifies a claim, in a word or two.
func (s *shared) verifying(t ralph.Task) string {
	var by []string
	if t.Spec != nil {
		by = append(by, t.Method)
	}
	if s.verify != "" {
		by = append(by, s.verify)
	}
	if t.Spec == nil && s.judge != "" {
		by = append(by, "the judge "+s.judge)
	}
	if len(by) == 0 {
		return t.HowVerified
	}
	return strings.Join(by, ", ")
}

// ended tells how a run has ended, and takes note of it for --notify.
func (s *shared) ended(e env, c progress.Closing) {
	*e.end = ending{Closing: c, told: !s.json}
	if !s.json {
		io.WriteString(e.stdout, e.end.text())
	}
}

// further is the command that goes on with a loop that has ended so; "" = there is none.
func (s *shared) further(loop string, end ralph.State) string {
	resume, limits := s.steering("resume", loop), end.Task.Limits
	more := map[ralph.StopReason]string{
		ralph.StopIterations: fmt.Sprint("--max ", 2*limits.Iterations),
		ralph.StopCost:       "--max-cost " + strconv.FormatFloat(2*limits.CostUSD, 'f', -1, 64),
		ralph.StopTokens:     fmt.Sprint("--max-tokens ", 2*limits.Tokens),
		ralph.StopDuration:   fmt.Sprint("--max-duration ", 2*limits.Duration),
	}
	switch limit := more[end.Stop]; {
	case limit != "" && !strings.HasSuffix(limit, " 0"):
		return s.steering("limit", loop) + " " + limit + " && " + resume
	case slices.Contains([]ralph.StopReason{ralph.StopVerified, ralph.StopCancelled, ralph.StopInvalid}, end.Stop):
		return ""
	}
	return resume
}

// drive runs a loop, of which a journal is kept or none, shows it on stderr and the
// result on stdout.
func (s *shared) drive(e env, l *ralph.Local, j *progress.Journal, state ralph.State, log ralph.ProgressLog, records string) (ralph.State, error) {
	v := s.view(e, l.Runner)
	shown := l.Output
	l.Output = func(req ralph.Request) (io.Writer, io.Writer) {
		var raw io.Writer
		if shown != nil {
			_, raw = shown(req)
		}
		return v.Output(req), raw
	}
	l.Log, l.Live = progress.Multi(log, v.log), v.Live
	var err error
	if j != nil {
		state, err = j.Run(e.ctx, l)
	} else {
		state, err = l.Run(e.ctx, state)
	}
	v.close()
	c := progress.Closing{State: state, Records: records}
	if !state.Done() && e.ctx.Err() == nil {
		c.Result = fmt.Sprintf("stopped before iteration %d", state.Iteration)
	}
	if j != nil {
		c.Next = s.further(state.Loop, state)
	}
	if state.Stop == ralph.StopIterations && !s.strict && !s.proven() && e.verb != "demo" {
		c.Next = strings.TrimPrefix(c.Next+"; with --strict this is exit code 3", "; ")
	}
	s.ended(e, c)
	return state, err
}

// near is a path as it is called from here.
func near(path string) string {
	if name, err := filepath.Rel(absolute("."), path); err == nil && filepath.IsLocal(name) {
		return name
	}
	return path
}
