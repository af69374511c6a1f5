package temporal_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/examples/temporal/internal/dev"
	"github.com/ralph-loop/ralph/verify"
)

func TestLoop(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	srv, err := dev.Server(t.Context(), "", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	w := worker.New(srv.Client(), "q", worker.Options{WorkerStopTimeout: 10 * time.Second})
	l := &ralph.Local{Runner: ralph.Replay("not yet", "<promise>COMPLETE</promise>"), Verifier: verify.String{}}
	if err := temporal.Register(w, l); err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	loop := &temporal.Loop{Client: srv.Client(), Queue: "q"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := loop.Run(ctx, ralph.Start(ralph.Task{ID: "T1", Prompt: "do", Dir: t.TempDir()}))
	t.Logf("%+v %v", s, err)
	if err != nil {
		t.Fatal(err)
	}
	s, err = loop.Run(ctx, ralph.Start(ralph.Task{ID: "T1", Prompt: "do", Dir: s.Task.Dir}))
	t.Logf("%v %v", s.Stop, err)
	s, err = loop.Run(ctx, ralph.Start(ralph.Task{ID: "T1", Prompt: "other", Dir: s.Task.Dir}))
	t.Logf("%v %v", s.Stop, err)
}
