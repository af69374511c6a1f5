package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	work := filepath.Join(home, "work")
	link := filepath.Join(home, "link")
	if err := errors.Join(os.Mkdir(work, 0o755), os.Mkdir(filepath.Join(home, ".local"), 0o755), os.Symlink(filepath.Join(home, ".local"), link)); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(home, ".local", "state", "ralph")
	elsewhere := t.TempDir()
	for _, test := range []struct {
		name string
		spec Spec
		dir  string
		want string // part of the error; "" = none
	}{
		{"nothing", Spec{}, work, ""},
		{"a cache", Spec{Write: []string{filepath.Join(home, ".cache")}}, work, ""},
		{"a relative path", Spec{Write: []string{"cache"}}, work, "not absolute"},
		{"a relative path to read", Spec{Read: []string{"~/x"}}, work, "not absolute"},
		{"the workspace holds the state", Spec{}, home, "--state"},
		{"the state", Spec{Write: []string{state}}, work, "on record what was agreed"},
		{"its parent", Spec{Write: []string{filepath.Join(home, ".local")}}, work, "on record what was agreed"},
		{"its parent through a link", Spec{Write: []string{link}}, work, "on record what was agreed"},
		{"everything", Spec{Write: []string{"/"}}, work, "on record what was agreed"},
		{"a part of it", Spec{Write: []string{filepath.Join(state, "loop")}}, work, "on record what was agreed"},
		{"one named like it", Spec{Write: []string{state + "-other"}}, work, ""},
		{"the state elsewhere", Spec{Protect: []string{elsewhere}}, home, ""},
		{"elsewhere", Spec{Protect: []string{elsewhere}}, elsewhere, "the workspace"},
		{"nothing to protect", Spec{Protect: []string{}}, home, ""},
		{"a wrapper", Spec{Wrap: []string{"bwrap"}, Require: true}, home, ""},
		{"a wrapper that is empty", Spec{Wrap: []string{""}}, work, "empty"},
		{"a wrapper and Landlock", Spec{Wrap: []string{"bwrap"}, Write: []string{"/x"}}, work, "Wrap is set"},
		{"a wrapper and nothing to read", Spec{Wrap: []string{"bwrap"}, Read: []string{}}, work, "Wrap is set"},
		{"a wrapper and the network", Spec{Wrap: []string{"bwrap"}, NoNet: true}, work, "Wrap is set"},
		{"a wrapper and processes", Spec{Wrap: []string{"bwrap"}, PIDs: true}, work, "Wrap is set"},
		{"a wrapper and an exam", Spec{Wrap: []string{"bwrap"}, Hide: []string{"/x"}}, work, "Wrap is set"},
		{"hiding a part of the workspace", Spec{Hide: []string{filepath.Join(work, "exam")}}, work, ""},
		{"hiding the workspace", Spec{Hide: []string{work}}, work, "hidden"},
		{"hiding what it is in", Spec{Hide: []string{home}}, work, "hidden"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.spec.Validate(test.dir)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("it is an error: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
		})
	}
	if err := (*Spec)(nil).Validate(home); err != nil {
		t.Errorf("none: %v", err)
	}
}

func TestArgs(t *testing.T) {
	args := []string{"agent", "-p"}
	for _, test := range []struct {
		spec *Spec
		want []string
	}{
		{nil, args},
		{&Spec{PIDs: true}, args},
		{&Spec{Wrap: []string{"bwrap", "--"}}, []string{"bwrap", "--", "agent", "-p"}},
	} {
		if got := test.spec.Args(args); !slices.Equal(got, test.want) {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}

// What the system lacks is told, or an error, and never silence.
func TestLacks(t *testing.T) {
	var told []string
	l := Launch{Warn: func(what string, _ error) { told = append(told, what) }}
	if err := (&Rules{}).lacks(l, "there is none of it", nil); err != nil || len(told) != 1 {
		t.Errorf("not required: %v, told %q", err, told)
	}
	why := errors.New("why")
	if err := (&Rules{require: true}).lacks(l, "there is none of it", why); !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, why) || len(told) != 1 {
		t.Errorf("required: %v, told %q", err, told)
	}
}

func launch(t testing.TB, before func()) Launch {
	return Launch{
		Start: func(cmd *exec.Cmd) (*exec.Cmd, error) { before(); return cmd, cmd.Start() },
		Kill:  func(cmd *exec.Cmd) { cmd.Process.Kill(); cmd.Wait() },
		Warn:  func(what string, why error) { t.Logf("%s: %v", what, why) },
	}
}
