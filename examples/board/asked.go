package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// An Asked is a change to a loop that came from people.
type Asked struct {
	Time time.Time
	Kind ralph.EventKind // guided, limits_changed, paused, continued, reopened, cancelled
	// Text is what was asked for: the advice, the limits that have changed, or the reason of a
	// cancel; "" = the kind says it.
	Text string
}

// asked is the text of an Asked. Advice and limits are compared with those before, which it
// notes.
func (j *journal) asked(ev ralph.Event) string {
	switch {
	case ev.State == nil:
		return ev.Text
	case ev.Kind == ralph.EventGuided: // all advice there is, but for what was dropped of the oldest
		was, now := j.advice, ev.State.Guidance
		j.advice = slices.Clone(now)
		known := min(len(was), len(now))
		for known > 0 && !slices.Equal(was[len(was)-known:], now[:known]) {
			known--
		}
		return strings.Join(now[known:], "; ")
	case ev.Kind != ralph.EventLimitsChanged:
		return ev.Text
	}
	was, now := j.limits, ev.State.Task.Limits
	if j.limits = now; ev.State.Asked != 0 {
		return fmt.Sprintf("asked to stop after iteration %d", now.Iterations)
	}
	none := func(text string, is bool) string {
		if is {
			return "none"
		}
		return text
	}
	var all []string
	for _, told := range []func(l ralph.Limits) string{
		func(l ralph.Limits) string {
			return "iterations " + none(fmt.Sprint(cmp.Or(l.Iterations, 10)), l.Iterations < 0)
		},
		func(l ralph.Limits) string {
			return "cost " + none(ralph.Usage{CostUSD: &l.CostUSD}.Cost(), l.CostUSD == 0)
		},
		func(l ralph.Limits) string { return "tokens " + none(fmt.Sprint(l.Tokens), l.Tokens == 0) },
		func(l ralph.Limits) string { return "time " + none(l.Duration.String(), l.Duration == 0) },
	} {
		if before, after := told(was), told(now); before != after {
			name, value, _ := strings.Cut(after, " ")
			all = append(all, name+strings.TrimPrefix(before, name)+" → "+value)
		}
	}
	return strings.Join(all, ", ")
}
