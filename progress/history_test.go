package progress_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// A pastLoop is a loop that is on record: how often its claim was rejected, and for what,
// before it was verified, or the limit of iterations was reached.
type pastLoop struct {
	name          string
	agent, method string
	criteria      int
	rejected      []string
	most          int // iterations; 0 = enough
	cost          []ralph.Usage
}

func (p pastLoop) task() ralph.Task {
	t := ralph.Task{ID: p.name, Agent: p.agent, Method: p.method, Prompt: "Do it.", Limits: ralph.Limits{Iterations: p.most, Failures: -1, Retries: -1}}
	if p.most == 0 {
		t.Limits.Iterations = len(p.rejected) + 1
	}
	for i := range p.criteria {
		t.Acceptance = append(t.Acceptance, fmt.Sprintf("criterion %d", i))
	}
	return t
}

// run runs the loop in a folder.
func (p pastLoop) run(tb testing.TB, dir *progress.Dir) {
	tb.Helper()
	s := ralph.Start(p.task())
	s.Loop = p.name
	agent := ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
		a := ralph.Response{Output: "<promise>COMPLETE</promise>"}
		if i := req.Iteration - 1; i < len(p.cost) {
			a.Usage = p.cost[i]
		}
		return a, nil
	})
	local := &ralph.Local{Runner: agent, Log: dir, Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if c.Iteration > len(p.rejected) {
			return ralph.Verdict{Passed: true}, nil
		}
		return ralph.Reject(p.rejected[c.Iteration-1]), nil
	})}
	_, err := local.Run(tb.Context(), s)
	if _, stopped := errors.AsType[*ralph.StopError](err); err != nil && !stopped {
		tb.Fatal(err)
	}
}

func historyOf(tb testing.TB, dir *progress.Dir) progress.History {
	tb.Helper()
	h, err := dir.History(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func recorded(tb testing.TB, loops ...pastLoop) *progress.Dir {
	tb.Helper()
	dir := &progress.Dir{Path: filepath.Join(tb.TempDir(), "records"), NoSync: true}
	tb.Cleanup(func() { dir.Close() })
	for _, p := range loops {
		p.run(tb, dir)
	}
	return dir
}

// several are loops with the given numbers of rejections.
func several(agent, method string, criteria int, rejections ...int) (all []pastLoop) {
	for i, n := range rejections {
		p := pastLoop{name: fmt.Sprintf("%s-%s-%d", agent, method, i), agent: agent, method: method, criteria: criteria}
		for k := range n {
			p.rejected = append(p.rejected, fmt.Sprintf("not yet, loop %d, claim %d", i, k))
		}
		all = append(all, p)
	}
	return all
}

// TestHistory: what is counted, by agent and method, is the same in whatever order the
// loops ran, and at each time.
func TestHistory(t *testing.T) {
	t.Parallel()
	loops := slices.Concat(
		several("coder", "external", 3, 0, 1, 2, 5, 0, 1),
		several("coder", "semantic", 0, 2),
		several("", "", 0, 0),
		[]pastLoop{{name: "given up", agent: "coder", method: "external", rejected: []string{"a", "b"}, most: 2}},
	)
	h := historyOf(t, recorded(t, loops...))
	if len(h.Stats) != 3 || h.Skipped != 0 {
		t.Fatalf("%+v", h)
	}
	external := h.Stats[1]
	if external.Agent != "coder" || external.Method != "external" || external.Loops != 7 || external.Verified != 6 {
		t.Errorf("%+v", external)
	}
	if want := map[ralph.StopReason]int{ralph.StopVerified: 6, ralph.StopIterations: 1}; !reflect.DeepEqual(external.Stopped, want) {
		t.Errorf("stopped %v, want %v", external.Stopped, want)
	}
	if external.Usage.Requests != 0 || external.Unpriced != 7 {
		t.Errorf("used %v, %d of unknown cost", external.Usage, external.Unpriced)
	}
	for _, test := range []struct{ p, criteria, want int }{{50, 3, 2}, {95, 3, 6}, {95, 1, 2}, {95, 6, 12}, {95, 4, 8}, {1, 3, 1}, {50, 0, 1}} {
		if got := external.Iterations(test.p, test.criteria); got != test.want {
			t.Errorf("the %dth percentile for %d criteria is %d, want %d", test.p, test.criteria, got, test.want)
		}
	}
	for seed := range uint64(2) {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(loops), func(i, j int) { loops[i], loops[j] = loops[j], loops[i] })
		dir := recorded(t, loops...)
		for range 2 {
			if again := historyOf(t, dir); !reflect.DeepEqual(again, h) {
				t.Fatalf("in another order:\n%+v\nwas\n%+v", again, h)
			}
		}
	}
	if h := historyOf(t, &progress.Dir{Path: filepath.Join(t.TempDir(), "none")}); len(h.Stats) != 0 || h.Skipped != 0 {
		t.Errorf("no folder: %+v", h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := recorded(t, loops[0]).History(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

// TestHistoryLimits: how many iterations histories of different sizes give.
func TestHistoryLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                  string
		loops                 []pastLoop
		criteria, usual, most int
		limit                 int // the task's
		want                  int
	}{
		{name: "none, no criteria", usual: 15, want: 15},
		{name: "none, one criterion", criteria: 1, usual: 15, want: 15},
		{name: "none, 7 criteria", criteria: 7, usual: 10, want: 70},
		{name: "none, 7 criteria, the most that nobody configured", criteria: 7, usual: 15, want: 100},
		{name: "none, 7 criteria, capped", criteria: 7, usual: 15, most: 20, want: 20},
		{name: "none, no usual number", criteria: 2, want: 20},
		{name: "one", loops: several("a", "m", 1, 3), criteria: 1, usual: 15, want: 15},
		{name: "four", loops: several("a", "m", 1, 3, 3, 3, 3), criteria: 2, usual: 15, want: 30},
		{name: "five", loops: several("a", "m", 1, 3, 3, 3, 3, 3), criteria: 2, usual: 15, want: 8},
		{name: "five, no criteria", loops: several("a", "m", 0, 3, 3, 3, 3, 3), usual: 15, want: 4},
		{name: "five, 7 criteria, rounded up", loops: several("a", "m", 3, 3, 3, 3, 3, 3), criteria: 7, usual: 15, want: 10},
		{name: "five, less than one for each", loops: several("a", "m", 7, 0, 0, 0, 0, 0), criteria: 1, usual: 15, want: 1},
		{name: "five, capped", loops: several("a", "m", 1, 3, 3, 3, 3, 3), criteria: 2, usual: 15, most: 6, want: 6},
		{name: "five, of another agent", loops: several("b", "m", 1, 3, 3, 3, 3, 3), criteria: 2, usual: 15, want: 30},
		{name: "five, of another method", loops: several("a", "n", 1, 3, 3, 3, 3, 3), criteria: 2, usual: 15, want: 30},
		{name: "unlimited stays", loops: several("a", "m", 1, 3, 3, 3, 3, 3), criteria: 2, limit: -1, want: -1},
		{name: "unlimited is configured", loops: several("a", "m", 1, 3, 3, 3, 3, 3), criteria: 2, most: -1, limit: 9, want: 9},
		{name: "garbage", criteria: 7, usual: math.MaxInt, most: math.MaxInt, want: 7_000_000},
		{name: "negative garbage", criteria: 7, usual: math.MinInt, want: 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := historyOf(t, recorded(t, test.loops...))
			task := pastLoop{agent: "a", method: "m", criteria: test.criteria}.task()
			task.Limits = ralph.Limits{Iterations: test.limit, CostUSD: 3, Duration: time.Hour}
			got := h.Limits(task, test.usual, test.most)
			if got.Iterations != test.want {
				t.Errorf("%d iterations, want %d", got.Iterations, test.want)
			}
			if got.Iterations = task.Limits.Iterations; got != task.Limits {
				t.Errorf("other limits changed: %+v", got)
			}
		})
	}
}

// TestHistoryRejections: what claims were rejected for in several loops, without what
// differs each time, secrets and control sequences.
func TestHistoryRejections(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-api03-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"
	dir := recorded(t,
		pastLoop{name: "1", rejected: []string{"lint took 1.2s: unused x", "lint took 9.9s: unused x", "\x1b[31mred\x1b[0m\u202e alert\nand its output 1"}},
		pastLoop{name: "2", rejected: []string{"lint took 0.3s: unused x", "\x1b[32mred\x1b[0m alert\nand other output", "only here"}},
		pastLoop{name: "3", rejected: []string{"these criteria fail:\nthe second one\nbecause", "token " + key + " leaked " + strings.Repeat("x", 2000)}},
		pastLoop{name: "4", rejected: []string{"these criteria fail:\nthe second one\nfor", "token " + key + " leaked " + strings.Repeat("x", 2000)}},
	)
	h := historyOf(t, dir)
	var got []string
	for _, r := range h.Stats[0].Rejections {
		got = append(got, fmt.Sprintf("%d %s", r.Loops, r.Text))
	}
	long := "2 token [redacted:anthropic] leaked xxx"
	want := []string{"2 lint took 0.3s: unused x", "2 red alert", "2 these criteria fail: the second one", long, "1 only here"}
	for i := range got {
		if strings.HasPrefix(got[i], long) && len(got[i]) == 302 {
			got[i] = long
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	lesson := h.Lesson(ralph.Start(ralph.Task{Prompt: "Do it."}), 10, 0)
	if len(lesson.Rejections) != 4 || lesson.Rejections[0] != "lint took 0.3s: unused x" {
		t.Errorf("told: %q", lesson.Rejections)
	}
	dir.Redactor.Secrets = []string{"criteria"}
	if h := historyOf(t, dir); !slices.ContainsFunc(h.Stats[0].Rejections, func(r progress.Rejection) bool { return strings.HasPrefix(r.Text, "these [redacted:named] fail") }) {
		t.Errorf("a secret that is named now: %+v", h.Stats[0].Rejections)
	}
}

// TestHistoryLesson: the sentence that says what was learned.
func TestHistoryLesson(t *testing.T) {
	t.Parallel()
	told := pastLoop{name: "told", agent: "a", method: "external", criteria: 3, rejected: []string{"x", "y"}}
	again := told
	again.name = "again"
	for _, test := range []struct {
		name               string
		loops              []pastLoop
		limit, usual, most int
		want               string
	}{
		{"nothing", nil, 30, 10, 0, ""},
		{"the same", nil, 10, 10, 10, ""},
		{"by default", several("a", "external", 3, 0), 15, 15, 0, "iterations 15 → 45: 15 for each of 3 criteria, for fewer than 5 verified loops of a with external checks are on record (1)"},
		{"by default, capped", nil, 40, 15, 20, "iterations 40 → 20: 15 for each of 3 criteria, for fewer than 5 verified loops of a with external checks are on record (0); at most 20 are configured"},
		{"learned", several("a", "external", 3, 5, 5, 5, 5, 5), 10, 15, 0, "iterations 10 → 6: 95% of 5 verified loops of a with external checks needed at most 2 for each of 3 criteria"},
		{"learned, part", several("a", "external", 3, 3, 3, 3, 3, 3), 10, 15, 0, "iterations 10 → 4: 95% of 5 verified loops of a with external checks needed at most 1.34 for each of 3 criteria"},
		{"learned, capped", several("a", "external", 1, 50, 50, 50, 50, 50), 10, 15, 0, "iterations 10 → 100: 95% of 5 verified loops of a with external checks needed at most 51 for each of 3 criteria; 100 are the most where nobody has configured how many"},
		{"rejections", []pastLoop{told, again}, 30, 10, 30, "the agent is told 2 reasons for which claims were rejected in several of 2 loops of a with external checks"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			task := pastLoop{agent: "a", method: "external", criteria: 3}.task()
			task.Limits.Iterations = test.limit
			lesson := historyOf(t, recorded(t, test.loops...)).Lesson(ralph.Start(task), test.usual, test.most)
			if lesson.Why != test.want {
				t.Errorf("got  %q\nwant %q", lesson.Why, test.want)
			}
			if strings.Contains(lesson.Why, "iterations") != (lesson.Limits.Iterations != test.limit) {
				t.Errorf("%q, and the limit is %d", lesson.Why, lesson.Limits.Iterations)
			}
		})
	}
}

// TestHistoryCost: costs that are told, estimated and unknown stay apart, and what is no
// amount is unknown.
func TestHistoryCost(t *testing.T) {
	t.Parallel()
	usd := func(v float64) *float64 { return &v }
	h := historyOf(t, recorded(t,
		pastLoop{name: "told", cost: []ralph.Usage{{CostUSD: usd(1), InputTokens: 10}}},
		pastLoop{name: "both", rejected: []string{"x"}, cost: []ralph.Usage{{CostUSD: usd(0.5), Estimated: true, OutputTokens: 5}, {CostUSD: usd(0.25)}}},
		pastLoop{name: "unknown", cost: []ralph.Usage{{InputTokens: 100}}},
		pastLoop{name: "nan", cost: []ralph.Usage{{CostUSD: usd(math.NaN())}}},
	))
	s := h.Stats[0]
	if s.Usage.CostUSD == nil || *s.Usage.CostUSD != 1.75 || !s.Usage.Estimated || s.Estimated != 0.5 || s.Unpriced != 2 || s.Usage.InputTokens != 110 || s.Usage.OutputTokens != 5 {
		t.Errorf("%v, estimated %v, unknown %d", s.Usage, s.Estimated, s.Unpriced)
	}
}

// TestHistoryBroken: journals that are torn, edited by hand, of something else or under
// another name do no harm: they are skipped and counted, and what a crash has left counts.
func TestHistoryBroken(t *testing.T) {
	t.Parallel()
	dir := recorded(t, several("a", "m", 1, 1, 1, 1, 1, 1)...)
	whole := historyOf(t, dir)
	journal, err := os.ReadFile(dir.File("a-m-0"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(journal, []byte("\n")), []byte("\n"))
	write := func(loop, text string) {
		t.Helper()
		if err := os.WriteFile(dir.File(loop), []byte(strings.ReplaceAll(text, "a-m-0", loop)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, text string
		skipped    bool
		loops      int
	}{
		{"garbage", "garbage\n", true, 0},
		{"empty", "", false, 0},
		{"another name", strings.ReplaceAll(string(journal), "a-m-0", "else"), true, 0},
		{"negative", strings.ReplaceAll(string(journal), `"iteration":2,`, `"iteration":-2,`), true, 0},
		{"huge", strings.ReplaceAll(string(journal), `"iteration":2,`, `"iteration":9223372036854775807,`), true, 0},
		{"too large", strings.ReplaceAll(string(journal), `"iteration":2,`, `"iteration":1e999,`), true, 0},
		{"NaN", strings.ReplaceAll(string(journal), `"attempt":1,`, `"attempt":NaN,`), true, 0},
		{"newer", strings.ReplaceAll(string(journal), `"v":1`, `"v":99`), true, 0},
		{"session", strings.ReplaceAll(string(journal), `"kind":"loop"`, `"kind":"session"`), false, 0},
		{"pipeline", strings.ReplaceAll(string(journal), `"kind":"loop"`, `"kind":"pipeline"`), false, 0},
		{"torn", string(journal[:len(journal)-20]), false, 1},
		{"running", string(bytes.Join(lines[:len(lines)-3], nil)), false, 1},
		{"begun", string(lines[0]), false, 1},
		{"checked (check)", string(journal), false, 0},
	} {
		write(test.name, test.text)
		h := historyOf(t, dir)
		loops, skipped := 0, 0
		for _, s := range h.Stats {
			loops += s.Loops
			if s.Verified > s.Loops || s.Iterations(95, 1) != 2 {
				t.Errorf("%s: %+v", test.name, s)
			}
		}
		if test.skipped {
			skipped = 1
		}
		if loops != 5+test.loops || h.Skipped != skipped {
			t.Errorf("%s: %d loops, %d skipped; want %d and %d", test.name, loops, h.Skipped, 5+test.loops, skipped)
		}
		if err := os.Remove(dir.File(test.name)); err != nil {
			t.Fatal(err)
		}
	}
	if h := historyOf(t, dir); !reflect.DeepEqual(h, whole) {
		t.Errorf("after all that: %+v", h)
	}
}

// TestHistoryAgain: the loop before the last one of a name counts, one that was set aside
// does not, and one that goes on is one.
func TestHistoryAgain(t *testing.T) {
	t.Parallel()
	p := pastLoop{name: "again", agent: "a", rejected: []string{"x"}}
	dir := recorded(t, p, p, p)
	if s := historyOf(t, dir).Stats[0]; s.Loops != 2 || s.Verified != 2 {
		t.Errorf("%d loops, %d verified, want 2", s.Loops, s.Verified)
	}
	stopped := pastLoop{name: "goes on", agent: "b", rejected: []string{"x", "y"}, most: 1}
	stopped.run(t, dir)
	j, err := dir.Open("goes on")
	if err != nil {
		t.Fatal(err)
	}
	j.State = j.State.Limit(ralph.Limits{Iterations: 5}).Reopen()
	if _, err = j.Run(t.Context(), &ralph.Local{Runner: ralph.Replay("none", "<promise>COMPLETE</promise>"), Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		return ralph.Verdict{Passed: true}, nil
	})}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if s := historyOf(t, dir).Stats[1]; s.Loops != 1 || s.Verified != 1 || s.Iterations(95, 1) != 2 {
		t.Errorf("one that goes on: %+v", s)
	}
	if _, _, err := dir.SetAside("goes on"); err != nil {
		t.Fatal(err)
	}
	if h := historyOf(t, dir); len(h.Stats) != 1 {
		t.Errorf("one that was set aside: %+v", h)
	}
}

// TestReadHistory: an execution log, in which loops stand mixed, tells the same as their
// journals.
func TestReadHistory(t *testing.T) {
	t.Parallel()
	dir := recorded(t, several("a", "m", 2, 0, 3, 1)...)
	var logs [][]byte
	for i := range 3 {
		text, err := os.ReadFile(dir.File(fmt.Sprintf("a-m-%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, bytes.SplitAfter(text, []byte("\n"))...)
	}
	half := len(logs) / 2
	var mixed []byte
	for i := range half { // each loop's own lines stay in their order
		mixed = append(append(mixed, logs[i]...), "torn\n"...)
	}
	mixed = append(mixed, bytes.Join(logs[half:], nil)...)
	h, err := progress.ReadHistory(bytes.NewReader(mixed))
	if want := historyOf(t, dir); err != nil || !reflect.DeepEqual(h, want) {
		t.Errorf("%+v, %v\nwant %+v", h, err, want)
	}
	twice := slices.Concat(mixed, bytes.Join(logs, nil))
	if h, err := progress.ReadHistory(bytes.NewReader(twice)); err != nil || h.Stats[0].Loops != 6 {
		t.Errorf("begun anew under the same names: %+v, %v", h, err)
	}
}

// many writes the journals of many loops: copies of one, under names of the same length.
func many(tb testing.TB, n int) *progress.Dir {
	tb.Helper()
	dir := recorded(tb, pastLoop{name: "loop-00000", agent: "coder", method: "external", criteria: 3, rejected: []string{"lint fails", "the tests fail"}})
	journal, err := os.ReadFile(dir.File("loop-00000"))
	if err != nil {
		tb.Fatal(err)
	}
	for i := 1; i < n; i++ {
		name := fmt.Sprintf("loop-%05d", i)
		if err := os.WriteFile(dir.File(name), bytes.ReplaceAll(journal, []byte("loop-00000"), []byte(name)), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// TestHistoryOfMany: 10,000 loops.
func TestHistoryOfMany(t *testing.T) {
	t.Parallel()
	const n = 10_000
	h := historyOf(t, many(t, n))
	s := h.Stats[0]
	if s.Loops != n || s.Verified != n || h.Skipped != 0 || s.Iterations(95, 6) != 6 || len(s.Rejections) != 2 || s.Rejections[0].Loops != n {
		t.Errorf("%+v", h)
	}
}
