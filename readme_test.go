package ralph_test

import (
	"encoding/json"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestReadme checks that all Go code of the README compiles: programs are built, the rest
// stands in an Example, most of which run.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) < 3 {
		t.Errorf("the README has %d blocks of Go code", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if strings.HasPrefix(code, "package ") {
			buildProgram(t, code)
			continue
		}
		want := "\t" + strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t")
		if !strings.Contains(string(source), want) {
			t.Errorf("example_readme_test.go does not hold the README's code:\n%s", want)
		}
	}
	if n := strings.Count(string(readme), "\n"); n > 150 {
		t.Errorf("the README has %d lines", n)
	}
}

// buildProgram builds a program as if it lay in a folder of this module.
func buildProgram(t *testing.T, code string) {
	t.Helper()
	if formatted, err := format.Source([]byte(code)); err != nil || string(formatted) != code {
		t.Errorf("not as gofmt has it (%v):\n%s", err, code)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	program, overlay := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "examples", "readme", "main.go"): program}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{program: []byte(code), overlay: replace} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", filepath.Join(t.TempDir(), "program"), "./examples/readme")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// pages are the pages of this module that people read first.
func pages(t *testing.T) []string {
	t.Helper()
	top, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for pattern, least := range map[string]int{"examples/ralph/*.md": 6, "examples/ralph/docs/*.md": 12} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(top) < 4 || len(more) < least {
			t.Fatalf("%v %v %v", top, more, err)
		}
		top = append(top, more...)
	}
	return top
}

// TestNames: the names of the API, the flags and the folders that pages tell of are there.
// CHANGELOG.md tells of old ones too, and SESSIONS.md of other programs' flags; those of the pages below docs are for TestPagesNames there.
func TestNames(t *testing.T) {
	t.Parallel()
	golden, err := filepath.Glob("testdata/api/*.txt")
	if err != nil || len(golden) < 8 {
		t.Fatal(golden, err)
	}
	there := map[string]bool{"--version": true}
	for _, name := range append(golden, "examples/ralph/FLAGS.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for word := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) {
			there[word] = true
		}
	}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, code := range strings.Split(string(text), "`") {
			if i%2 == 0 || page == "CHANGELOG.md" || strings.HasSuffix(page, "SESSIONS.md") {
				continue
			}
			if dir := packageIn(code); dir != "" {
				if _, err := os.Stat(dir); err != nil {
					t.Errorf("%s: there is no folder %s", page, code)
				}
			}
			for _, name := range namesIn(code) {
				if flag := strings.HasPrefix(name, "--"); flag && strings.Count(page, "/") > 1 {
					continue
				}
				if !there[name] {
					t.Errorf("%s: there is no %s (%s)", page, name, code)
				}
			}
		}
	}
}

// namesIn are the names of the API, or the flags, that a page's code is: "verify.External",
// "Dir.Loops", "ralph.Reject(reason)" or "--max N --strict".
func namesIn(code string) (names []string) {
	if strings.HasPrefix(code, "--") && !strings.HasPrefix(code, "-- ") { // "-- " begins what is shown
		code, _, _ = strings.Cut(code, "'") // of a value
		for _, word := range strings.FieldsFunc(code, func(r rune) bool { return strings.ContainsRune(" ,;…", r) }) {
			if flag, _, _ := strings.Cut(word, "="); strings.HasPrefix(flag, "--") {
				names = append(names, flag)
			}
		}
		return names
	}
	if at := strings.IndexAny(code, "({"); at > 0 {
		code = code[:at]
	}
	of, name, dotted := strings.Cut(code, ".")
	if slices.Contains([]string{"context", "errors", "fs", "http", "os"}, of) {
		return nil
	}
	if !dotted || name == "" || !unicode.IsUpper(rune(name[0])) || strings.HasSuffix(name, "MD") || strings.ContainsFunc(code, func(r rune) bool { return !unicode.IsLetter(r) && r != '.' }) {
		return nil
	}
	return slices.DeleteFunc(strings.Split(code, "."), func(part string) bool { return !unicode.IsUpper(rune(part[0])) })
}

// packageIn is the folder of Go code that a page's code names, "verify/verifytest", or "".
func packageIn(code string) string {
	top, _, below := strings.Cut(code, "/")
	if !below || !slices.Contains([]string{"verify", "progress", "tasks", "examples", "internal"}, top) {
		return ""
	}
	if strings.ContainsFunc(code, func(r rune) bool { return !unicode.IsLower(r) && r != '/' }) {
		return ""
	}
	return code
}

// TestInstalls: what pages have people install is a program of this module, and the Go that
// they say it needs is that of go.mod.
func TestInstalls(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	line := func(key string) string {
		_, rest, _ := strings.Cut("\n"+string(mod), "\n"+key+" ")
		value, _, _ := strings.Cut(rest, "\n")
		return value
	}
	module, version := line("module"), strings.Join(strings.Split(line("go"), ".")[:2], ".")
	installs, versions := regexp.MustCompile(`go install ([^\s…]+)@`), regexp.MustCompile(`(?:\bGo |golang:)(1\.[0-9]+)`)
	found, said := 0, 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range installs.FindAllStringSubmatch(string(text), -1) {
			found++
			folder, ours := strings.CutPrefix(m[1], module+"/")
			if main, err := os.ReadFile(filepath.Join(folder, "main.go")); !ours || err != nil || !strings.Contains(string(main), "package main") {
				t.Errorf("%s: there is no program %s: %v", page, m[1], err)
			}
		}
		for _, m := range versions.FindAllStringSubmatch(string(text), -1) {
			if said++; m[1] != version && page != "CHANGELOG.md" {
				t.Errorf("%s: Go %s, but go.mod says %s", page, m[1], version)
			}
		}
	}
	if found < 2 || said < 2 {
		t.Errorf("%d programs to install, %d versions of Go", found, said)
	}
}

// TestContributing: the files and folders that CONTRIBUTING.md names are there, each
// source file of the root package stands in one row of its table, and it names each
// folder of Go code.
func TestContributing(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, house, _ := strings.Cut(string(page), "| where | what it holds |")
	house, _, _ = strings.Cut(house, "\n\n")
	rows := map[string]int{} // how many rows name a file of the root package, or a folder
	for line := range strings.Lines(house) {
		where, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for i, name := range strings.Split(where, "`") {
			if i%2 == 0 || name == "" {
				continue
			}
			found, err := filepath.Glob(name)
			if err != nil || len(found) == 0 {
				t.Errorf("there is no %s", name)
			}
			for _, f := range found {
				rows[f]++
			}
		}
		for i, name := range strings.Split(strings.TrimPrefix(line, "| "+where), "`") {
			if i%2 == 0 || !strings.Contains(name, "/") || strings.Contains(name, " ") {
				continue
			}
			if found, err := filepath.Glob(name); err != nil || len(found) == 0 {
				t.Errorf("there is no %s", name)
			}
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if want := 1; !strings.HasSuffix(name, "_test.go") && rows[name] != want {
			t.Errorf("%s is named in %d rows", name, rows[name])
		}
	}
	for _, dir := range folders(t) {
		said := dir == "."
		for up := dir; strings.Contains(up, "/") && !said; up = filepath.ToSlash(filepath.Dir(up)) { // what is said of a folder is said of those in it
			said = strings.Contains(string(page), "`"+up+"`")
		}
		if !said && rows[dir] == 0 {
			t.Errorf("nothing is said of %s", dir)
		}
	}
	for i, name := range strings.Split(string(page), "`") { // the rest of the page
		if i%2 == 0 || strings.ContainsAny(name, " …*\n(") || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "examples/") && !strings.HasPrefix(name, ".ci/") {
			continue
		}
		if !slices.ContainsFunc([]string{"", "progress", "tasks", "tasks/pipeline", "internal/git"}, func(dir string) bool {
			_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
			return err == nil
		}) {
			t.Errorf("there is no %s", name)
		}
	}
}

// folders are those that hold Go code, also of nested modules.
func folders(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			if dir := filepath.ToSlash(filepath.Dir(path)); !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// TestSecurityPage: each line of SECURITY.md that says what holds names a test that is
// there.
func TestSecurityPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, holds, _ := strings.Cut(string(page), "## What holds\n")
	holds, _, _ = strings.Cut(holds, "## What stays open")
	there := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
		case strings.HasSuffix(path, ".txtar"):
			there[d.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for part := range strings.SplitSeq(string(text), "\nfunc ") {
				name, _, _ := strings.Cut(part, "(")
				there[name] = true
			}
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(holds) {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		named := false
		for i, word := range strings.Split(line, "`") {
			if i%2 == 0 || !strings.HasPrefix(word, "Test") && !strings.HasSuffix(word, ".txtar") {
				continue
			}
			prefix, open := strings.CutSuffix(word, "…")
			found := there[word] || open && slices.ContainsFunc(slices.Collect(maps.Keys(there)), func(name string) bool { return strings.HasPrefix(name, prefix) })
			if named = true; !found {
				t.Errorf("there is no %s", word)
			}
		}
		if !named {
			t.Errorf("names no test: %s", line)
		}
	}
}
