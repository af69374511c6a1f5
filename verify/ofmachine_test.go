package verify_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestOfMachine: of what verifiers prepare, programs, home files and files outside the
// workspace hold on one machine; the workspace's own files and exams hold everywhere.
func TestOfMachine(t *testing.T) {
	dir, outside, exam := t.TempDir(), filepath.Join(t.TempDir(), "limits.conf"), t.TempDir()
	for _, name := range []string{filepath.Join(dir, "a_test.go"), outside, filepath.Join(exam, "exam_test.go")} {
		if err := os.WriteFile(name, []byte("package a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here := func(v ralph.Verifier) (of, all []string) {
		t.Helper()
		p := v.(interface {
			Prepare(context.Context, ralph.Task) (ralph.Task, error)
		})
		task, err := p.Prepare(t.Context(), ralph.Task{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		all = slices.Sorted(maps.Keys(task.Guarded))
		for _, key := range all {
			if ralph.OfMachine(key) {
				of = append(of, key)
			}
		}
		return of, all
	}
	command := verify.External{Args: []string{"go", "test", "./..."}}
	if of, all := here(command); len(all) == 0 || !slices.Equal(of, all) {
		t.Errorf("of a command, %q of %q are of the machine", of, all)
	}
	if of, _ := here(verify.Guard{Verifier: verify.String{}, Globs: []string{"*_test.go", outside}}); !slices.Equal(of, []string{outside}) {
		t.Errorf("of guarded files, %q are of the machine", of)
	}
	of, all := here(verify.HeldOut{Verifier: command, Exam: exam})
	if plain, _ := here(command); len(all) <= len(plain) || !slices.Equal(of, plain) {
		t.Errorf("with an exam, %q of %q are of the machine", of, all)
	}
	if ralph.OfMachine("a_test.go") || !ralph.OfMachine("~/.npmrc") {
		t.Error("a file of the workspace is of the machine, or one of the home folder is not")
	}
}
