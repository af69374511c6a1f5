package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph/internal/process"
)

// What redirects each template's check: one function for each.

func watches() []*watch {
	return []*watch{goWatch(), npmWatch(), pytestWatch(nil), cargoWatch(), lintWatch(), ruffWatch()}
}

func goWatch() *watch {
	return &watch{name: "go-test", redirects: goRedirects, hides: goHides, skip: []string{"vendor", "testdata"},
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
	for _, up := range w.above("go.work") {
		up.whole(found, "go.work")
	}
	return found, set
}

// goMains knows the packages that have a TestMain, by their import paths.
func goMains(workspace string) func(pkg string) bool {
	w, err := readTree(workspace, goWatch().skip)
	if err != nil {
		return func(string) bool { return false }
	}
	module := ""
	goDirectives(string(w.text("go.mod")), func(fields []string) {
		if fields[0] == "module" && len(fields) == 2 {
			module = strings.Trim(fields[1], "\"`")
		}
	})
	found, _ := goRedirects(w)
	return func(pkg string) bool {
		for what := range found {
			name, ok := strings.CutPrefix(what, "TestMain in ")
			if dir := path.Dir(name); ok && (pkg == path.Join(module, dir) || dir != "." && strings.HasSuffix(pkg, "/"+dir)) {
				return true
			}
		}
		return false
	}
}

// goHides knows what is not in the module, for a go.mod of its own or an ignore line.
// Where there is a go.work it does not say.
func goHides(w *tree) func(name string) bool {
	var folders []string
	for _, name := range w.files {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			folders = append(folders, path.Dir(name))
		}
	}
	goDirectives(string(w.text("go.mod")), func(fields []string) {
		if fields[0] == "ignore" && len(fields) == 2 {
			folders = append(folders, path.Clean(fields[1]))
		}
	})
	works := slices.Contains(w.files, "go.work")
	return func(name string) bool {
		return !works && slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(name, folder+"/") })
	}
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
	goDirectives(text, func(fields []string) {
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
	})
}

// goDirectives calls f with the words of each line of a go.mod or go.work, of one in
// a block with the block's verb before them.
func goDirectives(text string, f func(fields []string)) {
	block := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == ")":
			block = ""
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
		case block != "":
			f(append([]string{block}, fields...))
		default:
			f(fields)
		}
	}
}

func npmWatch() *watch {
	return &watch{name: "npm-test", redirects: npmRedirects, isTest: func(name string) bool {
		base := path.Base(name)
		return strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || slices.Contains(strings.Split(path.Dir(name), "/"), "__tests__")
	}}
}

// npmKeys are the settings of npm's that redirect it.
var npmKeys = []string{"script-shell", "shell", "node-options", "if-present", "workspace", "workspaces", "prefix", "dry-run"}

func npmRedirects(w *tree) (map[string]string, bool) {
	found := map[string]string{}
	var pack, values map[string]json.RawMessage
	text := bytes.TrimPrefix(w.text("package.json"), []byte("\ufeff"))
	_ = errors.Join(json.Unmarshal(text, &pack), json.Unmarshal(pack["scripts"], &values)) // npm will say so
	scripts := map[string]string{}
	for name, value := range values {
		script := string(value)
		_ = json.Unmarshal(value, &script) // of what is no text, the whole
		scripts[name] = script
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
	w.keys(found, ".npmrc", func(key string) bool { return slices.Contains(npmKeys, key) })
	w.whole(found, "jest.config.*", "vitest.config.*", "vitest.workspace.*", ".mocharc.*", "ava.config.*", "karma.conf.*", ".taprc")
	for _, up := range w.above(".mocharc.cjs", ".mocharc.js", ".mocharc.yaml", ".mocharc.yml", ".mocharc.jsonc", ".mocharc.json") {
		up.whole(found, ".mocharc.*")
	}
	set := strings.TrimSpace(scripts["test"]) != "" && !strings.Contains(scripts["test"], "no test specified") // npm init writes that
	return found, set
}

// pytestWatch is for pytest with these paths; nil = with any.
func pytestWatch(paths []string) *watch {
	return &watch{name: "pytest", isTest: isPytest, skip: []string{"venv", "env", "site-packages", "__pycache__"},
		redirects: func(w *tree) (map[string]string, bool) { return pytestRedirects(w, paths) }}
}

func isPytest(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".py") && (strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py"))
}

// pytestFiles are where pytest finds its options, and hooks.
var pytestFiles = []string{"pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "pytest.toml", ".pytest.toml", "conftest.py"}

func pytestRedirects(w *tree, paths []string) (map[string]string, bool) {
	found := map[string]string{}
	w.pytest(found, paths)
	set := len(found) > 0 || slices.ContainsFunc(w.files, isPytest)
	for _, up := range w.above(pytestFiles...) {
		up.pytest(found, paths)
	}
	return found, set
}

// pytest adds pytest's options, where it looks for them: on the way to the paths. It
// finds hooks on its way through the tests.
func (w *tree) pytest(found map[string]string, paths []string) {
	for _, name := range w.matching(pytestFiles...) {
		dir := path.Dir(name)
		onTheWay := func(p string) bool {
			p = path.Clean(filepath.ToSlash(p))
			return p == dir || strings.HasPrefix(p, dir+"/")
		}
		switch {
		case path.Base(name) == "conftest.py":
			for hook, text := range pythonHooks(string(w.text(name))) {
				found[hook+" in "+w.shown+name] = hashed(text)
			}
		case dir == "." || paths == nil || slices.ContainsFunc(paths, onTheWay):
			w.keys(found, name, pytestKey)
		}
	}
}

// pytestKey reports whether a key is one of pytest's that redirect it. Of an inline
// table the whole counts.
func pytestKey(key string) bool {
	key = strings.TrimPrefix(strings.Replace(key, ":", ".", 1), "tool.")
	name, ok := strings.CutPrefix(key, "pytest")
	name = strings.TrimPrefix(strings.TrimPrefix(name, ".ini_options"), ".")
	return key == "tool" || ok && (name == "" || strings.HasPrefix(name, "python_") || slices.Contains([]string{
		"addopts", "testpaths", "norecursedirs", "collect_imported_tests", "pythonpath", "required_plugins", "confcutdir"}, name))
}

// pythonHooks are the functions that pytest calls, by which a conftest.py decides
// what is collected and what a result is, its plug-ins, and what it leaves out.
// Fixtures are none.
func pythonHooks(text string) map[string]string {
	hooks := map[string]string{}
	hook, depth := "", 0
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if name := hookOf(trimmed); name != "" {
			hook, depth = name, indent
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

// hookOf is the hook that a line of Python defines, sets or imports; "" = none.
func hookOf(line string) string {
	words := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	isHook := func(word string) bool { // pytest_addoption only adds options
		return strings.HasPrefix(word, "pytest_") && word != "pytest_addoption" || word == "collect_ignore" || word == "collect_ignore_glob"
	}
	if from, names, ok := strings.Cut(line, " import "); ok && strings.HasPrefix(from, "from ") {
		all := words(names)
		return strings.Join(slices.DeleteFunc(all, func(word string) bool { return !isHook(word) }), ", ")
	}
	line = strings.TrimPrefix(strings.TrimPrefix(line, "async "), "def ")
	first := words(line)
	if len(first) == 0 || !isHook(first[0]) || !strings.HasPrefix(line, first[0]) {
		return ""
	}
	rest := strings.TrimSpace(line[len(first[0]):])
	if _, value, _ := strings.Cut(rest, "="); rest == "" || !strings.ContainsAny(rest[:1], "(=:+") || strings.TrimSpace(value) == "None" {
		return "" // the name of a package, say
	}
	return first[0]
}

func cargoWatch() *watch {
	return &watch{name: "cargo-test", redirects: cargoRedirects, skip: []string{"target"}, isTest: func(name string) bool {
		return strings.HasSuffix(name, ".rs") && slices.Contains(strings.Split(path.Dir(name), "/"), "tests")
	}}
}

// cargoKey reports whether a key of Cargo.toml redirects. Of an inline table the
// whole counts.
func cargoKey(key string) bool {
	table, name, _ := strings.Cut(key, ".")
	switch table {
	case "patch", "replace":
		return true
	case "lib", "bin", "test":
		return name == "" || name == "harness" || name == "test"
	case "package":
		return name == "" || name == "autotests"
	case "workspace":
		return name == "" || name == "default-members"
	}
	return false
}

func cargoRedirects(w *tree) (map[string]string, bool) {
	found := map[string]string{}
	w.whole(found, ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")
	for _, up := range w.above(".cargo/config.toml", ".cargo/config") {
		up.whole(found, ".cargo/config*")
	}
	for _, name := range w.matching("Cargo.toml") {
		w.keys(found, name, cargoKey)
	}
	return found, w.text("Cargo.toml") != nil
}

func lintWatch() *watch {
	return &watch{name: "golangci-lint", redirects: func(w *tree) (map[string]string, bool) {
		found := map[string]string{}
		names := []string{".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"}
		for _, t := range append(w.above(names...), w) {
			t.whole(found, names...)
		}
		return found, w.text("go.mod") != nil
	}}
}

func ruffWatch() *watch {
	return &watch{name: "ruff", redirects: func(w *tree) (map[string]string, bool) {
		found := map[string]string{}
		names := []string{"ruff.toml", ".ruff.toml", "pyproject.toml"}
		for _, t := range append(w.above(names...), w) {
			for _, name := range t.matching(names...) { // a folder may have its own
				t.keys(found, name, func(key string) bool {
					return path.Base(name) != "pyproject.toml" || key == "tool" || key == "tool.ruff" || strings.HasPrefix(key, "tool.ruff.")
				})
			}
		}
		return found, len(w.matching("*.py")) > 0
	}}
}
