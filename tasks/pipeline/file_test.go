package pipeline_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

const three = `# Our tasks
- id: A # the first
  title: One
  status: todo
  completion: {outcome: It works., acceptance_criteria: [it works]}

- id: B
  title: Two
  dependencies: [A]
  metadata:
    owner: me # of the user

- {id: C, title: Three, dependencies: [A]}
`

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// What a run writes of a task, all of it is taken back when the task is done, and no
// other byte is changed.
func TestFileWrite(t *testing.T) {
	t.Parallel()
	path := put(t, "tasks.yaml", three)
	f := &pipeline.File{Path: path}
	if got := order(read(t, f)); got != "A: \nB: A\nC: A\n" {
		t.Errorf("read %q", got)
	}
	running := &pipeline.Running{Stage: "coder", Iteration: 2, MaxIterations: 15, StartedAt: noon, CompletionPromise: "CODED"}
	failure := &pipeline.Failure{Stage: "coder", IterationsUsed: 15, LastOutput: "Two tests\nfail.\n", Reason: "no iterations are left"}
	const updated, began = "updated_at: 2026-01-31T12:00:00Z", `"2026-01-31T12:00:00Z"`
	for _, step := range []struct {
		name, id string
		u        pipeline.Update
		was, is  string // in the text of the step before
	}{
		{"running", "A", pipeline.Update{Status: spec.StatusRunning, Iteration: 2, Time: noon, Running: running},
			"- id: A # the first\n  title: One\n  status: todo\n",
			"- id: A # the first\n  iteration: 2\n  title: One\n  status: running\n  " + updated + "\n  metadata:\n    ralph:\n      stage: coder\n      iteration: 2\n      max_iterations: 15\n      started_at: " + began + "\n      completion_promise: CODED\n"},
		{"a later iteration", "A", pipeline.Update{Status: spec.StatusRunning, Running: &pipeline.Running{Stage: "qa", Iteration: 3, StartedAt: noon}},
			"stage: coder\n      iteration: 2\n      max_iterations: 15\n      started_at: " + began + "\n      completion_promise: CODED\n",
			"stage: qa\n      iteration: 3\n      max_iterations: 0\n      started_at: " + began + "\n      completion_promise: \"\"\n"},
		{"failed", "A", pipeline.Update{Status: spec.StatusTodo, Iteration: 15, Time: noon.Add(time.Hour), Failure: failure},
			"  iteration: 2\n  title: One\n  status: running\n  " + updated + "\n  metadata:\n    ralph:\n      stage: qa\n      iteration: 3\n      max_iterations: 0\n      started_at: " + began + "\n      completion_promise: \"\"\n",
			"  iteration: 15\n  title: One\n  status: todo\n  updated_at: 2026-01-31T13:00:00Z\n  metadata:\n    ralph_failure:\n      stage: coder\n      iterations_used: 15\n      last_output: |\n        Two tests\n        fail.\n      reason: no iterations are left\n"},
		{"among others", "B", pipeline.Update{Status: spec.StatusRunning, Failure: failure},
			"- id: B\n  title: Two\n  dependencies: [A]\n  metadata:\n    owner: me # of the user\n",
			"- id: B\n  status: running\n  title: Two\n  dependencies: [A]\n  metadata:\n    owner: me # of the user\n    ralph_failure:\n      stage: coder\n      iterations_used: 15\n      last_output: |\n        Two tests\n        fail.\n      reason: no iterations are left\n"},
		{"in brackets", "C", pipeline.Update{Status: spec.StatusSkipped, Time: noon, Failure: &pipeline.Failure{Stage: "qa"}},
			"{id: C, ", "{id: C, status: skipped, " + updated + `, metadata: {"ralph_failure":{"stage":"qa","iterations_used":0,"last_output":"","reason":""}}, `},
		{"done", "A", pipeline.Update{Status: spec.StatusDone},
			"  status: todo\n  updated_at: 2026-01-31T13:00:00Z\n  metadata:\n    ralph_failure:\n      stage: coder\n      iterations_used: 15\n      last_output: |\n        Two tests\n        fail.\n      reason: no iterations are left\n",
			"  status: done\n  updated_at: 2026-01-31T13:00:00Z\n"},
		{"done in brackets", "C", pipeline.Update{Status: spec.StatusDone}, `skipped, ` + updated + `, metadata: {"ralph_failure":{"stage":"qa","iterations_used":0,"last_output":"","reason":""}}`, "done, " + updated},
	} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		applied := step.u.Apply(definition(t, path, step.id))
		if err := f.Write(t.Context(), step.id, step.u); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if d := cmp.Diff(definition(t, path, step.id), applied); d != "" {
			t.Errorf("%s: Apply makes something else of it than the file says:\n%s", step.name, d)
		}
		want := strings.Replace(string(before), step.was, step.is, 1)
		if want == string(before) {
			t.Fatalf("%s: the text is not there:\n%s", step.name, before)
		}
		holds(t, path, want)
	}
	if altered, added, err := f.Changes(t.Context()); len(altered)+len(added) > 0 || err != nil {
		t.Errorf("our own writes are somebody else's: %v %v %v", altered, added, err)
	}
}

// definition is a task as the file says it now.
func definition(t *testing.T, path, id string) spec.Definition {
	t.Helper()
	now, err := spec.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range now.Definitions() {
		if d.ID == id {
			return d
		}
	}
	t.Fatalf("there is no %s", id)
	return spec.Definition{}
}

// Of a long output the end is written, and whole characters.
func TestFileLastOutput(t *testing.T) {
	t.Parallel()
	path := put(t, "tasks.yaml", "id: A\ntitle: a\n")
	f := &pipeline.File{Path: path}
	read(t, f)
	if err := f.Write(t.Context(), "A", pipeline.Update{Status: spec.StatusTodo, Failure: &pipeline.Failure{LastOutput: strings.Repeat("ä", 4096) + "\x00the end"}}); err != nil {
		t.Fatal(err)
	}
	var said pipeline.Failure
	if err := json.Unmarshal(read(t, f)[0].Metadata["ralph_failure"], &said); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("ä", (4096-8)/2) + "\x00the end"; said.LastOutput != want {
		t.Errorf("%d bytes, want %d: …%q", len(said.LastOutput), len(want), said.LastOutput[max(0, len(said.LastOutput)-20):])
	}
}

// Metadata that cannot be written alone keeps no status from being written.
func TestFileMetadataInUse(t *testing.T) {
	t.Parallel()
	path := put(t, "tasks.yaml", "- {id: A, title: a, metadata: &m {owner: me}}\n- {id: B, title: b, metadata: *m}\n")
	f := &pipeline.File{Path: path}
	read(t, f)
	if err := f.Write(t.Context(), "A", pipeline.Update{Status: spec.StatusRunning, Running: &pipeline.Running{Stage: "qa"}}); err != nil {
		t.Error(err)
	}
	holds(t, path, "- {id: A, status: running, title: a, metadata: &m {owner: me}}\n- {id: B, title: b, metadata: *m}\n")
}

// What somebody else has changed is told, and nothing is written to it; other tasks
// are written all the same.
func TestFileAltered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, was, is, what string }{
		{"the title", "title: One", "title: Another", "changed (title)"},
		{"what done means", "[it works]", "[it works, or not]", "changed (completion.acceptance_criteria)"},
		{"its ID", "id: A #", "id: X #", "removed"},
		{"a copy", "- id: B", "- {id: A, title: One}\n- id: B", "given twice"},
		{"done", "status: todo", "status: done", "set to done"},
		{"running", "status: todo", "status: running", "set to running"},
		{"a word", "status: todo", "status: soon", "set to soon"},
		{"the layout", "title: One\n  status: todo", "status:   'todo'  # not yet\n  title: \"One\"", ""},
		{"what is written down", "title: One", "title: One\n  iteration: 7\n  updated_at: 2026-01-01\n  metadata: {a: b}", ""},
		{"no status", "  status: todo\n", "", ""},
	} {
		path := put(t, "tasks.yaml", three)
		f := &pipeline.File{Path: path}
		read(t, f)
		text := strings.Replace(three, test.was, test.is, 1)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		altered, added, err := f.Changes(t.Context())
		if err != nil || altered["A"] != test.what || (len(added) > 0) != (test.what == "removed") {
			t.Errorf("%s: altered %v, added %v, %v", test.name, altered, order(added), err)
		}
		err = f.Write(t.Context(), "A", pipeline.Update{Status: spec.StatusDone})
		if test.what == "" {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if e, ok := errors.AsType[*pipeline.AlteredError](err); !ok || *e != (pipeline.AlteredError{ID: "A", What: test.what}) {
			t.Errorf("%s: %v", test.name, err)
		}
		if ok, err := f.Take(t.Context(), "A"); ok || err != nil {
			t.Errorf("%s: taken: %t, %v", test.name, ok, err)
		}
		holds(t, path, text)
		// What else is done to it changes nothing, nor does putting it back.
		if err := os.WriteFile(path, []byte(three[strings.Index(three, "- id: B"):]), 0o644); err != nil {
			t.Fatal(err)
		}
		if altered, _, err := f.Changes(t.Context()); err != nil || altered["A"] != test.what {
			t.Errorf("%s: and then removed: %v, %v", test.name, altered, err)
		}
		if err := os.WriteFile(path, []byte(three), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := f.Write(t.Context(), "A", pipeline.Update{Status: spec.StatusDone}); err == nil {
			t.Errorf("%s: written once it was put back", test.name)
		}
		if err := f.Write(t.Context(), "B", pipeline.Update{Status: spec.StatusDone}); err != nil {
			t.Errorf("%s: another task: %v", test.name, err)
		}
		holds(t, path, strings.Replace(three, "- id: B\n", "- id: B\n  status: done\n", 1))
		read(t, f) // begins anew
		if ok, err := f.Take(t.Context(), "A"); !ok || err != nil {
			t.Errorf("%s: not taken once it was read again: %v", test.name, err)
		}
	}
}

func TestFileTake(t *testing.T) {
	t.Parallel()
	path := put(t, "tasks.yaml", "- {id: todo, title: a, status: todo}\n- {id: none, title: a}\n- {id: odd, title: a, status: soon}\n- {id: running, title: a, status: running}\n"+
		"- {id: done, title: a, status: done}\n- {id: failed, title: a, status: failed}\n- {id: skipped, title: a, status: skipped}\n")
	f := &pipeline.File{Path: path}
	begun := time.Now().Truncate(time.Second)
	for _, d := range read(t, f) {
		got, err := f.Take(t.Context(), d.ID)
		if want := map[string]bool{"todo": true, "none": true, "odd": true, "running": true}[d.ID]; got != want || err != nil {
			t.Errorf("%s: %t, %v", d.ID, got, err)
		}
	}
	if _, err := f.Take(t.Context(), "another"); err == nil {
		t.Error("a task that never was is taken")
	}
	for _, d := range read(t, f) {
		if taken := d.Status == spec.StatusRunning; taken == d.UpdatedAt.Before(begun) {
			t.Errorf("%s: %s, updated at %s", d.ID, d.Status, d.UpdatedAt)
		}
	}
	// Two runs of one file: one of them has a task.
	one, two := &pipeline.File{Path: put(t, "tasks.yaml", three)}, &pipeline.File{}
	two.Path = one.Path
	read(t, one)
	read(t, two)
	first, err := one.Take(t.Context(), "A")
	second, err2 := two.Take(t.Context(), "A")
	if !first || second || err != nil || err2 != nil {
		t.Errorf("taken: %t and %t, %v, %v", first, second, err, err2)
	}
}

// Nothing is written over what can no longer be read.
func TestFileLost(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "- id: [", "id: A\ntitel: One\n"} {
		path := put(t, "tasks.yaml", three)
		f := &pipeline.File{Path: path}
		if err := f.Write(t.Context(), "A", pipeline.Update{Status: spec.StatusDone}); err == nil {
			t.Error("written before it was read")
		}
		read(t, f)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, took := f.Take(t.Context(), "A")
		_, _, changes := f.Changes(t.Context())
		for what, err := range map[string]error{"write": f.Write(t.Context(), "A", pipeline.Update{Status: spec.StatusDone}), "take": took, "changes": changes} {
			if _, ok := errors.AsType[*pipeline.LostError](err); !ok || !strings.Contains(err.Error(), "tasks.yaml") {
				t.Errorf("%s: %v", what, err)
			}
		}
		holds(t, path, text)
	}
	if _, err := (&pipeline.File{Path: put(t, "tasks.yaml", "- {id: A, title: a, dependencies: [B]}\n")}).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "tasks.yaml:1:36: A: depends on") {
		t.Errorf("a file that is not valid: %v", err)
	}
}

// Writers of one file, in several programs and one, do not undo each other's work. A
// program of these is too late at most eight times, for so often the others write.
func TestFileWriters(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 12 {
		fmt.Fprintf(&text, "- {id: T%d, title: a}\n", i)
	}
	path := put(t, "tasks.yaml", text.String())
	var all sync.WaitGroup
	for program := range 3 {
		f := &pipeline.File{Path: path}
		read(t, f)
		for slot := range 4 {
			all.Go(func() {
				u := pipeline.Update{Status: spec.StatusDone, Iteration: slot + 1}
				id := fmt.Sprintf("T%d", program*4+slot)
				if err := f.Write(t.Context(), id, u); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	for i, d := range read(t, &pipeline.File{Path: path}) {
		if d.Status != spec.StatusDone || d.Iteration != i%4+1 {
			t.Errorf("%s: %q, %d", d.ID, d.Status, d.Iteration)
		}
	}
}

// A user's edit in the middle of a run stays.
func TestFileEdited(t *testing.T) {
	t.Parallel()
	path := put(t, "tasks.yaml", three)
	f := &pipeline.File{Path: path}
	read(t, f)
	edited := strings.Replace(three, "# Our tasks", "# Mine", 1) + "\n- {id: D, title: Four}\n"
	if err := os.WriteFile(path, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(t.Context(), "A", pipeline.Update{Status: spec.StatusDone}); err != nil {
		t.Error(err)
	}
	holds(t, path, strings.Replace(edited, "status: todo", "status: done", 1))
	altered, added, err := f.Changes(t.Context())
	if diff := cmp.Diff("D: \n", order(added)); diff != "" || len(altered) > 0 || err != nil {
		t.Errorf("%v, %v\n%s", altered, err, diff)
	}
}
