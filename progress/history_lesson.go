package progress

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// The numbers behind the rules that [History.Limits] and [History.Lesson] state.
const (
	enough        = 5   // verified loops, for limits to be taken from them
	mostUnbounded = 100 // iterations, where nobody has configured how many
	usualUnnamed  = 10  // iterations, where nobody names the usual number
	often         = 2   // loops, for a rejection to be told to others
	mostTold      = 5   // rejections
)

// took is how many iterations loops took for how many acceptance criteria, and how many
// loops. Both numbers are between 1 and maxTook, so that their products do not overflow.
type took struct {
	iterations, criteria int64
	loops                int
}

func tookBy(s ralph.State) took {
	return took{iterations: int64(max(s.Completed(), 1)), criteria: criteria(s.Task)}
}

// criteria is the number of a task's acceptance criteria; one without any has one.
func criteria(t ralph.Task) int64 { return int64(min(max(len(t.Acceptance), 1), maxTook)) }

// compare is by iterations per criterion, exactly; where those are the same by
// criteria. Fractions would be rounded, and loops that took the same could come out as
// different.
func (t took) compare(u took) int {
	return cmp.Or(cmp.Compare(t.iterations*u.criteria, u.iterations*t.criteria), cmp.Compare(t.criteria, u.criteria))
}

// times is the number of iterations for so many criteria, rounded up.
func (t took) times(criteria int64) int64 {
	return (t.iterations*criteria + t.criteria - 1) / t.criteria
}

// Iterations returns the number of iterations that was enough for p percent of the
// verified loops, 0 < p <= 100, scaled to a task with the given number of acceptance
// criteria. 0 = no loop was verified, or the stats were decoded from JSON, which does
// not hold the numbers.
//
// It is the percentile of their iterations per criterion by nearest rank: of n loops, in
// the order of iterations per criterion, that of the one at the place p·n/100, rounded up;
// times criteria, rounded up. Fewer than 1 criteria count as 1.
func (s LoopStats) Iterations(p, criteria int) int {
	t, ok := s.percentile(p)
	if !ok {
		return 0
	}
	return int(t.times(int64(min(max(criteria, 1), maxTook))))
}

// percentile is what the loop took at the p-th percentile.
func (s LoopStats) percentile(p int) (took, bool) {
	rank := (int64(s.known())*int64(min(max(p, 1), 100)) + 99) / 100
	for _, t := range s.took {
		if rank -= int64(t.loops); rank <= 0 {
			return t, true
		}
	}
	return took{}, false
}

// known is of how many verified loops it is known what they took: of none, if the stats
// were decoded from JSON.
func (s LoopStats) known() (n int) {
	for _, t := range s.took {
		n += t.loops
	}
	return n
}

// needed is what the loop at the 95th percentile took, if enough are known.
func (s LoopStats) needed() (took, bool) {
	t, ok := s.percentile(95)
	return t, ok && s.known() >= enough
}

// of are the stats of a task's agent and method.
func (h History) of(t ralph.Task) LoopStats {
	want := groupOf(t)
	i := slices.IndexFunc(h.Stats, func(s LoopStats) bool { return group{s.Agent, s.Method} == want })
	if i < 0 {
		return LoopStats{Agent: want.agent, Method: want.method}
	}
	return h.Stats[i]
}

// Limits returns the task's limits with the number of iterations that loops of its agent,
// verified by its method, have shown to be enough:
//
//	n    = the number of acceptance criteria, at least 1
//	cap  = most, or 100 if most is 0
//	need = the 95th percentile of the iterations per criterion of the verified loops, by
//	       nearest rank, times n, rounded up ([LoopStats.Iterations]);
//	       with fewer than 5 verified loops usual × n, where 0 counts as 10
//
//	Iterations = need, but at least 1 and at most cap
//
// usual is the agent's default, for one criterion; most is the number of iterations that
// somebody has configured for the task, 0 = nobody has. A negative one, or one in the task's
// limits, says that they are not to be limited: then nothing changes.
//
// The 95th percentile and not the mean: a limit that half of the loops exceed is of no
// use. A criterion is the measure of a task's size, since it is the only one on record.
func (h History) Limits(t ralph.Task, usual, most int) ralph.Limits {
	l := t.Limits
	if most < 0 || l.Iterations < 0 {
		return l
	}
	n := criteria(t)
	need := usually(usual) * n
	if t, ok := h.of(t).needed(); ok {
		need = t.times(n)
	}
	l.Iterations = int(min(max(need, 1), int64(cmp.Or(most, mostUnbounded))))
	return l
}

// usually is the number of iterations for one criterion where nothing else is known.
func usually(usual int) int64 { return int64(min(max(cmp.Or(usual, usualUnnamed), 1), maxTook)) }

// Lesson is what a loop that begins can learn: [History.Limits], and the rejections that
// came in at least two loops of its agent and method, at most 5. Its Why says in one
// sentence what that changes, and from what; "" = nothing.
//
// A rejection that came once may be of that task alone; the agent is told what others
// were told repeatedly.
func (h History) Lesson(s ralph.State, usual, most int) ralph.Lesson {
	of, t := h.of(s.Task), s.Task
	lesson := ralph.Lesson{Limits: h.Limits(t, usual, most)}
	var why []string
	was, is := cmp.Or(t.Limits.Iterations, usualUnnamed), lesson.Limits.Iterations
	if is == was {
		lesson.Limits = t.Limits
	} else {
		why = append(why, fmt.Sprintf("iterations %d → %d: %s", was, is, of.because(criteria(t), usual, is, most)))
	}
	for _, r := range of.Rejections {
		if r.Loops >= often && len(lesson.Rejections) < mostTold {
			lesson.Rejections = append(lesson.Rejections, r.Text)
		}
	}
	switch n := len(lesson.Rejections); {
	case n == 1:
		why = append(why, fmt.Sprintf("the agent is told why claims were rejected in several of %s", of.loops(of.Loops)))
	case n > 1:
		why = append(why, fmt.Sprintf("the agent is told %d reasons for which claims were rejected in several of %s", n, of.loops(of.Loops)))
	}
	lesson.Why = strings.Join(why, "; ")
	return lesson
}

// because says why so many iterations are enough.
func (s LoopStats) because(criteria int64, usual, is, most int) string {
	each := ""
	if criteria > 1 {
		each = fmt.Sprintf(" for each of %d criteria", criteria)
	}
	need, text := usually(usual)*criteria, ""
	if t, ok := s.needed(); ok {
		need = t.times(criteria)
		text = fmt.Sprintf("95%% of %s needed at most %s%s", s.loops(s.known(), "verified"), t, each)
	} else {
		text = fmt.Sprintf("%d%s, for fewer than %d %s are on record (%d)", usually(usual), each, enough, s.loops(0, "verified"), s.known())
	}
	switch {
	case need <= int64(is):
	case most > 0:
		text += fmt.Sprintf("; at most %d are configured", most)
	default:
		text += fmt.Sprintf("; %d are the most where nobody has configured how many", is)
	}
	return text
}

// String is the number of iterations for one criterion, rounded up to two decimals.
func (t took) String() string {
	hundredths := t.times(100)
	text := fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// loops names so many of these loops, 0 = without their number.
func (s LoopStats) loops(n int, more ...string) string {
	words := append(more, "loops")
	if n == 1 {
		words[len(words)-1] = "loop"
	}
	if n > 0 {
		words = append([]string{fmt.Sprint(n)}, words...)
	}
	if s.Agent != "" {
		words = append(words, "of", s.Agent)
	}
	if s.Method != "" {
		words = append(words, "with", s.Method, "checks")
	}
	return strings.Join(words, " ")
}

// Learn says what a loop that begins can learn from the folder's [Dir.History], of which it
// is no part itself, see [History.Lesson]. With the numbers of its agent it is a [ralph.Local.Learn]:
//
//	local.Learn = func(ctx context.Context, s ralph.State) (ralph.Lesson, error) {
//		return dir.Learn(ctx, s, 10, 0)
//	}
func (d *Dir) Learn(ctx context.Context, s ralph.State, usual, most int) (ralph.Lesson, error) {
	h, err := d.history(ctx, s.Loop)
	if err != nil {
		return ralph.Lesson{}, err
	}
	return h.Lesson(s, usual, most), nil
}
