package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// A start on the program's first thread would restrict the program itself, as others
// see it, and that thread could not end.
func TestNoStartOnTheFirstThread(t *testing.T) {
	rules, err := (&Spec{}).Rules(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var first, all atomic.Int32
	threads := make(chan struct{}, 4) // so that the scheduler has a choice
	for range 300 {
		threads <- struct{}{}
		go func() {
			defer func() { <-threads }()
			cmd, _, err := rules.Start(exec.Command("/bin/true"), launch(t, func() {
				all.Add(1)
				if unix.Gettid() == unix.Getpid() {
					first.Add(1)
				}
			}))
			if err == nil {
				err = cmd.Wait()
			}
			if err != nil {
				t.Error(err)
			}
		}()
	}
	for range cap(threads) {
		threads <- struct{}{}
	}
	if first.Load() != 0 || all.Load() != 300 {
		t.Errorf("%d of %d starts were on the first thread", first.Load(), all.Load())
	}
}

// What each version of Landlock can do is done: the rows are what Sandbox says of them.
func TestVersions(t *testing.T) {
	now, err := version()
	if err != nil {
		t.Logf("not on this system: %v", err)
		return
	}
	write := func(name string) error { return os.WriteFile(name, []byte("x"), 0o644) }
	for v := 1; v <= min(now, withScopes); v++ {
		for _, test := range []struct {
			name  string
			do    func() error // in the workspace, beside which is the folder out
			works bool
		}{
			{"writing inside", func() error { return errors.Join(write("f"), os.Mkdir("d", 0o755), os.Remove("f")) }, true},
			{"writing outside", func() error { return write("../out/new") }, false},
			{"overwriting outside", func() error { return write("../out/theirs") }, false},
			{"removing outside", func() error { return os.Remove("../out/theirs") }, false},
			{"moving between folders", func() error {
				return errors.Join(write("f"), os.Mkdir("d", 0o755), unix.Rename("f", "d/f"))
			}, v >= withMoving},
			{"emptying outside", func() error { return unix.Truncate("../out/theirs", 0) }, v < withEmptying},
			{"signals outside", func() error {
				return exec.Command("/bin/sh", "-c", fmt.Sprintf("kill -0 %d", os.Getpid())).Run()
			}, v < withScopes},
		} {
			t.Run(fmt.Sprintf("%d %s", v, test.name), func(t *testing.T) {
				top := t.TempDir()
				if err := errors.Join(os.Mkdir(top+"/work", 0o755), os.Mkdir(top+"/out", 0o755), write(top+"/out/theirs")); err != nil {
					t.Fatal(err)
				}
				t.Chdir(top + "/work")
				rules, err := (&Spec{}).Rules("")
				if err != nil {
					t.Fatal(err)
				}
				set, err := rules.ruleset(v)
				if err != nil {
					t.Fatal(err)
				}
				defer set.Close()
				onThread(func() {
					if err = restrict(set); err == nil {
						err = test.do()
					}
				}, nil)
				if (err == nil) != test.works {
					t.Errorf("%v, want success: %v", err, test.works)
				}
			})
		}
	}
}

// BenchmarkStart starts a program and waits for its end; "plain" is the floor.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	for _, c := range []struct {
		name string
		spec *Spec
	}{
		{"plain", nil},
		{"files", &Spec{}},
		{"NoNet", &Spec{NoNet: true}},
		{"PIDs", &Spec{PIDs: true}},
		{"PIDs and NoNet", &Spec{PIDs: true, NoNet: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := launch(b, func() {})
			for b.Loop() {
				rules, err := c.spec.Rules(dir)
				if err != nil {
					b.Fatal(err)
				}
				cmd := exec.Command("/bin/true")
				var front *Front
				if rules == nil {
					err = cmd.Start()
				} else {
					cmd, front, err = rules.Start(cmd, l)
				}
				if front != nil {
					front.Await()
					front.Close()
				}
				if err == nil {
					err = cmd.Wait()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
