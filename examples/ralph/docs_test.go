//go:build unix

package main

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
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestPages follows each page below docs as its reader would, in a folder of the
// page's own:
//
//   - "sh" blocks are pasted into one session of a shell (sh -eu), with ralph, git
//     and go in its PATH and a home folder and state folder of its own. A command
//     succeeds, unless its line ends with "# exit N".
//   - A "text" block that follows a "sh" block is what that prints. In it "…" is any
//     text within a line, and a line that is "…" alone any lines.
//   - A block with a path ("yaml tasks.yaml") is a file, which the reader writes into
//     the current folder before going on. Go files that import this module are built
//     against this repository.
//   - What the reader has before the page begins is in testdata/docs/PAGE.txtar: files
//     of the folder, below PATH/ programs such as a stand-in for a client, and in
//     front of them the shell lines that have been run there.
//
// Any other block is an error, so that no command escapes.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, name := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".md"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			blocks, err := parsePage(string(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			newReader(t, name).follow(t, blocks)
		})
	}
}

// A block of a page: what it is called (its info string, as "sh" or "yaml
// tasks.yaml"), the line that it begins in, and its text.
type block struct {
	info string
	line int
	text string
	want *string // of a sh block: what it prints, if the page says
}

// file is the path of the file that a block is, or nothing.
func (b block) file() string {
	_, path, _ := strings.Cut(b.info, " ")
	return strings.TrimSpace(path)
}

// parsePage finds the blocks of a page, and what is none of those it may have.
func parsePage(text string) ([]block, error) {
	var all []block
	var open *block
	adjacent := false // nothing stands between here and the end of the last block
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open != nil && line == "```":
			if open.info == "text" {
				all[len(all)-1].want = &open.text
			} else {
				all = append(all, *open)
			}
			open, adjacent = nil, true
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "```"):
			open = &block{info: strings.TrimSpace(line[3:]), line: i + 1}
			follows := adjacent && len(all) > 0 && all[len(all)-1].info == "sh" && all[len(all)-1].want == nil
			if open.info != "sh" && open.file() == "" && (open.info != "text" || !follows) {
				return nil, fmt.Errorf("line %d: a block is sh, what a sh block right before it prints (text), or a file (LANGUAGE PATH); this one is %q", i+1, open.info)
			}
		case strings.HasPrefix(strings.TrimSpace(line), "~~~") || strings.HasPrefix(strings.TrimSpace(line), "```"):
			return nil, fmt.Errorf("line %d: a block begins with ``` and nothing before it", i+1)
		case strings.HasPrefix(line, "    "):
			return nil, fmt.Errorf("line %d: an indented block, which nobody would run; give it ```", i+1)
		case strings.TrimSpace(line) != "":
			adjacent = false
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block is not closed", open.line)
	}
	return all, nil
}

// A reader has a folder to follow a page in.
type reader struct {
	page, script         string // the page's path, and what has been run before it begins
	work, home, out, bin string
}

// newReader lays out what the reader of a page has.
func newReader(t *testing.T, page string) *reader {
	dir := t.TempDir()
	r := &reader{page: page, work: dir + "/work", home: dir + "/home", out: dir + "/out", bin: dir + "/bin"}
	for _, folder := range []string{r.work, r.home, r.bin, r.out + "/work", r.out + "/bin"} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ralph", "git", "go"} { // and no client that happens to be installed
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(r.bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join("testdata/docs", strings.TrimSuffix(filepath.Base(page), ".md")+".txtar"))
	if errors.Is(err, os.ErrNotExist) {
		return r
	}
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(data)
	r.script = string(archive.Comment)
	for _, f := range archive.Files {
		path, mode := filepath.Join(r.out, "work", f.Name), os.FileMode(0o666)
		if name, ok := strings.CutPrefix(f.Name, "PATH/"); ok {
			path = filepath.Join(r.out, "bin", name)
		}
		if bytes.HasPrefix(f.Data, []byte("#!")) {
			mode = 0o777
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, mode); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// follow runs the blocks one after the other, and compares what they print.
func (r *reader) follow(t *testing.T, blocks []block) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	blocks = append([]block{{info: "sh", text: r.script}}, blocks...)
	var script strings.Builder
	// The shell copies the programs: a file that this process has written may still be open
	// in a child of another test, and is then too busy to be run.
	fmt.Fprintf(&script, "set -eu\ncp -R '%[1]s/work/.' .\ncp -R '%[1]s/bin/.' '%[2]s'\n", r.out, r.bin)
	for i, b := range blocks {
		if path := b.file(); path != "" {
			kept := fmt.Sprintf("%s/file%d", r.out, i)
			if err := os.WriteFile(kept, []byte(b.text), 0o666); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&script, "mkdir -p \"$(dirname '%[2]s')\"\ncat '%[1]s' >'%[2]s'\n", kept, path)
			if strings.Contains(b.text, `"github.com/ralph-loop/ralph`) && strings.HasSuffix(path, ".go") {
				fmt.Fprintf(&script, module, path, root)
			}
			continue
		}
		fmt.Fprintf(&script, "echo %d >'%s/at'\n{\n%s} >'%s/%d' 2>&1\n", b.line, r.out, expecting(b.text), r.out, i)
	}
	if fault := r.shell(t, script.String()); fault != nil {
		line, _ := os.ReadFile(r.out + "/at")
		at := strings.TrimSpace(string(line))
		for i, b := range blocks {
			if fmt.Sprint(b.line) == at {
				printed, _ := os.ReadFile(fmt.Sprintf("%s/%d", r.out, i))
				t.Fatalf("%s, the block of line %s: %v\n%s", r.page, at, fault, printed)
			}
		}
		t.Fatalf("%s: %v", r.page, fault)
	}
	for i, b := range blocks {
		if b.want == nil {
			continue
		}
		got, err := os.ReadFile(fmt.Sprintf("%s/%d", r.out, i))
		if err != nil {
			t.Fatal(err)
		}
		if want, got := textLines(*b.want), textLines(string(got)); !alike(want, got) {
			t.Errorf("%s, line %d: it prints something else:\n%s", r.page, b.line, cmp.Diff(want, got))
		}
	}
}

// module makes the folder of a Go file a module that uses this repository.
const module = `(cd "$(dirname '%[1]s')"
test -f go.mod || go mod init example.com/reader
go mod edit -require=github.com/ralph-loop/ralph@v0.0.0 -replace=github.com/ralph-loop/ralph='%[2]s'
cat '%[2]s/go.sum' >go.sum) >>"$HOME/module" 2>&1
`

// expecting has the lines that end with "# exit N" fail unless they exit so.
func expecting(text string) string {
	text = strings.ReplaceAll(text, "\\\n", "\\\x00") // a command that goes on
	var b strings.Builder
	for line := range strings.Lines(text) {
		command, code, marked := strings.Cut(strings.TrimSuffix(line, "\n"), "# exit ")
		if marked {
			line = fmt.Sprintf("code=0; { %[1]s\n} || code=$?; test $code = %[2]s || { echo exit code $code, not %[2]s; exit 99; }\n", command, code)
		}
		b.WriteString(line)
	}
	return strings.ReplaceAll(b.String(), "\x00", "\n") + ":\n"
}

// shell runs a script in the reader's folder, and ends what it has left running.
func (r *reader) shell(t *testing.T, script string) error {
	config := "[user]\n\tname = Reader\n\temail = reader@example.com\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(r.home+"/.gitconfig", []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // far beyond what any page takes
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = r.work
	cmd.Env = []string{
		"PATH=" + r.bin + ":/usr/bin:/bin", "HOME=" + r.home, "XDG_STATE_HOME=" + r.home + "/state", "TMPDIR=" + r.out,
		"LC_ALL=C", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local",
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, name+"="+strings.TrimSpace(string(out)))
	}
	cmd.WaitDelay = time.Minute
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // none is left, as a rule
	}
	if ctx.Err() != nil {
		err = errors.New("it does not come to an end")
	}
	if err != nil {
		return fmt.Errorf("%w %s", err, out)
	}
	return nil
}

// textLines are the lines of a text.
func textLines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

// alike reports whether lines are what a page says of them.
func alike(want, got []string) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case want[0] == "…":
		return alike(want[1:], got) || len(got) > 0 && alike(want, got[1:])
	}
	return len(got) > 0 && alikeLine(want[0], got[0]) && alike(want[1:], got[1:])
}

// alikeLine is alike for a line.
func alikeLine(want, got string) bool {
	parts := strings.Split(want, "…")
	got, ok := strings.CutPrefix(got, parts[0])
	for i, part := range parts[1:] {
		if i == len(parts)-2 {
			return ok && strings.HasSuffix(got, part)
		}
		at := strings.Index(got, part)
		if ok = ok && at >= 0; !ok {
			return false
		}
		got = got[at+len(part):]
	}
	return ok && got == ""
}

func TestParsePage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, page, err string }{
		{"fine", "```sh\ntrue\n```\n\n```text\n```\nProse.\n```yaml a/b.yaml\na: 1\n```\n", ""},
		{"another language", "```json\n{}\n```\n", `line 1: a block is sh`},
		{"none", "```\nx\n```\n", `line 1: a block is sh`},
		{"text of no block", "```text\nx\n```\n", `line 1: a block is sh`},
		{"text apart from its block", "```sh\ntrue\n```\nProse.\n```text\nx\n```\n", `line 5: a block is sh`},
		{"second text", "```sh\ntrue\n```\n```text\n```\n```text\nx\n```\n", `line 6: a block is sh`},
		{"text after a file", "```sh\ntrue\n```\n```yaml a\n```\n```text\nx\n```\n", `line 6: a block is sh`},
		{"indented", "Prose.\n\n    ralph run\n", `line 3: an indented block`},
		{"in a list", "- One\n  ```sh\n  true\n  ```\n", `line 2: a block begins with`},
		{"tildes", "~~~sh\ntrue\n~~~\n", `line 1: a block begins with`},
		{"open", "```sh\ntrue\n", `line 1: the block is not closed`},
	} {
		_, err := parsePage(tt.page)
		if (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
}

func TestAlike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want, got string
		alike     bool
	}{
		{"a\nb", "a\nb", true},
		{"a\nb", "a", false},
		{"a", "a\nb", false},
		{"a…c…", "abcd", true},
		{"a…c", "abcd", false},
		{"…b…", "abc", true},
		{"ab…bc", "abc", false},
		{"a\n…", "a", true},
		{"a\n…\nd", "a\nb\nc\nd", true},
		{"…\nd\n…", "a\nb", false},
	} {
		if got := alike(textLines(tt.want), textLines(tt.got)); got != tt.alike {
			t.Errorf("%q and %q: %t", tt.want, tt.got, got)
		}
	}
}

func TestExpecting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		code int
	}{
		{"", 0},
		{"true\n", 0},
		{"false\ntrue\n", 1},
		{"false # exit 1\n", 0},
		{"true # exit 1\n", 99},
		{"sh -c 'exit 3' \\\n  x # exit 3\nfalse # exit 1\n", 0},
		{"sh -c 'exit 3' # exit 1\n", 99},
		{"cd /\nx=1\ntest $PWD$x = /1\n", 0},
	} {
		cmd := exec.Command("sh", "-euc", "{\n"+expecting(tt.text)+"}")
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != tt.code {
			t.Errorf("%q: exit code %d, want %d", tt.text, got, tt.code)
		}
	}
}
