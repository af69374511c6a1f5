package verify_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// atHome gives the test a home folder of its own, and takes away what points tools
// elsewhere.
func atHome(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir() // of go, which is slow without it
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "GOENV", "GOFLAGS", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "CURL_HOME", "CARGO_HOME",
		"GIT_CONFIG_GLOBAL", "PYTHONUSERBASE", "PIP_CONFIG_FILE", "WGETRC"} {
		t.Setenv(name, "") // restores it
		os.Unsetenv(name)
	}
	if os.Getenv("GOCACHE") == "" {
		t.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	return home
}

// agreed is a claim on a task that a verifier has prepared.
func agreed(t *testing.T, v ralph.Verifier, task ralph.Task) ralph.Claim {
	t.Helper()
	p, ok := v.(interface {
		Prepare(context.Context, ralph.Task) (ralph.Task, error)
	})
	if !ok {
		t.Fatalf("%T has no Prepare", v)
	}
	ready, err := p.Prepare(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return ralph.Claim{Task: ready, Promised: true}
}

func tool(t *testing.T, path, text string) {
	t.Helper()
	write(t, path, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestGoEnv: go env -w writes to the home folder what every go command believes.
func TestGoEnv(t *testing.T) {
	atHome(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module m\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "m.go"), "package m\n\nfunc Half(n int) int { return n }\n")
	write(t, filepath.Join(dir, "m_test.go"), "package m\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif Half(4) != 2 {\n\t\tt.Error(Half(4))\n\t}\n}\n")
	for _, v := range []ralph.Verifier{
		verify.External{Args: []string{"go", "test", "./..."}},
		verify.External{Shell: "cd . && go test ./..."},
		verify.Template{Name: "go-test"},
	} {
		claim := agreed(t, v, ralph.Task{Dir: dir})
		if got, err := v.Verify(t.Context(), claim); err != nil || got.Passed {
			t.Fatalf("the work is not done: %+v, %v", got, err)
		}
		if out, err := exec.Command("go", "env", "-w", "GOFLAGS=-run=NoSuch").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		got, err := v.Verify(t.Context(), claim)
		if err != nil || got.Passed || got.Checks[0].Status != ralph.CheckFailed ||
			!strings.Contains(got.Feedback, "go/env, which go reads, has appeared") || !strings.Contains(got.Feedback, "--accept-config") {
			t.Errorf("%+v, %v", got, err)
		}
		if out, err := exec.Command("go", "env", "-u", "GOFLAGS").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		write(t, filepath.Join(dir, "m.go"), "package m\n\nfunc Half(n int) int { return n / 2 }\n")
		if got, err := v.Verify(t.Context(), claim); err != nil || !got.Passed {
			t.Errorf("undone: %+v, %v", got, err)
		}
		write(t, filepath.Join(dir, "m.go"), "package m\n\nfunc Half(n int) int { return n }\n")
	}
}

// TestPins: go and npm are told to read what the user's file said when the loop
// started.
func TestPins(t *testing.T) {
	const print = `echo it says; cat "$GOENV$npm_config_userconfig"; exit $CODE; : `
	for _, tt := range []struct {
		name, tool, file string
		before, after    string
		says             string // to the tool, if it has changed
		rejects          string // in place of that
	}{
		{"go, none before", "go test", ".config/go/env", "", "GOFLAGS=-run=NoSuch\n", "it says\n\n", ""},
		{"go, changed", "go test", ".config/go/env", "GOPRIVATE=example.com\n", "GOFLAGS=-run=NoSuch\n", "GOPRIVATE=example.com\n", ""},
		{"npm, with a login", "npm test", ".npmrc", "registry=https://r.example\n//r.example/:_authToken=old\n", "script-shell=/bin/true\n//r.example/:_authToken=new\n",
			"registry=https://r.example\n//r.example/:_authToken=new\n", ""},
		{"npm, a login alone", "npm test", ".npmrc", "a=b\n", "a=b\n//r.example/:_authToken=new\n", "", ""},
		{"npm, a password", "npm test", ".npmrc", "proxy=http://me:correcthorse7@p.example\n", "x=y\n", "", "~/.npmrc, which npm reads, was changed"},
		{"long", "npm test", ".npmrc", strings.Repeat("a=b\n", 2000), "x=y\n", "", "~/.npmrc, which npm reads, was changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := atHome(t)
			path := filepath.Join(home, tt.file)
			if tt.before != "" {
				write(t, path, tt.before)
			}
			v := verify.External{Shell: print + tt.tool, Env: []string{"CODE=0"}, Contains: []string{tt.says}}
			if tt.says == "" {
				v.Contains = nil
			}
			claim := agreed(t, v, ralph.Task{Dir: t.TempDir()})
			write(t, path, tt.after)
			got, err := v.Verify(t.Context(), claim)
			last := got.Checks[len(got.Checks)-1]
			switch {
			case err != nil:
				t.Error(err)
			case tt.rejects != "":
				if got.Passed || !strings.Contains(got.Feedback, tt.rejects) || strings.Contains(fmt.Sprint(claim.Task.Guarded), "correcthorse7") {
					t.Errorf("%+v", got)
				}
			case tt.says != "":
				if !got.Passed || last.Status != ralph.CheckWarning || !strings.Contains(last.Detail, "the check read what it said when the loop started: ~/"+tt.file) {
					t.Errorf("%+v", got)
				}
				v.Env = []string{"CODE=1"}
				if got, err := v.Verify(t.Context(), claim); err != nil || got.Passed || !strings.Contains(got.Feedback, "--accept-config") {
					t.Errorf("%+v, %v", got, err)
				}
			case !got.Passed || last.Status == ralph.CheckWarning:
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestSurroundings: a check is guarded by what its own tools read.
func TestSurroundings(t *testing.T) {
	const npmrc, goenv, curlrc, gitconfig = "~/.npmrc", "~/.config/go/env", "~/.curlrc", "~/.gitconfig"
	for _, tt := range []struct {
		name    string
		v       verify.External
		changes string // a file in the home folder
		text    string
		seen    bool
	}{
		{"go", verify.External{Args: []string{"go", "test"}}, goenv, "GOFLAGS=-run=NoSuch", true},
		{"go, npm login", verify.External{Args: []string{"go", "test"}}, npmrc, "//registry.example/:_authToken=x", false},
		{"go, another setting of npm's", verify.External{Args: []string{"go", "test"}}, npmrc, "script-shell=/bin/true", false},
		{"npm", verify.External{Args: []string{"npm", "test"}}, npmrc, "script-shell=/bin/true", true},
		{"npm, npm login", verify.External{Args: []string{"npm", "test"}}, npmrc, "//registry.example/:_authToken=x", false},
		{"npm, GOENV", verify.External{Args: []string{"npm", "test"}}, goenv, "GOFLAGS=-run=NoSuch", false},
		{"yarn, which notes the day", verify.External{Args: []string{"yarn", "test"}}, "~/.yarnrc", "# yarn lockfile v1\n\n\nlastUpdateCheck 1700000000000\n", false},
		{"yarn", verify.External{Args: []string{"yarn", "test"}}, "~/.yarnrc", "script-shell /bin/true", true},
		{"npx in a line", verify.External{Shell: "cd web && npx jest"}, npmrc, "x=1", true},
		{"curl", verify.External{Shell: "curl -sf http://127.0.0.1/"}, curlrc, "connect-to=::x", true},
		{"git", verify.External{Args: []string{"git", "diff", "--quiet"}}, gitconfig, "[diff]", true},
		{"wget", verify.External{Args: []string{"wget", "x"}}, "~/.wgetrc", "x", true},
		{"cargo", verify.External{Args: []string{"cargo", "test"}}, "~/.cargo/config.toml", "[build]", true},
		{"python", verify.External{Args: []string{"python3.12", "-m", "unittest"}}, "~/.local/lib/python3.12/site-packages/usercustomize.py", "exit()", true},
		{"pytest, npm", verify.External{Args: []string{"pytest"}}, npmrc, "x", false},
		{"a shell as an argument", verify.External{Args: []string{"bash", "-ec", "go test"}}, goenv, "x", true},
		{"a folder for configuration of its own", verify.External{Shell: "go test", Env: []string{"XDG_CONFIG_HOME=/nonexistent"}}, goenv, "x", false},
		{"make", verify.External{Args: []string{"make", "test"}}, goenv, "x", true},
		{"make, git that it only mentions", verify.External{Args: []string{"make", "test"}}, gitconfig, "[user]", false},
		{"a script", verify.External{Args: []string{"./check.sh"}}, goenv, "x", true},
		{"a script of a script", verify.External{Shell: "sh all.sh"}, goenv, "x", true},
		{"a script that says what it is", verify.External{Args: []string{"sh", "check"}}, goenv, "x", true},
		{"a script in another folder", verify.External{Shell: "cd web && ./part.sh"}, goenv, "x", true},
		{"make in another folder", verify.External{Shell: "make -C web test"}, "~/.cargo/config.toml", "x", true},
		{"a script of npm's", verify.External{Args: []string{"npm", "test"}, Dir: "web"}, goenv, "x", true},
		{"npm's own folder", verify.External{Args: []string{"npm", "test"}}, "~/.npm-global/etc/npmrc", "script-shell=/bin/true", true},
		{"a package that python starts with", verify.External{Args: []string{"python3.12", "-m", "unittest"}}, "~/.local/lib/python3.12/site-packages/usercustomize/__init__.py", "exit()", true},
		{"git, who commits", verify.External{Args: []string{"git", "diff", "--quiet"}}, gitconfig, "[user]\n\tname = a\n\temail = b\n[safe]\n\tdirectory = *\n", false},
		{"git, more than who commits", verify.External{Args: []string{"git", "diff", "--quiet"}}, gitconfig, "[user]\n\tname = a\n[core]\n\tfsmonitor = true\n", true},
		{"a login shell", verify.External{Args: []string{"bash", "-lc", "true"}}, "~/.profile", "x", true},
		{"a login shell in a line", verify.External{Shell: "bash -lc true"}, "~/.profile", "x", true},
		{"a shell", verify.External{Shell: "bash -c true"}, "~/.profile", "x", false},
		{"a program that is not known", verify.External{Args: []string{"true"}}, goenv, "x", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := atHome(t)
			// What the tools do is not asked here.
			bin := t.TempDir()
			t.Setenv("PATH", bin+":/usr/bin:/bin")
			for _, name := range []string{"go", "npm", "npx", "node", "yarn", "curl", "git", "wget", "cargo", "python3.12", "pytest", "make"} {
				tool(t, filepath.Join(bin, name), "exit 0")
			}
			dir := t.TempDir()
			write(t, filepath.Join(dir, "Makefile"), "VERSION := $(shell git describe)\ntest:\n\t@go test ./...\n")
			tool(t, filepath.Join(dir, "check.sh"), "go test ./...")
			tool(t, filepath.Join(dir, "all.sh"), "./check.sh")
			tool(t, filepath.Join(dir, "check"), "go test ./...")
			tool(t, filepath.Join(dir, "web/part.sh"), "go test ./...")
			write(t, filepath.Join(dir, "web/Makefile"), "include rules.mk\n")
			write(t, filepath.Join(dir, "web/rules.mk"), "test:\n\t@cargo test\n")
			write(t, filepath.Join(dir, "web/package.json"), `{"scripts": {"test": "go test ./..."}}`)
			claim := agreed(t, tt.v, ralph.Task{Dir: dir})
			if v, err := tt.v.Verify(t.Context(), claim); err != nil || !v.Passed {
				t.Fatalf("nothing has changed: %+v, %v", v, err)
			}
			write(t, filepath.Join(home, strings.TrimPrefix(tt.changes, "~/")), tt.text)
			v, err := tt.v.Verify(t.Context(), claim)
			warned := func(v ralph.Verdict) bool {
				return slices.ContainsFunc(v.Checks, func(c ralph.Check) bool { return c.Status == ralph.CheckWarning && c.Name == "configuration" })
			}
			if tt.changes == goenv || tt.changes == npmrc { // the tool is told what it said before
				if err != nil || !v.Passed || warned(v) != tt.seen {
					t.Errorf("%+v, %v", v, err)
				}
			} else if err != nil || v.Passed == tt.seen {
				t.Errorf("%+v, %v", v, err)
			} else if named := filepath.Base(tt.changes); tt.seen && (!strings.Contains(v.Feedback, named) && !strings.Contains(v.Feedback, "usercustomize") || v.Checks[0].Status != ralph.CheckFailed) {
				t.Errorf("%+v", v)
			}
			accepting := tt.v
			accepting.AcceptConfig = true
			v, err = accepting.Verify(t.Context(), claim)
			if err != nil || !v.Passed || warned(v) != tt.seen {
				t.Errorf("accepted: %+v, %v", v, err)
			}
			unprepared := ralph.Claim{Task: ralph.Task{Dir: dir}}
			if v, err := tt.v.Verify(t.Context(), unprepared); err != nil || !v.Passed {
				t.Errorf("a task that was not prepared: %+v, %v", v, err)
			}
		})
	}
}

// TestSurroundingsWhileVerified: what is run is the agent's work, and may not change
// them either.
func TestSurroundingsWhileVerified(t *testing.T) {
	home := atHome(t)
	write(t, filepath.Join(home, ".config/go/env"), "GOPRIVATE=example.com\n")
	v := verify.External{Shell: "echo GOFLAGS=-run=NoSuch >> ~/.config/go/env; : go test"}
	claim := agreed(t, v, ralph.Task{Dir: t.TempDir()})
	got, err := v.Verify(t.Context(), claim)
	if err != nil || got.Passed || !strings.Contains(got.Feedback, "~/.config/go/env, which go reads, was changed") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestPrepareKeeps: what was agreed stays agreed.
func TestPrepareKeeps(t *testing.T) {
	atHome(t)
	v := verify.External{Args: []string{"go", "version"}}
	task := ralph.Task{Dir: t.TempDir(), Guarded: map[string]string{"//config/~/.config/go/env": "00", "x": "1"}}
	was := maps.Clone(task.Guarded)
	got := agreed(t, v, task).Task
	if got.Guarded["//config/~/.config/go/env"] != "00" || got.Guarded["x"] != "1" || got.Guarded["//program/go"] == "" {
		t.Errorf("%v", got.Guarded)
	}
	if diff := cmp.Diff(was, task.Guarded); diff != "" {
		t.Errorf("the caller's task was changed: %s", diff)
	}
	guard := verify.Guard{Verifier: v}
	if err := guard.Validate(agreed(t, v, ralph.Task{Dir: task.Dir}).Task); err == nil {
		t.Error("what surrounds a command is no snapshot")
	}
}

// TestPrograms: a program that was put before the one that was there.
func TestPrograms(t *testing.T) {
	atHome(t)
	for _, tt := range []struct {
		name   string
		v      verify.External
		change func(t *testing.T, dir, first, second string)
		status ralph.CheckStatus
		says   []string
	}{
		{"nothing", verify.External{Args: []string{"prove", "x"}}, func(*testing.T, string, string, string) {}, ralph.CheckPassed, nil},
		{"a shim", verify.External{Args: []string{"prove", "x"}}, func(t *testing.T, _, first, _ string) { tool(t, filepath.Join(first, "prove"), "exit 0") },
			ralph.CheckUnable, []string{"SECOND/prove", "FIRST/prove", "AcceptConfig"}},
		{"a shim for a tool in a line", verify.External{Shell: "cd . && go test"}, func(t *testing.T, _, first, _ string) { tool(t, filepath.Join(first, "go"), "exit 0") },
			ralph.CheckUnable, []string{"SECOND/go", "FIRST/go"}},
		{"a shim for another program in a line", verify.External{Shell: "cd . && prove"}, func(t *testing.T, _, first, _ string) { tool(t, filepath.Join(first, "prove"), "exit 0") },
			ralph.CheckUnable, []string{"SECOND/prove", "FIRST/prove"}},
		{"a shim for what a program runs", verify.External{Args: []string{"nice", "prove"}}, func(t *testing.T, _, first, _ string) { tool(t, filepath.Join(first, "prove"), "exit 0") },
			ralph.CheckUnable, []string{"SECOND/prove", "FIRST/prove"}},
		{"a shim for npm's shell", verify.External{Args: []string{"npm", "test"}}, func(t *testing.T, _, first, _ string) { tool(t, filepath.Join(first, "sh"), "exit 0") },
			ralph.CheckUnable, []string{"FIRST/sh"}},
		{"a shim for what a tool is run by", verify.External{Args: []string{"npm", "test"}}, func(t *testing.T, _, first, _ string) { tool(t, filepath.Join(first, "node"), "exit 0") },
			ralph.CheckUnable, []string{"SECOND/node", "FIRST/node"}},
		{"a shim in the workspace", verify.External{Args: []string{"prove"}}, func(t *testing.T, dir, _, _ string) { tool(t, filepath.Join(dir, "bin/prove"), "exit 0") },
			ralph.CheckUnable, []string{"SECOND/prove", "/bin/prove"}},
		{"another text", verify.External{Args: []string{"prove"}}, func(t *testing.T, _, _, second string) { tool(t, filepath.Join(second, "prove"), "true") },
			ralph.CheckUnable, []string{"SECOND/prove) was changed"}},
		{"a link to the same", verify.External{Args: []string{"prove"}}, func(t *testing.T, _, first, second string) {
			link(t, first, "prove", filepath.Join(second, "prove"))
		}, ralph.CheckPassed, nil},
		{"one in the workspace is the agent's to write", verify.External{Args: []string{"./prove"}}, func(t *testing.T, dir, _, _ string) { tool(t, filepath.Join(dir, "prove"), "true") }, ralph.CheckPassed, nil},
		{"one that the agent installs", verify.External{Args: []string{"later"}}, func(t *testing.T, _, first, _ string) { tool(t, filepath.Join(first, "later"), "true") }, ralph.CheckPassed, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, first, second := t.TempDir(), t.TempDir(), t.TempDir()
			t.Setenv("PATH", filepath.Join(dir, "bin")+":"+first+":"+second+":/usr/bin:/bin")
			for _, name := range []string{"prove", "go", "npm", "node"} {
				tool(t, filepath.Join(second, name), "exit 0")
			}
			tool(t, filepath.Join(dir, "prove"), "exit 0")
			claim := agreed(t, tt.v, ralph.Task{Dir: dir})
			tt.change(t, dir, first, second)
			v, err := tt.v.Verify(t.Context(), claim)
			if err != nil || v.Checks[0].Status != tt.status || v.Passed != (tt.status == ralph.CheckPassed) {
				t.Fatalf("%+v, %v", v, err)
			}
			for _, want := range tt.says {
				want = strings.NewReplacer("FIRST", first, "SECOND", second).Replace(want)
				if strings.Count(v.Feedback, want) != 1 {
					t.Errorf("no %q, once, in %q", want, v.Feedback)
				}
			}
			tt.v.AcceptConfig = true
			if v, err := tt.v.Verify(t.Context(), claim); err != nil || !v.Passed {
				t.Errorf("accepted: %+v, %v", v, err)
			}
		})
	}
}

// TestProgramsOfStages: stages with a PATH of their own have programs of their own.
func TestProgramsOfStages(t *testing.T) {
	atHome(t)
	m := verify.MultiStage{}
	for range 2 {
		bin := t.TempDir()
		tool(t, filepath.Join(bin, "prove"), "echo "+bin)
		m.Stages = append(m.Stages, verify.Stage{Verifier: verify.External{Args: []string{"prove"}, Env: []string{"PATH=" + bin + ":/usr/bin:/bin"}, Contains: []string{bin}}})
	}
	claim := agreed(t, m, ralph.Task{Dir: t.TempDir()})
	if v, err := m.Verify(t.Context(), claim); err != nil || !v.Passed {
		t.Errorf("%+v, %v", v, err)
	}
}
