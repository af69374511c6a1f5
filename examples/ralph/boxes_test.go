package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

// TestFilesPage: the flags that FILES.md names are those of the commands that read such
// files, and each of its commands is run by formats.txtar.
func TestFilesPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("FILES.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/script/formats.txtar")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	taken := map[string][]string{}
	for _, c := range commands() {
		taken[c.name] = newFlags(c).names()
	}
	for flag, on := range map[string][]string{
		"all-boxes": {"run", "task list", "task check"}, "criteria": {"run", "task list", "task check"},
		"optional": {"run", "task list", "task check"}, "tag": {"run", "task list", "task check"}, "spec": {"run"},
	} {
		if !strings.Contains(page, "--"+flag) {
			t.Errorf("the page does not tell of --%s", flag)
		}
		for _, c := range on {
			if !slices.Contains(taken[c], flag) {
				t.Errorf("%s has no --%s", c, flag)
			}
		}
	}
	for _, word := range strings.FieldsFunc(page, func(c rune) bool { return strings.ContainsRune(" \n`|=,.;:()", c) }) {
		if name, is := strings.CutPrefix(word, "--"); is && strings.Trim(name, "-") != "" && !slices.Contains(taken["run"], name) {
			t.Errorf("run has no --%s", name)
		}
	}
	commands := 0
	for row := range strings.Lines(page) {
		_, command, is := strings.Cut(row, "| `ralph ")
		if command, _, _ = strings.Cut(command, "`"); !is {
			continue
		}
		commands++
		if !strings.Contains(string(script), "\nexits 0 ralph "+command+" --dry-run\n") {
			t.Errorf("formats.txtar does not run: ralph %s", command)
		}
	}
	if commands != 9 {
		t.Errorf("the page has %d commands", commands)
	}
}

// TestLeftOut: what is not worked off is counted by why, with its places; what is done
// needs nobody, and the open part of a task is worked off with it.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	found := func(why tasks.Why, line int, done bool) tasks.Finding {
		return tasks.Finding{Item: tasks.Item{Key: "k", Text: "text", Line: line, Done: done}, Why: why}
	}
	var many []tasks.Finding
	for line := range 7 {
		many = append(many, found(tasks.WhyNoID, line+1, false))
	}
	for _, tt := range []struct {
		name  string
		found []tasks.Finding
		files bool
		want  string
	}{
		{"tasks", []tasks.Finding{found("", 1, false), found(tasks.WhyWaits, 2, false)}, false, ""},
		{"done", []tasks.Finding{found(tasks.WhyNoID, 1, true), found(tasks.WhyCriterion, 2, true)}, false, ""},
		{"many", many, false, "7 boxes without an ID (lines 1, 2, 3, 4, 5 and 2 more; --all-boxes)"},
		{"all", []tasks.Finding{found(tasks.WhyNoBox, 9, true), found(tasks.WhyCriterion, 2, false), found(tasks.WhyOptional, 3, false), found(tasks.WhySkipped, 4, false)}, false,
			"1 criterion (line 2; --criteria), 1 optional box (line 3; --optional), 1 near-box (line 9), 1 that nobody is to do (line 4)"},
		{"part of an open task", []tasks.Finding{found("", 1, false), found(tasks.WhyPart, 2, false)}, false, ""},
		{"part of a task that is done", []tasks.Finding{found("", 1, true), found(tasks.WhyPart, 2, false), found(tasks.WhyPart, 3, true)}, false,
			"1 open part of a task that is done (line 2; --all-boxes)"},
		{"folder", []tasks.Finding{found(tasks.WhyNoFront, 0, false)}, true, "1 file without front matter (k)"},
		{"another source's", []tasks.Finding{found("odd\nwhy", 3, false)}, false, "1 odd why (line 3)"},
	} {
		if got := leftOut(tt.found, tt.files); got != tt.want {
			t.Errorf("%s: %s", tt.name, cmp.Diff(tt.want, got))
		}
	}
}

// TestOddities: what is odd about tasks is told, the first of them, bounded and cleaned;
// for what they wait, and of what is no task, nothing.
func TestOddities(t *testing.T) {
	t.Parallel()
	of := func(key, detail string, why tasks.Why) tasks.Finding {
		return tasks.Finding{Item: tasks.Item{Key: key}, Why: why, Detail: detail}
	}
	var many []tasks.Finding
	for _, key := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		many = append(many, of(key, "odd", ""))
	}
	for want, found := range map[string][]tasks.Finding{
		"":                                       {of("a", "", ""), of("b", "for 2; for 3", tasks.WhyWaits), of("c", "tasks/task-1 - x.md", ""), of("d", "its status is off", tasks.WhySkipped)},
		"a: its status \"finshed\" is not known": {of("a", "tasks/task-1.md; its status \"finshed\" is not known", "")},
		"a: its status is odd, is it done?; b: it is odd":         {of("a", "its status is odd; is it done?; for 3", tasks.WhyWaits), of("b", "it is odd", "")},
		"1: odd; 2: odd; 3: odd; 4: odd; 5: odd; and 2 more":      many,
		line("a\x1b[2Jb") + ": " + strings.Repeat("x", 159) + "…": {of("a\x1b[2Jb", strings.Repeat("x", 999), "")},
	} {
		if diff := cmp.Diff(want, oddities(found)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWhat: each reason is told in words, with the flag that takes the box if there is one.
func TestWhat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why          tasks.Why
		detail, want string
	}{
		{"", "", "task"},
		{tasks.WhyWaits, "2.1", "task, waits (2.1)"},
		{tasks.WhyNoID, "", "no task: it has no ID; --all-boxes takes it"},
		{tasks.WhyPart, "of T004", "part of a task, and in its prompt (of T004); --all-boxes takes it"},
		{tasks.WhyCriterion, "", "no task: it says how work is judged; --criteria takes it"},
		{tasks.WhyOptional, "", "no task: it is optional; --optional takes it"},
		{tasks.WhyNoBox, "no blank after the bullet", "no box: nothing renders it as one (no blank after the bullet)"},
		{tasks.WhySkipped, "", "no task: nobody is to do it"},
		{tasks.WhyNoFront, "tasks/readme.md; it has no front matter", "no task (tasks/readme.md; it has no front matter)"},
		{"odd", "", "no task"},
		{"", "line 90 has the same ID", "task (line 90 has the same ID)"},
	} {
		if got := what(tasks.Finding{Why: tt.why, Detail: tt.detail}); got != tt.want {
			t.Errorf("%s: %s", tt.why, cmp.Diff(tt.want, got))
		}
	}
}
