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
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/process"
)

// What redirects each template's check: one function for each.

// watches are the watches of all templates. A template that is added here is
// compared, and agreed to for exams, without any further code.
func watches() []*watch {
	return []*watch{goWatch(), npmWatch(), pytestWatch(nil), cargoWatch(), lintWatch(), ruffWatch()}
}

// goWatch watches go test. vendor and testdata hold code that go test does not
// run as tests of the workspace.
func goWatch() *watch {
	return &watch{name: "go-test", redirects: goRedirects, skip: []string{"vendor", "testdata"},
		isTest: func(name string) bool { return strings.HasSuffix(name, "_test.go") }}
}

// goRedirects finds what makes go test run something else: a TestMain, which
// can leave out all tests of its package and end well; replace lines and
// go.work, which put other code in the place of a dependency; and a toolchain
// that lies in PATH. It is set up once there is a go.mod or a go.work.
func goRedirects(w *tree) bool {
	// Only a file that holds the word is parsed: most have none, and there may
	// be thousands.
	for _, name := range w.matching("*_test.go") {
		if text := w.text(name); bytes.Contains(text, []byte("TestMain")) {
			if body := testMain(text); body != "" {
				w.found["TestMain in "+name] = hashed(body)
			}
		}
	}
	set := false
	for _, name := range []string{"go.mod", "go.work"} {
		if text := w.text(name); text != nil {
			set = true
			w.goLines(name, string(text))
		}
	}
	w.hidden = goHidden(w)
	for _, up := range w.above("go.work") {
		up.whole("go.work")
	}
	return set
}

// goMains knows the packages that have a TestMain, by their import paths. Such
// a package may end before its tests have run and do so on purpose, so the
// results of go test are read more leniently for it. That a TestMain is new is
// told by goRedirects.
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
	goRedirects(w)
	return func(pkg string) bool {
		for what := range w.found {
			name, ok := strings.CutPrefix(what, "TestMain in ")
			if dir := path.Dir(name); ok && (pkg == path.Join(module, dir) || dir != "." && strings.HasSuffix(pkg, "/"+dir)) {
				return true
			}
		}
		return false
	}
}

// goHidden are the folders that are not in the module any more, for a go.mod of
// their own or an ignore line: go test ./... passes over them without a word, and
// deleted tests would look the same. Where there is a go.work there are none, for
// that can bring them in again.
func goHidden(w *tree) (folders []string) {
	if slices.Contains(w.files, "go.work") {
		return nil
	}
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
	return folders
}

// testMain is the text of the function that runs a package's tests; "" if it is
// not in this file. It is the function's text and not the file's, so that a
// test may be added beside it. A file with a mistake in it is read as far as
// that goes, for the go command will say what is wrong.
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
func (w *tree) goLines(file, text string) {
	goDirectives(text, func(fields []string) {
		switch verb := fields[0]; {
		case verb == "replace", verb == "use" && file == "go.work":
			w.found[strings.Join(fields, " ")+" in "+file] = hashed("")
		case (verb == "toolchain" || verb == "go") && len(fields) == 2:
			name := "go" + strings.TrimPrefix(fields[1], "go")
			program, err := process.LookPath(name, "", os.Environ())
			if err == nil {
				w.found[verb+" "+fields[1]+" in "+file+", which is "+program] = fingerprint(program, nil)
			}
		}
	})
}

// goDirectives calls f with the words of each line of a go.mod or go.work; in a
// block, the block's verb comes before them. A parser of these files would be
// one more dependency, and refuse what go may yet accept; only the words of a
// line count here.
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

// npmWatch watches npm test. Runners name their test files by these customs,
// unless they are configured otherwise.
func npmWatch() *watch {
	return &watch{name: "npm-test", redirects: npmRedirects, isTest: func(name string) bool {
		base := path.Base(name)
		return strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || slices.Contains(strings.Split(path.Dir(name), "/"), "__tests__")
	}}
}

// npmKeys are npm's settings that redirect npm test: another shell, options for
// node, another folder or package, or not to run at all. Others, such as
// registries, are what tasks change for honest reasons.
var npmKeys = []string{"script-shell", "shell", "node-options", "if-present", "workspace", "workspaces", "prefix", "dry-run"}

// npmRedirects finds what makes npm test run something else: the script test,
// those that npm runs around it and those that it names, the settings of test
// runners in package.json, their files, and npm's own settings. A broken
// package.json is read as far as it goes. The script that npm init writes,
// which only says that there are no tests, counts as not set up.
func npmRedirects(w *tree) bool {
	var pack, values map[string]json.RawMessage
	text := bytes.TrimPrefix(w.text("package.json"), []byte("\ufeff"))
	_ = errors.Join(json.Unmarshal(text, &pack), json.Unmarshal(pack["scripts"], &values)) // npm will say so
	scripts := map[string]string{}
	for name, value := range values {
		script := string(value)
		_ = json.Unmarshal(value, &script) // of what is no text, the whole
		scripts[name] = script
	}
	// Which scripts are run is found out by names alone. A word that only
	// happens to be a script's name makes one more script count, which does
	// little harm. Reading the shell's language would, with its first mistake,
	// overlook a script that is run.
	reached := []string{"test", "pretest", "posttest"}
	for i := 0; i < len(reached); i++ { // it grows
		text, ok := scripts[reached[i]]
		if !ok {
			continue
		}
		w.found["the script "+reached[i]+" in package.json"] = hashed(text)
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
			w.found[runner+" in package.json"] = hashed(compact.String())
		}
	}
	w.keys(".npmrc", func(key string) bool { return slices.Contains(npmKeys, key) })
	w.whole("jest.config.*", "vitest.config.*", "vitest.workspace.*", ".mocharc.*", "ava.config.*", "karma.conf.*", ".taprc")
	for _, up := range w.above(".mocharc.cjs", ".mocharc.js", ".mocharc.yaml", ".mocharc.yml", ".mocharc.jsonc", ".mocharc.json") {
		up.whole(".mocharc.*")
	}
	set := strings.TrimSpace(scripts["test"]) != "" && !strings.Contains(scripts["test"], "no test specified") // npm init writes that
	return set
}

// cargoWatch watches cargo test. Unit tests stand in the files of the code
// itself, which every task changes, so only those in folders named tests are
// watched.
func cargoWatch() *watch {
	return &watch{name: "cargo-test", redirects: cargoRedirects, skip: []string{"target"}, isTest: func(name string) bool {
		return strings.HasSuffix(name, ".rs") && slices.Contains(strings.Split(path.Dir(name), "/"), "tests")
	}}
}

// cargoKey reports whether a key of Cargo.toml redirects: other code for a
// dependency, tests without a harness or none at all, fewer members. Of an
// inline table the whole counts, as for pytest.
func cargoKey(key string) bool {
	table, name, _ := strings.Cut(key, ".")
	target := []string{"", "harness", "test"}
	keys, ok := map[string][]string{"patch": nil, "replace": nil, "lib": target, "bin": target, "test": target,
		"package": {"", "autotests"}, "workspace": {"", "default-members"}}[table]
	return ok && (keys == nil || slices.Contains(keys, name))
}

// cargoRedirects finds what makes cargo test run something else.
// .cargo/config.toml counts as a whole: it can name a runner for test programs,
// an alias, or a compiler in place of rustc.
func cargoRedirects(w *tree) bool {
	w.whole(".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")
	for _, up := range w.above(".cargo/config.toml", ".cargo/config") {
		up.whole(".cargo/config*")
	}
	for _, name := range w.matching("Cargo.toml") {
		w.keys(name, cargoKey)
	}
	return w.text("Cargo.toml") != nil
}

// lintWatch watches golangci-lint. Its files count as a whole, since almost
// every line in them says what is not to be found. It has no tests to watch.
func lintWatch() *watch {
	return &watch{name: "golangci-lint", redirects: func(w *tree) bool {
		names := []string{".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"}
		for _, t := range append(w.above(names...), w) {
			t.whole(names...)
		}
		return w.text("go.mod") != nil
	}}
}

// ruffWatch watches ruff, which lets each folder have settings of its own. Of
// pyproject.toml only ruff's part counts.
func ruffWatch() *watch {
	return &watch{name: "ruff", redirects: func(w *tree) bool {
		names := []string{"ruff.toml", ".ruff.toml", "pyproject.toml"}
		for _, t := range append(w.above(names...), w) {
			for _, name := range t.matching(names...) { // a folder may have its own
				t.keys(name, func(key string) bool {
					return path.Base(name) != "pyproject.toml" || key == "tool" || key == "tool.ruff" || strings.HasPrefix(key, "tool.ruff.")
				})
			}
		}
		return len(w.matching("*.py")) > 0
	}}
}
