package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// runLog prints an execution log or a progress.txt as a table.
func runLog(e env, _ *shared, args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return fail(exitConfig, "%s is a folder: give the path of the log in it", args[0])
	}
	// What it is shows in what can be read of it: its first line may be torn.
	found, err := logTable(e, file)
	if err == nil && !found {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil && !found {
		found, err = progressTable(e, file)
	}
	if err == nil && !found {
		return fail(exitConfig, "%s is no execution log and no progress.txt", args[0])
	}
	if err != nil {
		return fail(exitConfig, "%s: %w", args[0], err)
	}
	return nil
}

// colours of what came of an iteration.
func colours() map[string]string {
	const red, green, yellow = "31", "32", "33"
	return map[string]string{
		string(ralph.OutcomeSuccess): green, string(ralph.OutcomeFailure): red,
		string(ralph.OutcomeSkipped): yellow, string(ralph.OutcomeInterrupted): yellow,
	}
}

// printRows prints a table, in colours on a terminal. The third column is what
// came of an iteration, but for the header's.
func printRows(out io.Writer, rows [][]string) error {
	var b strings.Builder
	columns(&b, rows)
	colours, coloured := colours(), terminal(out)
	for i, text := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		text = strings.TrimRight(text, " ")
		if colour := colours[rows[i][2]]; coloured && colour != "" {
			text = "\x1b[" + colour + "m" + text + "\x1b[0m"
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return nil
}

// terminal reports whether out is one that wants colours.
func terminal(out io.Writer) bool {
	if o, ok := out.(*outlet); ok {
		out = o.Writer
	}
	file, ok := out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// logTable reports whether it is an execution log.
func logTable(e env, file io.Reader) (bool, error) {
	rows := [][]string{{"TASK", "ITERATION", "OUTCOME", "DURATION", "COST", "REASON"}}
	var usage ralph.Usage
	ours := false
	for r, err := range progress.ReadJSONL(file) {
		if err != nil {
			return false, err
		}
		if r.Kind == "" { // JSON, but not ours
			continue
		}
		ours = true
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
		cost := ""
		if r.Usage.CostUSD != nil {
			cost = usd(*r.Usage.CostUSD)
		}
		usage = usage.Add(r.Usage)
		took := time.Duration(r.DurationMS) * time.Millisecond
		rows = append(rows, []string{short(task, 40), number, string(r.Outcome), took.String(), cost, short(why(r), 100)})
	}
	if !ours {
		return false, nil
	}
	if err := printRows(e.stdout, rows); err != nil {
		return true, err
	}
	_, err := fmt.Fprintf(e.stdout, "%s%s\n", plural(len(rows)-1, "attempt"), spent(usage))
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
	rows := [][]string{{"TASK", "ITERATION", "OUTCOME", "TIME", "COST", "TITLE"}}
	for _, s := range p.Sections {
		text := s.Title
		if len(s.Learnings) > 0 {
			text += ": " + strings.Join(s.Learnings, "; ")
		}
		rows = append(rows, []string{short(s.Task, 40), fmt.Sprint(s.Number), string(s.Status), s.Time.Format(time.RFC3339), "", short(text, 100)})
	}
	if err := printRows(e.stdout, rows); err != nil {
		return true, err
	}
	_, err = fmt.Fprintf(e.stdout, "%s: %s\n", line(p.Feature), plural(len(rows)-1, "iteration"))
	return true, err
}
