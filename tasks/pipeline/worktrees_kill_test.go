package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// workerEnv names the folder of a worker that is killed, for the test binary as its program.
const workerEnv = "PIPELINE_TEST_WORKER"

// TestKilledWorkerProgram is no test, but the worker that is killed. What a driver would
// have recorded is in the file moving.
func TestKilledWorkerProgram(t *testing.T) {
	folder := os.Getenv(workerEnv)
	if folder == "" {
		return
	}
	ctx := t.Context()
	if err := os.WriteFile(filepath.Join(folder, "pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	w := opened(t, os.Getenv("WORKER_DIR"), os.Getenv("WORKER_REMOTE"))
	record := filepath.Join(folder, "moving")
	finished := false
	if text, err := os.ReadFile(record); err == nil {
		from, to, _ := strings.Cut(string(text), " ")
		err := w.Finish(ctx, from, to)
		if finished = err == nil; err != nil && !errors.Is(err, pipeline.ErrOvertaken) {
			t.Fatal(err)
		}
	}
	if !finished {
		w.work("T1", "echo made >T1; echo more >shared; rm -f README")
		_, err := w.Merge(ctx, "T1", "Merge T1", func(_ context.Context, dir, _ string) error {
			sh(t, dir, "test -e T1 -a -e other")
			return nil
		}, func(from, to string) error { return os.WriteFile(record, []byte(from+" "+to), 0o600) })
		if err != nil {
			t.Fatal(err)
		}
	}
	w.remove("T1")
	if err := os.WriteFile(filepath.Join(folder, "over"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKilledWorktrees kills a worker at each call of git, again and again, in one folder
// and in two clones by turns: the task is merged once, and everything is whole.
func TestKilledWorktrees(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ clones, first int }{{0, 12}, {1, 14}, {2, 13}} {
		t.Run(fmt.Sprintf("%d clones", tt.clones), func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"README": "first\n", "shared": "1\n"}
			folder, url := t.TempDir(), ""
			var dirs []string
			main := ""
			if tt.clones == 0 {
				main = repo(t, files)
				dirs = []string{main}
			} else {
				url = shared(t, files)
				main = url
			}
			for range tt.clones {
				dirs = append(dirs, clone(t, url))
			}
			ahead := opened(t, append(dirs, "")[0], url) // so that both sides have something
			ahead.work("T0", "echo 1 >other")
			ahead.merge("T0")
			ahead.remove("T0")
			writeAll(t, folder, map[string]string{"bin/git": "#!/bin/sh\n" + fmt.Sprintf(killedGit, git)})
			if err := os.Chmod(filepath.Join(folder, "bin", "git"), 0o755); err != nil {
				t.Fatal(err)
			}
			lives := 0
			for n := tt.first; ; n += 5 {
				os.Remove(filepath.Join(folder, "calls"))
				cmd := exec.Command(self, "-test.run=^TestKilledWorkerProgram$")
				cmd.Env = append(os.Environ(), workerEnv+"="+folder, "WORKER_DIR="+dirs[lives%len(dirs)], "WORKER_REMOTE="+url,
					"N="+strconv.Itoa(n), "P="+folder, "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
				said, err := cmd.CombinedOutput()
				lives++
				if _, missing := os.Lstat(filepath.Join(folder, "over")); missing == nil {
					break
				}
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Exited() {
					t.Fatalf("life %d was not killed: %v: %s", lives, err, said)
				}
			}
			if lives < 5 {
				t.Errorf("it lived %d times only", lives)
			}
			if got := there(t, main, "main"); len(got) != 3 || got["T1"] != "made" || got["shared"] != "more" || got["other"] != "1" {
				t.Errorf("main has %q", got)
			}
			if n := sh(t, main, "git rev-list --count --min-parents=2 main"); n != "2" {
				t.Errorf("%s merges", n)
			}
			if branches, _ := left(t, main); len(branches) > 0 {
				t.Errorf("left are %q", branches)
			}
			for _, dir := range dirs {
				sound(t, dir)
			}
			sh(t, main, "git fsck --full --strict --no-dangling")
		})
	}
}
