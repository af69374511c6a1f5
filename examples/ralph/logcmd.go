package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// runLog prints an execution log, a progress.txt or a loop's journal as a table.
func runLog(e env, s *shared, args []string) error {
	file, err := ralph.OpenFile(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		if dir, loops, found := s.meant(e, args[0]); found == nil {
			file, err = ralph.OpenFile(dir.File(loops[0].Loop))
		}
	}
	if err != nil {
		return err
	}
	defer file.Close()
	// What it is shows in what can be read of it: its first line may be torn.
	rows, summary, err := logTable(file)
	if err == nil && rows == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil && rows == nil {
		rows, summary, err = progressTable(file)
	}
	switch {
	case err != nil:
		return fail(exitConfig, "%s: %w", args[0], err)
	case rows == nil:
		return fail(exitConfig, "%s is no execution log and no progress.txt", args[0])
	}
	var b strings.Builder
	columns(&b, rows)
	for i, text := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		paint(e.stdout, colour(rows[i][2]), strings.TrimRight(text, " "))
	}
	_, err = fmt.Fprintln(e.stdout, summary)
	return err
}

// colour is that of what came of an iteration, 0 = none.
func colour(outcome string) int {
	return map[ralph.Outcome]int{
		ralph.OutcomeSuccess: 32, ralph.OutcomeFailure: 31, ralph.OutcomeSkipped: 33, ralph.OutcomeInterrupted: 33,
	}[ralph.Outcome(outcome)]
}

// paint prints a line, in a colour where those are wanted. No other control
// sequences are ours.
func paint(out io.Writer, colour int, text string) {
	o, ok := out.(*outlet)
	if ok = ok && o.colours && colour != 0; ok {
		o.raw(fmt.Sprintf("\x1b[%dm", colour))
	}
	fmt.Fprint(out, text)
	if ok {
		o.raw("\x1b[0m")
	}
	fmt.Fprintln(out)
}

// terminal reports whether out is one that wants colours.
func terminal(out io.Writer) bool {
	return tty(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// tty reports whether a reader or writer is a terminal.
func tty(stream any) bool {
	switch s := stream.(type) {
	case *outlet:
		stream = s.Writer
	case inlet:
		stream = s.from
	}
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && (nullErr != nil || !os.SameFile(info, null))
}

// logTable is the table of an execution log, nil if it is none.
func logTable(file io.Reader) (rows [][]string, summary string, err error) {
	var usage ralph.Usage
	for r, err := range progress.ReadJSONL(file) {
		if err != nil {
			return nil, "", err
		}
		if r.Kind != "" && rows == nil { // else JSON, but not ours
			rows = [][]string{{"TASK", "ITERATION", "OUTCOME", "DURATION", "COST", "REASON"}}
		}
		if r.Kind != ralph.EventIterationEnded {
			continue
		}
		task := strings.TrimSuffix(r.TaskID+"."+r.Stage, ".")
		number := fmt.Sprint(r.Iteration)
		if r.Max > 0 {
			number += fmt.Sprintf("/%d", r.Max)
		}
		if r.Attempt > 1 {
			number += fmt.Sprintf(" (%d)", r.Attempt)
		}
		usage = usage.Add(r.Usage)
		took := time.Duration(r.DurationMS) * time.Millisecond
		rows = append(rows, []string{short(task, 40), number, string(r.Outcome), took.String(), cost(r.Usage), short(why(r), 100)})
	}
	return rows, plural(len(rows)-1, "attempt") + spent(usage), nil
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

// progressTable is the table of a progress.txt, nil if it is none.
func progressTable(file io.Reader) (rows [][]string, summary string, err error) {
	p, err := progress.ReadMarkdown(file)
	if err != nil || len(p.Sections) == 0 && p.Feature == "" {
		return nil, "", err
	}
	rows = [][]string{{"TASK", "ITERATION", "OUTCOME", "TIME", "COST", "TITLE"}}
	for _, s := range p.Sections {
		text := s.Title
		if len(s.Learnings) > 0 {
			text += ": " + strings.Join(s.Learnings, "; ")
		}
		rows = append(rows, []string{short(s.Task, 40), fmt.Sprint(s.Number), string(s.Status), s.Time.Format(time.RFC3339), "", short(text, 100)})
	}
	return rows, line(p.Feature) + ": " + plural(len(rows)-1, "iteration"), nil
}
