package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// runLog prints an execution log or a progress.txt as a table.
func runLog(e env, _ *shared, args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return fail(exitConfig, "%s is a folder: give the path of the log in it", args[0])
	}
	// What it is shows in what can be read of it: its first line may be torn.
	found, err := logTable(e, file)
	if err == nil && !found {
		if _, err = file.Seek(0, io.SeekStart); err == nil {
			found, err = progressTable(e, file)
		}
	}
	switch {
	case err != nil:
		return fail(exitConfig, "%s: %w", args[0], err)
	case !found:
		return fail(exitConfig, "%s is no execution log and no progress.txt", args[0])
	}
	return nil
}

var outcomes = map[ralph.Outcome]string{
	ralph.OutcomeSuccess: "32", ralph.OutcomeFailure: "31", ralph.OutcomeSkipped: "33", ralph.OutcomeInterrupted: "33",
}

// A row is one iteration.
type row struct {
	task, iteration string
	outcome         ralph.Outcome
	reason, took    string
	cost            string
}

// printRows prints a table, in colours on a terminal.
func printRows(out io.Writer, header string, rows []row) error {
	var b strings.Builder
	cells := [][]string{strings.Fields(header)}
	for _, r := range rows {
		cells = append(cells, []string{short(r.task, 40), r.iteration, string(r.outcome), r.took, r.cost, short(r.reason, 100)})
	}
	columns(&b, cells)
	colours := terminal(out)
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		line = strings.TrimRight(line, " ")
		if i > 0 && colours {
			if colour := outcomes[rows[i-1].outcome]; colour != "" {
				line = "\x1b[" + colour + "m" + line + "\x1b[0m"
			}
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// terminal reports whether out is one that wants colours.
func terminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// logTable reports whether it is an execution log.
func logTable(e env, file io.Reader) (bool, error) {
	var rows []row
	var usage ralph.Usage
	lines := 0
	for r, err := range progress.ReadJSONL(file) {
		if err != nil {
			return false, err
		}
		if r.Kind == "" { // JSON, but not ours
			continue
		}
		lines++
		if r.Kind != ralph.EventIterationEnded {
			continue
		}
		task := r.TaskID
		if r.Stage != "" {
			task += "." + r.Stage
		}
		number := fmt.Sprint(r.Iteration)
		if r.Max > 0 {
			number += fmt.Sprintf("/%d", r.Max)
		}
		if r.Attempt > 1 {
			number += fmt.Sprintf(" (%d)", r.Attempt)
		}
		cost := "-"
		if r.Usage.CostUSD != nil {
			cost = fmt.Sprintf("$%.4f", *r.Usage.CostUSD)
			sum := *r.Usage.CostUSD
			if usage.CostUSD != nil {
				sum += *usage.CostUSD
			}
			usage.CostUSD = &sum
		}
		rows = append(rows, row{task, number, r.Outcome, why(r), (time.Duration(r.DurationMS) * time.Millisecond).String(), cost})
	}
	if lines == 0 {
		return false, nil
	}
	if err := printRows(e.stdout, "TASK ITERATION OUTCOME DURATION COST REASON", rows); err != nil {
		return true, err
	}
	_, err := fmt.Fprintf(e.stdout, "%s%s\n", plural(len(rows), "attempt"), price(usage))
	return true, err
}

// why is why an attempt ended as it did.
func why(r progress.Record) string {
	switch {
	case r.Fault != "":
		return strings.TrimSuffix(string(r.Fault)+": "+r.Error, ": ")
	case r.Verified:
		return "verified"
	case r.Feedback != "":
		return "rejected: " + r.Feedback
	case r.Reason != "":
		return "no promise: " + r.Reason
	case !r.PromiseFound:
		return "no promise"
	}
	return "rejected"
}

// progressTable reports whether it is a progress.txt.
func progressTable(e env, file io.Reader) (bool, error) {
	p, err := progress.ReadMarkdown(file)
	if err != nil || len(p.Sections) == 0 && p.Feature == "" {
		return false, err
	}
	var rows []row
	for _, s := range p.Sections {
		text := s.Title
		if len(s.Learnings) > 0 {
			text += ": " + strings.Join(s.Learnings, "; ")
		}
		rows = append(rows, row{s.Task, fmt.Sprint(s.Number), s.Status, text, s.Time.Format(time.RFC3339), "-"})
	}
	if err := printRows(e.stdout, "TASK ITERATION OUTCOME TIME COST TITLE", rows); err != nil {
		return true, err
	}
	_, err = fmt.Fprintf(e.stdout, "%s: %s\n", line(p.Feature), plural(len(rows), "iteration"))
	return true, err
}
