package progress

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// StateFile writes a file that tells programs where a loop stands, by tradition
// named ralph-loop-state.json: an object with the keys active, iteration,
// maxIterations (-1 = unlimited), completionPromise, startedAt, prompt, sessionId,
// lastIterationAt and description, the last two if there is something to tell.
// Times are in UTC, RFC 3339. sessionId is the session of the agent in the last
// attempt; before one is known, the loop's name. description is the task's title.
// startedAt is the time of the loop's first event loop_started: of a loop that is
// resumed, when it went on, unless the log is given that event too, as it is on
// record.
//
// It is a view, written when it changes and never read: after a crash it says of a
// loop that it is active until the loop is run again. A reader finds the old file or
// the new one, whole; in place of a link or of a stranger's file none is written. A
// new file is 0600, for the prompt stands in it, see [Redactor.Log], and its folder
// is made as by [File.Create]. Under that name, or in a folder .ralph, it is no change of
// the workspace.
//
// It is for one loop. If several loops share it, the file shows the one whose event
// came last. Append may be called concurrently.
//
// The keys are those of a file that other tools write under that name, so what reads
// theirs reads this.
type StateFile struct {
	// Path is the file, required. It must not be one that the agent needs: it is replaced.
	Path string

	view view
}

// TaskFile writes a file that tells programs how the tasks of a pipeline stand: an
// object that has for each task, by its ID, an object with what is said of it. Under
// the key ralph, while a loop is active for the task: stage (the agent),
// iteration, max_iterations (-1 = unlimited), started_at, completion_promise. Under
// ralph_failure, if the last loop for it ended and did not verify it: stage,
// iterations_used, last_output (the end of the agent's last answer, at most 4 KiB),
// and reason, which begins with the [ralph.StopReason]. A task that was verified has
// neither.
//
// Everything else is as with [StateFile]. One TaskFile serves many loops concurrently.
// It tells of those whose events it has been given, and what it tells it holds in
// memory: a few KiB for each task.
type TaskFile struct {
	Path string // required

	view  view
	tasks map[string]taskView
}

var _, _ ralph.ProgressLog = (*StateFile)(nil), (*TaskFile)(nil)

// Append takes note of an event, and writes the file if it tells something else now.
// After an error it is tried again with the next event.
func (f *StateFile) Append(_ context.Context, ev ralph.Event) error {
	return f.view.append(f.Path, ev, func(l *loopView) any {
		return stateView{
			Active: !l.at.s.Done(), Iteration: l.at.s.Iteration, MaxIterations: l.at.iterations(),
			CompletionPromise: l.promise, StartedAt: stamp(l.started), Prompt: l.prompt,
			SessionID: cmp.Or(l.session, ev.Loop), LastIterationAt: l.stampLast(), Description: l.title,
		}
	})
}

// Append takes note of an event, as [StateFile.Append] does.
func (f *TaskFile) Append(_ context.Context, ev ralph.Event) error {
	return f.view.append(f.Path, ev, func(l *loopView) any {
		if f.tasks == nil {
			f.tasks = map[string]taskView{}
		}
		f.tasks[cmp.Or(ev.Task, ev.Loop)] = l.task(ev.Agent)
		return f.tasks
	})
}

// stateView is a StateFile's. Its keys are those that programs read which know
// such a file from elsewhere.
type stateView struct {
	Active            bool   `json:"active"`
	Iteration         int    `json:"iteration"`
	MaxIterations     int    `json:"maxIterations"`
	CompletionPromise string `json:"completionPromise"`
	StartedAt         string `json:"startedAt"`
	Prompt            string `json:"prompt"`
	SessionID         string `json:"sessionId"`
	LastIterationAt   string `json:"lastIterationAt,omitempty"`
	Description       string `json:"description,omitempty"`
}

// taskView is what a TaskFile tells about one task.
type taskView struct {
	Ralph   *activeView  `json:"ralph,omitempty"`
	Failure *failureView `json:"ralph_failure,omitempty"`
}

type activeView struct {
	Stage             string `json:"stage"`
	Iteration         int    `json:"iteration"`
	MaxIterations     int    `json:"max_iterations"`
	StartedAt         string `json:"started_at"`
	CompletionPromise string `json:"completion_promise"`
}

type failureView struct {
	Stage          string `json:"stage"`
	IterationsUsed int    `json:"iterations_used"`
	LastOutput     string `json:"last_output"`
	Reason         string `json:"reason"`
}

// A view is what is told of loops in a file. Events come many to a second, and most of
// them change nothing that is told: the text is compared before the disk is touched.
type view struct {
	mu    sync.Mutex
	loops map[string]*loopView
	text  []byte // as it was written last
}

// append takes note of an event and writes what show makes of its loop, as indented
// JSON, for people look into these files as well.
func (v *view) append(path string, ev ralph.Event, show func(*loopView) any) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if path == "" {
		return errors.New("progress: the view has no Path")
	}
	l := v.take(ev)
	if l == nil {
		return nil
	}
	line, err := jsonLine(show(l))
	var text bytes.Buffer
	if err == nil {
		err = json.Indent(&text, line, "", "  ")
	}
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	if bytes.Equal(text.Bytes(), v.text) {
		return nil
	}
	if err := (File{Path: path}).folder(); err != nil {
		return err
	}
	if err := file.Put("", path, text.Bytes()); err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	v.text = text.Bytes()
	return nil
}

// take takes note of an event. It returns nil if nothing is known of its loop.
func (v *view) take(ev ralph.Event) *loopView {
	l := v.loops[ev.Loop]
	if l == nil {
		l = &loopView{}
	}
	if l.apply(ev); !l.at.known {
		return nil
	}
	if ev.Kind == ralph.EventLoopStopped {
		delete(v.loops, ev.Loop)
		return l
	}
	if v.loops == nil {
		v.loops = map[string]*loopView{}
	}
	v.loops[ev.Loop] = l
	return l
}

// A loopView is what is told of one loop. It holds no more than is told, and the end of
// the last answer instead of all of it.
type loopView struct {
	at                     position
	title, prompt, promise string
	session, output        string
	started, last          time.Time
	used                   int // iterations that have begun
}

// apply takes note of an event. A loop that goes on keeps the time of its first start,
// if the log was given that event.
func (l *loopView) apply(ev ralph.Event) {
	l.at.apply(ev)
	l.used = max(l.used, ev.Iteration.Number)
	switch s := ev.State; ev.Kind {
	case ralph.EventLoopStarted:
		if s == nil {
			return
		}
		if !s.Begun() || l.started.IsZero() {
			*l = loopView{at: l.at, started: ev.Time}
		}
		l.title, l.prompt, l.promise = s.Task.Title, s.Task.Prompt, cmp.Or(s.Task.Promise, ralph.DefaultPromise)
		if s.Begun() {
			l.last, l.used = s.Updated, max(l.used, s.Iteration-1)
		}
	case ralph.EventAnswered:
		if ev.Answer != nil {
			l.output = outputEnd(ev.Answer.Output)
		}
	case ralph.EventIterationEnded:
		l.session = cmp.Or(ev.Iteration.Session, l.session)
		l.last = ev.Iteration.End
		if l.last.IsZero() {
			l.last = ev.Time
		}
	}
}

// stampLast is when the last attempt has ended; "" = none has, and the key is left out.
func (l *loopView) stampLast() string {
	if l.last.IsZero() {
		return ""
	}
	return stamp(l.last)
}

// task is what a TaskFile tells of a task by this loop. A verified one has nothing to
// tell: programs take the absence of both keys for that.
func (l *loopView) task(agent string) taskView {
	s := l.at.s
	switch {
	case s.Stop == ralph.StopVerified:
		return taskView{}
	case s.Done():
		reason := string(s.Stop)
		if s.Detail != "" {
			reason += ": " + s.Detail
		}
		return taskView{Failure: &failureView{Stage: agent, IterationsUsed: l.used, LastOutput: l.output, Reason: reason}}
	}
	return taskView{Ralph: &activeView{
		Stage: agent, Iteration: s.Iteration, MaxIterations: l.at.iterations(), StartedAt: stamp(l.started), CompletionPromise: l.promise,
	}}
}

// outputEnd is the end of a text, on its own, so that the rest is not held. A slice of
// the answer would keep megabytes in memory for the sake of 4 KiB.
func outputEnd(text string) string {
	const most = 4 << 10
	return strings.ToValidUTF8(strings.Clone(text[max(len(text)-most, 0):]), "")
}
