package verify

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/process"
)

// What redirects each template's check: one function for each.

func goWatch() *watch {
	return &watch{name: "go-test", redirects: goRedirects, skip: []string{"vendor", "testdata"},
		isTest: func(name string) bool { return strings.HasSuffix(name, "_test.go") }}
}

func goRedirects(w *tree) (map[string]string, bool) {
	found := map[string]string{}
	for _, name := range w.matching("*_test.go") {
		if text := w.text(name); bytes.Contains(text, []byte("TestMain")) {
			if body := testMain(text); body != "" {
				found["TestMain in "+name] = hashed(body)
			}
		}
	}
	set := false
	for _, name := range []string{"go.mod", "go.work"} {
		if text := w.text(name); text != nil {
			set = true
			goLines(found, name, string(text))
		}
	}
	w.above(found, "go.work")
	return found, set
}

// testMain is the text of the function that runs a package's tests; "" if it is not
// in this file.
func testMain(text []byte) string {
	files := gotoken.NewFileSet()
	f, _ := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if f == nil {
		return ""
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "TestMain" {
			from, to := files.Position(fn.Pos()).Offset, files.Position(fn.End()).Offset
			return string(text[min(from, len(text)):min(to, len(text))])
		}
	}
	return ""
}

// goLines finds what takes another module than the one that is required, and another
// go. A toolchain that go downloads is go's own, so only one that lies in PATH counts.
func goLines(found map[string]string, file, text string) {
	block := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == ")":
			block = ""
			continue
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
			continue
		case block != "":
			fields = append([]string{block}, fields...)
		}
		switch verb := fields[0]; {
		case verb == "replace", verb == "use" && file == "go.work":
			found[strings.Join(fields, " ")+" in "+file] = hashed("")
		case (verb == "toolchain" || verb == "go") && len(fields) == 2:
			name := "go" + strings.TrimPrefix(fields[1], "go")
			program, err := process.LookPath(name, "", os.Environ())
			if err == nil {
				found[verb+" "+fields[1]+" in "+file+", which is "+program] = fingerprint(program, nil)
			}
		}
	}
}

func npmWatch() *watch {
	return &watch{name: "npm-test", redirects: npmRedirects, isTest: func(name string) bool {
		base := path.Base(name)
		return strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || slices.Contains(strings.Split(path.Dir(name), "/"), "__tests__")
	}}
}

var npmKeys = regexp.MustCompile(`^(script-shell|shell|node-options|if-present|workspaces?|prefix|dry-run)(\[\])?$`)

func npmRedirects(w *tree) (map[string]string, bool) {
	found := map[string]string{}
	var pack map[string]json.RawMessage
	var scripts map[string]string
	if json.Unmarshal(w.text("package.json"), &pack) != nil || json.Unmarshal(pack["scripts"], &scripts) != nil {
		return nil, false
	}
	if strings.TrimSpace(scripts["test"]) == "" || strings.Contains(scripts["test"], "no test specified") { // npm init writes that
		return nil, false
	}
	reached := []string{"test", "pretest", "posttest"}
	for i := 0; i < len(reached); i++ { // it grows
		text, ok := scripts[reached[i]]
		if !ok {
			continue
		}
		found["the script "+reached[i]+" in package.json"] = hashed(text)
		words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\"';&|()", r) })
		for _, word := range words {
			if _, ok := scripts[word]; ok && !slices.Contains(reached, word) {
				reached = append(reached, word, "pre"+word, "post"+word)
			}
		}
	}
	for _, runner := range []string{"jest", "mocha", "ava", "vitest", "tap", "c8", "nyc"} {
		var compact bytes.Buffer
		if json.Compact(&compact, pack[runner]) == nil && compact.Len() > 0 {
			found[runner+" in package.json"] = hashed(compact.String())
		}
	}
	w.keys(found, ".npmrc", npmKeys)
	w.whole(found, "jest.config.*", "vitest.config.*", "vitest.workspace.*", ".mocharc.*", "ava.config.*", "karma.conf.*", ".taprc")
	return found, true
}

func pytestWatch() *watch {
	return &watch{name: "pytest", redirects: pytestRedirects, isTest: isPytest, skip: []string{"venv", "env", "site-packages", "__pycache__"}}
}

func isPytest(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".py") && (strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py"))
}

// Of an inline table the whole counts.
var pytestKeys = regexp.MustCompile(`^(tool[.:])?pytest(\.ini_options)?(\.(addopts|testpaths|python_\w+|norecursedirs|collect_imported_tests|pythonpath|required_plugins|confcutdir))?$`)

func pytestRedirects(w *tree) (map[string]string, bool) {
	found := map[string]string{}
	for _, name := range []string{"pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "pytest.toml", ".pytest.toml"} {
		w.keys(found, name, pytestKeys)
	}
	for _, name := range w.matching("conftest.py") {
		for hook, text := range pythonHooks(string(w.text(name))) {
			found[hook+" in "+name] = hashed(text)
		}
	}
	return found, len(found) > 0 || slices.ContainsFunc(w.files, isPytest)
}

var hookLine = regexp.MustCompile(`^\s*(?:async\s+)?(?:def\s+)?(pytest_\w+)\b\s*[(=]`)

// pythonHooks are the functions that pytest calls, by which a conftest.py decides
// what is collected and what a result is, and its plug-ins. Fixtures are none, and
// pytest_addoption only adds options.
func pythonHooks(text string) map[string]string {
	hooks := map[string]string{}
	hook, depth := "", 0
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if m := hookLine.FindStringSubmatch(line); m != nil && m[1] != "pytest_addoption" {
			hook, depth = m[1], indent
			hooks[hook] += trimmed + "\n"
			continue
		}
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if hook != "" && indent <= depth && !strings.ContainsAny(trimmed[:1], ")]}") {
			hook = ""
		}
		if hook != "" {
			hooks[hook] += trimmed + "\n"
		}
	}
	return hooks
}

func cargoWatch() *watch {
	return &watch{name: "cargo-test", redirects: cargoRedirects, skip: []string{"target"}, isTest: func(name string) bool {
		return strings.HasSuffix(name, ".rs") && slices.Contains(strings.Split(path.Dir(name), "/"), "tests")
	}}
}

var cargoKeys = regexp.MustCompile(`^((patch|replace)\b.*|(lib|bin|test)(\.(harness|test))?|package\.autotests)$`)

func cargoRedirects(w *tree) (map[string]string, bool) {
	found := map[string]string{}
	w.whole(found, ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")
	w.above(found, ".cargo/config.toml", ".cargo/config")
	for _, name := range w.matching("Cargo.toml") {
		w.keys(found, name, cargoKeys)
	}
	return found, w.text("Cargo.toml") != nil
}
