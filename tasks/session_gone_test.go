package tasks_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
)

// An item without an ID that is taken out is not done, however that is done; one that has
// another text is.
func TestSessionGone(t *testing.T) {
	t.Parallel()
	const (
		features = `[{"description":"One","passes":false},{"description":"Two","passes":false}]`
		boxes    = "# Plan\n- [ ] One\n- [ ] Two\n"
		one, two = `"One","passes":false`, `"Two","passes":false`
		ticked   = `"Two","passes":true`
	)
	for _, test := range []struct {
		name, text string
		change     map[string][]string // by task: what each run replaces by what
		want       tasks.SessionStatus
		remaining  int
	}{
		{"a feature is cancelled", features, map[string][]string{"One": {one + "|" + `"One","status":"cancelled","passes":false`}, "Two": {two + "|" + ticked}}, "failed", 1},
		{"a feature is removed", features, map[string][]string{"One": {`{` + one + `},` + "|" + ``}, "Two": {two + "|" + ticked}}, "failed", 1},
		{"a feature is removed beside another that passes", features, map[string][]string{"One": {`{` + one + `},` + "|" + `` + "|" + two + "|" + ticked}}, "failed", 1},
		{"it is cancelled, and another added", features, map[string][]string{"One": {one + "|" + `"One","status":"cancelled"},{"description":"New","passes":true` + "|" + two + "|" + ticked}}, "failed", 1},
		{"a feature has another text", features, map[string][]string{"One": {one + "|" + `"One and a half","passes":true`}, "Two": {two + "|" + ticked}}, "completed", 0},
		{"a box is optional", boxes, map[string][]string{"One": {"[ ] One|[ ]* One|[ ] Two|[x] Two"}}, "failed", 1},
		{"a box is optional, and another added", boxes, map[string][]string{"One": {"[ ] One|[ ]* One|[ ] Two|[x] Two\n- [x] New"}}, "failed", 1},
		{"a box is struck through", boxes, map[string][]string{"One": {"One|~~One~~"}, "Two": {"[ ] Two|[x] Two"}}, "failed", 1},
		{"a box is a criterion", boxes, map[string][]string{"One": {"# Plan\n- [ ] One|# Success criteria\n- [ ] One\n# Plan"}, "Two": {"[ ] Two|[x] Two"}}, "failed", 1},
		{"a box is removed when it is another's turn", boxes, map[string][]string{"One": {"[ ] One|[x] One|- [ ] Two\n|"}}, "failed", 1},
		{"two boxes become one", boxes, map[string][]string{"One": {"- [ ] One\n- [ ] Two|- [x] Both"}}, "failed", 1},
		{"a box has another text", boxes, map[string][]string{"One": {"[ ] One|[x] One and a half"}, "Two": {"[ ] Two|[x] Two"}}, "completed", 0},
		{"a box has another text twice", boxes, map[string][]string{"One": {"[ ] One|[ ] Half", "[ ] Half|[x] Whole|[ ] Two|[x] Two"}}, "completed", 0},
		{"a box that is ticked has another text", boxes, map[string][]string{"One": {"[ ] One|[x] One"}, "Two": {"[x] One\n- [ ] Two|[x] 1\n- [x] Two"}}, "completed", 0},
		{"the new text is another's", boxes, map[string][]string{"One": {"[ ] One|[x] One"}, "Two": {"[x] One\n- [ ] Two|[x] 1"}}, "failed", 1},
		{"one of the same text has another", "- [ ] One\n- [ ] One\n", map[string][]string{"One": {"[ ] One\n- [ ] One|[x] One\n- [x] Two"}}, "completed", 0},
	} {
		for _, verified := range []bool{false, true} {
			t.Run(test.name+map[bool]string{true: ", verified"}[verified], func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "list")
				must(t, os.WriteFile(path, []byte(test.text), 0o600))
				s := tasks.Session{Source: tasks.ListFile{Path: path, AllBoxes: true}, Dir: t.TempDir(), Feature: "f"}
				if strings.HasPrefix(test.text, "[") {
					s.Source = tasks.PRDFile{Path: path}
				}
				if verified {
					s.Verifier = wrong{}
				}
				ran := map[string]int{}
				s.Runner = ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
					text, err := os.ReadFile(path)
					must(t, err)
					if runs := test.change[req.Task]; ran[req.Task] < len(runs) {
						text = []byte(strings.NewReplacer(strings.Split(runs[ran[req.Task]], "|")...).Replace(string(text)))
					}
					ran[req.Task]++
					must(t, os.WriteFile(path, text, 0o600))
					return ralph.Response{Output: "ok"}, nil
				})
				got, err := s.Run(t.Context())
				if diff := cmp.Diff(test.want, got.Status); diff != "" || got.TasksRemaining != test.remaining || (err == nil) != (test.want == "completed") {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
	}
}

// What was being worked on as the session was killed, and was taken out of the list by
// then, is not done, whatever it is called; one known by its text may have got another.
func TestSessionGoneMeanwhile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key, title string
		list       []tasks.Item
		want       int
	}{
		{"T001", "One", nil, 1}, {"1", "One", nil, 1}, {"5.1", "One", nil, 1}, {"login-form", "One", nil, 1}, {"login-form", "", nil, 1},
		{"US 1", "One", nil, 1}, {"1", "One", []tasks.Item{{Key: "new"}}, 1},
		{"By its text", "By its text", nil, 1}, {"By its text", "By its text", []tasks.Item{{Key: "new"}}, 0}, {"Same#2", "Same", []tasks.Item{{Key: "new"}}, 0},
	} {
		b := &kanban{t: t, items: append(graph(t, "T9"), test.list...)}
		begun := ralph.Start(ralph.Task{ID: test.key, Title: test.title, Always: true, Blocked: "BLOCKED", Limits: ralph.Limits{Iterations: 3}})
		begun.Running, begun.Iteration = true, 2
		s := tasks.Session{Source: b, Runner: b, Dir: t.TempDir(), Feature: "f", Begun: map[string]ralph.State{"loop": begun}}
		if got, err := s.Run(t.Context()); got.TasksRemaining != test.want || (err == nil) != (test.want == 0) {
			t.Errorf("%s: %+v, %v", test.key, got, err)
		}
	}
}
