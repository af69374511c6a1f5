package spec_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// Only the status changes, whatever the file looks like.
func TestSetStatus(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"plain", "id: A # the first\ntitle:   x\nstatus:   todo   # so far\npriority: 1\n", "id: A # the first\ntitle:   x\nstatus:   done   # so far\npriority: 1\n"},
		{"double quotes", "- \"id\": A\n  \"status\": \"to\\\"do\" # c\n", "- \"id\": A\n  \"status\": \"done\" # c\n"},
		{"single quotes", "id: A\nstatus: 'to''do'\n", "id: A\nstatus: 'done'\n"},
		{"long plain", "id: A\nstatus: not yet begun\ntitle: x", "id: A\nstatus: done\ntitle: x"},
		{"empty", "id: A\nstatus:\ntitle: x\n", "id: A\nstatus: done\ntitle: x\n"},
		{"empty with comment", "id: A\nstatus: # none\n", "id: A\nstatus: done # none\n"},
		{"null", "id: A\nstatus: ~\n", "id: A\nstatus: done\n"},
		{"missing", "task:\n    title: x\n    id: A   # c\n    # more\n    priority: 1\n", "task:\n    title: x\n    id: A   # c\n    status: done\n    # more\n    priority: 1\n"},
		{"missing in a list", "- id: A\n  title: x\n-   id: B\n    title: y\n", "- id: A\n  status: done\n  title: x\n-   id: B\n    title: y\n"},
		{"missing at the end", "title: x\nid: A", "title: x\nid: A\nstatus: done"},
		{"CRLF and BOM", "\ufeffid: A\r\ntitle: x\r\n", "\ufeffid: A\r\nstatus: done\r\ntitle: x\r\n"},
		{"CRLF", "id: A\r\nstatus: todo\r\n", "id: A\r\nstatus: done\r\n"},
		{"BOM on the same line", "\ufeff{id: A, status: todo}\n", "\ufeff{id: A, status: done}\n"},
		{"beyond ASCII", "tasks:\n- {title: äöü 日本, status: todo, id: A}\n", "tasks:\n- {title: äöü 日本, status: done, id: A}\n"},
		{"line separator", "title: \"a\u2028b\"\nid: A\nstatus: todo\n", "title: \"a\u2028b\"\nid: A\nstatus: done\n"},
		{"missing in braces", "[{id: A, title: x}, {\"id\": B}]\n", "[{id: A, status: done, title: x}, {\"id\": B}]\n"},
		{"missing in braces over lines", "{\n  id: A,\n  title: x\n}\n", "{\n  id: A,\n  status: done,\n  title: x\n}\n"},
		{"other documents", "id: B\nstatus: todo\n---\nid: A\nstatus: todo\n---\nid: C\nstatus: todo\n", "id: B\nstatus: todo\n---\nid: A\nstatus: done\n---\nid: C\nstatus: todo\n"},
		{"the word elsewhere", "id: A\ntitle: todo\ndescription: |\n  status: todo\nstatus: todo\nmetadata: {status: todo}\n", "id: A\ntitle: todo\ndescription: |\n  status: todo\nstatus: done\nmetadata: {status: todo}\n"},
		{"an alias", "- {id: B, title: &s todo}\n- id: A\n  status: *s\n", "- {id: B, title: &s todo}\n- id: A\n  status: done\n"},
		{"a merge", "- &b\n  id: B\n  status: todo\n- <<: *b\n  id: A\n", "- &b\n  id: B\n  status: todo\n- <<: *b\n  id: A\n  status: done\n"},
		{"an alias as ID", "- {id: B, title: &x A}\n- id: *x\n", "- {id: B, title: &x A}\n- id: *x\n  status: done\n"},
		{"an ID on its own line", "id:\n  A\ntitle: a\n", "id:\n  A\nstatus: done\ntitle: a\n"},
		{"a tag", "id: !!str A\nstatus: !!str todo\n", "id: !!str A\nstatus: !!str done\n"},
		{"a quoted ID", "- id: 'A'\n- id: \"B\"\n", "- id: 'A'\n  status: done\n- id: \"B\"\n"},
		{"an escaped ID", "id: \"\\x41\" # c\n", "id: \"\\x41\" # c\nstatus: done\n"},
		{"an anchor that is not used", "id: A\nstatus: &s todo\n", "id: A\nstatus: &s done\n"},
		{"JSON", "{\n  \"id\": \"A\",\n  \"status\" : \"to\\u0064o\" ,\n  \"priority\": 1\n}", "{\n  \"id\": \"A\",\n  \"status\" : \"done\" ,\n  \"priority\": 1\n}"},
		{"JSON null", `[{"id":"A","status":null}]`, `[{"id":"A","status":"done"}]`},
		{"JSON missing", `[{"id":"A","title":"x"}]`, `[{"id":"A","status":"done","title":"x"}]`},
		{"JSON missing, ID last, no spaces", `{"title":"x","id":"A"}`, `{"title":"x","id":"A","status":"done"}`},
		{"JSON missing, spaces", `{"id": "A", "title": "x"}`, `{"id": "A", "status": "done", "title": "x"}`},
		{"only a tag", "id: A\nstatus: !!str ", "id: A\nstatus: !!str done"},
		{"JSON missing over lines", "{\r\n\t\"id\": \"A\",\r\n\t\"title\": \"x\"\r\n}\r\n", "{\r\n\t\"id\": \"A\",\r\n\t\"status\": \"done\",\r\n\t\"title\": \"x\"\r\n}\r\n"},
		{"JSON missing, ID last", "{\n  \"title\": \"x\",\n  \"id\": \"A\"\n}\n", "{\n  \"title\": \"x\",\n  \"id\": \"A\",\n  \"status\": \"done\"\n}\n"},
		{"JSON with BOM", "\ufeff{\"id\": \"A\", \"status\": \"todo\"}", "\ufeff{\"id\": \"A\", \"status\": \"done\"}"},
		{"already, written otherwise", "id: A\nstatus: \"d\\x6fne\"\n", "id: A\nstatus: \"d\\x6fne\"\n"},
		{"already", "id: A\nstatus: \"done\"\n", "id: A\nstatus: \"done\"\n"},
	} {
		f, err := spec.Parse("f", []byte(test.in))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if err := f.SetStatus("A", spec.StatusDone); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, string(f.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		for _, d := range f.Definitions() {
			if d.ID == "A" && d.Status != spec.StatusDone {
				t.Errorf("%s: the definition has the status %q", test.name, d.Status)
			}
		}
	}
}

// What cannot be changed alone is not changed at all.
func TestSetStatusRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"unknown", "- {id: TASK-10}\n", `f: there is no task "TASK-1O"; did you mean "TASK-10"?`},
		{"twice", "- {id: TASK-1O}\n- {id: TASK-1O}\n", "f:2:3: TASK-1O: the ID is given twice, so it is not clear which task is meant"},
		{"anchor in use", "- {id: TASK-1O, status: &s todo}\n- {id: B, status: *s}\n", "f:1:25: TASK-1O: status cannot be changed without changing more than it"},
		{"all of it in use", "- &a {id: TASK-1O, status: todo}\n- {id: B, metadata: *a}\n", "f:1:28: TASK-1O: status cannot be changed without changing more than it"},
		{"block", "id: TASK-1O\nstatus: |\n  todo\n", "f:2:9: TASK-1O: status cannot be changed without changing more than it"},
	} {
		f, err := spec.Parse("f", []byte(test.in))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		before := string(f.Bytes())
		err = f.SetStatus("TASK-1O", "done")
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
		if diff := cmp.Diff(before, string(f.Bytes())); diff != "" {
			t.Errorf("%s: the text changed (-want +got):\n%s", test.name, diff)
		}
	}
	f, err := spec.Parse("f", []byte("id: A"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetStatus("A", " "); err == nil {
		t.Error("an empty status: no error")
	}
	if err := f.SetIteration("A", -1); err == nil {
		t.Error("a negative iteration: no error")
	}
}

// A status that needs quotes gets them.
func TestSetStatusForeign(t *testing.T) {
	t.Parallel()
	for _, s := range []spec.Status{"in review", "true", "null", "12", "a: b", "- x", "it's \"so\"", "a #b", "[", "ä\u2028b", "*x", "2026-01-01"} {
		for _, in := range []string{"id: A\nstatus: todo\n", "id: A\nstatus: 'todo'\n", "id: A\n", "{id: A, status: todo}", `{"id": "A"}`} {
			f, err := spec.Parse("f", []byte(in))
			if err != nil {
				t.Fatal(err)
			}
			if err := f.SetStatus("A", s); err != nil {
				t.Errorf("%q in %q: %v", s, in, err)
				continue
			}
			again, err := spec.Parse("f", f.Bytes())
			if err != nil || again.Definitions()[0].Status != s {
				t.Errorf("%q in %q: got %q, %v", s, in, f.Bytes(), err)
			}
		}
	}
}

func TestSetIteration(t *testing.T) {
	t.Parallel()
	f, err := spec.Parse("f", []byte("- id: A # c\n  iteration: 1\n  updated_at: 2026-01-01 10:00:00\n- {id: B, title: b}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"A", "B"} {
		if err := errors.Join(f.SetIteration(id, 12), f.SetStatus(id, "running")); err != nil {
			t.Fatal(err)
		}
	}
	want := "- id: A # c\n  status: running\n  iteration: 12\n  updated_at: 2026-01-01 10:00:00\n" +
		"- {id: B, status: running, iteration: 12, title: b}\n"
	if diff := cmp.Diff(want, string(f.Bytes())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.yaml"), filepath.Join(dir, "link.yaml")
	if err := errors.Join(os.WriteFile(real, []byte("id: A\n"), 0o640), os.Chmod(real, 0o640), os.Symlink("real.yaml", link)); err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(link)
	if err != nil {
		t.Fatal(err)
	}
	f, err := spec.Load(resolved)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []spec.Status{"running", "done"} { // the second after a save
		if err := errors.Join(f.SetStatus("A", s), f.Save()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("id: A\nstatus: done\n", string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, err := os.Lstat(real); err != nil || info.Mode().String() != "-rw-r-----" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%d entries in the folder, %v", len(entries), err)
	}
}

// What somebody else wrote is not overwritten.
func TestSaveChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(path, []byte("id: A\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := spec.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	const theirs = "id: A\ntitle: better\n"
	if err := os.WriteFile(path, []byte(theirs), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(); err != nil {
		t.Errorf("nothing to save: %v", err)
	}
	if err := f.SetStatus("A", "done"); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(); !errors.Is(err, spec.ErrChanged) {
		t.Errorf("got %v, want ErrChanged", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != theirs {
		t.Errorf("the file is %q, %v", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: got %v", err)
	}
}
