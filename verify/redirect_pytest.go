package verify

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// pytestWatch is for pytest with these paths; nil = with any, for whoever does
// not know what it will be called with.
func pytestWatch(paths []string) *watch {
	return &watch{name: "pytest", isTest: isPytest, skip: []string{"venv", "env", "site-packages", "__pycache__"},
		redirects: func(w *tree) bool { return pytestRedirects(w, paths) }}
}

// isPytest reports whether pytest takes a file for tests by itself. Other names
// need python_files, which is watched.
func isPytest(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".py") && (strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py"))
}

// pytestFiles are where pytest finds its options, and hooks.
var pytestFiles = []string{"pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "pytest.toml", ".pytest.toml", "conftest.py"}

// pytestRedirects finds what makes pytest run something else, in the workspace
// and above it. A project counts as set up once it has tests or options.
func pytestRedirects(w *tree, paths []string) bool {
	w.pytest(paths)
	set := len(w.found) > 0 || slices.ContainsFunc(w.files, isPytest)
	for _, up := range w.above(pytestFiles...) {
		up.pytest(paths)
	}
	return set
}

// pytest adds pytest's options, where it looks for them: on the way to the
// paths. Options elsewhere decide nothing, and projects do have such files for
// other purposes. Hooks it finds in every folder on its way through the tests.
func (w *tree) pytest(paths []string) {
	for _, name := range w.matching(pytestFiles...) {
		dir := path.Dir(name)
		onTheWay := func(p string) bool {
			p = path.Clean(filepath.ToSlash(p))
			return p == dir || strings.HasPrefix(p, dir+"/")
		}
		switch {
		case path.Base(name) == "conftest.py":
			for hook, text := range pythonHooks(string(w.text(name))) {
				w.found[hook+" in "+w.shown+name] = hashed(text)
			}
		case dir == "." || paths == nil || slices.ContainsFunc(paths, onTheWay):
			w.keys(name, pytestKey)
		}
	}
}

// pytestKey reports whether a key is one of pytest's that redirect it: which
// files, classes and functions it takes for tests, where it looks, and options,
// which can do anything. Markers and the like are free. Of an inline table the
// whole counts, because no key in it is seen.
func pytestKey(key string) bool {
	key = strings.TrimPrefix(strings.Replace(key, ":", ".", 1), "tool.")
	name, ok := strings.CutPrefix(key, "pytest")
	name = strings.TrimPrefix(strings.TrimPrefix(name, ".ini_options"), ".")
	return key == "tool" || ok && (name == "" || strings.HasPrefix(name, "python_") || slices.Contains([]string{
		"addopts", "testpaths", "norecursedirs", "collect_imported_tests", "pythonpath", "required_plugins", "confcutdir"}, name))
}

// pythonHooks are the functions by which a conftest.py decides what is
// collected and what a result is, its plug-ins, and what it leaves out, with
// their texts. Fixtures are not among them: they are part of the tests that a
// task may add. It goes by lines and indentation, for there is no parser of
// Python here; what is nested or decorated still begins with such a line.
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
// The name alone is not enough: packages are called pytest_mock and the like,
// and a hook that is set to None is switched off.
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
