package verify_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

func TestTemplateErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"gotest", nil, "known are go-test, pytest, npm-test, cargo-test, golangci-lint, ruff, file-exists, http-status"},
		{"npm-test", []string{"x"}, `"x" is too much`},
		{"go-test", []string{"120"}, "no percentage"},
		{"go-test", []string{"-exec", "rm"}, "is an option"},
		{"pytest", []string{"NaN"}, "no percentage"},
		{"ruff", []string{" "}, "blank"},
		{"file-exists", nil, "needs a path"},
		{"file-exists", []string{"../x"}, "not inside the workspace"},
		{"http-status", nil, "it takes a URL"},
		{"http-status", []string{"file:///etc/passwd"}, "no http or https URL"},
		{"http-status", []string{"http://127.0.0.1", "two hundred"}, "no status"},
	} {
		v := verify.Template{Name: tt.name, Args: tt.args}
		err := v.Validate(ralph.Task{})
		if _, same := v.Verify(t.Context(), ralph.Claim{}); err == nil || same == nil || same.Error() != err.Error() {
			t.Errorf("Verify: %v; Validate: %v", same, err)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %q: %v, want %q", tt.name, tt.args, err, tt.want)
		}
	}
	for _, doc := range verify.Templates() {
		if doc.Does == "" || doc.Name == "" {
			t.Errorf("%+v", doc)
		}
	}
}

// fakes makes tools that print their arguments and that a test has passed, and end as
// they are told; PATH holds nothing else but a shell's folder.
func fakes(t *testing.T, exit int, tools ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range tools {
		write(t, filepath.Join(dir, name), fmt.Sprintf(`#!/bin/sh
echo "ran $0 $*"
echo "test result: ok. 1 passed; 0 failed; 0 ignored"
for a in "$@"; do
	case $a in
	-json) echo '{"Action":"pass","Package":"m","Test":"TestIt"}' ;;
	--junitxml=*) echo '<testsuites><testsuite tests="3" failures="0" errors="0" skipped="2"></testsuite></testsuites>' >"${a#*=}" ;;
	esac
done
exit %d
`, exit))
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestTemplateTools(t *testing.T) {
	tests := []struct {
		template []string
		tool     string
		command  string // as the check names it
		unable   int    // an exit code that is no verdict; 0 = none
	}{
		{[]string{"go-test"}, "go", "go test ./...", 0},
		{[]string{"go-test", "./pkg"}, "go", "go test ./pkg", 0},
		{[]string{"pytest"}, "pytest", "pytest", 4},
		{[]string{"pytest", "80%", "tests/unit"}, "pytest", "pytest --cov --cov-fail-under=80 tests/unit", 3},
		{[]string{"npm test"}, "npm", "npm test", 127},
		{[]string{"cargo_test"}, "cargo", "cargo test", 0},
		{[]string{"golangci-lint"}, "golangci-lint", "golangci-lint run ./...", 3},
		{[]string{"ruff"}, "ruff", "ruff check .", 2},
		{[]string{"ruff", "src"}, "ruff", "ruff check src", 2},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.template, " "), func(t *testing.T) {
			v := verify.Template{Name: tt.template[0], Args: tt.template[1:]}
			claim := ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}}
			status := func() []string {
				t.Helper()
				got, err := v.Verify(t.Context(), claim)
				if err != nil || got.Passed != (got.Feedback == "") {
					t.Errorf("%+v, %v", got, err)
				}
				return statuses(got)
			}
			fakes(t, 0, tt.tool)
			if diff := cmp.Diff([]string{tt.command + ": passed"}, status()); diff != "" {
				t.Error(diff)
			}
			fakes(t, 1, tt.tool)
			if diff := cmp.Diff([]string{tt.command + ": failed"}, status()); diff != "" {
				t.Error(diff)
			}
			if tt.unable != 0 {
				fakes(t, tt.unable, tt.tool)
				if diff := cmp.Diff([]string{tt.command + ": unable"}, status()); diff != "" {
					t.Error(diff)
				}
			}
			if tt.tool == "golangci-lint" {
				fakes(t, 4, tt.tool)
				if diff := cmp.Diff([]string{tt.command + ": timeout"}, status()); diff != "" {
					t.Error(diff)
				}
			}
			fakes(t, 0)
			got, err := v.Verify(t.Context(), claim)
			if err != nil || got.Checks[0].Status != ralph.CheckUnable || !strings.HasPrefix(got.Feedback, tt.tool+" is needed: ") {
				t.Errorf("not installed: %+v, %v", got, err)
			}
		})
	}
}

// TestTemplateCoverage runs the real go test.
func TestTemplateCoverage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module m\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "m.go"), "package m\n\nfunc Half(yes bool) int {\n\tif yes {\n\t\treturn 1\n\t}\n\treturn 2\n}\n\nfunc Other() int { return 3 }\n")
	claim := ralph.Claim{Task: ralph.Task{Dir: dir}}
	verdict := func(args ...string) ralph.Verdict {
		t.Helper()
		got, err := verify.Template{Name: "go-test", Args: args}.Verify(t.Context(), claim)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if v := verdict(); v.Passed {
		t.Error("a module without tests passes")
	}
	write(t, filepath.Join(dir, "m_test.go"), "package m\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) { Half(true) }\n")
	if v := verdict(); !v.Passed {
		t.Error(v.Feedback)
	}
	if v := verdict("50"); !v.Passed || v.Checks[1].Detail != "50.0% of statements are covered" {
		t.Errorf("%+v", v)
	}
	v := verdict("50.1%", ".")
	if v.Passed || v.Feedback != "50.0% of statements are covered by tests, at least 50.1% are asked for" {
		t.Errorf("%+v", v)
	}
	if diff := cmp.Diff([]string{"go test .: passed", "coverage: failed"}, statuses(v)); diff != "" {
		t.Error(diff)
	}
	// Nothing of what is told of the same failure differs from call to call.
	write(t, filepath.Join(dir, "m_test.go"), "package m\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) { t.Error(Half(true)) }\n")
	v = verdict("50")
	if v.Passed || !strings.HasPrefix(v.Checks[0].Detail, "go test ./... ended with exit code 1, expected 0") || strings.Contains(v.Feedback, "-coverprofile") {
		t.Errorf("%+v", v)
	}
}

func TestTemplateFileExists(t *testing.T) {
	t.Parallel()
	dir := exam(t)
	write(t, filepath.Join(dir, "empty"), "")
	v := verify.Template{Name: "file-exists", Args: []string{"check.sh", "pkg", "empty", "none.go"}}
	got, err := v.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"file-exists check.sh: passed", "file-exists pkg: passed", "file-exists empty: failed", "file-exists none.go: failed"}
	if diff := cmp.Diff(want, statuses(got)); diff != "" {
		t.Error(diff)
	}
}

func TestTemplateHTTPStatus(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("curl is needed:", err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	for _, tt := range []struct {
		args   []string
		passed bool
	}{
		{[]string{server.URL + "/health"}, true},
		{[]string{server.URL + "/other"}, false},
		{[]string{server.URL + "/other", "418"}, true},
		{[]string{"http://127.0.0.1:1/"}, false},
	} {
		got, err := verify.Template{Name: "http-status", Args: tt.args}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}})
		if err != nil || got.Passed != tt.passed || got.Checks[0].Status == ralph.CheckUnable {
			t.Errorf("%v: %+v, %v", tt.args, got, err)
		}
	}
}

// goModule is a module with one function and its test.
func goModule(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "go.mod"), "module m\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "m.go"), "package m\n\nfunc Half(n int) int { return n / 2 }\n")
	write(t, filepath.Join(dir, "m_test.go"), "package m\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tt.Log(\"looking\")\n\tif Half(4) != 2 {\n\t\tt.Error(\"four\")\n\t}\n}\n")
}

// TestTemplateGoTest: a test must have run and passed, whatever the exit code is.
func TestTemplateGoTest(t *testing.T) {
	t.Parallel()
	const broken = "package m\n\nfunc Half(n int) int { return n }\n"
	for _, tt := range []struct {
		name, file, text string
		passed           bool
		says             []string
		not              []string
	}{
		{"it passes", "other.go", "package m\n", true, nil, nil},
		{"it fails", "m.go", broken, false, []string{"exit code 1", "m_test.go:8: four", "--- FAIL: TestHalf", "FAIL\tm"}, []string{`"Action"`, "=== RUN"}},
		{"an init that ends the program", "m.go", broken + "\nfunc init() { os.Exit(0) }\n\nvar _ = 0\n", false, nil, nil},
		{"an init beside tests that pass", "b/b_test.go", "package b\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n", false, []string{`before all tests had run: "m/b"`}, nil},
		{"a TestMain may leave its tests out", "b/b_test.go", "package b\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n", true, nil, nil},
		{"a package without tests", "b/b_test.go", "package b\n\nimport \"testing\"\n\nfunc BenchmarkB(b *testing.B) {}\n", true, nil, nil},
		{"no test", "m_test.go", "package m\n", false, []string{"no test has passed"}, nil},
		{"skipped", "m_test.go", "package m\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) { t.Skip() }\n", false, []string{"no test has passed"}, nil},
		{"it does not compile", "m.go", "package m\n\nfunc Half() { x }\n", false, []string{"undefined: x"}, []string{`"Action"`}},
		{"an example", "m_test.go", "package m\n\nimport \"fmt\"\n\nfunc Example() {\n\tfmt.Println(Half(4))\n\t// Output: 2\n}\n", true, nil, nil},
		{"what passes is not shown", "n_test.go", "package m\n\nimport \"testing\"\n\nfunc TestNo(t *testing.T) {\n\tt.Run(\"sub\", func(t *testing.T) { t.Error(\"no\") })\n}\n", false,
			[]string{"--- FAIL: TestNo/sub", "n_test.go:6: no"}, []string{"looking", "TestHalf"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			goModule(t, dir)
			text := tt.text
			if strings.Contains(text, "os.Exit") {
				text = strings.Replace(text, "package m\n", "package m\n\nimport \"os\"\n", 1)
			}
			write(t, filepath.Join(dir, tt.file), text)
			v, err := verify.Template{Name: "go-test"}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}})
			if err != nil || v.Passed != tt.passed {
				t.Fatalf("%+v, %v", v, err)
			}
			if tt.passed && v.Checks[0].Detail != "1 test passed" {
				t.Errorf("%+v", v.Checks)
			}
			for _, want := range tt.says {
				if !strings.Contains(v.Feedback, want) {
					t.Errorf("no %q in\n%s", want, v.Feedback)
				}
			}
			for _, no := range tt.not {
				if strings.Contains(v.Feedback, no) {
					t.Errorf("%q in\n%s", no, v.Feedback)
				}
			}
		})
	}
}

// TestTemplatePytest reads the report, not the exit code.
func TestTemplatePytest(t *testing.T) {
	for report, passed := range map[string]bool{
		`<testsuites><testsuite name="a" tests="2" failures="0" errors="0" skipped="1"/></testsuites>`: true,
		`<testsuite tests="1" failures="0" errors="0" skipped="0"></testsuite>`:                        true,
		`<testsuites><testsuite tests="2" failures="0" errors="0" skipped="2"/></testsuites>`:          false,
		`<testsuites><testsuite tests="0" failures="0" errors="0" skipped="0"/></testsuites>`:          false,
		`<testsui`: false,
		``:         false, // os._exit(0)
	} {
		bin := t.TempDir()
		t.Setenv("PATH", bin)
		tool(t, filepath.Join(bin, "pytest"), `for a in "$@"; do case $a in --junitxml=*) f=${a#*=} ;; esac; done; `+fmt.Sprintf("echo '%s' >\"$f\"", report))
		v, err := verify.Template{Name: "pytest"}.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: t.TempDir()}})
		if err != nil || v.Passed != passed || strings.Contains(fmt.Sprint(v), "junitxml") {
			t.Errorf("%s: %+v, %v", report, v, err)
		}
	}
}

// TestTemplateCargo runs the real cargo.
func TestTemplateCargo(t *testing.T) {
	t.Parallel()
	if exec.Command("cargo", "--version").Run() != nil {
		t.Skip("there is no cargo")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "Cargo.toml"), "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
	write(t, filepath.Join(dir, "src/lib.rs"), "pub fn half(n: i32) -> i32 { n / 2 }\n")
	v := verify.Template{Name: "cargo-test"}
	claim := ralph.Claim{Task: ralph.Task{Dir: dir}}
	if got, err := v.Verify(t.Context(), claim); err != nil || got.Passed || !strings.Contains(got.Feedback, "no test has passed") {
		t.Errorf("%+v, %v", got, err)
	}
	write(t, filepath.Join(dir, "tests/half.rs"), "#[test]\nfn half() { assert_eq!(m::half(4), 2) }\n")
	if got, err := v.Verify(t.Context(), claim); err != nil || !got.Passed || got.Checks[0].Detail != "1 test passed" {
		t.Errorf("%+v, %v", got, err)
	}
	write(t, filepath.Join(dir, "tests/end.rs"), "#[test]\nfn end() { std::process::exit(0) }\n")
	if got, err := v.Verify(t.Context(), claim); err != nil || got.Passed || !strings.Contains(got.Feedback, "before all tests had run") {
		t.Errorf("%+v, %v", got, err)
	}
}
