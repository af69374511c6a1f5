package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph/internal/sandbox"
)

const nobody = 65534

// TestSandboxAsNobody runs all tests of sandboxes as another user than root, whose
// namespaces come about in another way.
func TestSandboxAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		return // they are run so as it is
	}
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/tmp", 0), os.Chmod(dir+"/tmp", 0o777|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(dir+"/tests", binary, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(dir+"/tests", "-test.run=^TestSandbox", "-test.skip=AsNobody", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir+"/tmp", "HOME="+dir+"/tmp", "GOCACHE=", "USER=nobody")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestSandboxFiles")) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// A box is what a test of sandboxes runs its scripts in.
type box struct {
	dir, outside string
	spec         sandbox.Spec
	warned       []string
}

func newBox(t *testing.T, spec sandbox.Spec) *box {
	t.Helper()
	b := &box{dir: t.TempDir(), outside: t.TempDir(), spec: spec}
	if err := errors.Join(os.Mkdir(filepath.Join(b.dir, "tmp"), 0o700), os.WriteFile(filepath.Join(b.outside, "theirs"), []byte("secret\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	return b
}

// sh runs a script in the box; DIR and OUTSIDE are its folders.
func (b *box) sh(t *testing.T, ctx context.Context, script string, c Cmd) (Exit, string, error) {
	t.Helper()
	rules, err := b.spec.Rules(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Sandbox, c.Dir = rules, b.dir
	c.Env = append(env(t), "DIR="+b.dir, "OUTSIDE="+b.outside, "SELF="+os.Args[0], "TMPDIR="+filepath.Join(b.dir, "tmp"))
	c.Warn = func(text string) { b.warned = append(b.warned, text) }
	host.unsay()
	return sh(t, ctx, script, c)
}

// unsay has it warn again of what the last test was warned of.
func (h *supervisor) unsay() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = map[string]bool{}
}

// has reports whether the system has what a test is about. If not, the run must have
// said so, in the words that are documented.
func (b *box) has(t *testing.T, words string) bool {
	t.Helper()
	for _, text := range b.warned {
		if strings.Contains(text, words) {
			t.Logf("not on this system: %s", text)
			return false
		}
	}
	return true
}

// What is said if there is none of it.
const (
	noLandlock = "so what the command writes and reads is not restricted"
	noMoving   = "from moving files between folders"
	noPIDs     = "does not give it a PID namespace"
	noHiding   = "nothing can be hidden from it"
	noNetwork  = "does not give it a network of its own"
)

func TestSandboxFiles(t *testing.T) {
	for _, test := range []struct {
		name, script string
		spec         sandbox.Spec
		works        bool
	}{
		{name: "writing inside", script: `echo x >new && echo y >>new && mkdir d && mv new d/moved && rm -r d`, works: true},
		{name: "links and pipes inside", script: `echo x >f && ln f g && ln -s f l && mkfifo p && rm f g l p`, works: true},
		{name: "devices that are always writable", script: `echo x >/dev/null && head -c 9 /dev/zero >/dev/shm/ralph$$ && rm /dev/shm/ralph$$`, works: true},
		{name: "standard streams by name", script: `echo x >/dev/stdout && echo x >/proc/self/fd/2 && echo x | tee /dev/stderr`, works: true},
		{name: "reading outside", script: `cat "$OUTSIDE/theirs"`, works: true},
		{name: "creating outside", script: `echo x >"$OUTSIDE/new"`},
		{name: "overwriting outside", script: `echo x >"$OUTSIDE/theirs"`},
		{name: "appending outside", script: `echo x >>"$OUTSIDE/theirs"`},
		{name: "emptying outside", script: `truncate -s 0 "$OUTSIDE/theirs"`},
		{name: "removing outside", script: `rm -f "$OUTSIDE/theirs"`},
		{name: "a folder outside", script: `mkdir "$OUTSIDE/d"`},
		{name: "moving out", script: `echo x >f && mv f "$OUTSIDE/f"`},
		{name: "moving in", script: `mv "$OUTSIDE/theirs" f`},
		{name: "through a link", script: `ln -s "$OUTSIDE" l && echo x >l/theirs`},
		{name: "through a hard link", script: `ln "$OUTSIDE/theirs" f && echo x >f`},
		{name: "through /proc of this program", script: `echo x >/proc/$PPID/root"$OUTSIDE/new"`},
		{name: "a device", script: `mknod null c 1 3`},
		{name: "nothing is restored by a new shell", script: `setsid sh -c 'echo x >"$OUTSIDE/new"'`},
		{name: "reading what may be read", spec: sandbox.Spec{Read: readable()}, script: `cat /etc/passwd >copy && cat copy`, works: true},
		{name: "reading what may not be read", spec: sandbox.Spec{Read: readable()}, script: `cat "$OUTSIDE/theirs"`},
		{name: "listing what may not be read", spec: sandbox.Spec{Read: readable()}, script: `ls "$OUTSIDE"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBox(t, test.spec)
			e, out, err := b.sh(t, t.Context(), test.script, Cmd{})
			if err != nil {
				t.Fatal(err)
			}
			if !b.has(t, noLandlock) || !b.has(t, noMoving) {
				return
			}
			if (e.Code == 0) != test.works {
				t.Errorf("%v, want success: %v\n%s", e, test.works, out)
			}
			if text, err := os.ReadFile(filepath.Join(b.outside, "theirs")); string(text) != "secret\n" {
				t.Errorf("the file outside: %q, %v", text, err)
			}
			if _, err := os.Lstat(filepath.Join(b.outside, "new")); err == nil {
				t.Error("a file was made outside")
			}
		})
	}
}

// A path that lies in the workspace may have become a link to anywhere.
func TestSandboxGrantsNoLinkOfTheLastRun(t *testing.T) {
	for _, script := range []string{`echo x >sub/theirs`, `cat sub/theirs`} {
		b := newBox(t, sandbox.Spec{Read: readable()})
		sub := filepath.Join(b.dir, "sub")
		b.spec.Write = []string{sub, filepath.Join(b.dir, "not there")}
		b.spec.Read = append(b.spec.Read, sub)
		if err := os.Symlink(b.outside, sub); err != nil {
			t.Fatal(err)
		}
		e, out, err := b.sh(t, t.Context(), script, Cmd{})
		if err != nil || b.has(t, noLandlock) && e.Code == 0 {
			t.Errorf("%s: %v, %v: %s", script, e, err, out)
		}
	}
}

// readable is what programs need.
func readable() []string { return []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev"} }

// A program that Read does not hold is not there, and the error says why.
func TestSandboxReadHoldsTheProgram(t *testing.T) {
	for _, pids := range []bool{false, true} {
		b := newBox(t, sandbox.Spec{Read: []string{}, PIDs: pids})
		_, _, err := b.sh(t, t.Context(), `true`, Cmd{})
		if b.has(t, noLandlock) && (!errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "Read must hold the program")) {
			t.Errorf("PIDs %v: the error is %v", pids, err)
		}
	}
}

// TestSandboxWork does what agents do.
func TestSandboxWork(t *testing.T) {
	tests := map[string]string{
		"git":  `git init -q . && echo x >f && git add . && git -c user.name=n -c user.email=e commit -qm m && git log --oneline`,
		"node": `node -e 'require("child_process").execSync("echo x | cat >f"); require("fs").renameSync("f", "g"); require("net").createServer().listen(0, "127.0.0.1", function() { this.close() })'`,
		"go":   `printf 'module m\n\ngo 1.26\n' >go.mod && printf 'package m\n' >m.go && GOCACHE=$DIR/cache GOPATH=$DIR/path GOFLAGS=-mod=mod go build ./...`,
		"sh":   `mkdir a && (echo x & wait) | cat >a/b && tar cf - a | (mkdir c && cd c && tar xf -) && mktemp && cat c/a/b`,
	}
	if os.Getuid() == 0 { // who has a cache of compiled packages
		cache, err := exec.Command("go", "env", "GOCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		tests["go test"] = `printf 'module m\n\ngo 1.26\n' >go.mod && printf 'package m\nimport "testing"\nfunc Test(t *testing.T) { t.TempDir() }\n' >m_test.go && GOCACHE=` + strings.TrimSpace(string(cache)) + ` go test ./...`
	}
	for name, script := range tests {
		for _, spec := range []sandbox.Spec{{}, {PIDs: true, NoNet: true}} {
			t.Run(fmt.Sprintf("%s PIDs=%v", name, spec.PIDs), func(t *testing.T) {
				b := newBox(t, spec)
				if name == "go test" {
					cache, _ := exec.Command("go", "env", "GOCACHE").Output()
					b.spec.Write = []string{strings.TrimSpace(string(cache))}
				}
				if _, err := exec.LookPath(strings.Fields(name)[0]); err != nil {
					t.Skip("not installed")
				}
				if e, out, err := b.sh(t, t.Context(), script, Cmd{}); err != nil || e.Code != 0 {
					t.Errorf("%v, %v\n%s", e, err, out)
				}
			})
		}
	}
}
