package progresstest

import (
	"context"
	"runtime"
	"slices"
	"weak"

	"github.com/ralph-loop/ralph"
)

// forgets overwrites events after they were appended, and sees whether their
// memory is still held. The events are made within soon, on a stack that is gone
// when the garbage collector is asked. Only State and Answer are looked for: they
// are what can be large, and a log may well keep the short texts of an event.
func (k *kit) forgets() {
	readable := k.readable()
	k.with(func(log ralph.ProgressLog) {
		want := verified()
		var states []weak.Pointer[ralph.State]
		var answers []weak.Pointer[ralph.Response]
		ok := soon(func() {
			for _, ev := range verified() {
				if ev.State != nil {
					states = append(states, weak.Make(ev.State))
				}
				if ev.Answer != nil {
					answers = append(answers, weak.Make(ev.Answer))
				}
				if err := log.Append(context.Background(), ev); err != nil {
					k.report("append", "%s, in a second log: %v", ev.Kind, err)
				}
				scribble(&ev)
			}
		})
		if !ok {
			k.report("returns", "appending a loop's events did not end within %v", patience)
			return
		}
		if held := held(states, answers); held != "" {
			k.report("kept", "%s", held)
		} else if readable {
			if got, ok := k.read(log); ok && disagree(want, got, k.Partial) != "" {
				k.report("kept", "what was recorded changes when the event does, after Append has returned")
			}
		}
		runtime.KeepAlive(log)
	})
}

// held says what of the events cannot be collected although nobody but the log
// could still refer to it. Weak pointers find that without a finalizer, for which
// a test would have to wait.
func held(states []weak.Pointer[ralph.State], answers []weak.Pointer[ralph.Response]) string {
	what := ""
	for range 5 { // a goroutine of the log may be about to let go
		runtime.GC()
		what = ""
		if slices.ContainsFunc(answers, func(p weak.Pointer[ralph.Response]) bool { return p.Value() != nil }) {
			what = "an event's Answer is held after Append has returned"
		}
		if slices.ContainsFunc(states, func(p weak.Pointer[ralph.State]) bool { return p.Value() != nil }) {
			what = "an event's State is held after Append has returned"
		}
		if what == "" {
			break
		}
	}
	return what
}

// scribble overwrites what an event refers to. Its owner may do that: the contract
// of Append says that nothing of the event is kept.
func scribble(ev *ralph.Event) {
	const over = "overwritten"
	if s := ev.State; s != nil {
		for _, list := range [][]string{s.Guidance, s.Task.Acceptance} {
			for i := range list {
				list[i] = over
			}
		}
		clear(s.Task.Spec)
		clear(s.Task.Guarded)
		clear(s.Verdict.Checks)
		*s = ralph.State{Detail: over}
	}
	if a := ev.Answer; a != nil {
		clear(a.Files)
		clear(a.Learnings)
		*a = ralph.Response{Output: over}
	}
	clear(ev.Meta)
	clear(ev.Iteration.Files)
	clear(ev.Iteration.Learnings)
	clear(ev.Iteration.Verdict.Checks)
	if c := ev.Iteration.Usage.CostUSD; c != nil {
		*c = -1
	}
}
