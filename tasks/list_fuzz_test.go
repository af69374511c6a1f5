package tasks_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralph-loop/ralph/tasks"
)

// addLists makes the files of testdata/lists with a certain ending the first inputs.
func addLists(f *testing.F, ext string) {
	f.Helper()
	paths, err := filepath.Glob("testdata/lists/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if filepath.Ext(file.Name) == ext {
				f.Add(file.Data)
				f.Add(bytes.ReplaceAll(file.Data, []byte("\n"), []byte("\r\n")))
				f.Add(bytes.ReplaceAll(file.Data, []byte("  "), []byte("\t")))
			}
		}
	}
}

// FuzzParseList: whatever the text, offsets are those of boxes, keys are
// unique, and to tick an item changes one byte and nothing about the others.
func FuzzParseList(f *testing.F) {
	addLists(f, ".md")
	f.Add(bytes.Repeat([]byte("- [ ] H2 database\n- [ ] Write it\n- [ ] Read it\n- [ ] Do it\n"), 20))
	f.Add(bytes.Repeat([]byte("- [ ] 1.1 a\n- [ ] b\n- [ ] c\n"), 20))
	f.Add(bytes.Repeat([]byte("- [ ] T001 a\n  - [ ] S-1 b\n  - [ ] S-2 b\n"), 20))
	f.Add([]byte("- [ ] T001 a\n  - [ ] S-3 b\n- [ ] T002 a\n  - [ ] S-2 b\n  - [ ] S-3 b\n- [ ] T003 a\n  - [ ] S-4 b\n"))
	f.Add([]byte("# A\n- [ ] a\n-[ ] b\n- [ ] T001 c\n\ttext\n```\n- [ ] d\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := tasks.ParseList(text)
		if err != nil {
			return
		}
		all := list.All()
		keys := make(map[string]bool)
		for i, it := range all {
			if keys[it.Key] || it.Key == "" {
				t.Fatalf("the key %q is empty or there twice", it.Key)
			}
			keys[it.Key] = true
			mark := text[it.Offset]
			if text[it.Offset-1] != '[' || text[it.Offset+1] != ']' || it.Done != (mark|0x20 == 'x') || it.Doing != (!it.Done && mark != ' ') || bytes.IndexByte([]byte(" xX-~/"), mark) < 0 {
				t.Fatalf("the offset of %q is at %q", it.Key, text[it.Offset-1:it.Offset+2])
			}
			if i > 0 && (all[i-1].Offset >= it.Offset || all[i-1].Line >= it.Line) {
				t.Fatalf("%q comes after %q", it.Key, all[i-1].Key)
			}
			if len(it.Details) > 4<<10 {
				t.Fatalf("%d bytes of details", len(it.Details))
			}
			if i < 20 && !struckOut(list, it) { // that would be done then
				checkTick(t, text, list, it)
			}
		}
		for _, size := range []int{1, 40} {
			split, err := tasks.ParseListIn(text, size)
			if diff := cmp.Diff(list, split); diff != "" || err != nil {
				t.Fatalf("in chunks of %d bytes: %v, %s", size, err, diff)
			}
		}
		checkFindings(t, text, list)
		longer, err := tasks.ParseList(append(bytes.Clone(text), '\n'))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, longer); diff != "" {
			t.Fatalf("a newline at the end changes the list: %s", diff)
		}
	})
}

// checkFindings: each box is one item or one finding, in one line, whatever is taken.
func checkFindings(t *testing.T, text []byte, list tasks.List) {
	t.Helper()
	lines := map[int]string{}
	see := func(it tasks.Item, what string) {
		if it.Line < 1 || it.Offset < 0 || it.Offset >= len(text) || lines[it.Line] != "" {
			t.Fatalf("line %d is %q and %q", it.Line, lines[it.Line], what)
		}
		lines[it.Line] = what
	}
	for _, it := range list.Items {
		see(it, "task")
		if it.ID == "" || it.Parent == it.Key {
			t.Fatalf("%q has the ID %q and is part of %q", it.Key, it.ID, it.Parent)
		}
	}
	for _, f := range list.Others {
		see(f.Item, string(f.Why))
		if f.Why == "" || (f.Why == tasks.WhyPart) && f.Item.Parent == "" {
			t.Fatalf("%q is no task because %q, and part of %q", f.Item.Key, f.Why, f.Item.Parent)
		}
	}
}

func checkTick(t *testing.T, text []byte, list tasks.List, it tasks.Item) {
	t.Helper()
	ticked, err := tasks.Tick(text, it)
	if err != nil {
		t.Fatal(err)
	}
	if len(ticked) != len(text) || !bytes.Equal(ticked[:it.Offset], text[:it.Offset]) || !bytes.Equal(ticked[it.Offset+1:], text[it.Offset+1:]) {
		t.Fatalf("ticking %q changes more than its box", it.Key)
	}
	got, err := tasks.ParseList(ticked)
	if err != nil {
		t.Fatal(err)
	}
	want := tasks.List{Items: slices.Clone(list.Items), Others: slices.Clone(list.Others)}
	each(want, func(now *tasks.Item) {
		if now.Offset == it.Offset {
			now.Done, now.Doing = true, false
		}
		now.Details = ""
	})
	each(got, func(now *tasks.Item) { now.Details = "" }) // quotes the boxes below an item
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("ticking %q: %s", it.Key, diff)
	}
}

func each(l tasks.List, do func(*tasks.Item)) {
	for i := range l.Items {
		do(&l.Items[i])
	}
	for i := range l.Others {
		do(&l.Others[i].Item)
	}
}

func struckOut(l tasks.List, it tasks.Item) bool {
	return slices.ContainsFunc(l.Others, func(f tasks.Finding) bool { return f.Item.Key == it.Key && f.Why == tasks.WhySkipped })
}
