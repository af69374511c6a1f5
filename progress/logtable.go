package progress

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

// A LogTable is what a log says, for programs that print logs. The zero value is that of a
// file that is no log.
//
// The kinds of logs differ in what they know, and so do the heads of their tables: the
// first five columns say the same of all (which task or mode, which iteration, how it
// ended, how long or when, what it cost), the last one is what a reader of that log would
// look for. A table is plain data, and may be read by many goroutines at once.
type LogTable struct {
	// Rows are the cells, one row for each attempt; the first row is the head. The third
	// cell is how the attempt ended, a [ralph.Outcome]. Cells are not made safe to show; see
	// [Table]. Nil = the file is none of ours.
	Rows [][]string
	// Summary is a line for people below the table: how many attempts, and what they used.
	Summary string
	// Ended says that no loop of the log goes on, so that nothing more is expected; Running
	// that the last row is of an attempt that has not ended, in a log that says so.
	Ended, Running bool

	values []any // the rows but the first
}

// ReadLogTable reads an execution log or a journal, as [ReadJSONL] does, a session log, as
// [ReadBanner] does, or a progress.txt, as [ReadMarkdown] does. Which of them it is shows
// in what can be read of it: the first line may be torn. The only errors are those of r,
// which is read from its start.
func ReadLogTable(r io.ReadSeeker) (LogTable, error) {
	for _, read := range []func(io.Reader) (LogTable, error){eventTable, sessionTable, markdownTable} {
		_, err := r.Seek(0, io.SeekStart)
		if err != nil {
			return LogTable{}, err
		}
		if t, err := read(r); err != nil || t.Rows != nil {
			return t, err
		}
	}
	return LogTable{}, nil
}

// JSON returns what the rows say for programs, from the row with that index on, 1 being
// the first below the head: a line of JSON for each, which a terminal may show.
func (t LogTable) JSON(from int) (string, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for _, v := range t.values[min(max(from-1, 0), len(t.values)):] {
		if err := enc.Encode(v); err != nil {
			return "", err
		}
	}
	return string(PrintableJSON(text.Bytes())), nil
}

// add adds a row; the cells whose length is anybody's are cut.
func (t *LogTable) add(value any, task string, cells ...string) {
	cells[len(cells)-1] = PrintableCut(cells[len(cells)-1], 100)
	t.Rows, t.values = append(t.Rows, append([]string{PrintableCut(task, 40)}, cells...)), append(t.values, value)
}

// money is what was used in it, for a table: "" if nothing was told of it.
func money(u ralph.Usage) string {
	if u == (ralph.Usage{}) {
		return ""
	}
	return u.Cost()
}

// eventTable is the table of an execution log.
func eventTable(file io.Reader) (t LogTable, err error) {
	var usage ralph.Usage
	goOn, stopped, lost := map[string]bool{}, false, 0
	for r, err := range records(file, func() { lost++ }) {
		if err != nil {
			return LogTable{}, err
		}
		if r.Kind == "" { // JSON, but not ours
			lost++
			continue
		}
		if t.Rows == nil {
			t.Rows = [][]string{{"TASK", "ITERATION", "OUTCOME", "DURATION", "COST", "REASON"}}
		}
		// A run of many tasks has loops after each other, and its log does not tell its end.
		ev := r.Event
		goOn[ev.Loop] = r.Kind != ralph.EventLoopStopped
		if stopped = stopped || !goOn[ev.Loop]; ev.State != nil && strings.HasSuffix(ev.Loop, "/"+ralph.Start(ev.State.Task).Loop) {
			goOn[""] = true
		}
		if r.Kind != ralph.EventIterationEnded {
			continue
		}
		number := fmt.Sprint(r.Iteration)
		if r.Max > 0 {
			number += fmt.Sprintf("/%d", r.Max)
		}
		if r.Attempt > 1 {
			number += fmt.Sprintf(" (%d)", r.Attempt)
		}
		usage = usage.Add(r.Usage)
		t.add(r, strings.TrimSuffix(r.TaskID+"."+r.Stage, "."), number, string(r.Outcome), (time.Duration(r.DurationMS) * time.Millisecond).String(), money(r.Usage), reasonOf(r))
	}
	t.Ended = stopped
	for _, on := range goOn {
		t.Ended = t.Ended && !on
	}
	if t.Summary = plural(len(t.values), "attempt"); usage != (ralph.Usage{}) {
		t.Summary += ", " + usage.String()
	}
	if lost > 0 {
		t.Summary += "; left out: " + plural(lost, "line") + " that cannot be read"
	}
	return t, nil
}

// reasonOf is why an attempt ended as it did.
func reasonOf(r Record) string {
	switch {
	case r.Fault != "":
		return strings.TrimSuffix(string(r.Fault)+": "+r.Error, ": ")
	case r.Verified:
		return "verified"
	case (ralph.Verdict{Checks: r.Checks}).Undecided():
		return strings.TrimSuffix("could not be verified: "+r.Feedback, ": ")
	case r.Feedback != "":
		return "rejected: " + r.Feedback
	case r.Reason != "":
		return "no promise: " + r.Reason
	case !r.PromiseFound:
		return "no promise"
	}
	return "rejected"
}

// sessionTable is the table of a session log.
func sessionTable(file io.Reader) (t LogTable, err error) {
	s, err := ReadBanner(file)
	if err != nil || len(s.Iterations) == 0 && s.Result == "" {
		return LogTable{}, err
	}
	t.Rows = [][]string{{"MODE", "ITERATION", "OUTCOME", "DURATION", "COST", "STATUS"}}
	last := 0
	for _, it := range s.Iterations {
		outcome, status, _ := strings.Cut(it.Status, " ")
		took := map[bool]string{true: it.Duration.String()}[it.Status != ""]
		t.Running, last = it.Status == "" && s.Result == "", it.Number
		t.add(it, it.Mode, fmt.Sprint(it.Number), outcome, took, it.Cost, strings.Trim(status, "()"))
	}
	came, reason := term.Line(s.Result), ralph.StopReason(s.Result)
	switch st := (Standing{Entry: Entry{State: ralph.State{Stop: reason}}}); {
	case reason == ralph.StopIterations: // in the words in which its end was told
		came = stopped(ralph.State{Stop: reason, Task: ralph.Task{Limits: ralph.Limits{Iterations: last}}})
	case !strings.Contains(s.Result, " "):
		came = st.Came()
	}
	t.Ended = s.Result != ""
	t.Summary = plural(len(t.values), "attempt") + ": " + cmp.Or(came, "the session has not ended, or was killed")
	return t, nil
}

// markdownTable is the table of a progress.txt.
func markdownTable(file io.Reader) (t LogTable, err error) {
	p, err := ReadMarkdown(file)
	if err != nil || len(p.Sections) == 0 && p.Feature == "" {
		return LogTable{}, err
	}
	t.Rows = [][]string{{"TASK", "ITERATION", "OUTCOME", "TIME", "COST", "TITLE"}}
	for _, s := range p.Sections {
		text := strings.TrimSuffix(s.Title+": "+strings.Join(s.Learnings, "; "), ": ")
		t.add(s, s.Task, fmt.Sprint(s.Number), string(s.Status), s.Time.Format(time.RFC3339), "", text)
	}
	t.Summary = term.Line(p.Feature) + ": " + plural(len(t.values), "iteration")
	return t, nil
}
