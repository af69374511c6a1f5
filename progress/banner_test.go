package progress_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

func TestBanner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := &progress.Banner{W: &out, Mode: "build"}
		cost := 0.25
		l := &ralph.Local{Verifier: verify.String{}, Log: b,
			Output:    func(ralph.Request) (io.Writer, io.Writer) { return nil, b },
			Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
			Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
				<-time.After(2 * time.Second)
				io.WriteString(req.Raw, "working")
				if req.Iteration == 1 && req.Attempt == 1 {
					return ralph.Response{}, errors.New("exit\nstatus 1")
				}
				return ralph.Response{Output: []string{"So far.", "<promise>COMPLETE</promise>"}[req.Iteration-1], Model: "big",
					Usage: ralph.Usage{Requests: 3, Messages: 2, CostUSD: &cost}}, nil
			})}
		s, err := l.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", ID: "T"}))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(time.Now(), string(s.Stop), 0); err != nil {
			t.Fatal(err)
		}
		rule, line := "================================================================================\n", "--------------------------------------------------------------------------------\n"
		head := func(n, at string) string {
			return rule + "ITERATION " + n + "\n" + rule + "Mode: build\nStart Time: 2000-01-01T00:00:" + at + "Z\n" + line + "working\n" + line + "ITERATION " + n + " COMPLETE\n"
		}
		known := "API Requests: 3\nModel: big\nMessages: 2\nCost: $0.2500\n"
		want := head("1", "00") + "End Time: 2000-01-01T00:00:02Z\nDuration: 2s\nRetries: 0\nStatus: failure (error: exit status 1)\n" + rule + "\n" +
			head("1", "02") + "End Time: 2000-01-01T00:00:04Z\nDuration: 2s\n" + known + "Retries: 1\nStatus: success\n" + rule + "\n" +
			head("2", "04") + "End Time: 2000-01-01T00:00:06Z\nDuration: 2s\n" + known + "Retries: 0\nStatus: success (claimed, verified)\n" + rule + "\n" +
			rule + "SESSION SUMMARY\n" + rule + "Total Iterations: 2\nSuccessful: 2\nFailed: 0\nTotal Duration: 6.468s\nExit Reason: verified\nExit Code: 0\n" + rule
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestBannerOnAFullDisk(t *testing.T) {
	t.Parallel()
	b := &progress.Banner{W: full{}}
	if n, err := b.Write([]byte("x")); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := b.Append(t.Context(), ralph.Event{Kind: ralph.EventIterationEnded}); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	if err := b.Close(time.Now(), "", 0); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}
