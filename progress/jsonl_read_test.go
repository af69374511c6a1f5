package progress_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// TestResumeAtEveryLine cuts the log of a loop wherever a crash may, goes on from
// there, and finds that nothing is lost or counted twice.
func TestResumeAtEveryLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var whole bytes.Buffer
		if _, err := loopAudit(t.Context(), &progress.JSONL{W: &whole}); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(whole.String(), "\n"), "\n")
		var want ralph.State
		for n := range lines {
			for r := range progress.ReadJSONL(strings.NewReader(lines[n])) {
				want = want.Apply(r.Event)
			}
			cut := strings.Join(lines[:n+1], "")
			if n+1 < len(lines) {
				cut += lines[n+1][:len(lines[n+1])/2]
			}
			got, err := progress.Resume(strings.NewReader(cut), "TASK-001.coder")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after %d lines (-want +got):\n%s", n+1, diff)
			}
			log := bytes.NewBufferString(cut + "\n")
			l := &ralph.Local{Log: &progress.JSONL{W: log}, Verifier: verify.String{},
				Runner: ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
					return ralph.Response{Output: "<promise>COMPLETE</promise>"}, nil
				}),
				Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil }}
			final, err := l.Run(t.Context(), got)
			if err != nil {
				t.Fatal(err)
			}
			again, err := progress.Resume(log, "TASK-001")
			if diff := cmp.Diff(final, again); err != nil || diff != "" {
				t.Errorf("after %d lines: %v (-want +got):\n%s", n+1, err, diff)
			}
		}
	})
}

func TestResume(t *testing.T) {
	t.Parallel()
	started := func(loop, task, stop string, n int) string {
		return fmt.Sprintf(`{"event":{"v":1,"kind":"loop_started","loop":%q,"task":%q,"state":{"v":1,"loop":%q,"iteration":%d,"attempt":1,"stop":%q}}}`+"\n", loop, task, loop, n, stop)
	}
	cancelled := `{"event":{"kind":"cancelled","loop":"T","task":"T"}}` + "\n"
	for _, tt := range []struct{ name, log, task, want string }{
		{"empty", "", "T", `resume "T": the log does not tell the start`},
		{"no start", cancelled, "T", `does not tell the start`},
		{"another task", started("U", "U", "", 1), "T", `does not tell the start`},
		{"by task", started("T.coder", "T", "", 2), "T", "T.coder 2"},
		{"by loop", started("T.coder", "T", "", 2) + started("T.tester", "T", "", 3), "T.tester", "T.tester 3"},
		{"two loops", started("T.tester", "T", "", 3) + started("T.coder", "T", "", 2), "T", "name one of T.coder, T.tester"},
		{"a loop with the task's name", started("T.tester", "T", "", 3) + started("T", "T", "", 2), "T", "T 2"},
		{"cancelled", started("T", "T", "", 2) + cancelled, "T", "T 2 cancelled"},
		{"started afresh", started("T", "T", "", 2) + cancelled + started("T", "T", "", 1), "T", "T 1"},
		{"gone on", started("T", "T", "", 2) + started("T", "T", "", 4), "T", "T 4"},
		{"BOM", "\uFEFF" + started("T", "T", "", 2), "T", "T 2"},
		{"noise", "\r\n[1]\nnull\n\"x\"\n{}\n{\"event\":{\"kind\":7}}\n{\"event\":\n" + strings.TrimSpace(started("T", "T", "", 2)) + "\r\n{\"task_id\":\"T\"}\n" +
			`{"event":{"kind":"later","task":"T","loop":"T"},"new":{}}`, "T", "T 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := progress.Resume(strings.NewReader(tt.log), tt.task)
			got := strings.TrimSpace(fmt.Sprint(s.Loop, " ", s.Iteration, " ", s.Stop))
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) || err == nil && got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	_, err := progress.Resume(io.MultiReader(strings.NewReader("{}\n{}\n"), iotest.ErrReader(os.ErrClosed)), "T")
	if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "line 3") {
		t.Error(err)
	}
}

// A record as other programs write it is read, and a reader may stop early.
func TestReadJSONLFromElsewhere(t *testing.T) {
	t.Parallel()
	const line = `{"task_id": "TASK-001", "stage": "coder", "ralph_iteration": 3, "ralph_max": 15, "promise_found": false, "continuing": true, "duration_ms": 45000}` + "\n"
	n := 0
	for got, err := range progress.ReadJSONL(strings.NewReader(line + line)) {
		want := progress.Record{TaskID: "TASK-001", Stage: "coder", Iteration: 3, Max: 15, Continuing: true, DurationMS: 45000, Line: 1}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

// Lines may be long, but not endless.
func TestReadJSONLLongLines(t *testing.T) {
	t.Parallel()
	line := func(size int) io.Reader {
		return io.MultiReader(strings.NewReader(`{"task_id":"`), io.LimitReader(xs{}, int64(size)), strings.NewReader("\"}\n"))
	}
	var got []string
	for r, err := range progress.ReadJSONL(io.MultiReader(line(3<<20), line(70<<20), line(1))) {
		got = append(got, fmt.Sprint(r.Line, " ", len(r.TaskID), " ", err))
	}
	if diff := cmp.Diff([]string{"1 3145728 <nil>", "3 1 <nil>"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// FuzzReadJSONL reads anything, and after it a line that was appended.
func FuzzReadJSONL(f *testing.F) {
	var b bytes.Buffer
	attempt(f, &progress.JSONL{W: &b}, 1, ralph.OutcomeSuccess)
	f.Add(b.Bytes())
	f.Add([]byte("{}\n{\"event\":{\"kind\":\"guided\",\"text\":\"x\"}}\r\n\n{"))
	path := filepath.Join(f.TempDir(), "log.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		before := 0
		for r, err := range progress.ReadJSONL(bytes.NewReader(data)) {
			if err != nil || r.Line < 1 {
				t.Fatal(r, err)
			}
			before++
		}
		write(t, path, string(data))
		file, err := progress.OpenJSONL(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		attempt(t, &progress.JSONL{W: file}, 1, ralph.OutcomeSkipped)
		var last progress.Record
		after := 0
		for r := range progress.ReadJSONL(strings.NewReader(read(t, path))) {
			last = r
			after++
		}
		if after != before+2 || last.Outcome != ralph.OutcomeSkipped {
			t.Errorf("%d records before and %d after; the last: %+v", before, after, last)
		}
		if _, err := progress.Resume(strings.NewReader(read(t, path)), "T"); err != nil && !strings.Contains(err.Error(), "name one of") {
			t.Error(err)
		}
	})
}

// TestResumeLoopsWithoutNames: two loops without an ID in one log are told apart by
// the names that their driver gave them.
func TestResumeLoopsWithoutNames(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	record := &progress.JSONL{W: &log}
	var names []string
	for _, said := range []string{"So far.", "<promise>COMPLETE</promise>"} {
		l := &ralph.Local{Runner: ralph.Replay(said), Verifier: verify.String{}, Log: record}
		s, _ := l.Run(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Limits: ralph.Limits{Iterations: 1}}))
		names = append(names, s.Loop)
	}
	for i, want := range []ralph.StopReason{ralph.StopIterations, ralph.StopVerified} {
		if s, err := progress.Resume(strings.NewReader(log.String()), names[i]); err != nil || s.Stop != want {
			t.Errorf("%s: stopped %q, want %q; %v", names[i], s.Stop, want, err)
		}
	}
	if s, err := progress.Resume(strings.NewReader(log.String()), ""); err == nil || !strings.Contains(err.Error(), "several loops") {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestResumeProven: of a log that ends at any event, or to which somebody has added a
// verdict, only what is told to its end is believed; no answer that is on record is lost.
func TestResumeProven(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	runs := 0
	runner := ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) {
		runs++
		return ralph.Response{Output: "<promise>COMPLETE</promise>", Usage: ralph.Usage{InputTokens: 5}}, nil
	})
	task := ralph.Task{ID: "T", Prompt: "Do it.", Dir: t.TempDir()}
	loop := &ralph.Local{Runner: runner, Verifier: verify.String{}, Log: &progress.JSONL{W: &whole}}
	want, err := loop.Run(t.Context(), ralph.Start(task))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(whole.String(), "\n"), "\n")
	for n := range lines {
		text := strings.Join(lines[:n+1], "")
		var kind ralph.EventKind
		answered := (*ralph.Event)(nil)
		for r := range progress.ReadJSONL(strings.NewReader(text)) {
			if kind = r.Kind; kind == ralph.EventAnswered {
				answered = &r.Event
			}
		}
		s, err := progress.ResumeProven(strings.NewReader(text), "T")
		if err != nil || s.Done() != (kind == ralph.EventLoopStopped) {
			t.Fatalf("after %s: %q %v", kind, s.Stop, err)
		}
		runs = 0
		again := &ralph.Local{Runner: runner, Verifier: verify.String{}, Pending: func(context.Context, ralph.State) (*ralph.Event, error) { return answered, nil }}
		if s, err = again.Run(t.Context(), s); err != nil || s.Stop != ralph.StopVerified || answered != nil && (runs > 0 || s.Usage.InputTokens != want.Usage.InputTokens) {
			t.Errorf("after %s: %q %v, %d runs, %d tokens", kind, s.Stop, err, runs, s.Usage.InputTokens)
		}
	}
}
