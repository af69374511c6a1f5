package pipeline_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// branched is a pipeline of a list that works on a branch of its own.
func branched(t *testing.T, dir string, do func(context.Context, ralph.Request) (string, error)) (*pipeline.Pipeline, *agents) {
	t.Helper()
	a := &agents{do: do}
	return &pipeline.Pipeline{
		Source: pipeline.List{Source: tasks.ListFile{Path: filepath.Join(dir, "tasks.md")}}, Dir: dir, Branch: "ralph/shop", Runner: a.runner,
		Record: record(t), Stages: []string{"coder"}, Rules: pipeline.Rules{Merge: true},
	}, a
}

const two = "- [ ] T1 One\n- [ ] T2 Two\n"

// TestBranch: tasks are merged into the branch of the pipeline, which is made if it is not
// there; a run that was interrupted goes on there, wherever the user has gone meanwhile;
// and the tasks are those that are open on that branch.
func TestBranch(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"tasks.md": two})
	ctx, interrupt := context.WithCancel(t.Context())
	p, a := branched(t, dir, nil)
	a.do = func(ctx context.Context, req ralph.Request) (string, error) {
		if req.Task == "T2" && ctx.Err() == nil && len(a.ran) == 2 {
			interrupt()
			<-ctx.Done()
			return "", ctx.Err()
		}
		sh(t, req.Dir, "echo x >"+req.Task+"; git add -A; git commit -qm work")
		return claim(req), nil
	}
	if _, err := p.Run(ctx); err != context.Canceled {
		t.Fatal(err)
	}
	if got := sh(t, dir, "git rev-parse --abbrev-ref HEAD; cat tasks.md; git status --porcelain -uno"); got != "ralph/shop\n- [x] T1 One\n- [ ] T2 Two" {
		t.Error(got)
	}
	sh(t, dir, "git checkout -q main; test ! -e T1")
	if _, err := p.Agree(t.Context()); err == nil || err.Error() != "pipeline: the branch ralph/shop is not checked out, and has other files than what is: check it out first (git switch ralph/shop), for its tasks may be others" {
		t.Errorf("agreed to other tasks: %v", err)
	}
	if got := sh(t, dir, "git rev-parse --abbrev-ref HEAD"); got != "main" {
		t.Errorf("Agree has checked out %s", got)
	}
	for range 2 { // the second has nothing to do
		if _, err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"T1": "x", "T2": "x", "tasks.md": "- [x] T1 One\n- [x] T2 Two"}
		if diff := cmp.Diff(want, there(t, dir, "ralph/shop")); diff != "" {
			t.Errorf("on the branch (-want +got):\n%s", diff)
		}
		sh(t, dir, "git checkout -q main")
	}
	if diff := cmp.Diff(map[string]string{"tasks.md": strings.TrimSuffix(two, "\n")}, there(t, dir, "main")); diff != "" {
		t.Errorf("on main (-want +got):\n%s", diff)
	}
	if got := strings.Join(a.ran, ", "); got != "T1.coder 1, T2.coder 1, T2.coder 1" {
		t.Errorf("ran %s", got)
	}
	sound(t, dir)
}

// TestBranchRefused: what cannot be worked on is told before anything begins, and nothing
// is changed.
func TestBranchRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, before, branch, err string }{
		{"changed", "echo mine >a", "ralph/shop", `has changes that are not committed, and the branch ralph/shop is to be checked out: commit or stash them: "a"`},
		{"changed, and it is there", "git branch ralph/shop other; echo mine >a", "ralph/shop", `not committed`},
		{"in the way", "git branch ralph/shop other; echo mine >n", "ralph/shop", "files are in the way"},
		{"elsewhere", "git worktree add -q ../shop -b ralph/shop", "ralph/shop", "is checked out in "},
		{"a task's branch", "", "ralph/T2", "pipeline: the branch ralph/T2 cannot be worked on: T2 has the branch ralph/T2"},
		{"a folder of theirs", "", "ralph", "pipeline: the branch ralph cannot be worked on: T1 has the branch ralph/T1"},
		{"below a task's branch", "", "ralph/T1/x", "pipeline: the branch ralph/T1/x cannot be worked on: T1 has the branch ralph/T1"},
		{"without the list", "git branch ralph/shop bare", "ralph/shop", "pipeline: the branch ralph/shop has no tasks.md, so its tasks would be gone: commit it there first, or take another branch"},
		{"with a link for the list", "git branch ralph/shop linked", "ralph/shop", "tasks.md is no regular file"},
		{"an option", "", "-f", `pipeline: git: "-f" is no name of a branch`},
		{"the head", "", "HEAD", `pipeline: git: "HEAD" is no name of a branch`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t, map[string]string{"tasks.md": two, "a": "1\n"})
			sh(t, dir, "git checkout -qb other; echo 2 >a; echo 2 >n; git add -A; git commit -qm other; git checkout -q main; "+
				"git checkout -qb bare; git rm -q tasks.md; git commit -qm bare; git checkout -q main; "+
				"git checkout -qb linked; ln -sf a tasks.md; git commit -qam linked; git checkout -q main; "+test.before)
			p, a := branched(t, dir, makes(t))
			p.Branch = test.branch
			const state = "git rev-parse --abbrev-ref HEAD; git for-each-ref; git status --porcelain; cat a tasks.md"
			was := sh(t, dir, state)
			if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v, want %s", err, test.err)
			}
			if diff := cmp.Diff(was, sh(t, dir, state)); diff != "" || len(a.ran) > 0 {
				t.Errorf("ran %q, changed (-was +is):\n%s", a.ran, diff)
			}
		})
	}
	p, _ := branched(t, repo(t, map[string]string{"tasks.md": two}), nil)
	p.Rules.Merge = false
	if _, err := p.Agree(t.Context()); err == nil || !strings.Contains(err.Error(), "the branch ralph/shop is to be worked on, but nothing is merged into it") {
		t.Errorf("without merges: %v", err)
	}
}

// TestBranchPRD: the stories of the branch are those that are worked on, so they are not
// another branch's, and they can be read.
func TestBranchPRD(t *testing.T) {
	t.Parallel()
	const prd = `{"branchName": "NAME", "userStories": [{"id": "US-1", "title": "One", "passes": false}]}`
	for _, test := range []struct{ name, there, err string }{
		{"the same", strings.Replace(prd, "NAME", "ralph/x", 1), ""},
		{"none", strings.Replace(prd, "branchName", "name", 1), ""},
		{"another", strings.Replace(prd, "NAME", "feat/y", 1), "pipeline: on the branch ralph/x, prd.json names another branch, feat/y: have both name the same"},
		{"a story's branch", strings.NewReplacer("NAME", "ralph/x", "US-1", "x").Replace(prd), "pipeline: the branch ralph/x cannot be worked on: x has the branch ralph/x"},
		{"no JSON", "{", "pipeline: on the branch ralph/x, prd.json: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t, map[string]string{"prd.json": strings.Replace(prd, "NAME", "ralph/x", 1)})
			sh(t, dir, "git checkout -qb ralph/x; cat >prd.json <<'END'\n"+test.there+"\nEND\necho x >x; git add -A; git commit -qm x; git checkout -q main")
			p, _ := branched(t, dir, nil)
			p.Branch, p.Source = "ralph/x", pipeline.List{Source: tasks.PRDFile{Path: filepath.Join(dir, "prd.json")}}
			want := "main"
			if test.err == "" {
				want = "ralph/x"
			}
			if err := p.Switch(t.Context()); (err == nil) != (test.err == "") || err != nil && !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("%v, want %q", err, test.err)
			}
			if got := sh(t, dir, "git rev-parse --abbrev-ref HEAD; git status --porcelain"); got != want {
				t.Error(got)
			}
		})
	}
}

// TestSwitch: the source's own file may be changed; programs of the workspace's own
// configuration do not run for one who has not looked at them.
func TestSwitch(t *testing.T) {
	t.Parallel()
	dir := repo(t, map[string]string{"tasks.md": two, ".gitattributes": "*.f filter=f\n"})
	p, _ := branched(t, dir, makes(t))
	sh(t, dir, "echo '- [ ] T3 Three' >>tasks.md")
	for range 2 {
		if err := p.Switch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := sh(t, dir, "git rev-parse --abbrev-ref HEAD; git status --porcelain"); got != "ralph/shop\n M tasks.md" {
		t.Error(got)
	}
	sh(t, dir, "git checkout -q tasks.md; echo x >x.f; git add -A; git commit -qm x; git checkout -q main; git config filter.f.smudge 'touch "+dir+"/ran; cat'")
	if err := p.Switch(t.Context()); err == nil || !strings.Contains(err.Error(), "filter.f.smudge of the repository's own git configuration would run on its files: check it out yourself (git switch ralph/shop)") {
		t.Errorf("a filter: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the filter ran")
	}
	sh(t, dir, "git config --remove-section filter.f")
	if err := p.Switch(t.Context()); err != nil {
		t.Error(err)
	}
	if got := sh(t, dir, "git rev-parse --abbrev-ref HEAD; cat x.f; git status --porcelain"); got != "ralph/shop\nx" {
		t.Error(got)
	}
	p.Branch = ""
	if err := p.Switch(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOnBranch: the tasks of a branch are known before it is checked out.
func TestOnBranch(t *testing.T) {
	t.Parallel()
	const open, done = `[{"id":"A","title":"a","passes":false}]`, `[{"id":"A","title":"a","passes":true}]`
	for _, test := range []struct{ name, do, want string }{
		{"none yet", "", "A todo"},
		{"at the same commit", "git branch ralph/shop", "A todo"},
		{"checked out", "git checkout -qb ralph/shop", "A todo"},
		{"done there", "git checkout -qb ralph/shop; cp done.json prd.json; git commit -qam done; git checkout -q main", "A done"},
		{"done here", "git checkout -qb ralph/shop; touch x; git add x; git commit -qm x; git checkout -q main; cp done.json prd.json; git commit -qam done", "A todo"},
		{"changed here", "git checkout -qb ralph/shop; touch x; git add x; git commit -qm x; git checkout -q main; cp done.json prd.json", "A done"},
		{"not there", "git checkout -qb ralph/shop; git rm -q prd.json; git commit -qm none; git checkout -q main", ""},
	} {
		dir := repo(t, map[string]string{"prd.json": open, "done.json": done})
		if test.do != "" {
			sh(t, dir, test.do)
		}
		p, _ := branched(t, dir, nil)
		p.Source = pipeline.List{Source: tasks.PRDFile{Path: filepath.Join(dir, "prd.json")}}
		const state = "git rev-parse --abbrev-ref HEAD; git for-each-ref; git status --porcelain"
		was := sh(t, dir, state)
		defs, err := p.OnBranch(t.Context())
		var got strings.Builder
		for _, d := range defs {
			got.WriteString(d.ID + " " + string(d.Status))
		}
		if got.String() != test.want || err != nil || sh(t, dir, state) != was {
			t.Errorf("%s: %q, %v; want %q", test.name, got.String(), err, test.want)
		}
	}
	p, _ := branched(t, repo(t, map[string]string{"tasks.md": two}), nil)
	p.Branch = ""
	if defs, err := p.OnBranch(t.Context()); len(defs) != 2 || err != nil {
		t.Error(defs, err)
	}
}

// TestBranchElsewhere: what was agreed runs where it was agreed, wherever the caller has gone
// meanwhile.
func TestBranchElsewhere(t *testing.T) {
	dir, other := repo(t, map[string]string{"tasks.md": two}), repo(t, nil)
	p, _ := branched(t, dir, makes(t))
	p.Dir = ""
	t.Chdir(dir)
	agreed, err := p.Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(other)
	if _, err := agreed.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if got := sh(t, dir, "git rev-parse --abbrev-ref HEAD") + " " + sh(t, other, "git rev-parse --abbrev-ref HEAD"); got != "ralph/shop main" {
		t.Error(got)
	}
}
