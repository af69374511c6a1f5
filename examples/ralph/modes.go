package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

//go:embed prompts
var defaultPrompts embed.FS

// planName is the file that plan mode writes and build mode works through.
const planName = "implementation_plan.md"

func modeFlags(f *flags) {
	taskFlags(f)
	agentFlags(f)
	f.StringVar(&f.config, "config", "", "the config `FILE` (default: config in the home folder)")
}

// A session is one run of a mode: S3's plan, build and prompt.
type session struct {
	env
	*flags
	mode    string
	project string // the top of the git work tree, where the agent works
	home    string // of config, logs, prompts and plan
	config  config
	n       int           // iterations
	source  func() string // the prompt's file, "" = built in
}

func runPlan(e env, f *flags, args []string) error  { return runMode(e, f, "plan", args) }
func runBuild(e env, f *flags, args []string) error { return runMode(e, f, "build", args) }

func runPrompt(e env, f *flags, args []string) error {
	if len(args) == 0 {
		return fail(exitUsage, "prompt takes FILE and, if you like, N; 'ralph help prompt' tells more")
	}
	return runMode(e, f, "prompt", args[1:], args[0])
}

func runMode(e env, f *flags, mode string, args []string, file ...string) error {
	s := &session{env: e, flags: f, mode: mode}
	var err error
	if s.n, err = iterations(args); err != nil {
		return err
	}
	if err := f.validate(); err != nil {
		return err
	}
	if err := s.locate(file); err != nil {
		return err
	}
	text, err := s.template()
	if err != nil {
		return err
	}
	runner, err := s.runner()
	if err != nil {
		return err
	}
	local, state, err := s.loop(runner, text)
	if err != nil {
		return err
	}
	if f.dryRun {
		return s.print(local, state)
	}
	if err := s.folders(); err != nil {
		return err
	}
	return s.run(local, state)
}

func iterations(args []string) (int, error) {
	if len(args) == 0 {
		return 10, nil
	}
	if len(args) > 1 {
		return 0, fail(exitUsage, "%q is one argument too many", args[1])
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 {
		return 0, fail(exitUsage, "N is the number of iterations, 1 or more, not %q", args[0])
	}
	return n, nil
}

// locate finds the project, its home and config, and the prompt's file.
func (s *session) locate(file []string) error {
	var err error
	if s.project, err = topLevel(s.ctx, s.dir); err != nil {
		return err
	}
	s.home = s.project
	if dot := filepath.Join(s.project, ".ralph"); isFile(filepath.Join(dot, "config")) {
		s.home = dot
	}
	configFile, asked := s.flags.config, s.flags.config != ""
	if !asked {
		configFile = filepath.Join(s.home, "config")
	}
	if s.config, err = readConfig(configFile, asked, os.LookupEnv, s.say); err != nil {
		return err
	}
	if s.mode == "prompt" {
		name, err := filepath.Abs(file[0])
		s.source = func() string { return name }
		return err
	}
	name := filepath.Join(s.home, "prompts", s.mode+".md")
	s.source = func() string {
		if isFile(name) {
			return name
		}
		return ""
	}
	return nil
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// topLevel is the project's root: a loop edits files, and somebody will want to
// see what it did and to go back (S3).
func topLevel(ctx context.Context, dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fail(exitConfig, "--dir %s is not a folder", dir)
	}
	top, _, err := ralph.WorkTree(ctx, dir)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fail(exitGit, "git is not installed, or not in PATH")
	case err != nil:
		return "", fail(exitGit, "%s is not in a git repository; 'git init' makes one (%s)", dir, clean(err.Error()))
	}
	return top, nil
}

// template reads the prompt as it is now and fills its variables.
func (s *session) template() (string, error) {
	if s.mode == "build" && !isFile(filepath.Join(s.home, planName)) {
		return "", fail(exitUsage, "Implementation plan not found. Run 'ralph plan' first.")
	}
	values := maps.Clone(s.config)
	values["SPECS_DIR"], values["MODE"] = s.specs(), s.mode
	var text string
	if file := s.source(); file != "" {
		var err error
		if text, err = readPrompt(file); err != nil {
			return "", err
		}
		if s.mode == "prompt" && !s.always && !s.hasSignal(text) {
			return "", fail(exitConfig, "prompt file %s does not hold <promise>%s</promise>, so the agent would not know how to end the loop; add it, or use --always with --verify", file, s.promise)
		}
	} else {
		data, err := defaultPrompts.ReadFile("prompts/" + s.mode + ".md")
		if err != nil {
			return "", err
		}
		text = string(data)
		plan, err := filepath.Rel(s.project, filepath.Join(s.home, planName))
		if err != nil {
			return "", err
		}
		values["PLAN"] = filepath.ToSlash(plan) // only of ours: in a prompt of the user's it is text
	}
	return substitute(text, values), nil
}

func (s *session) hasSignal(text string) bool {
	return strings.Contains(text, "<promise>"+s.promise+"</promise>")
}

func (s *session) specs() string {
	if dir := s.config["SPECS_DIR"]; dir != "" {
		return dir
	}
	return "specs"
}

// loop returns the loop, and its state before it starts.
func (s *session) loop(runner ralph.Runner, text string) (*ralph.Local, ralph.State, error) {
	retries := 3
	if v := s.config["MAX_RETRIES"]; v != "" {
		var err error
		if retries, err = strconv.Atoi(v); err != nil || retries < 0 {
			return nil, ralph.State{}, fail(exitConfig, "config: MAX_RETRIES is a number, 0 or more, not %q", v)
		}
	}
	if retries == 0 {
		retries = -1
	}
	if s.promise == "" {
		return nil, ralph.State{}, fail(exitConfig, "--promise is empty")
	}
	verifier, how := s.verifier()
	state := ralph.Start(ralph.Task{
		ID: s.mode, Prompt: text, Dir: s.project, HowVerified: how, Promise: s.promise,
		Match: ralph.Match(strings.ReplaceAll(s.match, "-", "_")), Blocked: s.blocked, Always: s.always,
		Limits: ralph.Limits{Iterations: s.n, Retries: retries, Failures: 1, IterationTimeout: s.timeout, CostUSD: s.maxCost},
	})
	if err := state.Err(); err != nil {
		return nil, state, exitFor(s.env, state, err, s.strict)
	}
	return &ralph.Local{Runner: runner, Verifier: verifier, Prompt: func(_ context.Context, st ralph.State) (string, error) {
		text, err := s.template()
		if err != nil {
			return "", err
		}
		return s.complete(text, st), nil
	}}, state, nil
}

// complete adds what is not in the file: how to end the loop, unless the file
// says that itself, and what the agent should know of the iterations before.
func (s *session) complete(text string, st ralph.State) string {
	if !s.hasSignal(text) {
		st.Task.Prompt = text
		return st.Prompt()
	}
	if more := st.Continuation(); more != "" {
		text = strings.TrimRight(text, "\n") + "\n\n" + more
	}
	return text
}

// print is --dry-run.
func (s *session) print(l *ralph.Local, state ralph.State) error {
	text, err := l.Prompt(s.ctx, state)
	if err != nil {
		return err
	}
	if cmd, ok := l.Runner.(interface{ CommandLine() ([]string, error) }); ok {
		args, err := cmd.CommandLine()
		if err != nil {
			return err
		}
		text = strings.TrimRight(text, "\n") + "\n\n$ " + strings.Join(args, " ")
	}
	fmt.Fprintln(s.stdout, text)
	return nil
}

// folders makes what the mode needs.
func (s *session) folders() error {
	dirs := []string{filepath.Join(s.home, "logs")}
	if s.mode != "prompt" {
		specs := s.specs()
		if !filepath.IsAbs(specs) {
			specs = filepath.Join(s.project, specs)
		}
		dirs = append(dirs, specs)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fail(exitConfig, "a folder that is needed cannot be made: %w", err)
		}
	}
	return nil
}

// run runs the loop with its session log.
func (s *session) run(l *ralph.Local, state ralph.State) error {
	file, err := newLog(filepath.Join(s.home, "logs"), time.Now())
	if err != nil {
		return fail(exitConfig, "session log: %w", err)
	}
	defer file.Close()
	s.say("session log: %s", file.Name())
	hidden := redact().Writer(file)
	banner := &progress.Banner{W: hidden, Mode: s.mode}
	display := io.Writer(s.stderr)
	if f, ok := l.Runner.(*filtered); ok && f.display != "" {
		display = nil
		f.to = s.stderr
	}
	l.Output = func(ralph.Request) (io.Writer, io.Writer) { return display, banner }
	final, err := drive(s.env, l, state, banner)
	err = exitFor(s.env, final, err, s.strict)
	code := exitCode(s.ctx, err)
	reason := string(final.Stop)
	if !final.Done() {
		reason = "interrupted"
		if context.Cause(s.ctx) == nil && err != nil {
			reason = err.Error()
		}
	}
	return errors.Join(err, banner.Close(time.Now(), reason, code), hidden.Close())
}

// newLog makes a file that was not there, named for the time.
func newLog(dir string, now time.Time) (*os.File, error) {
	base := "session-" + now.Format("20060102-150405")
	for n := 1; ; n++ {
		name := base + ".log"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.log", base, n)
		}
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
