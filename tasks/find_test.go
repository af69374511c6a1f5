package tasks_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

// project makes a folder with files, whose names have slashes, on a git branch; "" = it is
// in no repository.
func project(t *testing.T, branch string, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if branch != "" {
		if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", branch, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	aList    = "- [ ] T001 a\n- [x] T002 b\n"
	aDone    = "- [x] T001 a\n"
	aPRD     = `{"userStories":[{"id":"A","title":"a","passes":false}]}`
	aLoose   = "- [ ] no ID\n"
	aProse   = "# Stories\n\nNone yet.\n"
	aTasks   = "tasks:\n- id: A\n"
	severals = "tasks: there are several task files in DIR; name one: "
)

func TestFind(t *testing.T) {
	t.Parallel()
	type files = map[string]string
	for _, test := range []struct {
		name, branch string
		files        files
		want         string // the path, or the error, in which DIR is the folder
	}{
		{"list", "", files{"tasks.md": aList}, "tasks.md"},
		{"prd", "", files{"prd.json": aPRD}, "prd.json"},
		{"definitions", "", files{"tasks.yaml": aTasks}, "tasks.yaml"},
		{"yml", "", files{"tasks.yml": aTasks}, "tasks.yml"},
		{"json", "", files{"tasks.json": `{}`}, "tasks.json"},
		{"TASKS", "", files{"TASKS.md": aList}, "TASKS.md"},
		{"spec-kit", "", files{"specs/001-login/tasks.md": aList, "specs/README.md": aList, "specs/002-cart/spec.md": "", "specs/003/tasks.md/a": ""}, "specs/001-login/tasks.md"},
		{"old spec-kit", "", files{".specify/specs/001-login/tasks.md": aList}, ".specify/specs/001-login/tasks.md"},
		{"Kiro", "", files{".kiro/specs/login/tasks.md": aList}, ".kiro/specs/login/tasks.md"},
		{"OpenSpec", "", files{"openspec/changes/add-login/tasks.md": aList, "openspec/changes/archive/tasks.md": aList, "openspec/changes/archive/2025-old/tasks.md": aDone}, "openspec/changes/add-login/tasks.md"},
		{"snarktank", "", files{"scripts/ralph/prd.json": aPRD}, "scripts/ralph/prd.json"},
		{"plans", "", files{"plans/prd.json": aPRD}, "plans/prd.json"},
		{"ours", "", files{".ralph/prd.json": aPRD}, ".ralph/prd.json"},
		{"fix plan", "", files{"fix_plan.md": aLoose}, "fix_plan.md"},
		{"@fix plan", "", files{"@fix_plan.md": aLoose}, "@fix_plan.md"},
		{"ralph-claude-code", "", files{".ralph/fix_plan.md": aLoose}, ".ralph/fix_plan.md"},
		{"its older form", "", files{".ralph/@fix_plan.md": aLoose}, ".ralph/@fix_plan.md"},
		{"Taskmaster", "", files{".taskmaster/tasks/tasks.json": `{}`}, ".taskmaster/tasks/tasks.json"},
		{"old Taskmaster", "", files{"tasks/tasks.json": `{}`}, "tasks/tasks.json"},
		{"Backlog.md", "", files{"backlog/tasks/task-1 - a.md": "", "backlog/config.yml": ""}, "backlog"},
		{"BMAD", "", files{"docs/stories/1.1.login.md": aLoose, "docs/stories/README.md": aProse, "docs/stories/a.txt": aList}, "docs/stories/1.1.login.md"},
		{"what has no box does not count", "", files{"tasks.md": aList, "fix_plan.md": aProse, "docs/stories/README.md": aProse}, "tasks.md"},
		{"a folder that is called so", "", files{"tasks.yml/a": "", "backlog/a.md": "", "prd.json": aPRD}, "prd.json"},

		{"the branch's feature", "002-cart", files{"specs/001-login/tasks.md": aList, "specs/002-cart/tasks.md": aList, ".kiro/specs/login/tasks.md": aList}, "specs/002-cart/tasks.md"},
		{"behind a slash", "feat/cart", files{"specs/login/tasks.md": aList, "specs/cart/tasks.md": aList}, "specs/cart/tasks.md"},
		{"a path of folders", "feat/cart", files{"specs/login/tasks.md": aList, "specs/feat/cart/tasks.md": aList}, "specs/feat/cart/tasks.md"},
		{"the branch's number", "002-cart-again", files{"specs/001-login/tasks.md": aList, "specs/002-cart/tasks.md": aList}, "specs/002-cart/tasks.md"},
		{"a branch that names none", "main", files{"specs/001-login/tasks.md": aList, "specs/002-cart/tasks.md": aDone, "specs/003-pay/tasks.md": aLoose},
			severals + "specs/001-login/tasks.md (1 of 2 open), specs/002-cart/tasks.md (all 1 done), specs/003-pay/tasks.md (none of its boxes"},
		{"the branch is of features", "login", files{"specs/login/tasks.md": aList, "specs/cart/tasks.md": aList, "tasks.md": aList},
			severals + "specs/login/tasks.md (1 of 2 open; the git branch names it), tasks.md (1 of 2 open)"},
		{"the branch's beside a prd.json", "002-cart", files{"specs/001-login/tasks.md": aList, "specs/002-cart/tasks.md": aList, "prd.json": aPRD},
			severals + "specs/002-cart/tasks.md (1 of 2 open; the git branch names it), prd.json (1 of 1 open)"},
		{"the branch's, beside what is done", "002-cart", files{"specs/002-cart/tasks.md": aList, "tasks.md": aDone}, "specs/002-cart/tasks.md"},
		{"the branch's, all done", "002-cart", files{"specs/001-login/tasks.md": aList, "specs/002-cart/tasks.md": aDone}, "specs/002-cart/tasks.md"},
		{"one is open", "", files{"specs/001-login/tasks.md": aDone, "specs/002-cart/tasks.md": aList}, "specs/002-cart/tasks.md"},
		{"one change is open", "", files{"openspec/changes/a/tasks.md": aDone, "openspec/changes/b/tasks.md": aList, "openspec/changes/c/tasks.md": aDone}, "openspec/changes/b/tasks.md"},
		{"one story is open", "", files{"docs/stories/1.1.md": "- [x] Task 1: a\n", "docs/stories/1.2.md": "- [ ] Task 1: a\n"}, "docs/stories/1.2.md"},
		{"all are done", "", files{"specs/001-login/tasks.md": aDone, "specs/002-cart/tasks.md": aDone},
			severals + "specs/001-login/tasks.md (all 1 done), specs/002-cart/tasks.md (all 1 done)"},
		{"it is not known whether the others are", "", files{"tasks.md": aList, "prd.json": "{"}, severals + "tasks.md (1 of 2 open), prd.json ("},
		{"TODO", "", files{"TODO.md": aLoose}, "TODO.md"},
		{"todo", "", files{"todo.md": aLoose, "TODO.md/a": ""}, "todo.md"},
		{"a harness", "", files{"feature_list.json": `[{"description":"a","passes":false}]`}, "feature_list.json"},
		{"several", "", files{"tasks.md": "", "prd.json": aPRD, "tasks.yaml": aTasks, "fix_plan.md": aLoose},
			severals + "tasks.md (is empty: write the tasks into it, as in \"- [ ] T001 Write the parser\"), prd.json (1 of 1 open), tasks.yaml (definitions), fix_plan.md (none of its boxes"},
		{"none", "", nil, "tasks: there is no task file: none of tasks.md, prd.json, tasks.yaml, tasks.yml, tasks.json, TASKS.md, feature_list.json, specs/*/tasks.md, .specify/specs/*/tasks.md, " +
			".kiro/specs/*/tasks.md, openspec/changes/*/tasks.md, scripts/ralph/prd.json, plans/prd.json, .ralph/prd.json, fix_plan.md, @fix_plan.md, TODO.md, todo.md, .ralph/fix_plan.md, .ralph/@fix_plan.md, " +
			".taskmaster/tasks/tasks.json, tasks/tasks.json, backlog, docs/stories/*.md is in DIR; name one"},
		{"none on a branch", "feat/cart", nil, "tasks: there is no task file: none of tasks.md, prd.json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := project(t, test.branch, test.files)
			got, err := tasks.Find(t.Context(), dir)
			if strings.HasPrefix(test.want, "tasks: ") {
				if want := strings.ReplaceAll(filepath.FromSlash(test.want), "DIR", dir); got != "" || err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%q, %v; want %s…", got, err, want)
				}
			} else if want := filepath.Join(dir, filepath.FromSlash(test.want)); got != want || err != nil {
				t.Errorf("%q, %v; want %s", got, err, want)
			}
		})
	}
	if _, err := tasks.Find(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// TestLook: what it was chosen from is told, unless the git branch has decided.
func TestLook(t *testing.T) {
	t.Parallel()
	files := map[string]string{"specs/001-a/tasks.md": aDone, "specs/002-b/tasks.md": aList, "prd.json": `[{"id":"A","title":"a","passes":true}]`}
	dir := project(t, "002-b", files)
	want := tasks.Found{Path: filepath.Join(dir, "specs", "002-b", "tasks.md"), Done: []string{filepath.Join(dir, "prd.json")}}
	got, err := tasks.Look(t.Context(), dir)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	dir = project(t, "", map[string]string{"tasks.md": aDone})
	if got, err := tasks.Look(t.Context(), dir); got.Path != filepath.Join(dir, "tasks.md") || got.Done != nil || err != nil {
		t.Error(got, err)
	}
}

// TestFindNearly: what may have been meant is named where there is no task file.
func TestFindNearly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		files map[string]string
		want  string // the end of the error
	}{
		{map[string]string{"main.go": "", "README.md": aList, "plans/a.md": ""}, "; name one"},
		{map[string]string{"TODO.markdown": aList}, "; name one. There is TODO.markdown"},
		{map[string]string{"TODO.md": aProse, "My Tasks.txt": aList, "task.go": ""}, "; name one. There is TODO.md (there is no box in it), My Tasks.txt"},
		{map[string]string{"backlog/a.md": ""}, "; name one. There is backlog (a folder of Backlog.md has config.yml and tasks in it)"},
		{map[string]string{"docs/stories/README.md": aProse}, "; name one. There is docs/stories/README.md (there is no box in it)"},
		{map[string]string{"task1": "", "task2": "", "task3": "", "task4": "", "task5": "", "task6": "", "task7": "", "task8": "", "task9": ""},
			"; name one. There is task1, task2, task3, task4, task5, task6, task7, task8, 1 more"},
	} {
		dir := project(t, "", test.files)
		if _, err := tasks.Find(t.Context(), dir); err == nil || !strings.HasSuffix(err.Error(), filepath.FromSlash(test.want)) {
			t.Errorf("%v; want …%s", err, test.want)
		}
	}
}

// A folder may have any number of entries: not all are looked at, and not all are listed.
func TestFindMany(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 1200 {
		files[fmt.Sprintf("specs/%04d-x/tasks.md", i)] = aDone
	}
	_, err := tasks.Find(t.Context(), project(t, "", files))
	if err == nil || strings.Count(err.Error(), "all 1 done") != 30 || !strings.HasSuffix(err.Error(), ", and 970 more") {
		t.Error(err)
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ file, there, want string }{
		{"specs/1/tasks.md", "spec.md plan.md research.md data-model.md quickstart.md contracts/a checklists/a README.md specs/a",
			"spec.md plan.md research.md data-model.md quickstart.md contracts checklists"},
		{".kiro/specs/login/tasks.md", "design.md requirements.md", "requirements.md design.md"},
		{"openspec/changes/add/tasks.md", "proposal.md design.md specs/auth/spec.md", "proposal.md design.md specs"},
		{".taskmaster/tasks/tasks.json", "../docs/prd.txt", "../docs/prd.txt"},
		{"plans/tasks.json", "../docs/prd.txt", ""},
		{"scripts/ralph/prd.json", "prd.md progress.txt", "prd.md"},
		{"fix_plan.md", "specs/a PROMPT.md", "specs"},
		{"docs/stories/1.1.md", "../prd.md ../architecture.md", "../prd.md ../architecture.md"},
		{"stories/1.1.md", "../prd.md", ""},
		{"tasks.md", "prd.md", ""},
		{"spec.md", "spec.md/a", ""},
		{"plan.md", "spec.md", "spec.md"},
	} {
		files := map[string]string{test.file: aList}
		for name := range strings.FieldsSeq(test.there) {
			if test.file != "spec.md" {
				files[filepath.ToSlash(filepath.Join(filepath.Dir(test.file), name))] = ""
			}
		}
		dir := project(t, "", files)
		beside := filepath.Join(dir, filepath.Dir(test.file))
		var want []string
		for name := range strings.FieldsSeq(test.want) {
			want = append(want, filepath.Join(beside, filepath.FromSlash(name)))
		}
		if diff := cmp.Diff(want, tasks.Documents(filepath.Join(dir, test.file))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.file, diff)
		}
	}
	backlog := filepath.Join(project(t, "", map[string]string{"backlog/docs/a.md": "", "backlog/tasks/a.md": ""}), "backlog")
	if diff := cmp.Diff([]string{filepath.Join(backlog, "docs")}, tasks.Documents(backlog)); diff != "" {
		t.Errorf("a folder (-want +got):\n%s", diff)
	}
	if got := tasks.Documents(""); got != nil {
		t.Errorf("of nothing: %q", got)
	}
}
