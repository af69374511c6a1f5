package ralph

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"
)

// HookTemplate is the prompt that a [Hook] injects, see [Hook.Template].
const HookTemplate = `[RALPH LOOP - ITERATION {{ITERATION}}/{{MAX}}]

{{FEEDBACK}}

IMPORTANT:
- Review your progress so far
- Continue from where you left off
- When FULLY complete, output: <promise>{{PROMISE}}</promise>
- Do not stop until the task is truly done

Original task:
{{PROMPT}}`

// Prompt returns the prompt of the iteration that a session's loop is at, for a host that
// opens the session again: its caller injects it, as after [Hook.Start], and the
// iteration has begun. The error is [ErrNoLoop] if there is none.
func (h *Hook) Prompt(ctx context.Context, session string) (prompt string, err error) {
	if err := h.usable(session); err != nil {
		return "", err
	}
	err = h.update(ctx, session, func(x HookState) (HookState, error) {
		if !x.Active() {
			return x, ErrNoLoop
		}
		now := time.Now().UTC().Round(0)
		x.State = x.State.Apply(Event{Kind: EventIterationStarted, Iteration: Iteration{Number: x.State.Iteration, Attempt: x.State.Attempt, Start: now}})
		x.Asked, x.Injecting, x.Failed, x.Busy, x.Until = now, false, "", "", time.Time{}
		if prompt, err = h.prompt(x.State); x.State.first() {
			prompt = x.State.Opening()
		}
		return x, err
	})
	return prompt, err
}

// prompt is what the session was given for the iteration that the state is at. It must
// come out the same whenever it is asked for, since it is also what the session's
// answers are found by.
func (h *Hook) prompt(s State) (string, error) {
	s.Guidance = s.Guidance[:max(len(s.Guidance)-s.Late, 0)]
	if s.first() {
		return s.Task.Prompt, nil
	}
	return h.template(s)
}

// first reports whether the state is at the prompt that Start's caller injects.
func (s State) first() bool { return s.Iteration <= 1 && s.Attempt <= 1 }

// template fills the prompt of a later iteration. Start calls it too, with nobody to
// see the result, so that a mistake in the template is found before the loop begins.
func (h *Hook) template(s State) (string, error) {
	return Template(cmp.Or(h.Template, HookTemplate), map[string]string{
		"ITERATION": strconv.Itoa(s.Iteration), "MAX": s.maximum(), "PROMISE": s.Task.promise(), "PROMPT": s.Task.Prompt, "FEEDBACK": s.told(),
	})
}

// maximum is the number of iterations for people.
func (s State) maximum() string {
	if n := s.Task.Limits.iterations(); n > 0 {
		return strconv.Itoa(n)
	}
	return "∞"
}

// told is what a session is told of its last answer.
func (s State) told() string {
	if s.Feedback != "" || s.Task.Always || s.nearMiss() != "" || len(s.Guidance) > 0 {
		return strings.TrimSpace(s.Continuation())
	}
	return "Your previous attempt did not output the completion promise. Continue working on the task."
}
