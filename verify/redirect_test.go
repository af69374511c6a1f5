package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestTemplateRedirects: what makes a tool run something else than the tests that
// there were is seen; tests and dependencies may be added.
func TestTemplateRedirects(t *testing.T) {
	goFiles := map[string]string{
		"go.mod":       "module m\n\ngo 1.26\n\nrequire example.com/a v1.0.0\n\nreplace example.com/b => ./b\n",
		"m_test.go":    "package m\n\nfunc TestM(t *testing.T) {}\n",
		"main_test.go": "package m\n\nfunc TestMain(m *testing.M) { os.Exit(m.Run()) }\n",

		"sub/s_test.go":   "package s\n\nfunc TestS(t *testing.T) {}\n",
		"other/go.mod":    "module o\n",
		"other/o_test.go": "package o\n\nfunc TestO(t *testing.T) {}\n",
	}
	npmFiles := map[string]string{
		"package.json":     `{"scripts": {"test": "npm run unit && jest", "unit": "node --test", "build": "tsc"}, "jest": {"a": 1}}`,
		"src/a.test.js":    "test",
		"vitest.config.ts": "x",
	}
	pyFiles := map[string]string{
		"pyproject.toml":    "[project]\nname = \"m\"\n\n[tool.pytest.ini_options]\naddopts = [\n  \"-ra\",\n]\nmarkers = [\"slow\"]\n",
		"tests/test_a.py":   "def test_a(): pass",
		"tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef db():\n    return 1\n\ndef pytest_collection_modifyitems(items):\n    items.sort()\n\nx = 1\n",
	}
	rsFiles := map[string]string{
		"Cargo.toml":   "[package]\nname = \"m\"\n\n[dependencies]\n\n[profile.test]\nopt-level = 1\n",
		"tests/a.rs":   "#[test]\nfn a() {}\n",
		"src/lib.rs":   "",
		"x/Cargo.toml": "[package]\nname = \"x\"\n",
	}
	for _, tt := range []struct {
		template   string
		files      map[string]string
		name       string
		file, text string // "-" = deleted; the text of a file that is there may begin with its own, "+"
		wrong      string
		warns      string
	}{
		{"go-test", goFiles, "nothing", "", "", "", ""},
		{"go-test", goFiles, "a new TestMain", "pkg/x_test.go", "package pkg\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n", "TestMain in pkg/x_test.go is new", ""},
		{"go-test", goFiles, "a new TestMain in the folder build", "build/x_test.go", "package build\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n", "TestMain in build/x_test.go is new", ""},
		{"go-test", goFiles, "another TestMain", "main_test.go", "package m\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n", "TestMain in main_test.go was changed", "main_test.go"},
		{"go-test", goFiles, "a test beside TestMain", "main_test.go", "+\nfunc TestMore(t *testing.T) {}\n", "", "changed: main_test.go"},
		{"go-test", goFiles, "a new test file", "n_test.go", "package m\n\n// TestMain is not here.\nfunc TestN(t *testing.T) {}\n", "", ""},
		{"go-test", goFiles, "a changed test", "m_test.go", "package m\n\nfunc TestM(t *testing.T) { t.Skip() }\n", "", "changed: m_test.go"},
		{"go-test", goFiles, "a deleted test", "m_test.go", "-", "", "deleted: m_test.go"},
		{"go-test", goFiles, "a dependency", "go.mod", "+\nrequire (\n\texample.com/c v1.2.3 // indirect\n)\n", "", ""},
		{"go-test", goFiles, "a newer go of go's own", "go.mod", "+\ntoolchain go1.26.3\n", "", ""},
		{"go-test", goFiles, "a toolchain in PATH", "go.mod", "+\ntoolchain go1.99.1\n", "toolchain go1.99.1 in go.mod, which is ", ""},
		{"go-test", goFiles, "replace", "go.mod", "+\nreplace example.com/a => ./fake\n", "replace example.com/a => ./fake in go.mod is new", ""},
		{"go-test", goFiles, "replace in a block", "go.mod", "+\nreplace (\n\texample.com/a => ./fake // why\n)\n", "replace example.com/a => ./fake in go.mod is new", ""},
		{"go-test", goFiles, "no replace", "go.mod", "module m\n\ngo 1.26\n", "", ""},
		{"go-test", goFiles, "go.work", "go.work", "go 1.26\n\nuse (\n\t.\n\t./fake\n)\n", "use ./fake in go.work is new", ""},
		{"go-test", goFiles, "go.work above the workspace", "../go.work", "go 1.26\n", "go.work is new", ""},
		{"go-test", goFiles, "a module around tests that there were", "sub/go.mod", "module m/sub\n", "sub/s_test.go would not be run any more", ""},
		{"go-test", goFiles, "tests that are ignored", "go.mod", "+\nignore (\n\t./sub\n)\n", "sub/s_test.go would not be run any more", ""},
		{"go-test", goFiles, "tests of another module", "other/o_test.go", "package o\n\nfunc TestP(t *testing.T) {}\n", "", ""},
		{"go-test", goFiles, "a new module", "new/go.mod", "module n\n", "", ""},
		{"go-test", nil, "a project that the agent sets up", "main_test.go", goFiles["main_test.go"], "", ""},

		{"npm-test", npmFiles, "the script", "package.json", `{"scripts": {"test": "true"}}`, "the script test in package.json was changed", ""},
		{"npm-test", npmFiles, "a script that it runs", "package.json", `{"scripts": {"test": "npm run unit && jest", "unit": "true"}, "jest": {"a":1}}`, "the script unit in package.json was changed", ""},
		{"npm-test", npmFiles, "a script before it", "package.json", strings.Replace(npmFiles["package.json"], `"build"`, `"pretest": "rm -r src", "build"`, 1), "the script pretest in package.json is new", ""},
		{"npm-test", npmFiles, "another script, a dependency", "package.json", `{"scripts": {"test": "npm run unit && jest", "unit": "node --test", "build": "esbuild", "lint": "eslint"}, "jest": {"a": 1}, "devDependencies": {"x": "1"}}`, "", ""},
		{"npm-test", npmFiles, "the runner's configuration", "package.json", strings.Replace(npmFiles["package.json"], `{"a": 1}`, `{"testMatch": []}`, 1), "jest in package.json was changed", ""},
		{"npm-test", npmFiles, "a file with the runner's configuration", "jest.config.js", "x", "jest.config.js is new", ""},
		{"npm-test", npmFiles, "another file", "vitest.config.ts", "y", "vitest.config.ts was changed", ""},
		{"npm-test", npmFiles, ".npmrc", ".npmrc", "script-shell = /bin/true\n", "script-shell in .npmrc is new", ""},
		{"npm-test", npmFiles, ".npmrc for dependencies", ".npmrc", "legacy-peer-deps=true\n@a:registry=https://example.com\n", "", ""},
		{"npm-test", npmFiles, ".npmrc, indented", ".npmrc", "  'script-shell'=/bin/true\n", "script-shell in .npmrc is new", ""},
		{"npm-test", npmFiles, "the script, after a mark of UTF-8", "package.json", "\ufeff" + `{"scripts": {"test": "true"}}`, "the script test in package.json was changed", ""},
		{"npm-test", npmFiles, "the script, beside what is none", "package.json", `{"scripts": {"test": "true", "x": 1}}`, "the script test in package.json was changed", ""},
		{"npm-test", npmFiles, "a blank script", "package.json", `{"scripts": {"test": " "}}`, "the script test in package.json was changed", ""},
		{"npm-test", npmFiles, "the script, which says that it is none", "package.json", `{"scripts": {"test": "true # no test specified"}}`, "the script test in package.json was changed", ""},
		{"npm-test", npmFiles, "the runner's configuration above the workspace", "../.mocharc.json", "{}", "/.mocharc.json is new", ""},
		{"npm-test", npmFiles, "a changed test", "src/a.test.js", "skip", "", "changed: src/a.test.js"},
		{"npm-test", npmFiles, "a new test", "src/b.test.js", "test", "", ""},
		{"npm-test", map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, "a project that has no tests yet", "package.json", npmFiles["package.json"], "", ""},

		{"pytest", pyFiles, "options", "pyproject.toml", strings.Replace(pyFiles["pyproject.toml"], `"-ra",`, `"-ra",`+"\n\"--collect-only\",", 1), "tool.pytest.ini_options.addopts in pyproject.toml was changed", ""},
		{"pytest", pyFiles, "options, indented", "pyproject.toml", "+  testpaths = [\"other\"]\n", "tool.pytest.ini_options.testpaths in pyproject.toml is new", ""},
		{"pytest", pyFiles, "options elsewhere", "pytest.ini", "[pytest]\npython_files = nothing.py\n", "pytest.python_files in pytest.ini is new", ""},
		{"pytest", pyFiles, "setup.cfg", "setup.cfg", "[tool:pytest]\naddopts = -k no\n", "tool:pytest.addopts in setup.cfg is new", ""},
		{"pytest", pyFiles, "a marker, a dependency", "pyproject.toml", strings.NewReplacer(`["slow"]`, `["slow", "db"]`, `name = "m"`, "name = \"m\"\ndependencies = [\"x\"]").Replace(pyFiles["pyproject.toml"]), "", ""},
		{"pytest", pyFiles, "a fixture", "tests/conftest.py", "+\n@pytest.fixture\ndef more():\n    return 2\n", "", ""},
		{"pytest", pyFiles, "a hook", "conftest.py", "def pytest_runtest_makereport(item, call):\n    pass\n", "pytest_runtest_makereport in conftest.py is new", ""},
		{"pytest", pyFiles, "another hook", "tests/conftest.py", strings.Replace(pyFiles["tests/conftest.py"], "items.sort()", "items.clear()", 1), "pytest_collection_modifyitems in tests/conftest.py was changed", ""},
		{"pytest", pyFiles, "an option with a value", "pyproject.toml", strings.Replace(pyFiles["pyproject.toml"], `"-ra",`, `"-ra",`+"\n\"--ignore=tests/test_a.py\",", 1), "tool.pytest.ini_options.addopts in pyproject.toml was changed", ""},
		{"pytest", pyFiles, "an option in a text of several lines", "pyproject.toml", strings.Replace(pyFiles["pyproject.toml"], "addopts = [\n  \"-ra\",\n]", "addopts = \"\"\"\n--ignore=tests/test_a.py\n\"\"\"", 1), "tool.pytest.ini_options.addopts in pyproject.toml was changed", ""},
		{"pytest", pyFiles, "quoted names", "pyproject.toml", "+[\"tool\" . 'pytest' . ini_options] # why\n'testpaths' = ['x']\n", "tool.pytest.ini_options.testpaths in pyproject.toml is new", ""},
		{"pytest", pyFiles, "a table in a line", "pyproject.toml", "tool = {pytest = {ini_options = {addopts = '-k no'}}}\n", "tool in pyproject.toml is new", ""},
		{"pytest", pyFiles, "a section with a remark", "tox.ini", "[pytest] ; why\naddopts = -k no\n", "pytest.addopts in tox.ini is new", ""},
		{"pytest", pyFiles, "options above the workspace", "../pytest.ini", "[pytest]\naddopts = -k no\n", "/pytest.ini is new", ""},
		{"pytest", pyFiles, "a hook above the workspace", "../conftest.py", "def pytest_collection_modifyitems(items):\n    items.clear()\n", "/conftest.py is new", ""},
		{"pytest", pyFiles, "options on no way", "tests/pytest.ini", "[pytest]\naddopts = -k no\n", "", ""},
		{"pytest tests/test_a.py", pyFiles, "options on the way", "tests/pytest.ini", "[pytest]\naddopts = -k no\n", "pytest.addopts in tests/pytest.ini is new", ""},
		{"pytest", pyFiles, "what is left out", "conftest.py", "collect_ignore_glob = ['*']\n", "collect_ignore_glob in conftest.py is new", ""},
		{"pytest", pyFiles, "a hook that is imported", "conftest.py", "from plug import x, pytest_configure\n", "pytest_configure in conftest.py is new", ""},
		{"pytest", pyFiles, "a plug-in that may be missing", "conftest.py", "try:\n    import pytest_asyncio\n    from pytest_mock import plugin\nexcept ImportError:\n    pytest_asyncio = None\n\n@pytest_asyncio.fixture\ndef f():\n    return 1\n", "", ""},
		{"pytest", nil, "a project that the agent sets up", "pytest.ini", "[pytest]\naddopts = -ra\n", "", ""},

		{"cargo-test", rsFiles, "a runner", ".cargo/config.toml", "[target.x86_64-unknown-linux-gnu]\nrunner = \"true\"\n", ".cargo/config.toml is new", ""},
		{"cargo-test", rsFiles, "a patch", "Cargo.toml", "+\n[patch.crates-io]\nserde = { path = \"fake\" }\n", "patch.crates-io.serde in Cargo.toml is new", ""},
		{"cargo-test", rsFiles, "no harness", "x/Cargo.toml", "+\n[[test]]\nname = \"a\"\nharness = false\n", "test.harness in x/Cargo.toml is new", ""},
		{"cargo-test", rsFiles, "other members", "Cargo.toml", "+\n[workspace]\nmembers = [\"x\"]\ndefault-members = [\"x\"]\n", "workspace.default-members in Cargo.toml is new", ""},
		{"cargo-test", rsFiles, "a member", "Cargo.toml", "+\n[workspace]\nmembers = [\"x\"]\n", "", ""},
		{"cargo-test", rsFiles, "a dependency, a test", "Cargo.toml", "+\n[dev-dependencies]\nserde = \"1\"\n\n[[test]]\nname = \"b\"\n", "", ""},
		{"golangci-lint", goFiles, "what it looks for", ".golangci.yml", "linters: {default: none}\n", ".golangci.yml is new", ""},
		{"golangci-lint", goFiles, "above the workspace", "../.golangci.toml", "x = 1\n", "/.golangci.toml is new", ""},
		{"golangci-lint", nil, "a project that the agent sets up", ".golangci.yml", "linters: {default: none}\n", "", ""},
		{"golangci-lint", goFiles, "a test", "m_test.go", "-", "", ""},
		{"ruff", pyFiles, "what it looks for", "pyproject.toml", "+\n[tool.ruff.lint]\nignore = [\"ALL\"]\n", "tool.ruff.lint.ignore in pyproject.toml is new", ""},
		{"ruff", pyFiles, "in a folder", "tests/ruff.toml", "exclude = [\"*\"]\n", "exclude in tests/ruff.toml is new", ""},
		{"ruff", pyFiles, "a dependency", "pyproject.toml", "+\n[dependency-groups]\ndev = [\"x\"]\n", "", ""},
		{"cargo-test", rsFiles, "another toolchain", "rust-toolchain.toml", "[toolchain]\nchannel = \"x\"\n", "rust-toolchain.toml is new", ""},
	} {
		t.Run(tt.template+" "+tt.name, func(t *testing.T) {
			atHome(t)
			bin := t.TempDir()
			fakes(t, 0, "go", "npm", "node", "pytest", "cargo", "golangci-lint", "ruff")
			t.Setenv("PATH", os.Getenv("PATH")+":"+bin)
			tool(t, filepath.Join(bin, "go1.99.1"), "exit 0")
			dir := filepath.Join(t.TempDir(), "work")
			write(t, filepath.Join(dir, "README"), "x")
			for name, text := range tt.files {
				write(t, filepath.Join(dir, name), text)
			}
			words := strings.Fields(tt.template)
			v := verify.Template{Name: words[0], Args: words[1:]}
			claim := agreed(t, v, ralph.Task{Dir: dir})
			switch more, add := strings.CutPrefix(tt.text, "+"); {
			case tt.file == "":
			case tt.text == "-":
				os.Remove(filepath.Join(dir, tt.file))
			case add:
				write(t, filepath.Join(dir, tt.file), tt.files[tt.file]+more)
			default:
				write(t, filepath.Join(dir, tt.file), tt.text)
			}
			got, err := v.Verify(t.Context(), claim)
			if err != nil || got.Passed != (tt.wrong == "") || !strings.Contains(got.Feedback, tt.wrong) {
				t.Errorf("%+v, %v", got, err)
			}
			if tt.wrong != "" && (got.Checks[0].Status != ralph.CheckFailed || !strings.Contains(got.Feedback, "--accept-config")) {
				t.Errorf("%+v", got)
			}
			v.AcceptConfig = true
			got, err = v.Verify(t.Context(), claim)
			if err != nil || !got.Passed {
				t.Errorf("accepted: %+v, %v", got, err)
			}
			warned := func(name string) string {
				i := slices.IndexFunc(got.Checks, func(c ralph.Check) bool { return c.Name == name && c.Status == ralph.CheckWarning })
				if i < 0 {
					return ""
				}
				return got.Checks[i].Detail
			}
			if (warned("configuration") != "") != (tt.wrong != "") || (warned("existing tests") != "") != (tt.warns != "") || !strings.Contains(warned("existing tests"), tt.warns) {
				t.Errorf("warnings of %v", got.Checks)
			}
		})
	}
}

// TestTemplateManyTests: a task stays small.
func TestTemplateManyTests(t *testing.T) {
	atHome(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module m\n")
	for i := range 1001 {
		write(t, filepath.Join(dir, fmt.Sprintf("a%d_test.go", i)), "package m\n")
	}
	if c := agreed(t, verify.Template{Name: "go-test"}, ralph.Task{Dir: dir}); len(c.Task.Guarded) > 10 {
		t.Errorf("%d files", len(c.Task.Guarded))
	}
}

// TestTemplateHeldOut: what an exam redirects is agreed, what the agent does is not.
func TestTemplateHeldOut(t *testing.T) {
	t.Parallel()
	exam := t.TempDir()
	write(t, filepath.Join(exam, "main_test.go"), "package m\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) { m.Run() }\n")
	write(t, filepath.Join(exam, "m_test.go"), "package m\n\nimport \"testing\"\n\nfunc TestExam(t *testing.T) {\n\tif Half(6) != 3 {\n\t\tt.Error(6)\n\t}\n}\n")
	dir := t.TempDir()
	goModule(t, dir)
	v := verify.HeldOut{Verifier: verify.Template{Name: "go-test"}, Exam: exam, Reveal: verify.RevealAll}
	claim := agreed(t, v, ralph.Task{Dir: dir})
	got, err := v.Verify(t.Context(), claim)
	if err != nil || !got.Passed || slices.ContainsFunc(got.Checks, func(c ralph.Check) bool { return c.Status == ralph.CheckWarning }) {
		t.Errorf("%+v, %v", got, err)
	}
	write(t, filepath.Join(dir, "all_test.go"), "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n")
	if got, err := v.Verify(t.Context(), claim); err != nil || got.Passed || !strings.Contains(got.Feedback, "TestMain in all_test.go is new") {
		t.Errorf("%+v, %v", got, err)
	}
}
