package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// TestBeginsAnew: what lies there of a task that begins anew is kept as another branch, is
// told, and is not in the worktree of the new loop, which begins at main.
func TestBeginsAnew(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, p *pipeline.Pipeline, path string)
		left   string // on the task's branch by whom
		kept   string // branches
	}{
		{"nothing is changed", func(*testing.T, *pipeline.Pipeline, string) {}, "old", "ralph/T1"},
		{"the definition", func(t *testing.T, _ *pipeline.Pipeline, path string) {
			sh(t, filepath.Dir(path), "sed -i 's/Do T1/Do it/' "+path)
		}, "new", "ralph/T1.1"},
		{"the status", func(t *testing.T, _ *pipeline.Pipeline, path string) {
			sh(t, filepath.Dir(path), "sed -i 's/status: running/status: todo/' "+path)
		}, "new", "ralph/T1.1"},
		{"the status, by another's word", func(t *testing.T, _ *pipeline.Pipeline, path string) {
			sh(t, filepath.Dir(path), "sed -i 's/status: running/status: In Progress/' "+path)
		}, "new", "ralph/T1.1"},
		{"the record does not count", func(_ *testing.T, p *pipeline.Pipeline, _ string) { p.Anew = true }, "new", "ralph/T1.1"},
		{"there is no record", func(t *testing.T, p *pipeline.Pipeline, _ string) { p.Record = record(t) }, "new", "ralph/T1.1"},
		{"the worktree is gone", func(t *testing.T, p *pipeline.Pipeline, _ string) {
			sh(t, p.Dir, "git worktree remove --force .ralph/worktrees/T1")
			p.Anew = true
		}, "new", "ralph/T1.1"},
		{"there is another already", func(t *testing.T, p *pipeline.Pipeline, _ string) {
			sh(t, p.Dir, "git branch ralph/T1.1")
			p.Anew = true
		}, "new", "ralph/T1.1 ralph/T1.2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t, map[string]string{"shared": "first\n", ".gitignore": "tasks.yaml\n"})
			path := filepath.Join(dir, "tasks.yaml")
			work := func(_ context.Context, req ralph.Request) (string, error) {
				if _, err := os.Stat(filepath.Join(req.Dir, "by")); err == nil {
					t.Error("the new loop has the files of the old one")
				}
				writeAll(t, req.Dir, map[string]string{"by": "new\n", "shared": "new\n"})
				return claim(req), nil
			}
			a := &agents{do: func(_ context.Context, req ralph.Request) (string, error) {
				writeAll(t, dir, map[string]string{"shared": "other\n"})
				sh(t, dir, "git commit -qam other")
				writeAll(t, req.Dir, map[string]string{"by": "old\n", "shared": "old\n"})
				return claim(req), nil
			}}
			p := &pipeline.Pipeline{
				Source: file(t, path, task("T1", "test -e by", nil)), Dir: dir, Record: record(t), Runner: a.runner,
				Stages: []string{"coder"}, Rules: pipeline.Rules{Merge: true},
			}
			if _, err := p.Run(t.Context()); err == nil || statuses(t, path) != "T1 running" {
				t.Fatalf("%v: %s", err, statuses(t, path))
			}
			tt.change(t, p, path)
			writeAll(t, dir, map[string]string{".ralph/worktrees/T1/late": "not committed\n"})
			if strings.Contains(tt.name, "gone") {
				os.RemoveAll(filepath.Join(dir, ".ralph/worktrees/T1"))
			}
			a.do = work
			var told []string
			var wrong error
			for ev, err := range p.Events(t.Context()) {
				if wrong = err; ev.Kind == pipeline.EventNoted && strings.Contains(ev.Text, "begins anew") {
					told = append(told, ev.Text)
				}
			}
			sound(t, dir)
			branches, _ := left(t, dir)
			if got := strings.Join(branches, " "); got != tt.kept {
				t.Errorf("the branches are %s, want %s; %v", got, tt.kept, wrong)
			}
			if tt.left == "old" {
				if wrong == nil || len(told) > 0 {
					t.Errorf("%v; told %q", wrong, told)
				}
				return
			}
			kept := branches[len(branches)-1]
			if wrong != nil || len(told) != 1 || !strings.Contains(told[0], kept) || sh(t, dir, "git show main:by main:shared") != "new\nnew" {
				t.Errorf("%v; told %q", wrong, told)
			}
			if got := sh(t, dir, "git show "+kept+":by "+kept+":shared"); got != "old\nold" {
				t.Errorf("kept is %q", got)
			}
			if late, gone := sh(t, dir, "git ls-tree --name-only "+kept+" late"), strings.Contains(tt.name, "gone"); (late == "") != gone {
				t.Errorf("what was not committed is kept: %q", late)
			}
		})
	}
}

// TestHeld: of two runs of one name one is refused, at whatever depth its name is; others
// go on.
func TestHeld(t *testing.T) {
	for _, name := range []string{"", "a/b", "a b/ü c", "../x", "."} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repo(t, map[string]string{".gitignore": "*.yaml\n"})
			rec := record(t)
			run := func(name, id string, a *agents) *pipeline.Pipeline {
				return &pipeline.Pipeline{
					Name: name, Source: file(t, filepath.Join(dir, id+".yaml"), task(id, "test -e "+id, nil)), Dir: dir,
					Record: reopened(t, rec.Path), Runner: a.runner, Stages: []string{"coder"}, Rules: pipeline.Rules{Merge: true},
				}
			}
			at, goOn := newChan[struct{}](), newChan[struct{}]()
			a := &agents{do: func(ctx context.Context, req ralph.Request) (string, error) {
				close(at)
				<-goOn
				return makes(t)(ctx, req)
			}}
			ended := newChan[error]()
			go func() {
				_, err := run(name, "T1", a).Run(t.Context())
				ended <- err
			}()
			<-at
			_, err := run(name, "T2", &agents{do: makes(t)}).Run(t.Context())
			if held, ok := errors.AsType[*progress.HeldError](err); !ok {
				t.Errorf("the second run: %v, %v", held, err)
			}
			if _, err := run(name+" too", "T3", &agents{do: makes(t)}).Run(t.Context()); err != nil {
				t.Error(err)
			}
			close(goOn)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			sound(t, dir)
			for _, id := range []string{"T1", "T3"} {
				if got := statuses(t, filepath.Join(dir, id+".yaml")); got != id+" done" || there(t, dir, "main")[id] == "" {
					t.Errorf("%s: %s", id, got)
				}
			}
			if got := statuses(t, filepath.Join(dir, "T2.yaml")); got != "T2 " {
				t.Error(got)
			}
			for name, want := range map[string]string{name: "T1", name + " too": "T3"} {
				if name == "" {
					name = "pipeline"
				}
				s, _, err := pipeline.Recorded(t.Context(), rec, name)
				if err != nil || s.Stop != ralph.StopVerified || len(s.Parts) != 1 || s.Parts[0].ID != want {
					t.Errorf("%q is on record as %+v, %v", name, s, err)
				}
			}
		})
	}
}

func newChan[T any]() chan T { return make(chan T) }

// sandboxed tries what an agent in a worktree may not, and commits.
const sandboxed = `cat >/dev/null
try() { if sh -c "$2" 2>/dev/null; then echo "$1" >>may; fi; }
try config "echo '[evil]' >>$G/config"
try hook "echo evil >$G/hooks/pre-commit"
try info "echo evil >$G/info/attributes"
try main "echo evil >$G/refs/heads/main"
try tag "echo evil >$G/refs/tags/evil"
try ref "git update-ref refs/heads/evil HEAD"
try packed "echo evil >>$G/packed-refs"
try head "echo evil >$G/HEAD"
try index "echo evil >$G/index"
try another "echo evil >$G/worktrees/other/HEAD"
try folder "echo evil >$G/../.ralph/worktrees/other/evil"
try user "echo evil >$G/../README"
try tasks "echo evil >>$G/../tasks.yaml"
echo made >T1
git add -A && git commit -qm mine && git log -1 --format=%s >&2 || exit 1
echo "All is committed, all tests pass (3 passed), approved."; echo
echo "<promise>CODED</promise>"
`

// TestSandbox: an agent that may write what its place says commits in its worktree, and
// writes nothing else of the repository.
func TestSandbox(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no sandbox")
	}
	dir := repo(t, map[string]string{"README": "first\n", ".gitignore": "tasks.yaml\n"})
	sh(t, dir, "git worktree add -q -b other .ralph/worktrees/other")
	var warnings []string
	p := &pipeline.Pipeline{
		Source: file(t, filepath.Join(dir, "tasks.yaml"), task("T1", "test -e T1", nil)), Dir: dir, Record: record(t),
		Stages: []string{"coder"}, Rules: pipeline.Rules{Merge: true}, Limits: ralph.Limits{Iterations: 1},
		Runner: func(at pipeline.Place) (ralph.Runner, error) {
			c := &ralph.Command{Args: []string{"/bin/sh", "-c", sandboxed}, Env: []string{"G=" + filepath.Join(dir, ".git")}, Sandbox: &ralph.Sandbox{Write: at.Write}}
			return ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
				resp, err := c.Run(ctx, req)
				warnings = append(warnings, resp.Warnings...)
				return resp, err
			}), nil
		},
	}
	_, err := p.Run(t.Context())
	if slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "is not restricted") }) {
		return // the system has none, which is told
	}
	if err != nil {
		t.Error(err)
	}
	if got := there(t, dir, "main"); got["T1"] != "made" || got["may"] != "" {
		t.Errorf("main has %q", got)
	}
	if log := sh(t, dir, "git log --format=%s main^2"); !strings.HasPrefix(log, "mine\n") {
		t.Errorf("what it has committed is not there: %s", log)
	}
	sound(t, dir)
}
