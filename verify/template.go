package verify

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Template is a common check by its name, such as go-test; [Templates] lists
// them with their arguments. It runs a command as [External] does and knows the
// tool: which of its exit codes say that it could not work, how many tests have
// passed, and which files of the workspace decide what is run. A tool that is
// not installed, or cannot do its work, makes the check unable and is named.
//
// go-test, pytest and cargo-test read the results of the tests, because an exit
// code of 0 does not say that any ran. At least one test must have passed. No
// test program may have ended well before it had run its tests, unless its
// package has a TestMain, which may do that on purpose.
//
// Prepare does what [External.Prepare] does. It also notes what decides which tests
// are run, in the workspace and in the folders above it where tools look:
//
//   - go-test: a TestMain function, replace lines and go.work;
//   - npm-test: the script test and those it runs, and the configuration of
//     jest, vitest, mocha and the like;
//   - pytest: its options, and the hooks of conftest.py;
//   - cargo-test: .cargo/config.toml, [patch] and tests without a harness;
//   - golangci-lint and ruff: what they are told to look for.
//
// If any of this is new or has changed when the claim is verified, the claim is
// rejected and the change is named. The same goes for Go tests that a new
// go.mod takes out of the run. Tests and dependencies may be added, and a check
// that was not set up when the loop started may be set up. Test files that were
// changed or deleted are a warning in the verdict: to change tests is part of
// many tasks. In [ralph.Task.Guarded] the keys begin with "//template/" and
// "//test/".
//
// The zero value names no template and is an error. A Template is safe for
// concurrent use if the tool may run several times in one workspace.
type Template struct {
	// Name is the name of the template. Upper and lower case do not count, nor
	// whether words are joined by dashes, underscores or blanks.
	Name string
	// Args are the arguments of the template, see [Templates]. None may begin
	// with a dash: options can make a tool run nothing, or anything, and a
	// command with options is for [External]. nil = the template's defaults.
	Args []string
	// Redact returns a text without its secrets; see [External]. Nil = nothing
	// is hidden.
	Redact func(string) string
	// AcceptConfig lets the check run even if what redirects it, or what its tools
	// read from the home folder, has changed since the loop started; a warning says
	// what has. See [External].
	AcceptConfig bool
	// Sandbox restricts what the tool may do; what the template has it write is
	// granted. Nil = nothing is restricted. See [External].
	Sandbox *ralph.Sandbox
	// InheritEnv names the variables that the tool gets; nil = what tools need.
	// See [External].
	InheritEnv []string
}

var _ ralph.Verifier = Template{}

// Verify implements [ralph.Verifier]. The error is that of Validate,
// context.Cause(ctx), or one that says that a report of the tool could not be read.
func (t Template) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	v, err := t.verifier()
	if err != nil {
		return hider(t.Redact).leaving(ralph.Verdict{}, err)
	}
	return hider(t.Redact).leaving(v.Verify(ctx, c))
}

// Validate returns an error if there is no template of this name, the arguments
// do not fit it, or the Sandbox makes no sense for the task's folder. It does
// not ask whether the tool is installed: that may be the agent's task.
func (t Template) Validate(task ralph.Task) error {
	v, err := t.verifier()
	if err == nil {
		err = validate(v, task)
	}
	_, err = hider(t.Redact).leaving(ralph.Verdict{}, err)
	return err
}

// Prepare returns the task with a note, in [ralph.Task.Guarded], of what must not
// have changed when the claim is verified. Drivers call it when a loop starts, see
// [ralph.Verifier]. It reads the names of all files in the workspace and hashes
// some, and runs nothing.
func (t Template) Prepare(ctx context.Context, task ralph.Task) (ralph.Task, error) {
	v, err := t.verifier()
	if err == nil {
		var prepared ralph.Task
		if prepared, err = prepare(ctx, v, task); err == nil {
			return prepared, nil
		}
	}
	_, err = hider(t.Redact).leaving(ralph.Verdict{}, err)
	return task, err
}

// A TemplateDoc describes a [Template], for lists and help texts. Arguments in
// brackets may be left out; those with three dots may be repeated.
type TemplateDoc struct {
	Name string // go-test
	Args string // what its arguments mean
	Does string // what it checks, in one line
}

// A template makes a verifier of arguments, or says what is wrong with them.
type template struct {
	TemplateDoc
	build func(args []string) (ralph.Verifier, error)
}

// templates are all there are. One more is one more row and its function;
// whatever lists or documents them goes by this table.
func templates() []template {
	return []template{
		{TemplateDoc{"go-test", "[PERCENT] [PACKAGE...]", "go test passes, with at least PERCENT of the statements covered; ./... without a package"}, goTestTemplate},
		{TemplateDoc{"pytest", "[PERCENT] [PATH...]", "pytest passes, with at least PERCENT covered (by pytest-cov)"}, pytestTemplate},
		{TemplateDoc{"npm-test", "", "npm test passes"}, npmTemplate},
		{TemplateDoc{"cargo-test", "", "cargo test passes"}, cargoTemplate},
		{TemplateDoc{"golangci-lint", "[PATH...]", "golangci-lint finds nothing; ./... without a path"}, lintTemplate},
		{TemplateDoc{"ruff", "[PATH...]", "ruff check finds nothing; . without a path"}, ruffTemplate},
		{TemplateDoc{"file-exists", "PATH...", "the files are there, in the workspace, and are not empty"}, fileTemplate},
		{TemplateDoc{"http-status", "URL [STATUS]", "curl gets the status from the URL; 200 without one"}, httpTemplate},
	}
}

// Templates lists what [Template] knows, in a fixed order. The slice is the
// caller's.
func Templates() []TemplateDoc {
	var docs []TemplateDoc
	for _, t := range templates() {
		docs = append(docs, t.TemplateDoc)
	}
	return docs
}

// verifier is what the template stands for. It is made anew for each call,
// which is cheap, so that a Template stays a plain value without a constructor.
func (t Template) verifier() (ralph.Verifier, error) {
	name := strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(t.Name)))
	var names []string
	for _, known := range templates() {
		names = append(names, known.Name)
		if known.Name != name {
			continue
		}
		for _, arg := range t.Args {
			switch {
			case strings.TrimSpace(arg) == "" || strings.ContainsRune(arg, 0):
				return nil, fmt.Errorf("verify: Template: %s: an argument is blank or holds a NUL byte", name)
			case strings.HasPrefix(arg, "-"):
				return nil, fmt.Errorf("verify: Template: %s: %q is an option; use verify.External for a command with options", name, arg)
			}
		}
		v, err := known.build(t.Args)
		if err != nil {
			return nil, fmt.Errorf("verify: Template: %s: %w; the arguments are: %s", name, err, cmp.Or(known.Args, "none"))
		}
		switch v := v.(type) {
		case tool:
			v.Redact, v.AcceptConfig, v.InheritEnv, v.Sandbox = t.Redact, t.AcceptConfig, t.InheritEnv, t.Sandbox
			return v, nil
		case covered:
			v.Redact, v.AcceptConfig, v.InheritEnv, v.Sandbox = t.Redact, t.AcceptConfig, t.InheritEnv, t.Sandbox
			return v, nil
		}
		return v, nil
	}
	return nil, fmt.Errorf("verify: Template: there is no %q; known are %s", t.Name, strings.Join(names, ", "))
}

func npmTemplate(args []string) (ralph.Verifier, error) {
	// npm ends as its shell does, which says so if it does not find the test runner.
	return tool{External: External{Args: []string{"npm", "test"}}, unable: []int{126, 127},
		hint: "npm could not do its work (is what package.json names installed?)", watch: npmWatch()}, none(args)
}

func cargoTemplate(args []string) (ralph.Verifier, error) {
	return tool{External: External{Args: []string{"cargo", "test"}}, watch: cargoWatch(),
		reads: func(string, string) results { return &cargoResults{} }}, none(args)
}

// none is the error of a template that takes no arguments and got some. They
// are refused and not passed on, since a path that npm test ignores would look
// like a check of that path.
func none(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is too much", args[0])
	}
	return nil
}

// floor takes a percentage off the front of the arguments. A first argument
// that is no number is a package or path, so the percentage can be left out.
func floor(args []string) (percent float64, given bool, rest []string, err error) {
	if len(args) == 0 {
		return 0, false, nil, nil
	}
	percent, err = strconv.ParseFloat(strings.TrimSuffix(args[0], "%"), 64)
	switch {
	case err != nil:
		return 0, false, args, nil
	// NaN is no percentage either, and no comparison with it is true.
	case !(percent >= 0 && percent <= 100):
		return 0, false, nil, fmt.Errorf("%s is no percentage", args[0])
	}
	return percent, true, args[1:], nil
}

func orAll(paths []string, all string) []string {
	if len(paths) == 0 {
		return []string{all}
	}
	return paths
}

// goTestTemplate is go test; with a percentage, a profile of the coverage is
// read as well.
func goTestTemplate(args []string) (ralph.Verifier, error) {
	percent, given, packages, err := floor(args)
	if err != nil {
		return nil, err
	}
	v := tool{External: External{Args: append([]string{"go", "test"}, orAll(packages, "./...")...)}, watch: goWatch(),
		reads: func(workspace, _ string) results { return newGoResults(goMains(workspace)) }, at: 2}
	if !given {
		return v, nil
	}
	return covered{tool: v, percent: percent}, nil
}

// pytestTemplate leaves the floor to pytest-cov, which knows how the project
// counts.
func pytestTemplate(args []string) (ralph.Verifier, error) {
	percent, given, paths, err := floor(args)
	if err != nil {
		return nil, err
	}
	command := []string{"pytest"}
	if given {
		command = append(command, "--cov", "--cov-fail-under="+strconv.FormatFloat(percent, 'f', -1, 64))
	}
	// 3 is an internal error; 4 a usage error, such as --cov without pytest-cov.
	return tool{External: External{Args: append(command, paths...)}, unable: []int{3, 4}, watch: pytestWatch(append([]string{"."}, paths...)),
		reads: func(_, folder string) results { return junitResults{folder} }, at: 1,
		hint: "pytest could not do its work (is pytest-cov installed, and do the paths exist?)"}, nil
}

// lintTemplate tells the exit codes of golangci-lint apart: findings are about
// the work; a broken configuration, no Go files or an error of its own are not,
// and 4 is its time-out.
func lintTemplate(args []string) (ralph.Verifier, error) {
	return tool{External: External{Args: append([]string{"golangci-lint", "run"}, orAll(args, "./...")...)}, unable: []int{3, 6, 7}, late: []int{4},
		hint: "golangci-lint could not do its work", watch: lintWatch()}, nil
}

func ruffTemplate(args []string) (ralph.Verifier, error) {
	return tool{External: External{Args: append([]string{"ruff", "check"}, orAll(args, ".")...)}, unable: []int{2},
		hint: "ruff could not do its work", watch: ruffWatch()}, nil
}

// httpTemplate asks curl for the status alone. What the server sends is thrown
// away, redirects are not followed, and -- keeps a URL from being an option. A
// server that refuses the connection is a failed check: it may be what the
// agent was to build.
func httpTemplate(args []string) (ralph.Verifier, error) {
	status := "200"
	switch len(args) {
	case 2:
		status = args[1]
		if n, err := strconv.Atoi(status); err != nil || n < 100 || n > 599 {
			return nil, fmt.Errorf("%q is no status", status)
		}
	case 1:
	default:
		return nil, fmt.Errorf("it takes a URL and a status, not %d arguments", len(args))
	}
	if u, err := url.Parse(args[0]); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no http or https URL", args[0])
	}
	return tool{External: External{
		Args:     []string{"curl", "-sS", "-o", os.DevNull, "--max-time", "60", "-w", "status %{http_code}\n", "--", args[0]},
		Contains: []string{"status " + status + "\n"},
	}, unable: []int{2, 3, 4}, late: []int{28}, hint: "curl could not do its work"}, nil
}

// fileTemplate takes paths inside the workspace only. Files elsewhere say
// nothing about the work.
func fileTemplate(args []string) (ralph.Verifier, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("it needs a path")
	}
	for _, path := range args {
		if !filepath.IsLocal(path) {
			return nil, fmt.Errorf("%q is not inside the workspace", path)
		}
	}
	return files(slices.Clone(args)), nil
}

// files must be there, and not be empty: an empty file is what touch leaves. A
// folder is enough of itself.
type files []string

// Verify implements [ralph.Verifier]. Links that lead out of the workspace are
// not followed, so a file elsewhere does not stand for the one that was asked
// for.
func (f files) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	root, err := os.OpenRoot(workspace(c.Task.Dir))
	if err != nil {
		return judge(ralph.Check{Name: "file-exists", Status: ralph.CheckUnable, Detail: "the workspace cannot be opened: " + err.Error()}), nil
	}
	defer root.Close()
	var checks []ralph.Check
	for _, path := range f {
		name := oneLine(path, 150, 50)
		check := ralph.Check{Name: "file-exists " + word(name), Status: ralph.CheckPassed}
		info, err := root.Stat(path)
		switch {
		case err != nil:
			check.Status, check.Detail = ralph.CheckFailed, fmt.Sprintf("%s is not there: %v", name, err)
		case info.Mode().IsRegular() && info.Size() == 0:
			check.Status, check.Detail = ralph.CheckFailed, name+" is empty"
		}
		checks = append(checks, check)
	}
	return judge(checks...), nil
}
