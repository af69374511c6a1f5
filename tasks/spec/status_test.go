package spec_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks/spec"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, s := range []spec.Status{spec.StatusTodo, spec.StatusRunning, spec.StatusDone, spec.StatusFailed, spec.StatusSkipped} {
		if !s.Known() || s.Effective() != s {
			t.Errorf("%q is not known", s)
		}
	}
	for s, want := range map[spec.Status]spec.Status{
		"": spec.StatusTodo, "finshed": spec.StatusTodo, "blocked": spec.StatusTodo, "TODO": spec.StatusTodo,
		"Done": spec.StatusDone, "completed": spec.StatusDone, "In Progress": spec.StatusRunning, "review": spec.StatusRunning,
		"cancelled": spec.StatusSkipped, "Deferred": spec.StatusSkipped, "error": spec.StatusFailed,
	} {
		if s.Known() || s.Effective() != want {
			t.Errorf("%q: known %v, effective %q, want %q", s, s.Known(), s.Effective(), want)
		}
	}
}

// withStatus is a file with one task.
func withStatus(status string) []byte {
	return []byte("id: A # ours\ntitle: T\nstatus: " + status + " # theirs\ncompletion: {outcome: o, acceptance_criteria: [a]}\n")
}

// A word that others write is taken for what it says, and told; what nobody knows is taken
// as todo, with what was probably meant.
func TestForeignStatus(t *testing.T) {
	t.Parallel()
	const all = "; known are todo, running, done, failed, skipped"
	is := func(s string) string { return "is taken as " + s + all }
	meant := func(s string) string { return `is not known and taken as todo; did you mean "` + s + `"?` }
	const other = "is not known and taken as todo" + all
	for _, test := range []struct{ status, want string }{
		{"todo", ""}, {"running", ""}, {"done", ""}, {"failed", ""}, {"skipped", ""}, {`""`, ""}, {"null", ""},
		{"completed", is("done")}, {"Complete", is("done")}, {"Done", is("done")}, {"DONE", is("done")},
		{"finished", is("done")}, {"closed", is("done")}, {"✅", is("done")},
		{"TODO", is("todo")}, {"to-do", is("todo")}, {"pending", is("todo")}, {"open", is("todo")}, {"blocked", is("todo")},
		{"in_progress", is("running")}, {"in-progress", is("running")}, {"In Progress", is("running")}, {"review", is("running")},
		{"cancelled", is("skipped")}, {"skip", is("skipped")}, {"deferred", is("skipped")}, {"Error", is("failed")},
		{"finshed", meant("done")}, {"doen", meant("done")}, {"in progres", meant("running")}, {"canceld", meant("skipped")}, {"pendng", meant("todo")},
		{"run later", other}, {"x", other},
	} {
		f, err := spec.Parse("t.yaml", withStatus(test.status))
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if test.want != "" {
			want = `t.yaml:3:9: A: the status "` + test.status + `" ` + test.want
		}
		if got := strings.Join(f.Warnings, "\n"); got != want {
			t.Errorf("%s: got %q, want %q", test.status, got, want)
		}
		if kept := string(f.Definitions()[0].Status); kept != strings.Trim(strings.TrimPrefix(test.status, "null"), `"`) {
			t.Errorf("%s: kept as %q", test.status, kept)
		}
	}
}

// A foreign status is replaced by ours in place, also by the one that it is taken for, and
// nothing else in the text is.
func TestForeignStatusWritten(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"Completed", `"Completed"`, "'Completed'", "finshed", "in progress"} {
		f, err := spec.Parse("t.yaml", withStatus(status))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.SetStatus("A", spec.StatusDone); err != nil {
			t.Fatal(err)
		}
		quote := ""
		if strings.ContainsAny(status, `"'`) {
			quote = status[:1]
		}
		if diff := cmp.Diff(string(withStatus(quote+"done"+quote)), string(f.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", status, diff)
		}
		if len(f.Warnings) > 0 {
			t.Errorf("%s: still warns: %q", status, f.Warnings)
		}
	}
	f, err := spec.Parse("t.json", []byte(`{"id": "A", "title": "T", "status":"Completed"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetStatus("A", spec.StatusDone); err != nil || !bytes.Equal(f.Bytes(), []byte(`{"id": "A", "title": "T", "status":"done"}`)) {
		t.Errorf("JSON: %s, %v", f.Bytes(), err)
	}
}

// What is taken as done holds up nobody, and what is taken as skipped or failed is not
// ready, nor what depends on it.
func TestReadyForeign(t *testing.T) {
	t.Parallel()
	f, err := spec.Parse("t.yaml", []byte(`
- {id: A, title: a, status: Completed}
- {id: B, title: b, dependencies: [A]}
- {id: C, title: c, status: cancelled}
- {id: D, title: d, dependencies: [C]}
- {id: E, title: e, status: in-progress}
- {id: F, title: f, status: daydreaming}
- {id: G, title: g, status: error}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range f.Ready() {
		got = append(got, d.ID)
	}
	if diff := cmp.Diff([]string{"B", "E", "F"}, got); diff != "" {
		t.Error(diff)
	}
}
