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
	switch {
	case s.summary:
		return s.summarize(e, strings.Join(args, ""))
	case len(args) == 0:
		return fail(exitUsage, "log takes one FILE, an execution log or a progress.txt, or the ID of a loop, not 0 arguments; 'ralph help log' tells more")
	}
	file, _, err := s.openLog(e, args[0])
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

// openLog opens a file, or the journal of a loop, of a kind.
func (s *shared) openLog(e env, name string) (file *os.File, kind progress.Kind, err error) {
	file, err = ralph.OpenFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if dir, loops, found := s.meant(e, name); found == nil {
			kind = loops[0].Kind
			file, err = ralph.OpenFile(dir.File(loops[0].Loop))
		}
	}
	return file, kind, err
}

// summarize prints what loops have shown: those of a file, a loop, a folder of records, or
// this workspace.
func (s *shared) summarize(e env, of string) error {
	h, err := s.history(e, of)
	if err != nil {
		return wrong(err)
	}
	rows := [][]string{{"AGENT", "METHOD", "LOOPS", "VERIFIED", "ITERATIONS", "COST", "REJECTIONS"}}
	loops := 0
	for _, st := range h.Stats {
		loops += st.Loops
		iterations, why, n := "", "", 0
		if st.Verified > 0 {
			iterations = fmt.Sprintf("%d/%d", st.Iterations(50, 1), st.Iterations(95, 1))
		}
		cost := st.Usage.Cost()
		if st.Unpriced > 0 && st.Usage.CostUSD != nil {
			cost += fmt.Sprintf(" (unknown: %d)", st.Unpriced)
		}
		for _, r := range st.Rejections {
			if n += r.Loops; why == "" {
				why = fmt.Sprintf(", %dx: %s", r.Loops, short(r.Text, 80))
			}
		}
		rows = append(rows, []string{st.Agent, st.Method, fmt.Sprint(st.Loops), fmt.Sprint(st.Verified), iterations, cost, fmt.Sprint(n) + why})
	}
	columns(e.stdout, rows)
	skipped := ""
	if h.Skipped > 0 {
		skipped = fmt.Sprintf("; %s could not be read", plural(h.Skipped, "record"))
	}
	_, err = fmt.Fprintf(e.stdout, "%s%s; iterations are those of verified loops for each acceptance criterion: median/95th percentile\n", plural(loops, "loop"), skipped)
	return err
}

func (s *shared) history(e env, of string) (progress.History, error) {
	if of == "" {
		dir, err := s.found(e)
		if err != nil {
			return progress.History{}, err
		}
		return dir.History(e.ctx)
	}
	if isFolder(of) == nil {
		return (&progress.Dir{Path: of, Redactor: redact()}).History(e.ctx)
	}
	file, kind, err := s.openLog(e, of)
	if err != nil {
		return progress.History{}, err
	}
	defer file.Close()
	if kind == progress.KindSession || kind == progress.KindPipeline {
		return progress.History{}, fail(exitConfig, "%s is a run of many loops; 'ralph log --summary' tells of all here, and with an execution log of those in it", of)
	}
	return progress.ReadHistory(file)
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
