package pipeline_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// tampered is what was done behind a pipeline's back, when the first of its two tasks was
// verified and not merged yet.
type tampered struct {
	name   string
	script string // in the user's work tree
	told   string // in what is told
	merged string // the tasks that are merged all the same
	err    string
}

const evilCommit = `c=$(git commit-tree -p HEAD -m evil $(git mktree </dev/null))
`

// evilAttributes has git run what a script configures on each file.
const evilAttributes = "mkdir -p .git/info; echo '* filter=x diff=x merge=x' >.git/info/attributes\n"

var tamperings = []tampered{
	// What was verified is what is merged.
	{"its files", "echo evil >.ralph/worktrees/T1/T1", "T1: after the merge", "T2", ""},
	{"another file, which does no harm", "echo more >.ralph/worktrees/T1/more", "", "T1 T2", ""},
	{"its files, committed", "cd .ralph/worktrees/T1; echo evil >T1; git commit -qam evil", "moved the branch ralph/T1", "T2", ""},
	{"its branch", evilCommit + "git update-ref refs/heads/ralph/T1 $c", "moved the branch ralph/T1", "T1 T2", ""},
	{"its branch, to another task's commit", evilCommit + "git update-ref refs/heads/ralph/T1 $c; git branch ralph/T3 $c", "commits of another task's", "T2", ""},
	{"its branch is gone", "git update-ref -d refs/heads/ralph/T1", "moved the branch ralph/T1", "T2", ""},
	{"its worktree leaves its branch", "cd .ralph/worktrees/T1; git checkout -q -b other; echo evil >T1; git commit -qam evil", `refs/heads/other was added`, "T2", ""},
	{"its worktree is at another task's branch", "cd .ralph/worktrees/T1; git checkout -q --orphan ralph/T9; git commit -qm evil", "which does not hold its branch", "T2", ""},
	{"its worktree is removed", "git worktree remove --force .ralph/worktrees/T1", "has removed the worktree", "T1 T2", ""},
	{"its worktree is moved", "git worktree move .ralph/worktrees/T1 .ralph/worktrees/T9", "", "T2", ""},
	{"its worktree is deleted", "rm -rf .ralph/worktrees/T1", "has removed the worktree", "T1 T2", ""},
	{"its worktree names another repository", "git init -q --bare other.git; echo gitdir: $PWD/other.git >.ralph/worktrees/T1/.git", "names another repository", "T1 T2", ""},
	{"its folder in git names another repository", "git init -q --bare other.git; echo $PWD/other.git >.git/worktrees/T1/commondir", "names another repository", "T1 T2", ""},
	{"its folder in git is another's", "git worktree add -q -b own other; echo $PWD/other/.git >.git/worktrees/T1/gitdir", "names another repository", "T1 T2", ""},

	// The main branch, and the user's work tree.
	{"a commit on main", "echo user >user; git add user; git commit -qm user", "has moved main", "T1 T2", ""},
	{"main moves without its files", evilCommit + "git update-ref refs/heads/main $c", "has changed files", "T1 T2", ""},
	{"main's files", "echo evil >README", "has changed files", "T1 T2", ""},
	{"main's files, staged", "echo evil >README; git add README", "has changed files", "T1 T2", ""},
	{"a new file in main", "echo evil >new", "has made files in", "T1 T2", ""},
	{"a file in the way", "echo evil >T1", "has made files in", "T2", ""},
	{"another branch is checked out", "git checkout -q -b other", "what is checked out in", "", ""},
	{"the index of main", "git update-index --assume-unchanged README", "says not to look at", "T1 T2", ""},
	{"the lock of the index of main", ": >.git/index.lock", "another git command is at work", "", ""},

	// Git's configuration, and what runs by it.
	{"a filter", "git config filter.x.clean 'touch MARK; cat'; git config filter.x.smudge 'touch MARK; cat'; git config filter.x.required true\n" + evilAttributes, `"filter.x.clean" of git's configuration was added`, "T1 T2", ""},
	{"a process filter", "git config filter.x.process 'touch MARK'\n" + evilAttributes, `"filter.x.process"`, "T1 T2", ""},
	{"a merge driver", "git config merge.x.driver 'touch MARK'; git config diff.x.textconv 'touch MARK'; git config diff.external 'touch MARK'\n" + evilAttributes, `"merge.x.driver"`, "T1 T2", ""},
	{"attributes", evilAttributes, "info/attributes was added", "T1 T2", ""},
	{"excludes", "echo T1 >>.git/info/exclude; echo T2 >>.git/info/exclude", "info/exclude was changed", "T1 T2", ""},
	{"hooks", `for h in pre-commit post-commit commit-msg post-checkout post-merge post-index-change reference-transaction pre-merge-commit post-rewrite; do
		mkdir -p .git/hooks; printf '#!/bin/sh\ntouch MARK\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done`, "hooks/pre-commit was added", "T1 T2", ""},
	{"a folder of hooks", `mkdir .ralph/h; printf '#!/bin/sh\ntouch MARK\n' >.ralph/h/reference-transaction; chmod +x .ralph/h/*; git config core.hooksPath $PWD/.ralph/h`, `"core.hookspath"`, "T1 T2", ""},
	{"a monitor", "git config core.fsmonitor 'touch MARK'", `"core.fsmonitor"`, "T1 T2", ""},
	{"a signer", "printf '#!/bin/sh\ntouch MARK\n' >.ralph/sign; chmod +x .ralph/sign; git config gpg.program $PWD/.ralph/sign; git config commit.gpgSign true", `"gpg.program"`, "T1 T2", ""},
	{"an include", "printf '[core]\n\tfsmonitor = touch MARK\n' >.ralph/c; git config include.path $PWD/.ralph/c", `"include.path"`, "T1 T2", ""},
	{"aliases", "git config alias.merge-tree '!touch MARK'; git config alias.update-ref '!touch MARK'", `"alias.merge-tree"`, "T1 T2", ""},
	{"another work tree", "mkdir .ralph/other; git config core.worktree $PWD/.ralph/other", `"core.worktree"`, "T1 T2", ""},
	{"another user", "git config user.name evil", `"user.name"`, "T1 T2", ""},
	{"another format", "git config core.repositoryformatversion 9", "", "", "repo version"},
	{"configuration that cannot be read", "echo '[evil' >>.git/config", "", "", "bad config"},
	{"objects from elsewhere", "mkdir .ralph/o; echo $PWD/.ralph/o >.git/objects/info/alternates", "alternates was added", "T1 T2", ""},

	// Refs.
	{"a tag", "git tag evil", "refs/tags/evil was added", "T1 T2", ""},
	{"a replacement", evilCommit + "git update-ref refs/replace/$(git rev-parse HEAD) $c", "refs/replace/", "T1 T2", ""},

	// The task file.
	{"its entry", "sed -i 's/Do T1/Do evil/' tasks.yaml", "T1: changed (title)", "T2", ""},
	{"its check", "sed -i 's/grep -q coder T1/true/' tasks.yaml", "T1: changed (completion.coder)", "T2", ""},
	{"another's entry", "sed -i 's/Do T2/Do evil/' tasks.yaml", "T2: changed (title)", "T1", ""},
	{"another is done", "sed -i '/id: T2/a\\    status: done' tasks.yaml", "T2: set to done", "T1", ""},
	{"its status", "sed -i 's/status: running/status: done/' tasks.yaml", "T1: set to done", "T2", ""},
	{"another is removed", "sed -i '/id: T2/,$d' tasks.yaml", "T2: removed", "T1", ""},
	{"one is added", "sed 's/T1$/T7/' tasks.yaml | sed '1d; /id: T2/,$d' >>tasks.yaml", "T7 was added while this ran", "T1 T2", ""},
	{"the file is deleted", "rm tasks.yaml", "", "", "can no longer be read"},
	{"the file is no file", "rm tasks.yaml; mkdir -p tasks.yaml", "", "", "can no longer be read"},
	{"the file is a link", "mv tasks.yaml .ralph/t.yaml; ln -s .ralph/t.yaml tasks.yaml", "", "", "tasks.yaml"},
	{"the file makes no sense", "echo '{' >>tasks.yaml", "", "", "can no longer be read"},
}

// gated is a source whose second task is not taken until a channel is closed.
type gated struct {
	*pipeline.File
	open chan struct{}
}

func (g gated) Take(ctx context.Context, id string) (bool, error) {
	if id == "T2" {
		<-g.open
	}
	return g.File.Take(ctx, id)
}

// TestTampering: whatever is done to what was verified, to the main branch, to git's
// configuration or to the tasks is told, runs nothing, and is not merged unverified.
func TestTampering(t *testing.T) {
	for _, tt := range tamperings {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t, map[string]string{"README": "first\n", ".gitignore": "tasks.yaml\n"})
			mark := filepath.Join(t.TempDir(), "mark")
			a := &agents{do: makes(t)}
			p := &pipeline.Pipeline{
				Source: gated{file(t, filepath.Join(dir, "tasks.yaml"), task("T1", "grep -q coder T1", nil), task("T2", "grep -q coder T2", nil)), make(chan struct{})},
				Dir:    dir, Record: record(t), Runner: a.runner, Stages: []string{"coder"}, Rules: pipeline.Rules{Merge: true},
			}
			var told, merged []string
			var wrong error
			for ev, err := range p.Events(t.Context()) {
				if wrong = err; err != nil {
					break
				}
				switch {
				case ev.Kind == pipeline.EventEnded && ev.Task == "T1": // nothing is merged until this is over
					sh(t, dir, strings.ReplaceAll(tt.script, "MARK", mark))
					close(p.Source.(gated).open)
				case ev.Kind == pipeline.EventMerged:
					merged = append(merged, ev.Task)
				case ev.Kind == pipeline.EventNoted || ev.Kind == pipeline.EventUnmerged || ev.Kind == pipeline.EventAltered:
					told = append(told, ev.Task+": "+ev.Text)
				}
			}
			if strings.Join(merged, " ") != tt.merged {
				t.Errorf("merged: %q, want %q", merged, tt.merged)
			}
			if !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, tt.told) }) && tt.told != "" {
				t.Errorf("nothing tells of %q", tt.told)
			}
			if tt.told == "" && tt.err == "" && len(told) > 0 && tt.merged == "T1 T2" {
				t.Error("something is told")
			}
			if _, stopped := errors.AsType[*ralph.StopError](wrong); tt.err != "" && (wrong == nil || stopped || !strings.Contains(wrong.Error(), tt.err)) {
				t.Errorf("the error %v does not tell of %q", wrong, tt.err)
			}
			if t.Failed() {
				t.Logf("told: %q; %v", told, wrong)
			}
			if _, err := os.Lstat(mark); err == nil {
				t.Error("something ran by what was configured")
			}
			for name, text := range mainFiles(t, dir) {
				if strings.Contains(text, "evil") {
					t.Errorf("main has the %s: %s", name, text)
				}
			}
		})
	}
}

// mainFiles are the files of main, as far as its repository can be read.
func mainFiles(t *testing.T, dir string) map[string]string {
	sh(t, dir, "git config --file .git/config core.repositoryformatversion 0 || sed -i '/^.evil/d' .git/config; rm -f .git/info/attributes .git/index.lock")
	return there(t, dir, "main")
}

// changing is a verifier while which somebody else changes what is verified.
type changing struct {
	ralph.Verifier
	then [2]string // what they do after the first verification, and after the second
	saw  []string  // how the file was that it looked at
}

func (c *changing) Verify(ctx context.Context, claim ralph.Claim) (ralph.Verdict, error) {
	text, err := os.ReadFile(filepath.Join(claim.Task.Dir, claim.Task.ID))
	c.saw = append(c.saw, strings.TrimSpace(string(text)))
	v, verr := c.Verifier.Verify(ctx, claim)
	if n := len(c.saw); n <= len(c.then) {
		cmd := exec.Command("/bin/sh", "-ec", c.then[n-1])
		cmd.Dir = claim.Task.Dir
		err = errors.Join(err, cmd.Run())
	}
	return v, errors.Join(verr, err)
}

// TestVerifiedIsMerged: what changes while it is verified, or afterwards, is verified
// again before it is merged, as it is then; and what does not change is verified once.
func TestVerifiedIsMerged(t *testing.T) {
	for _, tt := range []struct {
		name, script, main string // main: the file there, "" = it is not merged
		saw                []string
	}{
		{"nothing", "true", "coder", []string{"coder"}},
		{"for the worse", "echo evil >T1", "", []string{"coder", "evil"}},
		{"for the worse, committed", "echo evil >T1; git commit -qam evil || git add T1; git commit -qm evil", "", []string{"coder", "evil"}},
		{"what still passes", "echo 'coder, too' >T1", "coder, too", []string{"coder", "coder, too"}},
		{"another file", "echo x >by-product", "coder", []string{"coder", "coder"}},
		{"the task, in the end", "echo x >by-product", "", []string{"coder", "coder"}},
		{"what git ignores", "echo x >ignored", "coder", []string{"coder"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t, map[string]string{".gitignore": "tasks.yaml\nignored\n"})
			c := &changing{Verifier: ralph.VerifierFunc(func(_ context.Context, claim ralph.Claim) (ralph.Verdict, error) {
				text, err := os.ReadFile(filepath.Join(claim.Task.Dir, "T1"))
				if strings.Contains(string(text), "evil") {
					return ralph.Reject("it is evil"), err
				}
				return ralph.Pass(), err
			}), then: [2]string{tt.script, "true"}}
			if strings.HasPrefix(tt.name, "the task") {
				c.then[1] = "sed -i 's/Do T1/Do evil/' " + filepath.Join(dir, "tasks.yaml")
			}
			p := &pipeline.Pipeline{
				Source: file(t, filepath.Join(dir, "tasks.yaml"), task("T1", "true", nil)), Dir: dir, Record: record(t), Verifier: c,
				Runner: (&agents{do: makes(t)}).runner, Stages: []string{"coder"}, Rules: pipeline.Rules{Merge: true}, Limits: ralph.Limits{Iterations: 1},
			}
			_, err := p.Run(t.Context())
			if got := there(t, dir, "main")["T1"]; got != tt.main || (err == nil) != (tt.main != "") || !slices.Equal(c.saw, tt.saw) {
				t.Errorf("main has %q, the verifier saw %q; %v", got, c.saw, err)
			}
		})
	}
}
