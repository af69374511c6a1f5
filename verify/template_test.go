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

// fakes makes tools that print their arguments and end as they are told; PATH
// holds nothing else but a shell's folder.
func fakes(t *testing.T, exit int, tools ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range tools {
		write(t, filepath.Join(dir, name), fmt.Sprintf("#!/bin/sh\necho \"ok  \tran $0 $*\"\nexit %d\n", exit))
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
	if v.Passed || v.Checks[0].Detail != `go test ./... ended with exit code 1, expected 0; did not print "ok  \t"` || strings.Contains(v.Feedback, "-coverprofile") {
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
