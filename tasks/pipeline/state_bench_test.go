package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// large is a run of n tasks, each of which waits for three others, of which the first half
// is done.
func large(b *testing.B, n int) (pipeline.State, []pipeline.Planned) {
	var all []pipeline.Planned
	for i := range n {
		p := pipeline.Planned{ID: fmt.Sprintf("TASK-%07d", i), Sum: "0123abcd", Agents: []string{"coder"}}
		for _, back := range []int{1, 7, 100} {
			p.After = append(p.After, fmt.Sprintf("TASK-%07d", max(i-back*8, 0)))
		}
		if i < 8 {
			p.After = nil
		}
		all = append(all, p)
	}
	half := begun(b, pipeline.Rules{Slots: 8, CostUSD: 1e6, Merge: true}, all, nil)
	for i := range n / 2 {
		half.Stands[i] = pipeline.Stand{Phase: pipeline.PhaseDone, Verified: 1}
	}
	return half, all
}

// BenchmarkState is the time of one decision among 10,000 tasks with 30,000 dependencies;
// floor is one pass over as many, in the same memory.
func BenchmarkState(b *testing.B) {
	s, _ := large(b, 10000)
	step := s.Ready()[0]
	began := beginning(step)
	running := s.Next(began)
	reserve := pipeline.Event{Kind: pipeline.EventReserve, Task: step.Task, Loop: step.Loop}
	reserved := running.Next(reserve)
	ended := pipeline.Event{Kind: pipeline.EventEnded, Task: step.Task, Loop: step.Loop, Stop: ralph.StopVerified}
	full := s
	for _, step := range s.Ready() {
		full = full.Next(beginning(step))
	}
	b.Run("floor", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for i := range s.Stands {
				if s.Stands[i].Phase != pipeline.PhaseDone {
					n++
				}
				for _, j := range s.Parts[i].After {
					if s.Stands[j].Phase != pipeline.PhaseDone {
						n++
					}
				}
			}
		}
	})
	for name, f := range map[string]func(){
		"Ready": func() { s.Ready() }, "ReadyFull": func() { full.Ready() }, "Began": func() { s.Next(began) },
		"Reserve": func() { running.Next(reserve) }, "Ended": func() { reserved.Next(ended) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}

// BenchmarkRun is a whole run of 10,000 tasks, with what a driver asks after each event.
func BenchmarkRun(b *testing.B) {
	_, all := large(b, 10000)
	for b.Loop() {
		s := begun(b, pipeline.Rules{Slots: 8, CostUSD: 1e6, Merge: true}, all, nil)
		events := 0
		tell := func(ev pipeline.Event) {
			s = s.Next(ev)
			events++
			s.Ready()
		}
		for !s.Done() {
			steps := s.Ready()
			for _, step := range steps {
				tell(beginning(step))
			}
			for _, step := range steps {
				if step.Kind == pipeline.StepMerge {
					tell(pipeline.Event{Kind: pipeline.EventMerged, Task: step.Task})
					continue
				}
				tell(pipeline.Event{Kind: pipeline.EventReserve, Task: step.Task, Loop: step.Loop})
				tell(pipeline.Event{Kind: pipeline.EventEnded, Task: step.Task, Loop: step.Loop, Stop: ralph.StopVerified, Usage: dollars(0.1, 5)})
			}
		}
		if s.Stop != ralph.StopVerified {
			b.Fatal(s.Detail)
		}
		b.ReportMetric(float64(events), "events")
	}
}
