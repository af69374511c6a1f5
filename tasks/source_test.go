package tasks_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func keys(items []tasks.Item) []string {
	var all []string
	for _, it := range items {
		all = append(all, it.Key)
	}
	return all
}

// Nothing starts on a file that cannot be worked on, and
// the error names the file and says what to do.
func TestSourceErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.md")
	tests := map[string]struct {
		src  tasks.Source
		path string
		want string
	}{
		"no path":          {tasks.ListFile{}, "", "no path of a task list is given"},
		"missing":          {tasks.ListFile{Path: missing}, missing, "file does not exist: create it"},
		"a directory":      {tasks.ListFile{Path: dir}, dir, "is a directory: give the path of the file in it"},
		"missing prd":      {tasks.PRDFile{Path: missing}, missing, "file does not exist: create it"},
		"a directory, prd": {tasks.PRDFile{Path: dir}, dir, "is a directory"},
	}
	for name, file := range map[string]struct {
		text, want string
		prd        bool
	}{
		"empty":         {text: "", want: "is empty: write the tasks into it"},
		"blank":         {text: "\ufeff\r\n \n", want: "is empty"},
		"not UTF-8":     {text: "- [ ] T001 a\n\xff", want: "line 2: not UTF-8"},
		"no box":        {text: "# Tasks\n- T001 a\n", want: "there is no box in it"},
		"no ID":         {text: "- [ ] a\n- [x] b\n", want: "none of its boxes (2) is a task (line 1: a, line 2: b): give them an ID"},
		"only criteria": {text: "# Success criteria\n- [ ] T001 a\n", want: "none of its boxes (1) is a task"},
		"bad prd":       {text: "{\n", want: "line 2, column 1: bad JSON", prd: true},
		"empty prd":     {text: "", want: "line 1, column 1: bad JSON", prd: true},
		"no stories":    {text: `{"userStories":[]}`, want: "userStories is empty", prd: true},
	} {
		path := write(t, "tasks", file.text)
		tt := tests[name]
		tt.src, tt.path, tt.want = tasks.ListFile{Path: path}, path, file.want
		if file.prd {
			tt.src = tasks.PRDFile{Path: path}
		}
		tests[name] = tt
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items, err := tt.src.Items(t.Context())
			if err == nil || items != nil {
				t.Fatalf("got %v, %v; want an error", items, err)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.path) {
				t.Errorf("%q does not say %q of %s", err, tt.want, tt.path)
			}
			if want := strings.HasPrefix(name, "missing"); errors.Is(err, fs.ErrNotExist) != want {
				t.Errorf("errors.Is(%q, ErrNotExist) is not %t", err, want)
			}
		})
	}
}

func TestSourceCancelled(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, src := range []tasks.Source{
		tasks.ListFile{Path: write(t, "tasks.md", "- [ ] T001 a\n")},
		tasks.PRDFile{Path: write(t, "prd.json", `[{"id":"A","title":"a"}]`)},
	} {
		if _, err := src.Items(ctx); !errors.Is(err, cause) {
			t.Errorf("%T: got %v, want the cause", src, err)
		}
	}
}

// The file is read anew each time.
func TestListFileItems(t *testing.T) {
	t.Parallel()
	path := write(t, "tasks.md", "- [ ] T001 a\n- [ ] b\n")
	src := tasks.ListFile{Path: path}
	for _, want := range [][]string{{"T001"}, {"T001", "T002"}} {
		items, err := src.Items(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, keys(items)); diff != "" {
			t.Error(diff)
		}
		if err := os.WriteFile(path, []byte("- [x] T001 a\n- [ ] b\n- [ ] T002 c\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src.AllBoxes = true
	items, err := src.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"T001", "b", "T002"}, keys(items)); diff != "" {
		t.Error(diff)
	}
	if !items[0].Done || items[1].Done {
		t.Error("T001 is done and b is not")
	}
}

// What is done already is not written again: others may watch the file.
func TestTickOfWhatIsDone(t *testing.T) {
	t.Parallel()
	list := write(t, "tasks.md", "- [X] T001 a\n")
	prd := write(t, "prd.json", `[{"id":"A","title":"a","passes":true}]`)
	past := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for path, tick := range map[string]func() error{
		list: func() error { return tasks.ListFile{Path: list}.Tick("T001") },
		prd:  func() error { return tasks.PRDFile{Path: prd}.Tick("A") },
	} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		if err := tick(); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(past) {
			t.Errorf("%s was written at %v (%v)", path, info.ModTime(), err)
		}
	}
}

// A tick is written in place: mode and the inode stay. A link that OpenSource was
// given is resolved.
func TestListFileTick(t *testing.T) {
	t.Parallel()
	path := write(t, "tasks.md", "\ufeff# A\r\n- [ ] T001 a\r\n- [ ] b")
	link := filepath.Join(t.TempDir(), "link.md")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := tasks.OpenSource(link)
	if err != nil {
		t.Fatal(err)
	}
	src := opened.(tasks.ListFile)
	for _, key := range []string{"T001", "T001", "b"} {
		if err := src.Tick(key); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff("\ufeff# A\r\n- [x] T001 a\r\n- [x] b", read(t, path)); diff != "" {
		t.Error(diff)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) || before.Mode() != after.Mode() {
		t.Error("it is another file now, or has another mode")
	}
	for key, want := range map[string]string{"T009": `there is no item "T009" to tick`} {
		if err := src.Tick(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := (tasks.ListFile{Path: link + "x"}).Tick("T001"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v for a missing file", err)
	}
}

func TestPRDFileTick(t *testing.T) {
	t.Parallel()
	path := write(t, "prd.json", `{"userStories":[{"id":"A","title":"a","passes":false},{"id":"B","title":"b"}],"x":1}`)
	dir := t.TempDir()
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	opened, err := tasks.OpenSource(link)
	if err != nil {
		t.Fatal(err)
	}
	src := opened.(tasks.PRDFile)
	for _, key := range []string{"B", "A", "A"} {
		if err := src.Tick(key); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(`{"userStories":[{"id":"A","title":"a","passes":true},{"id":"B","title":"b","passes":true}],"x":1}`, read(t, path)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is %v now (%v)", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v now (%v)", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v)", left, err)
	}
	if err := src.Tick("C"); err == nil || !strings.Contains(err.Error(), `there is no story "C" to tick`) {
		t.Errorf("got %v", err)
	}
	prd, err := src.Read()
	if err != nil || len(prd.Items) != 2 || !prd.Items[0].Done {
		t.Errorf("got %+v, %v", prd, err)
	}
}

func TestOpenSource(t *testing.T) {
	t.Parallel()
	list := write(t, "tasks.md", "- [ ] T001 a\n")
	linked := write(t, "links.md", "[a](b)\n- [ ] T001 a\n")
	prd := write(t, "prd.json", `{"userStories":[{"id":"A","title":"a"}]}`)
	other := write(t, "stories", "\ufeff\n{\"userStories\":[{\"id\":\"A\",\"title\":\"a\"}]}")
	for path, want := range map[string]tasks.Source{
		list:   tasks.ListFile{Path: list, OnlyIDs: true},
		linked: tasks.ListFile{Path: linked, OnlyIDs: true},
		prd:    tasks.PRDFile{Path: prd},
		other:  tasks.PRDFile{Path: other},
	} {
		got, err := tasks.OpenSource(path)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "a.md"):   "file does not exist",
		filepath.Join(t.TempDir(), "a.json"): "file does not exist",
		write(t, "tasks.md", "- [ ] a\n"):    "give them an ID",
		write(t, "task.json", `{"task":{}}`): `the key is "userStories"`,
	} {
		if src, err := tasks.OpenSource(path); err == nil || src != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want %q", path, src, err, want)
		}
	}
}
