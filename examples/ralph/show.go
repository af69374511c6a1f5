package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// line makes text that nobody vouches for safe to show on one line.
func line(text string) string { return progress.PrintableLine(text) }

// columns prints a table. Cells are made safe to show; an empty one is a dash.
func columns(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = cmp.Or(line(cell), "-")
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// short cuts text for a table.
func short(text string, limit int) string {
	runes := []rune(line(text))
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}

// quote shows text of several lines, the first of them.
func quote(w io.Writer, text string, most int) {
	for i, line := range strings.Split(progress.Printable(strings.TrimSpace(text)), "\n") {
		switch {
		case i == most:
			fmt.Fprintln(w, "   | …")
			return
		case line != "" || i > 0:
			fmt.Fprintf(w, "   | %s\n", strings.TrimRight(line, " "))
		}
	}
}

// show prints an event as it happens, and s is how its loop stands then.
func show(w io.Writer, t ralph.Task, ev ralph.Event, s ralph.State) {
	it := ev.Iteration
	switch ev.Kind {
	case ralph.EventLoopStarted:
		unseen(w, s.Unseen)
	case ralph.EventIterationStarted:
		fmt.Fprintf(w, "\n== iteration %d", it.Number)
		if it.Attempt > 1 {
			fmt.Fprintf(w, ", attempt %d", it.Attempt)
		}
		fmt.Fprintln(w)
	case ralph.EventWaiting:
		fmt.Fprintf(w, "-- %s\n", line(ev.Text))
	case ralph.EventLearned:
		fmt.Fprintf(w, "-- learned: %s\n", line(ev.Text))
	case ralph.EventPaused:
		fmt.Fprintf(w, "-- paused; 'ralph resume %s' lets it go on\n", word(ev.Loop))
	case ralph.EventGuided, ralph.EventLimitsChanged, ralph.EventContinued:
		fmt.Fprintf(w, "-- %s\n", strings.ReplaceAll(string(ev.Kind), "_", " "))
	case ralph.EventIterationEnded:
		if o, ok := w.(interface{ Open() bool }); ok && o.Open() {
			fmt.Fprintln(w) // the agent's last line has no end
		}
		fmt.Fprintf(w, "-- iteration %d: %s, %s%s\n", it.Number, outcome(t, it)+again(it, s), it.Elapsed.Round(time.Millisecond), spent(it.Usage))
		unseen(w, it.Unseen)
		quote(w, it.Verdict.Feedback, 20)
	}
}

// unseen warns of a workspace that cannot be looked at.
func unseen(w io.Writer, why string) {
	if why != "" {
		fmt.Fprintf(w, "-- warning: what changes in the workspace is not seen: %s\n", line(why))
	}
}

// viewed adds to a log that people see what happens.
func (e env) viewed(t ralph.Task, log ralph.ProgressLog) ralph.ProgressLog {
	begun := map[string]bool{} // the loops of which an attempt has begun here
	stands := map[string]ralph.State{}
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		if begun[ev.Loop] = begun[ev.Loop] || ev.Kind == ralph.EventIterationStarted; !begun[ev.Loop] {
			for _, command := range ev.Iteration.Ended {
				e.say("ended what the last run has left running: %s", command)
			}
		}
		stands[ev.Loop] = stands[ev.Loop].Apply(ev)
		show(e.stderr, t, ev, stands[ev.Loop])
		return log.Append(ctx, ev)
	})
}

func outcome(t ralph.Task, it ralph.Iteration) string {
	fault := ""
	if it.Fault != "" {
		fault = fmt.Sprintf("%s (%s)", it.Fault, line(it.Error))
	}
	switch {
	case it.Verdict.Passed && (it.Claimed || t.Always):
		return strings.TrimPrefix(fault+", verified", ", ")
	case it.Claimed:
		return strings.TrimPrefix(fault+", claims to be done, rejected", ", ")
	case it.Blocked:
		return "says that it is blocked"
	case fault != "":
		return fault
	case t.Always:
		return "not verified yet"
	case it.NearMiss != "":
		return fmt.Sprintf("no claim (the promise was %s)", strings.ReplaceAll(it.NearMiss, "_", " "))
	}
	return "no claim"
}

// again is the how manieth iteration in a row says that it is blocked, where one is not
// enough to stop the loop.
func again(it ralph.Iteration, s ralph.State) string {
	switch most := cmp.Or(s.Task.Limits.Blocked, 1); {
	case it.Blocked && most > 1:
		return fmt.Sprintf(", %d of %d", s.Blocked, most)
	case it.Blocked && most < 0 && s.Blocked > 1:
		return fmt.Sprintf(", %d times in a row", s.Blocked)
	}
	return ""
}

// cost is what was used in money, for a table: "" if nothing was told of it.
func cost(u ralph.Usage) string {
	if u == (ralph.Usage{}) {
		return ""
	}
	return u.Cost()
}

// spent is what was used, as far as anybody told.
func spent(u ralph.Usage) string {
	if u == (ralph.Usage{}) {
		return ""
	}
	return ", " + u.String()
}

// report prints how the loop ended, and the evidence. A loop that is not done was
// interrupted, or could not begin its next iteration.
func report(w io.Writer, s ralph.State, interrupted bool) {
	result := fmt.Sprintf("stopped before iteration %d", s.Iteration)
	if s.Done() || interrupted {
		result = cmp.Or(string(s.Stop), "interrupted") + " after " + plural(s.Iteration, "iteration")
	}
	fmt.Fprintf(w, "%s in %s%s\n", result, s.Elapsed.Round(time.Millisecond), spent(s.Usage))
	for _, c := range s.Verdict.Checks {
		exit, took := measured(c)
		if exit != "" {
			exit = ", exit code " + exit
		}
		fmt.Fprintf(w, "  %-8s %s%s%s\n", c.Status, line(c.Name), exit, strings.TrimSuffix(", "+took, ", "))
		if c.Detail != "" && slices.Contains([]ralph.CheckStatus{ralph.CheckUnable, ralph.CheckTimeout, ralph.CheckWarning}, c.Status) {
			fmt.Fprintf(w, "           %s\n", short(c.Detail, 300))
		}
	}
}

// measured is what a check measured, "" = nothing.
func measured(c ralph.Check) (exit, took string) {
	if c.ExitCode != nil {
		exit = fmt.Sprint(*c.ExitCode)
	}
	if c.Duration > 0 {
		took = c.Duration.Round(time.Millisecond).String()
	}
	return exit, took
}

// plural counts things; their plural is given where it is more than an s.
func plural(n int, what string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + what
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// drive runs a loop, of which a journal is kept or none, shows it on stderr and the
// result on stdout.
func drive(e env, l *ralph.Local, j *progress.Journal, s ralph.State, log ralph.ProgressLog) (ralph.State, error) {
	if l.Output == nil {
		l.Output = func(ralph.Request) (io.Writer, io.Writer) { return e.stderr, nil }
	}
	l.Log = e.viewed(s.Task, log)
	var err error
	if j != nil {
		s, err = j.Run(e.ctx, l)
	} else {
		s, err = l.Run(e.ctx, s)
	}
	e.ended(s.Loop, s.Stop, s.Iteration, s.Elapsed, s.Usage)
	report(e.stdout, s, e.ctx.Err() != nil)
	return s, err
}

// A printer is the agent of --dry-run: it prints what the real one would be told
// and how it would be started, and ends the run.
type printer struct {
	agent ralph.Runner
	out   io.Writer
	done  bool
}

func (p *printer) Run(_ context.Context, req ralph.Request) (ralph.Response, error) {
	text := req.Prompt
	if cmd, ok := p.agent.(interface{ CommandLine() ([]string, error) }); ok {
		args, err := cmd.CommandLine()
		if err != nil {
			return ralph.Response{}, ralph.Permanent(err)
		}
		text = strings.TrimRight(text, "\n") + "\n\n$ " + strings.Join(args, " ")
	}
	fmt.Fprintln(p.out, text)
	p.done = true
	return ralph.Response{}, ralph.Permanent(errors.New("this is a dry run"))
}

// end is how the command ends: the run itself fails in any case.
func (p *printer) end(err error) error {
	if p.done {
		return nil
	}
	return err
}
