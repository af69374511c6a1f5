//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	codeOnPage   = regexp.MustCompile("`([^`]+)`")
	nameInConfig = regexp.MustCompile(`^[A-Z]+_[A-Z_]+$`)
)

// tableOnPage are the rows of the tables of a page whose heads begin with a cell.
func tableOnPage(t *testing.T, page, head string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("docs", page))
	if err != nil {
		t.Fatal(err)
	}
	within := false
	for line := range strings.Lines(string(text)) {
		inner, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
		row := strings.Split(strings.TrimSuffix(inner, "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		switch {
		case !ok || row[0] == head:
			within = ok
		case within && !strings.HasPrefix(inner, "---"):
			rows = append(rows, row)
		}
	}
	return rows
}

// read are the names that the code takes from a config: c["SPECS_DIR"].
func read(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		assigned := map[ast.Expr]bool{} // values of a prompt, which are written
		ast.Inspect(file, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok {
				for _, to := range a.Lhs {
					assigned[to] = true
				}
			}
			index, ok := n.(*ast.IndexExpr)
			if !ok || assigned[index] {
				return true
			}
			if key, ok := index.Index.(*ast.BasicLit); ok && key.Kind == token.STRING {
				if s, err := strconv.Unquote(key.Value); err == nil && nameInConfig.MatchString(s) {
					names = append(names, s)
				}
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestPageConfig: the page of the configuration has each name that a config gives a
// meaning to and no other, and says what holds without it.
func TestPageConfig(t *testing.T) {
	t.Parallel()
	defaults := map[string]string{}
	var page []string
	for _, row := range tableOnPage(t, "configuration.md", "key of config") {
		for _, m := range codeOnPage.FindAllStringSubmatch(row[0], -1) {
			page, defaults[m[1]] = append(page, m[1]), strings.Trim(row[1], "`")
		}
	}
	slices.Sort(page)
	if diff := cmp.Diff(read(t), page); diff != "" {
		t.Errorf("(-code +page)\n%s", diff)
	}
	// A name that is known is what a slip of the pen is asked about.
	for _, name := range page {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(strings.ToLower(name)+"=x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var said string
		_, err := readConfig(file, true, os.LookupEnv, func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
		if err != nil || !strings.HasSuffix(said, "did you mean "+name+"?") {
			t.Errorf("%s: %q, %v", strings.ToLower(name), said, err)
		}
	}
	s := session{modeFlags: &modeFlags{}}
	if got := s.specs(); got != defaults["SPECS_DIR"] {
		t.Errorf("SPECS_DIR: the page says %q, the code %q", defaults["SPECS_DIR"], got)
	}
	_, state, err := s.loop(nil, "x")
	if err != nil || strconv.Itoa(state.Task.Limits.Retries) != defaults["MAX_RETRIES"] {
		t.Errorf("MAX_RETRIES: the page says %q, the code %d (%v)", defaults["MAX_RETRIES"], state.Task.Limits.Retries, err)
	}
}

// literals are the texts that the code of this module has as string literals.
func literals(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != "../.." || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					all = append(all, s)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPageMessages: each message on the page about trouble is one that the code has.
// What the page leaves open (…) is what the code fills in.
func TestPageMessages(t *testing.T) {
	t.Parallel()
	known := literals(t)
	rows := tableOnPage(t, "troubleshooting.md", "message")
	if len(rows) < 30 {
		t.Errorf("the page has %d messages only", len(rows))
	}
	for _, row := range rows {
		message := codeOnPage.FindStringSubmatch(row[0])
		if message == nil || len(row) != 3 || row[1] == "" || row[2] == "" {
			t.Errorf("a row is a message as code, what it means and what to do: %q", row)
			continue
		}
		longest := 0
		for part := range strings.SplitSeq(message[1], "…") {
			part = strings.TrimSpace(part)
			if longest = max(longest, len(part)); len(part) > 2 && !slices.ContainsFunc(known, func(s string) bool { return strings.Contains(s, part) }) {
				t.Errorf("%q: nothing in the code says %q", message[1], part)
			}
		}
		if longest < 10 {
			t.Errorf("%q: nobody would know it by that", message[1])
		}
	}
}

// TestPageFiles: what the page on unattended runs has people copy is well-formed, and
// each command line of ralph in it is one that the command takes.
func TestPageFiles(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/unattended.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parsePage(string(text))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, b := range blocks {
		whole := strings.ReplaceAll(b.text, "\\\n", " ")
		switch {
		case b.file() == "Containerfile":
			containerfile(t, whole)
		case strings.HasSuffix(b.file(), ".service"):
			unit(t, whole)
		case strings.HasSuffix(b.file(), ".sh"):
			cmd := exec.Command("sh", "-n")
			cmd.Stdin = strings.NewReader(b.text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v %s", b.file(), err, out)
			}
			podman(t, whole)
		}
		if b.file() == "" {
			continue // it is run
		}
		for line := range strings.Lines(whole) {
			for _, begin := range []string{"exec ralph ", " shop-agent "} {
				if _, rest, ok := strings.Cut(strings.TrimSpace(line), begin); ok {
					lines++
					takes(t, strings.TrimSuffix(rest, "'"))
				}
			}
		}
	}
	if lines != 2 {
		t.Errorf("%d command lines are in the files, want that of the unit and that of the container", lines)
	}
}

// podman is the syntax of the lines of podman in a script, as far as the page has it.
func podman(t *testing.T, text string) {
	t.Helper()
	known := map[string][]string{"build": {"-t"}, "run": {"--rm", "--init", "--userns", "-v", "-e"}}
	for _, line := range textLines(text) {
		words := strings.Fields(strings.TrimPrefix(line, "exec "))
		if len(words) < 3 || words[0] != "podman" {
			continue
		}
		flags, ok := known[words[1]]
		for _, word := range words[2:] {
			if word == "shop-agent" {
				break // what follows is ours
			}
			flag, _, _ := strings.Cut(word, "=")
			ok = ok && (!strings.HasPrefix(word, "-") || slices.Contains(flags, flag))
		}
		if !ok {
			t.Errorf("podman does not take %q", line)
		}
	}
}

// takes fails unless a command takes a command line.
func takes(t *testing.T, text string) {
	t.Helper()
	args, err := splitWords(text)
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return
	}
	name, args := commandFirst(args)
	i := slices.IndexFunc(commands(), func(c command) bool { return c.name == name })
	if i < 0 {
		t.Errorf("%q: there is no command %s", text, name)
		return
	}
	rest, err := newFlags(commands()[i]).parse(args)
	if err == nil {
		err = commands()[i].check(rest)
	}
	if err != nil {
		t.Errorf("%q: %v", text, err)
	}
}

// containerfile is the syntax of a Containerfile, as far as the page has it: known
// instructions, FROM first, stages that are there, and shell lines that a shell reads.
func containerfile(t *testing.T, text string) {
	t.Helper()
	stages := map[string]bool{}
	for i, line := range textLines(text) {
		name, args, _ := strings.Cut(line, " ")
		args = strings.TrimSpace(args)
		words := strings.Fields(args)
		switch {
		case line == "":
			continue
		case args == "", i == 0 && name != "FROM":
			t.Errorf("Containerfile: %q", line)
			continue
		}
		switch name {
		case "FROM":
			if len(words) == 3 && words[1] == "AS" {
				stages[words[2]] = true
			} else if len(words) != 1 {
				t.Errorf("Containerfile: %q", line)
			}
		case "RUN":
			if err := exec.Command("sh", "-n", "-c", args).Run(); err != nil {
				t.Errorf("Containerfile: %q: %v", line, err)
			}
		case "COPY":
			from, ok := strings.CutPrefix(words[0], "--from=")
			if !ok || !stages[from] || len(words) != 3 {
				t.Errorf("Containerfile: %q: it is copied from no stage", line)
			}
		case "USER", "WORKDIR":
			if len(words) != 1 {
				t.Errorf("Containerfile: %q", line)
			}
		case "ENTRYPOINT":
			var program []string
			if err := json.Unmarshal([]byte(args), &program); err != nil || len(program) != 1 || program[0] != "ralph" {
				t.Errorf("Containerfile: %q: %v", line, err)
			}
		default:
			t.Errorf("Containerfile: unknown instruction %q", line)
		}
	}
}

// unit is the syntax of a unit of systemd: settings of the sections that they belong to.
func unit(t *testing.T, text string) {
	t.Helper()
	known := map[string]string{
		"Description": "Unit", "WorkingDirectory": "Service", "Environment": "Service", "ExecStart": "Service",
		"KillMode": "Service", "TimeoutStopSec": "Service", "SuccessExitStatus": "Service", "WantedBy": "Install",
	}
	section, began := "", false
	for _, line := range textLines(text) {
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "":
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = strings.Trim(line, "[]")
		case !ok || value == "" || known[key] != section:
			t.Errorf("the unit: %q in [%s]", line, section)
		case key == "ExecStart":
			began = strings.HasPrefix(value, "/")
		}
	}
	if !began {
		t.Error("the unit starts no program by an absolute path")
	}
}
