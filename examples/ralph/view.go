package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// A view is how a run is shown while it runs: by a display on standard error, which what
// is said meanwhile goes through too; with --json as lines on standard output; with
// --quiet not at all.
type view struct {
	*progress.Display
	log  ralph.ProgressLog // that shows what happens, without secrets
	out  *outlet
	json io.Writer // nil = not asked for

	release func() // the signal of Ctrl-Z

	// Attempts that have ended here and of which the cost is not known: those that were
	// interrupted, which no state counts, and the others.
	untold, unpriced atomic.Int64
}

// view begins to show a run. The agent is its client, nil = it has several.
func (s *shared) view(e env, agent ralph.Runner) *view {
	v := &view{Display: &progress.Display{W: io.Discard}, out: e.stderr.(*outlet), json: map[bool]io.Writer{true: e.stdout}[s.json]}
	if !s.quiet && !s.json {
		v.Display = progress.DisplayOn(v.out.Writer, os.Getenv)
		v.W = plainly{v.out}
	}
	v.Agent, v.Verifying, v.Redact = agentName(agent), s.verifying, redact().Writer
	v.log = redact().Log(ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		if ev.Kind == ralph.EventPaused {
			e.say("'%s' is paused; 'ralph resume %s' lets it go on", ev.Loop, word(ev.Loop))
		}
		broken := ev.Kind == ralph.EventAnswered && ev.Text != "" // while it was verified
		if (ev.Kind == ralph.EventIterationEnded || broken) && ev.Iteration.Usage.CostUSD == nil {
			map[bool]*atomic.Int64{true: &v.untold, false: &v.unpriced}[broken || ev.Iteration.Fault == ralph.FaultInterrupted].Add(1)
		}
		return cmp.Or(v.Append(ctx, ev), v.print(ev))
	}))
	v.out.through.Store(v.Display)
	v.release, s.shown = v.OnStop(), v
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

// pipeline prints what happens in a pipeline beside its loops, as a line like theirs.
func (v *view) pipeline(run string, ev pipeline.Event) error {
	ev.Loop = strings.TrimSuffix(run+"/"+ev.Loop, "/") // as its loops call themselves
	ev.State, ev.Text, ev.Output = nil, redact().String(ev.Text), redact().String(ev.Output)
	return v.print(struct {
		V    int    `json:"v"`
		Kind string `json:"kind"`
		pipeline.Event
	}{ralph.Version, "pipeline_" + string(ev.Kind), ev})
}

// close ends it: what is said from now on is shown as it comes.
func (v *view) close() {
	v.release()
	v.out.through.Store(nil)
	v.Close() // that nobody reads it ends the run
}

// output is where what agents say goes; raw gets it as it comes, and may be nil.
func (v *view) output(raw io.Writer) func(ralph.Request) (io.Writer, io.Writer) {
	return func(req ralph.Request) (io.Writer, io.Writer) { return v.Output(req), raw }
}

// plainly is an outlet for what is safe to show and has our own control sequences.
type plainly struct{ *outlet }

func (p plainly) Write(text []byte) (int, error) { return len(text), p.raw(string(text)) }

// agentName is the name of an agent's client; "" = it has none.
func agentName(agent ralph.Runner) string {
	c, ok := agent.(*ralph.Command)
	if !ok || c == nil || len(c.Args) == 0 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(c.Args[0]), ".exe")
}

// verifying is what verifies a claim, in a word or two.
func (s *shared) verifying(t ralph.Task) string {
	var by []string
	own := cmp.Or(strings.Join(spec.Verifier(spec.Env{Dir: t.Dir}).Starts(t), ", "), t.Method)
	for what, asked := range map[string]bool{own: t.Spec != nil, s.verify: s.verify != "", "the judge " + s.judge: t.Spec == nil && s.judge != ""} {
		if asked {
			by = append(by, what)
		}
	}
	slices.Sort(by)
	return redact().String(cmp.Or(strings.Join(by, ", "), t.HowVerified))
}

// ended tells how a run has ended, and takes note of it for --notify.
func (s *shared) ended(e env, c progress.Closing) {
	if s.shown != nil {
		c.Untold += int(s.shown.untold.Load())
	}
	*e.end = ending{Closing: c, told: !s.json}
	if c.Columns = columnsOf(e.stdout); !s.json {
		io.WriteString(e.stdout, ending{Closing: c}.text())
	}
}

// further is the command that goes on with a loop that has ended so; "" = there is none.
func (s *shared) further(loop string, end ralph.State) string {
	resume, limits := s.steering("resume", loop), end.Task.Limits
	more := map[ralph.StopReason]string{
		ralph.StopIterations: fmt.Sprint("--max ", cmp.Or(end.Asked, 2*limits.Iterations)), // as many as it had before 'ralph stop'
		ralph.StopCost:       "--max-cost " + strconv.FormatFloat(2*limits.CostUSD, 'f', -1, 64),
		ralph.StopTokens:     fmt.Sprint("--max-tokens ", 2*limits.Tokens),
		ralph.StopDuration:   fmt.Sprint("--max-duration ", 2*limits.Duration),
	}
	if used := end.Usage; end.Stop == ralph.StopCost && end.Blind != "" { // more money would not tell what is spent
		more[end.Stop] = fmt.Sprint("--max-cost 0 --max-duration ", max(2*end.Elapsed.Truncate(time.Hour), time.Hour))
		if n := used.InputTokens + used.OutputTokens; n > 0 {
			more[end.Stop] = fmt.Sprint("--max-cost 0 --max-tokens ", 2*n)
		}
	}
	if end.Asked == math.MaxInt32 { // of a pipeline each task has its own iterations
		delete(more, ralph.StopIterations)
	}
	switch limit := more[end.Stop]; {
	case limit != "" && !strings.HasSuffix(strings.TrimSuffix(limit, "s"), " 0"):
		return s.steering("limit", loop) + " " + limit + " && " + resume
	case slices.Contains([]ralph.StopReason{ralph.StopVerified, ralph.StopCancelled, ralph.StopInvalid}, end.Stop):
		return ""
	}
	return resume
}

// drive runs a loop, of which a journal is kept or none, shows it on stderr and the
// result on stdout.
func (s *shared) drive(e env, l *ralph.Local, j *progress.Journal, state ralph.State, log ralph.ProgressLog, raw io.Writer, records string) (ralph.State, error) {
	v := s.view(e, l.Runner)
	l.Log, l.Live, l.Output = progress.Multi(log, v.log), v.Live, v.output(raw)
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
		c.Next, c.Untold = s.further(state.Loop, state), j.Untold
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

// An ending is what came of a run.
type ending struct {
	progress.Closing
	told bool // on standard output
}

// text is what people are told of it.
func (n ending) text() string { return redact().String(n.String()) }

// isNotify checks the value of --notify.
func (s *shared) isNotify() error {
	_, err := splitWords(s.notify)
	return unless(!s.given["notify"] || err == nil, exitUsage, "--notify: %w", err)
}

// notifies finds the program of --notify before hours of work, and not after them.
func (s *shared) notifies() (err error) {
	if words, bad := splitWords(s.notify); bad == nil && !s.dryRun {
		_, err = exec.LookPath(words[0])
	}
	return unless(err == nil, exitUsage, "--notify: %w", err)
}

// tell starts the program of --notify when a run has ended, with the result in its
// environment. What becomes of it changes nothing of the run's.
func (s *shared) tell(e env, err error) {
	words, bad := splitWords(s.notify)
	if bad != nil {
		return
	}
	defer time.AfterFunc(2*time.Second, func() { e.say("waiting for --notify %s", words[0]) }).Stop()
	why, cost, end := "", "", e.end.State
	if err != nil {
		why = line(ours{err}.Error())
	}
	if end.Usage.CostUSD != nil {
		cost = strconv.FormatFloat(*end.Usage.CostUSD, 'f', -1, 64)
	}
	env := append(os.Environ(),
		"RALPH_COMMAND="+e.verb, "RALPH_DIR="+absolute(s.dir), "RALPH_LOOP="+end.Loop, "RALPH_RESULT="+string(end.Stop), "RALPH_SUMMARY="+strings.TrimSpace(e.end.text()),
		fmt.Sprint("RALPH_EXIT_CODE=", exitCode(e.ctx, err)), "RALPH_ERROR="+redact().String(why),
		fmt.Sprint("RALPH_ITERATIONS=", cmp.Or(e.end.Iterations, end.Iteration)), fmt.Sprint("RALPH_SECONDS=", int64(end.Elapsed.Seconds())),
		"RALPH_COST_USD="+cost,
	)
	if err := (progress.Notifier{Args: words, Output: e.stderr}).Tell(context.WithoutCancel(e.ctx), env); err != nil {
		defer e.aloud()()
		e.say("warning: --notify %s: %s", words[0], ours{err})
	}
}
