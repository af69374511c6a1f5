package pipeline_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// BenchmarkPipeline is the cost of an iteration in a pipeline, beside that of one in a
// loop of its own with the same record, agent and verifier (the floor): want at most 1.2
// times as much.
func BenchmarkPipeline(b *testing.B) {
	const iterations = 1000
	quiet := ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		text := "Not yet."
		if req.Iteration == iterations {
			text = claim(req)
		}
		return ralph.Response{Output: text, Usage: ralph.Usage{Requests: 1, InputTokens: 1}}, nil
	})
	unchanged := func(b *testing.B) (string, []spec.Definition, *pipeline.File) {
		dir := b.TempDir()
		src := file(b, filepath.Join(dir, "tasks.yaml"), task("T", "", nil)+"        max_iterations: 1000\n")
		defs, err := src.Read(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		return dir, defs, src
	}
	b.Run("loop", func(b *testing.B) {
		for b.Loop() {
			dir, defs, _ := unchanged(b)
			d := &progress.Dir{Path: filepath.Join(b.TempDir(), "record")}
			t, err := defs[0].Task("coder")
			if err != nil {
				b.Fatal(err)
			}
			t.Dir, t.Limits.Failures = dir, -1
			roles, err := pipeline.Prompts{}.Load([]string{"coder"})
			if err != nil {
				b.Fatal(err)
			}
			prompt, err := roles.Prompt(dir, pipeline.Stage{Definition: defs[0], Agent: "coder"})
			if err != nil {
				b.Fatal(err)
			}
			s := ralph.Start(t)
			s.Loop = "T.coder"
			l := ralph.Local{Runner: quiet, Verifier: spec.Verifier(spec.Env{Dir: dir}), Log: d, Control: d.Control, Prompt: prompt,
				Output: func(req ralph.Request) (display, raw io.Writer) { return nil, d.Output(req) }}
			if _, err := l.Run(b.Context(), s); err != nil {
				b.Fatal(err)
			}
			d.Close()
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*iterations), "µs/iteration")
	})
	b.Run("pipeline", func(b *testing.B) {
		for b.Loop() {
			dir, _, src := unchanged(b)
			d := &progress.Dir{Path: filepath.Join(b.TempDir(), "record")}
			p := pipeline.Pipeline{Source: src, Dir: dir, Record: d, Runner: func(pipeline.Place) (ralph.Runner, error) { return quiet, nil },
				Stages: []string{"coder"}, Rules: pipeline.Rules{Slots: 4, Merge: false, Tokens: 1 << 40}, Share: true}
			if _, err := p.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
			d.Close()
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*iterations), "µs/iteration")
	})
}
