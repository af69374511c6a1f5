package pipeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

func BenchmarkFileWrite(b *testing.B) {
	for _, n := range []int{40, 500, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var text strings.Builder
			for i := range n {
				fmt.Fprintf(&text, "- id: T%d\n  title: a title\n  completion:\n    outcome: It works.\n    acceptance_criteria: [it works]\n    coder: {promise: DONE, max_iterations: 3}\n", i)
			}
			f := &pipeline.File{Path: put(b, "tasks.yaml", text.String())}
			if _, err := f.Read(b.Context()); err != nil {
				b.Fatal(err)
			}
			i := 0
			for b.Loop() {
				i++
				u := pipeline.Update{Status: spec.StatusRunning, Iteration: i, Time: time.Now().Add(time.Duration(i) * time.Second), Running: &pipeline.Running{Stage: "coder", Iteration: i}}
				if err := f.Write(b.Context(), "T7", u); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Eight times the items are about eight times the work.
func BenchmarkListRead(b *testing.B) {
	for _, n := range []int{1000, 8000} {
		var items []tasks.Item
		for i := range n {
			items = append(items, tasks.Item{Key: fmt.Sprint(i)}, tasks.Item{Key: fmt.Sprint(i, ".1"), Parent: fmt.Sprint(i)})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list := pipeline.List{Source: &tracker{items: items}}
			for b.Loop() {
				if _, err := list.Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
