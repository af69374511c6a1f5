package verify_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// put writes files below a folder, by their names.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, name, text)
	}
}

func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

const gitInit = "git init -q -b main; git config user.name t; git config user.email t@example.com; git config commit.gpgsign false; "

// listing is all that there is below a folder: names, modes, and what they hold;
// times if they count.
func listing(t *testing.T, dir string, times bool) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if rel == ".git" {
			return fs.SkipDir
		}
		text := rel + "| " + info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += " " + string(b)
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(name)
			text += " -> " + target
		}
		if times && info.Mode()&fs.ModeSymlink == 0 {
			text += " " + info.ModTime().UTC().Format(time.RFC3339Nano)
		}
		all = append(all, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// names are the files of a listing, without the folders.
func names(list []string) []string {
	var all []string
	for _, entry := range list {
		if name, rest, _ := strings.Cut(entry, "| "); !strings.HasPrefix(rest, "d") {
			all = append(all, name)
		}
	}
	return all
}

// seen is a verifier that takes a look at the copy that has the exam, which is the
// first one, and fails then if it is to.
func seen(look func(dir string), pass bool) ralph.Verifier {
	first := true
	return ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if first {
			look(c.Task.Dir)
		}
		first = false
		if pass {
			return ralph.Pass(), nil
		}
		return ralph.Reject("no"), nil
	})
}

// TestHeldOutCopies: what is in the copy, in work trees and elsewhere.
func TestHeldOutCopies(t *testing.T) {
	t.Parallel()
	const submodule = `git init -q ../inner; cd ../inner; ` + gitInit + `echo 1 >in; echo junk >.gitignore; git add -A; git commit -qm one; cd - >/dev/null
		git -c protocol.file.allow=always submodule --quiet add "$PWD/../inner" mod; git commit -qm mod; echo 1 >mod/new; echo 1 >mod/junk; `
	for _, tt := range []struct {
		name, script, dir string
		include           []string
		want              []string
		detail            string // of the check
	}{
		{name: "no repository", script: "mkdir -p a/b .ralph/logs empty; echo 1 >a/b/c; echo 1 >d; echo 1 >.ralph/logs/x", want: []string{"a/b/c", "d", "exam"}},
		{name: "tracked, new, ignored", script: gitInit + "echo '*.log' >.gitignore; echo 1 >a; git add -A; git commit -qm 1; echo 1 >new; echo 1 >x.log; mkdir sub; echo 1 >sub/y", want: []string{".gitignore", "a", "exam", "new", "sub/y"}},
		{name: "tracked and gone", script: gitInit + "echo 1 >a; echo 1 >b; git add -A; git commit -qm 1; rm a", want: []string{"b", "exam"}},
		{name: "tracked, now a link", script: gitInit + "mkdir a d; echo 1 >a/b; echo 1 >d/b; git add -A; git commit -qm 1; rm -r a; ln -s d a", want: []string{"a", "d/b", "exam"}},
		{name: "no commit", script: gitInit + "echo 1 >a", want: []string{"a", "exam"}},
		{name: "odd names", script: gitInit + `echo 1 >'a b'; echo 1 >'c
d'; echo 1 >'[id]'; git add -A`, want: []string{"[id]", "a b", "c\nd", "exam"}},
		{name: "include a folder", script: gitInit + "echo node_modules >.gitignore; mkdir -p node_modules/x/.git; echo 1 >node_modules/x/i.js; echo 1 >node_modules/x/.git/y", include: []string{"node_modules/"}, want: []string{".gitignore", "exam", "node_modules/x/i.js"}},
		{name: "include wildcards", script: gitInit + "echo 'out*' >.gitignore; mkdir -p outa outb p/outc; echo 1 >outa/x; echo 1 >outb/y; echo 1 >p/outc/z", include: []string{"outa/*", "**/outc", "out[x]"}, want: []string{".gitignore", "exam", "outa/x", "p/outc/z"}, detail: `nothing there is named "out[x]"`},
		{name: "include links", script: gitInit + "printf 'node_modules\nw*\n' >.gitignore; mkdir ../out; ln -s ../out node_modules; ln -s ../out w1", include: []string{"node_modules", "w*"}, want: []string{".gitignore", "exam", "node_modules", "w1"}},
		{name: "include what is no pattern", script: gitInit + "echo '[[]id]' >.gitignore; mkdir '[id]'; echo 1 >'[id]/x'", include: []string{"[id]"}, want: []string{".gitignore", "[id]/x", "exam"}},
		{name: "a submodule", script: gitInit + submodule, want: []string{".gitmodules", "exam", "mod/.gitignore", "mod/in", "mod/new"}},
		{name: "one that is not checked out", script: gitInit + submodule + "git submodule --quiet deinit -f mod", want: []string{".gitmodules", "exam"}},
		{name: "a repository inside", script: gitInit + "git init -q nest; echo 1 >nest/in", want: []string{"exam", "nest/in"}},
		{name: "a folder of a work tree", script: gitInit + "echo ignored >.gitignore; mkdir sub; echo 1 >sub/a; echo 1 >go.mod; echo 1 >sub/ignored", dir: "sub", include: []string{"ignored"}, want: []string{".gitignore", "go.mod", "sub/a", "sub/exam", "sub/ignored"}},
		{name: "a folder that its work tree ignores", script: gitInit + "echo sub >.gitignore; mkdir sub; echo 1 >sub/a; echo 1 >b", dir: "sub", want: []string{"a", "exam"}},
		{name: "pipes", script: "mkfifo p; echo 1 >a", want: []string{"a", "exam"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			top, exam := filepath.Join(base, "top"), filepath.Join(base, "exam")
			put(t, exam, map[string]string{"exam": "2\n"})
			if err := os.Mkdir(top, 0o755); err != nil {
				t.Fatal(err)
			}
			shell(t, top, tt.script)
			before := listing(t, top, true)
			var got []string
			v := verify.HeldOut{Exam: exam, Include: tt.include, Verifier: seen(func(dir string) {
				temp, err := filepath.EvalSymlinks(os.TempDir())
				if err != nil {
					t.Error(err)
				}
				rel, _ := filepath.Rel(temp, dir)
				own, _, _ := strings.Cut(rel, "/")
				for _, name := range names(listing(t, filepath.Join(temp, own), false)) {
					_, name, _ = strings.Cut(name, "/") // the name of the work tree
					got = append(got, name)
				}
			}, true)}
			task := ralph.Task{Dir: filepath.Join(top, tt.dir)}
			verdict, err := v.Verify(t.Context(), ralph.Claim{Task: task, Promised: true})
			if err != nil || !verdict.Passed || !strings.Contains(verdict.Checks[0].Detail, tt.detail) {
				t.Fatalf("%+v, %v", verdict, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the copy (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, listing(t, top, true)); diff != "" {
				t.Errorf("the workspace changed:\n%s", diff)
			}
		})
	}
}

// TestHeldOutKeepsTimesAndModes: build caches go by the times of files.
func TestHeldOutKeepsTimesAndModes(t *testing.T) {
	t.Parallel()
	work, exam := t.TempDir(), t.TempDir()
	shell(t, work, "echo 1 >a; chmod 750 a; touch -d 2001-02-03T04:05:06Z a; echo 1 >b; chmod 444 b; echo 1 >x; mkdir d; chmod 750 d; echo 1 >d/e")
	shell(t, exam, "echo 2 >x; chmod 700 x; touch -d 2002-02-03T04:05:06Z x")
	var got []string
	v := verify.HeldOut{Exam: exam, Verifier: seen(func(dir string) {
		for _, name := range []string{"a", "b", "d", "x"} {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
				continue
			}
			text := name + " " + info.Mode().String()
			if name == "a" || name == "x" {
				text += info.ModTime().UTC().Format(" 2006")
			}
			got = append(got, text)
		}
	}, true)}
	if _, err := v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: work}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"a -rwxr-x--- 2001", "b -r--r--r--", "d drwxr-x---", "x -rwx------ 2002"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHeldOutLinks: no link of the copy leads into the workspace, and the exam is
// not written through one.
func TestHeldOutLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string            // $OUT is a folder outside, $WORK the workspace by its full name
		want         map[string]string // where links lead; "" = there is none
	}{
		{"inside", "echo 1 >a; ln -s a l; mkdir d; ln -s ../a d/l", map[string]string{"l": "a", "d/l": "../a"}},
		{"dangling inside", "ln -s later l", map[string]string{"l": "later"}},
		{"inside by the full name", "echo 1 >a; mkdir d; ln -s $WORK/a d/l; ln -s $WORK l", map[string]string{"d/l": "../a", "l": "."}},
		{"dangling by the full name", "mkdir d; ln -s $WORK/later d/l", map[string]string{"d/l": "../later"}},
		{"back again", "echo 1 >a; ln -s ../work/a l", map[string]string{"l": "a"}},
		{"back over a link outside", "echo 1 >a; ln -s $WORK $OUT/back; ln -s $OUT/back/a l; ln -s $OUT/back/later m", map[string]string{"l": "a", "m": "later"}},
		{"outside", "echo 1 >$OUT/o; ln -s $OUT/o l; ln -s ../out/o m", map[string]string{"l": "$OUT/o", "m": "$OUT/o"}},
		{"outside, nothing there", "ln -s $OUT/no l; ln -s ../out/no m", map[string]string{"l": "", "m": ""}},
		{"to what holds the workspace", "ln -s .. l; ln -s / m", map[string]string{"l": "", "m": ""}},
		{"round and round", "ln -s l l", map[string]string{"l": "l"}},
		{"where an exam file goes", "echo 1 >$OUT/o; echo 1 >a; ln -s $OUT/o exam.txt", map[string]string{"exam.txt": ""}},
		{"where an exam file goes, inside", "echo 1 >a; ln -s a exam.txt", map[string]string{"exam.txt": ""}},
		{"where an exam folder goes", "mkdir $OUT/d; ln -s $OUT/d sub", map[string]string{"sub": ""}},
		{"where an exam folder goes, inside", "mkdir d; ln -s d sub", map[string]string{"sub": ""}},
		{"a folder where an exam file goes", "mkdir exam.txt; echo 1 >exam.txt/x", nil},
		{"a file where an exam folder goes", "echo 1 >sub", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			work, out, exam := filepath.Join(base, "work"), filepath.Join(base, "out"), filepath.Join(base, "exam")
			for _, dir := range []string{work, out} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			put(t, exam, map[string]string{"exam.txt": "exam\n", "sub/exam.txt": "exam\n"})
			shell(t, work, "WORK='"+work+"'; OUT='"+out+"'; "+tt.script)
			before := listing(t, base, true)
			v := verify.HeldOut{Exam: exam, Verifier: seen(func(dir string) {
				for name, want := range tt.want {
					got, err := os.Readlink(filepath.Join(dir, name))
					if want = strings.ReplaceAll(want, "$OUT", out); got != want || want == "" && err == nil {
						t.Errorf("%s leads to %q, want %q (%v)", name, got, want, err)
					}
				}
				for _, name := range []string{"exam.txt", "sub/exam.txt"} {
					name = filepath.Join(dir, name)
					if b, err := os.ReadFile(name); err != nil || string(b) != "exam\n" {
						t.Errorf("%s: %q, %v", name, b, err)
					}
					if real, err := filepath.EvalSymlinks(name); err != nil || !strings.HasPrefix(real, filepath.Dir(filepath.Dir(dir))) {
						t.Errorf("%s is %s, %v", name, real, err)
					}
				}
			}, true)}
			if got, err := v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: work}}); err != nil || !got.Passed {
				t.Errorf("%+v, %v", got, err)
			}
			if diff := cmp.Diff(before, listing(t, base, true)); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
		})
	}
}

// vandal is a verifier that changes what it finds in its folder, and then does
// as it is told.
func vandal(then func() (ralph.Verdict, error)) ralph.Verifier {
	return ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		script := "for f in *; do if [ -f $f ]; then chmod +w $f; echo x >>$f; fi; done; rm -rf sub; touch new; mkdir -p shut/shut; touch shut/f; chmod 0 shut/shut; chmod 500 shut"
		cmd := exec.Command("/bin/sh", "-ec", script)
		cmd.Dir = c.Task.Dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return ralph.Verdict{}, fmt.Errorf("%w: %s", err, out)
		}
		return then()
	})
}

// TestHeldOutLeavesNothing: whatever becomes of the check, the workspace is as it
// was, and no copy is left.
func TestHeldOutLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for name, then := range map[string]func() (ralph.Verdict, error){
		"passes":            func() (ralph.Verdict, error) { return ralph.Pass(), nil },
		"rejects":           func() (ralph.Verdict, error) { return ralph.Reject("no"), nil },
		"breaks":            func() (ralph.Verdict, error) { return ralph.Pass(), errors.New("boom") },
		"panics":            func() (ralph.Verdict, error) { panic("boom") },
		"is cancelled":      func() (ralph.Verdict, error) { cancel(ralph.ErrCancelled); return ralph.Pass(), nil },
		"its goroutine end": nil,
	} {
		t.Run(name, func(t *testing.T) {
			work, exam, temp := t.TempDir(), t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", temp)
			put(t, work, map[string]string{"a": "1", "sub/b": "1", "target": "1"})
			shell(t, work, gitInit+"ln -s target link; ln -s sub dir; chmod 444 a; git add -A; git commit -qm one; echo 1 >c")
			put(t, exam, map[string]string{"a": "2", "sub/b": "2", "link": "2"})
			before, status := listing(t, work, true), gitStatus(t, work)
			with := t.Context()
			if name == "is cancelled" {
				with = ctx
			}
			v := verify.HeldOut{Exam: exam, Verifier: vandal(then)}
			done := make(chan struct{})
			go func() {
				defer close(done)
				if then == nil {
					v.Verifier = ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
						goexit()
						return ralph.Pass(), nil
					})
				}
				got, err := v.Verify(with, ralph.Claim{Task: ralph.Task{Dir: work}})
				switch {
				case got.Passed != (name == "passes"):
					t.Errorf("%+v, %v", got, err)
				case name == "is cancelled" && !errors.Is(err, ralph.ErrCancelled), name != "is cancelled" && err != nil:
					t.Error(err)
				case (name == "breaks" || name == "panics") && (got.Checks[0].Status != ralph.CheckUnable || !strings.Contains(got.Checks[0].Detail, "boom") || strings.Contains(got.Feedback, "boom")):
					t.Errorf("%+v", got)
				}
			}()
			<-done
			if diff := cmp.Diff(before, listing(t, work, true)); diff != "" {
				t.Errorf("the workspace changed:\n%s", diff)
			}
			if got := gitStatus(t, work); got != status {
				t.Errorf("git says %s", got)
			}
			if left := listing(t, temp, false); len(left) > 1 {
				t.Errorf("left: %s", left)
			}
		})
	}
}

// goexit ends the goroutine, as t.FailNow does.
func goexit() { runtime.Goexit() }

func gitStatus(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("git", "--no-optional-locks", "status", "--porcelain")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestHeldOutUnable: what cannot be copied or laid over says nothing about the
// work, and the agent is told nothing of it.
func TestHeldOutUnable(t *testing.T) {
	asked := false
	inner := ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		asked = true
		return ralph.Pass(), nil
	})
	for name, tt := range map[string]struct {
		script, detail string
		temp           string // below the workspace
	}{
		"no workspace":                {script: "rm -r work", detail: "no such file"},
		"no exam":                     {script: "rm -r exam", detail: "no such file"},
		"an empty exam":               {script: "rm exam/*; mkdir exam/d", detail: "is empty"},
		"a repository that is broken": {script: "cd work; git init -q; echo [ >.git/config", detail: "git"},
		"temporary files inside":      {script: "mkdir work/tmp", temp: "work/tmp", detail: "TMPDIR"},
		"no temporary files":          {script: "true", temp: "no", detail: "temporary"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			put(t, base, map[string]string{"work/a": "1", "exam/exam-of-ours": "1"})
			shell(t, base, tt.script)
			if tt.temp != "" {
				t.Setenv("TMPDIR", filepath.Join(base, tt.temp))
			}
			asked = false
			v := verify.HeldOut{Exam: filepath.Join(base, "exam"), Verifier: inner}
			got, err := v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: filepath.Join(base, "work")}})
			if err != nil || got.Passed || !got.Undecided() || !strings.Contains(got.Checks[0].Detail, tt.detail) || asked {
				t.Errorf("%+v, %v", got, err)
			}
			if strings.Contains(got.Feedback, base) || got.Feedback == "" {
				t.Errorf("feedback: %s", got.Feedback)
			}
			if err := v.Validate(ralph.Task{Dir: filepath.Join(base, "work")}); tt.temp != "" && (err == nil || !strings.Contains(err.Error(), tt.detail)) {
				t.Errorf("found before an agent is paid: %v", err)
			}
		})
	}
}

// TestHeldOutReveals: what the agent is told of an exam that it failed.
func TestHeldOutReveals(t *testing.T) {
	t.Parallel()
	work, base := t.TempDir(), t.TempDir()
	exam := filepath.Join(base, "exam-of-ours")
	put(t, work, map[string]string{"a": "1"})
	put(t, exam, map[string]string{"secret-name.sh": "#"})
	inner := ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if _, err := os.Stat(filepath.Join(c.Task.Dir, "secret-name.sh")); err != nil {
			return ralph.Verdict{Passed: true, Checks: []ralph.Check{{Name: "one", Status: ralph.CheckPassed}}}, nil
		}
		return ralph.Verdict{Feedback: c.Task.Dir + "/a:1: secret-text; see " + exam, Checks: []ralph.Check{
			{Name: "one", Status: ralph.CheckPassed}, {Name: "secret-name.sh", Status: ralph.CheckFailed, Detail: "secret-detail in " + c.Task.Dir},
			{Name: "three in " + exam, Status: ralph.CheckFailed}, {Name: "four", Status: ralph.CheckUnable}, {Name: "five", Status: ralph.CheckSkipped},
		}}, nil
	})
	const words = "he visible check passes and the held-out one fails"
	for _, tt := range []struct {
		reveal    verify.Reveal
		says, not []string
	}{
		{verify.RevealPassed, []string{words}, []string{"2", "secret", "three"}},
		{verify.RevealCounts, []string{words, "2 of 4 checks failed"}, []string{"secret", "three"}},
		{verify.RevealNames, []string{words, "2 of 4 checks failed", "secret-name.sh", "three in the exam"}, []string{"secret-text", "secret-detail", "four"}},
		{verify.RevealAll, []string{words, work + "/a:1: secret-text; see the exam"}, nil},
	} {
		v := verify.HeldOut{Verifier: inner, Exam: exam, Reveal: tt.reveal}
		got, err := v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: work}})
		if err != nil || got.Passed || got.Undecided() {
			t.Fatalf("%+v, %v", got, err)
		}
		for _, want := range tt.says {
			if !strings.Contains(got.Feedback, want) {
				t.Errorf("%q does not say %q: %s", tt.reveal, want, got.Feedback)
			}
		}
		for _, secret := range append(tt.not, base, os.TempDir()+"/ralph-") {
			if strings.Contains(got.Feedback, secret) {
				t.Errorf("%q tells %q: %s", tt.reveal, secret, got.Feedback)
			}
		}
		record := fmt.Sprint(got.Checks)
		for _, want := range []string{"the visible check passes and the held-out one fails", "held-out: secret-name.sh", "secret-detail in " + work, "visible check"} {
			if !strings.Contains(record, want) {
				t.Errorf("the record does not say %q: %s", want, record)
			}
		}
	}
}

// TestHeldOutBeside: what is said of the visible check.
func TestHeldOutBeside(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		exam, visible string // scripts
		says          string
	}{
		"written to the tests": {"exit 1", "exit 0", "the visible check passes and the held-out one fails"},
		"not done":             {"exit 1", "exit 1", "the visible check fails too"},
		"no visible check":     {"exit 1", "exit 127", "whether the visible check passes could not be found out"},
	} {
		work, exam := t.TempDir(), t.TempDir()
		put(t, work, map[string]string{"check.sh": tt.visible})
		put(t, exam, map[string]string{"check.sh": tt.exam})
		v := verify.HeldOut{Exam: exam, Verifier: verify.External{Shell: "sh check.sh"}}
		stages := verify.MultiStage{Stages: []verify.Stage{{Name: "exam", Verifier: v}}}
		for kind, v := range map[string]ralph.Verifier{"alone": v, "a stage": stages, "cached": verify.Cache(v)} {
			got, err := v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: work}})
			if err != nil || got.Passed || got.Undecided() || !strings.Contains(got.Checks[0].Detail, tt.says) {
				t.Errorf("%s, %s: %+v, %v", name, kind, got, err)
			}
		}
	}
}

// TestHeldOutEvidence: full outputs are for people, and not for the agent.
func TestHeldOutEvidence(t *testing.T) {
	t.Parallel()
	top, exam, out := t.TempDir(), t.TempDir(), t.TempDir()
	work := filepath.Join(top, "work")
	put(t, work, map[string]string{"check.sh": "echo visible"})
	put(t, exam, map[string]string{"check.sh": "echo secret; exit 1"})
	shell(t, top, gitInit)
	for _, tt := range []struct {
		folder string
		reveal verify.Reveal
		kept   bool
	}{{out, "", true}, {filepath.Join(work, ".ralph", "evidence"), "", false}, {filepath.Join(top, "evidence"), "", false}, {filepath.Join(work, "open"), verify.RevealAll, true}} {
		v := verify.HeldOut{Exam: exam, Verifier: verify.External{Shell: "sh check.sh"}, Reveal: tt.reveal}
		got, err := v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: work}, Evidence: tt.folder})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, entry := range listing(t, tt.folder, false) {
			found = found || strings.Contains(entry, "secret")
		}
		if found != tt.kept || strings.Contains(got.Checks[0].Detail, "full outputs are not kept") == tt.kept {
			t.Errorf("%s: kept %v; %s", tt.folder, found, got.Checks[0].Detail)
		}
	}
}

// TestHeldOutPrepares: an exam that changes while the loop runs is none.
func TestHeldOutPrepares(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change string
		same   bool
	}{
		"as it was":  {"touch e", true},
		"restored":   {"cp e f; echo x >e; mv f e", true},
		"changed":    {"echo 'exit 0' >e", false},
		"less":       {"rm d/f", false},
		"more":       {"echo x >g", false},
		"renamed":    {"mv e g", false},
		"a link now": {"mv e ../other; ln -s ../other e", false},
		"elsewhere":  {"mv ../exam ../gone; mkdir ../exam; mv ../gone/* ../exam; mv ../exam ../moved", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			exam, work := filepath.Join(base, "exam"), filepath.Join(base, "work")
			put(t, base, map[string]string{"exam/e": "1", "exam/d/f": "1", "exam/.git/x": "1", "work/a": "1", "work/guarded": "1"})
			inner := &readied{}
			v := verify.HeldOut{Exam: exam, Verifier: inner}
			given := ralph.Task{Dir: work, Guarded: map[string]string{"x": "1"}}
			task, err := v.Prepare(t.Context(), given)
			if err != nil || len(task.Guarded) != 3 || len(given.Guarded) != 1 || strings.Contains(fmt.Sprint(task.Guarded), base) {
				t.Fatalf("%v, %v", task.Guarded, err)
			}
			shell(t, exam, tt.change)
			if name == "elsewhere" {
				v.Exam = filepath.Join(base, "moved")
			}
			got, err := v.Verify(t.Context(), ralph.Claim{Task: task})
			if err != nil || got.Passed != tt.same || !tt.same && !strings.Contains(got.Checks[0].Detail, "exam") {
				t.Errorf("%+v, %v", got, err)
			}
			if !tt.same && (!got.Undecided() || strings.Contains(got.Feedback, "exam/")) {
				t.Errorf("%+v", got)
			}
			if len(task.Guarded) != 3 {
				t.Errorf("the claim was changed: %v", task.Guarded)
			}
		})
	}
}

// A readied verifier passes if it was prepared.
type readied struct{ invalid error }

func (*readied) Verify(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
	return ralph.Verdict{Passed: c.Task.Guarded["inner"] == "2", Feedback: "not prepared"}, nil
}

func (*readied) Prepare(_ context.Context, t ralph.Task) (ralph.Task, error) {
	t.Guarded = map[string]string{"inner": "2", "x": t.Guarded["x"]}
	return t, nil
}

func (p *readied) Validate(ralph.Task) error { return p.invalid }

// TestHeldOutWithGuard: what is guarded in the workspace is so in the copy, where
// it may be that the exam stands in its place, and that git ignores it.
func TestHeldOutWithGuard(t *testing.T) {
	t.Parallel()
	work, exam := t.TempDir(), t.TempDir()
	put(t, work, map[string]string{"a_test.sh": "exit 1", "secrets/key": "1", ".gitignore": "secrets"})
	shell(t, work, gitInit)
	put(t, exam, map[string]string{"a_test.sh": "exit 0", "b_test.sh": "exit 0"})
	task, err := verify.Snapshot(ralph.Task{Dir: work}, "*_test.sh", "secrets/key")
	if err != nil {
		t.Fatal(err)
	}
	inside := verify.HeldOut{Exam: exam, Verifier: verify.Guard{Verifier: verify.External{Shell: "sh a_test.sh && sh b_test.sh"}}}
	outside := verify.Guard{Verifier: verify.HeldOut{Exam: exam, Verifier: verify.External{Shell: "sh a_test.sh && sh b_test.sh"}}}
	for name, v := range map[string]interface {
		ralph.Verifier
	}{"inside": inside, "outside": outside} {
		if got, err := v.Verify(t.Context(), ralph.Claim{Task: task}); err != nil || !got.Passed {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	put(t, work, map[string]string{"secrets/key": "2"})
	for name, v := range map[string]ralph.Verifier{"inside": inside, "outside": outside} {
		if got, err := v.Verify(t.Context(), ralph.Claim{Task: task}); err != nil || got.Passed {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestHeldOutValidates: what is wrong is found before an agent is paid.
func TestHeldOutValidates(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	put(t, base, map[string]string{
		"repo/work/a": "1", "repo/work/exam/e": "1", "repo/exam/e": "1", "repo/.git/HEAD": "x",
		"exam/e": "1", "empty/.git/x": "1", "linked/e": "1",
	})
	shell(t, base, "ln -s repo/work/exam inside; ln -s exam good; mkdir none pipes; mkfifo pipes/p; ln -s /etc linked/etc; ln -s repo/work w; ln -s e exam/l")
	inner := verify.External{Shell: "true"}
	for name, tt := range map[string]struct {
		v    verify.HeldOut
		want string // "" = it is valid
	}{
		"valid":                    {verify.HeldOut{Verifier: inner, Exam: "exam", Include: []string{"a", "**/x", "node_modules/"}, Reveal: verify.RevealNames}, ""},
		"a link to an exam":        {verify.HeldOut{Verifier: inner, Exam: "good"}, ""},
		"no verifier":              {verify.HeldOut{Exam: "exam"}, "no Verifier"},
		"no exam":                  {verify.HeldOut{Verifier: inner}, "no exam"},
		"it is not there":          {verify.HeldOut{Verifier: inner, Exam: "gone"}, "no such file"},
		"it is a file":             {verify.HeldOut{Verifier: inner, Exam: "exam/e"}, "not a folder"},
		"nothing in it":            {verify.HeldOut{Verifier: inner, Exam: "none"}, "is empty"},
		"only a repository":        {verify.HeldOut{Verifier: inner, Exam: "empty"}, "is empty"},
		"a pipe":                   {verify.HeldOut{Verifier: inner, Exam: "pipes"}, "p is not a file"},
		"a link that leads out":    {verify.HeldOut{Verifier: inner, Exam: "linked"}, "etc"},
		"in the workspace":         {verify.HeldOut{Verifier: inner, Exam: "repo/work/exam"}, "inside the workspace"},
		"there, by a link":         {verify.HeldOut{Verifier: inner, Exam: "inside"}, "inside the workspace"},
		"the workspace":            {verify.HeldOut{Verifier: inner, Exam: "repo/work"}, "inside the workspace"},
		"around it":                {verify.HeldOut{Verifier: inner, Exam: "repo"}, "holds the workspace"},
		"in its work tree":         {verify.HeldOut{Verifier: inner, Exam: "repo/exam"}, "the work tree that the workspace belongs to"},
		"reveal":                   {verify.HeldOut{Verifier: inner, Exam: "exam", Reveal: "some"}, `Reveal "some"`},
		"include outside":          {verify.HeldOut{Verifier: inner, Exam: "exam", Include: []string{"../x"}}, "outside the workspace"},
		"include by its full name": {verify.HeldOut{Verifier: inner, Exam: "exam", Include: []string{"/etc"}}, "outside the workspace"},
		"include nothing":          {verify.HeldOut{Verifier: inner, Exam: "exam", Include: []string{" "}}, "no path"},
		"include no glob":          {verify.HeldOut{Verifier: inner, Exam: "exam", Include: []string{"a[", "b"}}, "no glob"},
		"include a repository":     {verify.HeldOut{Verifier: inner, Exam: "exam", Include: []string{"x/.git"}}, "no repository"},
		"what it wraps":            {verify.HeldOut{Verifier: &readied{errors.New("nothing to do")}, Exam: "exam"}, "nothing to do"},
		"an exam inside an exam":   {verify.HeldOut{Verifier: verify.HeldOut{Exam: "x"}, Exam: "exam"}, "no Verifier"},
	} {
		if tt.v.Exam != "" {
			tt.v.Exam = filepath.Join(base, tt.v.Exam)
		}
		for _, dir := range []string{"repo/work", "w"} {
			err := tt.v.Validate(ralph.Task{Dir: filepath.Join(base, dir)})
			switch {
			case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%s: %v", name, err)
			case err != nil && !strings.HasPrefix(err.Error(), "verify: HeldOut: "):
				t.Errorf("%s: it does not say whose it is: %v", name, err)
			}
			if _, prepareErr := tt.v.Prepare(t.Context(), ralph.Task{Dir: filepath.Join(base, dir)}); (prepareErr == nil) != (err == nil) {
				t.Errorf("%s: prepared: %v", name, prepareErr)
			}
		}
	}
}

// TestHeldOutIsPaid: for both checks.
func TestHeldOutIsPaid(t *testing.T) {
	t.Parallel()
	work, exam := t.TempDir(), t.TempDir()
	put(t, exam, map[string]string{"e": "1"})
	for name, tt := range map[string]struct {
		passed bool
		want   int64
	}{"passes": {true, 5}, "fails": {false, 10}} {
		v := verify.HeldOut{Exam: exam, Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
			return ralph.Verdict{Passed: tt.passed, Usage: ralph.Usage{InputTokens: 5}}, nil
		})}
		got, err := v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: work}})
		if err != nil || got.Passed != tt.passed || got.Usage.InputTokens != tt.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestHeldOutTakes(t *testing.T) {
	t.Parallel()
	for want, v := range map[time.Duration]ralph.Verifier{
		12 * time.Minute: verify.External{Shell: "true"},
		-1:               verify.External{Shell: "true", Timeout: -1},
		math.MaxInt64:    verify.External{Shell: "true", Timeout: math.MaxInt64},
	} {
		if got := (verify.HeldOut{Verifier: v}).Takes(ralph.Task{}); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestHeldOutIsCancelled: whatever it is doing.
func TestHeldOutIsCancelled(t *testing.T) {
	t.Parallel()
	work, exam := t.TempDir(), t.TempDir()
	put(t, work, map[string]string{"a": "1", "b": "1", "c/d": "1"})
	put(t, exam, map[string]string{"e": "1", "f": "1"})
	asked := 0
	v := verify.HeldOut{Exam: exam, Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) {
		asked++
		return ralph.Reject("no"), nil
	})}
	for looks := 1; ; looks++ {
		ctx := &looked{Context: t.Context(), left: looks}
		got, err := v.Verify(ctx, ralph.Claim{Task: ralph.Task{Dir: work}})
		if ctx.left > 0 {
			if err != nil || got.Undecided() || looks < 10 {
				t.Errorf("%d: %+v, %v", looks, got, err)
			}
			return
		}
		if !errors.Is(err, context.Canceled) || got.Passed {
			t.Fatalf("%d: %+v, %v", looks, got, err)
		}
	}
}

// A looked context is done when it has been looked at.
type looked struct {
	context.Context
	left int
}

func (c *looked) Err() error {
	if c.left--; c.left <= 0 {
		return context.Canceled
	}
	return nil
}
