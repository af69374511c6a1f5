package tasks_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

const kiro = `# Plan
- [ ] 1. Set up
  - [x] 1.1 Folders
  - [-] 1.2 Module
  - [ ]* 1.3 Property tests
- [ ] Talk about it
  - [ ] A step
- [ ] 2. Check
  - [ ] Ask
-[ ] 3. Not one
# Definition of done
- [ ] Reviewed
`

// TestListChoices: each flag takes the boxes of one reason, and keys do not depend on it.
func TestListChoices(t *testing.T) {
	t.Parallel()
	path := write(t, "tasks.md", kiro)
	for _, tt := range []struct {
		list tasks.ListFile
		want []string
	}{
		{tasks.ListFile{}, []string{"1.1", "1.2", "1", "2"}},
		{tasks.ListFile{OnlyIDs: true}, []string{"1.1", "1.2", "1", "2"}},
		{tasks.ListFile{Optional: true}, []string{"1.1", "1.2", "1.3", "1", "2"}},
		{tasks.ListFile{Criteria: true}, []string{"1.1", "1.2", "1", "2", "Reviewed"}},
		{tasks.ListFile{AllBoxes: true}, []string{"1.1", "1.2", "1", "A step", "Talk about it", "Ask", "2"}},
	} {
		tt.list.Path = path
		items, err := tt.list.Items(t.Context())
		if diff := cmp.Diff(tt.want, keys(items)); diff != "" || err != nil {
			t.Errorf("%+v: %v, %s", tt.list, err, diff)
		}
	}
}

// TestListCheck: each box and each line that is nearly one is told of, in the order of the
// file, with the reason.
func TestListCheck(t *testing.T) {
	t.Parallel()
	check := func(f tasks.ListFile) []string {
		t.Helper()
		findings, err := f.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range findings {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s %s (%s)", f.Item.Line, f.Item.Key, f.Why, f.Detail)))
		}
		return got
	}
	want := []string{
		"2 1 waits (for 1.2)",
		"3 1.1  ()",
		"4 1.2  ()",
		`5 1.3 optional (it is marked "[ ]*")`,
		"6 Talk about it no_id ()",
		"7 A step no_id ()",
		"8 2  ()",
		"9 Ask part (below 2)",
		"10  no_box (there is no blank before its brackets)",
		`12 Reviewed criterion (the heading is "Definition of done")`,
	}
	path := write(t, "tasks.md", kiro)
	if diff := cmp.Diff(want, check(tasks.ListFile{Path: path})); diff != "" {
		t.Error(diff)
	}
	want[0], want[3], want[9] = "2 1 waits (for 1.2 and 1 more)", "5 1.3  ()", "12 Reviewed  ()"
	if diff := cmp.Diff(want, check(tasks.ListFile{Path: path, Optional: true, Criteria: true})); diff != "" {
		t.Error(diff)
	}
	// Also of a list that is refused.
	if diff := cmp.Diff([]string{"1 a no_id ()"}, check(tasks.ListFile{Path: write(t, "tasks.md", "- [ ] a\n")})); diff != "" {
		t.Error(diff)
	}
	// An ID that stands there twice; headings, unless all boxes are taken.
	path = write(t, "tasks.md", "# Task 1: a\n- [ ] T1 b\n# Task 2: c\n- [ ] T2 d\n  - [ ] T1 e\n# Task 3: f\n- [ ] T2 g\n# Task 4: h\n")
	want = []string{"2 T1  ()", "4 T2 waits (for T1#2)", "5 T1#2  (line 2 has the same ID)", "7 T2#2  (line 4 has the same ID)", "8  no_box (it is a heading, no box)"}
	if diff := cmp.Diff(want, check(tasks.ListFile{Path: path})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[:4], check(tasks.ListFile{Path: path, AllBoxes: true})); diff != "" {
		t.Error(diff)
	}
	if _, err := (tasks.ListFile{Path: path + "x"}).Check(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestListFew: where few boxes among many have an ID, it takes a word of the user to say
// which are meant.
func TestListFew(t *testing.T) {
	t.Parallel()
	boxes := strings.Repeat("- [ ] A thing to do\n", 9)
	few := write(t, "few.md", "- [ ] T001 a\n"+boxes+"- [ ] T002 b\n"+boxes)
	want := "tasks: task list " + few + `: few of its boxes have an ID, 2 of 20 (line 1: T001, line 11: T002): take them all (--all-boxes; in Go AllBoxes), or only those with an ID (--all-boxes=false; in Go OnlyIDs)`
	items, err := tasks.ListFile{Path: few}.Items(t.Context())
	if err == nil || err.Error() != want || items != nil {
		t.Errorf("%v, %v, want %s", items, err, want)
	}
	if _, err := (tasks.ListFile{Path: few}).Resolve(t.Context()); err == nil || err.Error() != want {
		t.Error(err)
	}
	for list, want := range map[tasks.ListFile]int{{Path: few, AllBoxes: true}: 20, {Path: few, OnlyIDs: true}: 2} {
		if items, err := list.Items(t.Context()); len(items) != want || err != nil {
			t.Errorf("%+v: %v, %v", list, items, err)
		}
	}
	for name, text := range map[string]string{
		"one of three":   "- [ ] a\n  - [ ] MODEL-001 b\n- [ ] c\n",
		"in one section": "# A\n" + numbered(4) + "# B\n" + boxes,
	} {
		if _, err := (tasks.ListFile{Path: write(t, "tasks.md", text)}).Items(t.Context()); err == nil || !strings.Contains(err.Error(), "few of its boxes") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"more than a third":  "- [ ] T001 a\n- [ ] T002 b\n- [ ] c\n- [ ] d\n- [ ] e\n",
		"a report elsewhere": "# Tasks\n" + numbered(5) + "# Report\n" + boxes + boxes,
		"parts":              "- [ ] T001 a\n" + strings.ReplaceAll(boxes, "-", "  -"),
	} {
		if _, err := (tasks.ListFile{Path: write(t, "tasks.md", text)}).Items(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestListRefused: a list without a task is refused with the ways out that there are.
func TestListRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- [ ] a\n":                     `none of its boxes (1) is a task (line 1: a): give them an ID, as in "- [ ] T001 Write the parser", or take those without one (--all-boxes; in Go AllBoxes)`,
		"# Success criteria\n- [ ] a\n": `give them an ID, as in "- [ ] T001 Write the parser", or take criteria (--criteria; in Go Criteria)`,
		"- [ ]* 1.1 a\n- [ ] b\n":       "(--all-boxes; in Go AllBoxes), or take optional ones (--optional; in Go Optional)",
		"- [ ] ~~T001 a~~\n":            "none of its boxes (1) is a task (line 1: T001): give them an ID",
		"- [ ] a\n- [ ] " + strings.Repeat("b", 50) + strings.Repeat("\n- [ ] c", 4): "(6) is a task (line 1: a, line 2: " + strings.Repeat("b", 37) + "…, line 3: c, line 4: c#2, line 5: c#3, …): give",
		"## Task 1: a\n- [ ] b\n## Task 2: c\n## Task 3: d\n":                        "(--all-boxes; in Go AllBoxes); 3 headings have an ID, but are no boxes (line 1: Task 1: a, line 3: Task 2: c, line 4: Task 3: d)",
		"## T1 a\n## T2 b\n## T3 c\n":                                                "there is no box in it, but what is nearly one (3): line 1: it is a heading, no box;",
		"## Task 1: a\n- [ ] b\n## Task 2: c\n":                                      "(--all-boxes; in Go AllBoxes)\n",
		"-[ ] T001 a\n":                                                              "line 1: there is no blank before its brackets",
		"# Tasks\n1. [] a\n- [✓] b\n":                                                "line 2: one blank belongs between its brackets: \"[ ]\"",
		"# Tasks\n\n```\n- [ ] T1 a\n```\n":                                          "nearly one (1): line 4: it is in a block of code",
	} {
		path := write(t, "tasks.md", text)
		if _, err := (tasks.ListFile{Path: path}).Items(t.Context()); err == nil || !strings.Contains(err.Error()+"\n", want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestListResolve: what was taken when a session began is not refused because of what the
// agent writes, and a link stays the file that it led to.
func TestListResolve(t *testing.T) {
	t.Parallel()
	path, other := write(t, "tasks.md", numbered(2)), write(t, "other.md", numbered(3))
	link := filepath.Join(t.TempDir(), "tasks.md")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	list, err := tasks.ListFile{Path: link}.Resolve(t.Context())
	if diff := cmp.Diff(tasks.ListFile{Path: path, OnlyIDs: true}, list); diff != "" || err != nil {
		t.Fatal(err, diff)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(other, link), os.WriteFile(path, []byte(numbered(2)+strings.Repeat("- [ ] note\n", 40)), 0o600)); err != nil {
		t.Fatal(err)
	}
	if items, err := list.Items(t.Context()); len(items) != 2 || err != nil {
		t.Error(items, err)
	}
	all, err := tasks.ListFile{Path: path, AllBoxes: true}.Resolve(t.Context())
	if diff := cmp.Diff(tasks.ListFile{Path: path, AllBoxes: true}, all); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := (tasks.ListFile{Path: path + "x"}).Resolve(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestListMark: a text of the list is marked wherever the item stands in it; what is not
// there cannot be.
func TestListMark(t *testing.T) {
	t.Parallel()
	list := tasks.ListFile{Path: "tasks.md"}
	for _, tt := range []struct{ text, key, want string }{
		{"- [ ] T001 a\n", "T001", "- [x] T001 a\n"},
		{"# Moved\n\n  - [-] T001 a\n", "T001", "# Moved\n\n  - [x] T001 a\n"},
		{"- [~] T001 a\n- [ ] note\n", "note", "- [~] T001 a\n- [x] note\n"},
		{"- [X] T001 a\n", "T001", "- [X] T001 a\n"},
		{"- [ ] T001 a\n", "T002", ""},
		{"", "T001", ""},
	} {
		got, err := list.Mark(tt.key, []byte(tt.text))
		gone, isGone := errors.AsType[*tasks.NoItemError](err)
		if string(got) != tt.want || isGone != (tt.want == "") || isGone && (gone.Key != tt.key || gone.Path != "tasks.md") {
			t.Errorf("%q: %q, %v", tt.text, got, err)
		}
	}
	if _, err := list.Mark("T001", []byte("\xff")); err == nil || !strings.Contains(err.Error(), "tasks.md: line 1: not UTF-8") {
		t.Error(err)
	}
	path := write(t, "tasks.md", "- [/] 1. a\n")
	if err := (tasks.ListFile{Path: path}).Tick("1"); err != nil || read(t, path) != "- [x] 1. a\n" {
		t.Errorf("%q, %v", read(t, path), err)
	}
	gone, ok := errors.AsType[*tasks.NoItemError](tasks.ListFile{Path: path}.Tick("2"))
	if !ok || gone.Error() != "tasks: task list "+path+`: there is no item "2" to tick` {
		t.Error(gone)
	}
}

func TestListHowDone(t *testing.T) {
	t.Parallel()
	list := tasks.ListFile{Path: "docs/tasks.md"}
	if got, want := list.HowDone(tasks.Item{}), `tick its box in docs/tasks.md: "[ ]" becomes "[x]"`; got != want {
		t.Error(got)
	}
	if got, want := list.HowDone(tasks.Item{Doing: true}), `tick its box in docs/tasks.md: what stands between its brackets becomes "x"`; got != want {
		t.Error(got)
	}
	if got := list.Filename(); !filepath.IsAbs(got) || !strings.HasSuffix(got, filepath.Join("docs", "tasks.md")) {
		t.Error(got)
	}
	if got := (tasks.ListFile{}).Filename(); got != "" {
		t.Error(got)
	}
}
