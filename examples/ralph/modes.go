package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

//go:embed prompts
var defaultPrompts embed.FS

// planName is the file that plan mode writes and build mode works through.
const planName = "implementation_plan.md"

// modeFlags are the flags of plan, build and prompt: handles, all of them.
type modeFlags struct {
	shared
	mode string
}

// A session is one run of a mode: plan, build or prompt.
type session struct {
	env
	*modeFlags
	project string // the top of the git work tree, where the agent works
	home    string // of config, logs, prompts and plan
	file    string // the prompt's; one of plan and build need not exist
	config  config

	configFile string
}

func (f *modeFlags) run(e env, args []string) error {
	s := &session{env: e, modeFlags: f}
	if f.mode == "prompt" {
		s.file, args = absolute(args[0]), args[1:]
	}
	if err := f.iterations(args); err != nil {
		return err
	}
	f.max = cmp.Or(f.max, 10)
	if err := s.locate(); err != nil {
		return err
	}
	text, err := s.template()
	if err != nil {
		return err
	}
	if s.mode == "prompt" && ralph.FindPromise(text, s.promise, ralph.MatchLastLine).Found {
		s.say("warning: prompt file %s ends with <promise>%s</promise>, so an agent that repeats its end seems to claim that the task is done; put a sentence after the tag", s.file, s.promise)
	}
	runner, err := s.runner()
	if err != nil {
		return err
	}
	local, state, err := s.loop(runner, text)
	if err != nil {
		return err
	}
	terms := criteria{shared: &s.shared}.terms()
	terms["promise"], terms["match"], terms["blocked"], terms["always"] = s.promise, s.match, s.blocked, fmt.Sprint(s.always)
	local.Meta = s.meta(s.env, s.file, runner, terms)
	if f.dryRun {
		dry := &printer{agent: runner, out: e.stdout}
		local.Runner = dry
		_, err := local.Run(e.ctx, state)
		return dry.end(err)
	}
	if err := s.canBegin(e, runner); err != nil {
		return err
	}
	if specs := s.specs(); f.mode != "prompt" {
		if !filepath.IsAbs(specs) {
			specs = filepath.Join(s.project, specs)
		}
		if err := os.MkdirAll(specs, 0o755); err != nil {
			return fail(exitConfig, "the folder of the specifications cannot be made: %w", err)
		}
	}
	return s.start(local, state)
}

// iterations takes the argument N, which is --max.
func (s *shared) iterations(args []string) (err error) {
	switch {
	case len(args) == 0:
		return nil
	case s.given["max"]:
		return fail(exitUsage, "N and --max exclude each other")
	}
	s.given["max"] = true
	if s.max, err = strconv.Atoi(args[0]); err != nil || s.max < 1 {
		return fail(exitUsage, "N is the number of iterations, 1 or more, not %q", args[0])
	}
	return nil
}

// locate finds the project, its home and config, and the prompt's file.
func (s *session) locate() (err error) {
	if s.project, _, err = topLevel(s.ctx, s.dir); err != nil {
		return err
	}
	s.home = s.project
	if dot := filepath.Join(s.project, ".ralph"); isFile(filepath.Join(dot, "config")) {
		s.home = dot
	}
	if s.mode != "prompt" {
		s.file = filepath.Join(s.home, "prompts", s.mode+".md")
	}
	s.configFile = cmp.Or(s.shared.config, filepath.Join(s.home, "config"))
	s.config, err = readConfig(s.configFile, s.shared.config != "", os.LookupEnv, s.say)
	return err
}

// isFile reports whether there is a file, or what is none and an error to read.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

func isFolder(dir string) error {
	info, err := os.Stat(dir)
	return unless(err == nil && info.IsDir(), exitConfig, "--dir %s is not a folder", dir)
}

// topLevel is the project's root, and the branch: a loop edits files, and somebody
// will want to see what it did and to go back.
func topLevel(ctx context.Context, dir string) (top, branch string, err error) {
	dir = cmp.Or(dir, ".")
	if err := isFolder(dir); err != nil {
		return "", "", err
	}
	top, branch, err = ralph.WorkTree(ctx, dir)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		err = fail(exitGit, "git is not installed, or not in PATH")
	case errors.Is(err, ralph.ErrNoWorkTree):
		err = fail(exitGit, "%w; 'git init' makes a repository", err)
	case err != nil:
		err = fail(exitGit, "%w", err)
	}
	return top, branch, err
}

// workspace is the project of --dir: the top of its git work tree, else the folder
// itself, in which nobody sees what changed.
func (s *shared) workspace(ctx context.Context) (project, branch string, err error) {
	project, branch, err = topLevel(ctx, s.dir)
	if x, ok := errors.AsType[*exitError](err); ok && x.code == exitGit {
		project, err = absolute(cmp.Or(s.dir, ".")), nil
	}
	return project, branch, err
}

// template reads the prompt as it is now and fills its variables.
func (s *session) template() (string, error) {
	if s.mode == "build" && !isFile(filepath.Join(s.home, planName)) {
		return "", fail(exitUsage, "Implementation plan not found. Run 'ralph plan' first.")
	}
	values := maps.Clone(s.config)
	values["SPECS_DIR"], values["MODE"] = s.specs(), s.mode
	if s.mode == "prompt" || isFile(s.file) {
		text, err := readPrompt(s.file)
		if err == nil && s.mode == "prompt" && !s.always && !s.hasSignal(text) {
			err = fail(exitConfig, "prompt file %s does not hold <promise>%s</promise>, so the agent would not know how to end the loop; add it, or use --always with --verify", s.file, s.promise)
		}
		return substitute(text, values), err
	}
	text, _ := defaultPrompts.ReadFile("prompts/" + s.mode + ".md") // it is in the program
	plan, err := filepath.Rel(s.project, filepath.Join(s.home, planName))
	values["PLAN"] = filepath.ToSlash(plan) // only of ours: in a prompt of the user's it is text
	return substitute(string(text), values), err
}

func (s *session) hasSignal(text string) bool {
	return strings.Contains(text, "<promise>"+s.promise+"</promise>")
}

func (s *session) specs() string { return cmp.Or(s.config["SPECS_DIR"], "specs") }

// loop returns the loop, and its state before it starts.
func (s *session) loop(runner ralph.Runner, text string) (*ralph.Local, ralph.State, error) {
	retries, err := strconv.Atoi(cmp.Or(s.config["MAX_RETRIES"], "3"))
	if err != nil || retries < 0 {
		return nil, ralph.State{}, fail(exitConfig, "config: MAX_RETRIES is a number, 0 or more, not %q", s.config["MAX_RETRIES"])
	}
	if retries == 0 {
		retries = -1
	}
	verifier, how, err := s.checks(nil)
	if err != nil {
		return nil, ralph.State{}, err
	}
	if verifier == nil {
		verifier = verify.String{}
	}
	limits := s.limits()
	limits.Retries, limits.Failures = retries, 1
	state := ralph.Start(ralph.Task{
		ID: s.mode, Prompt: text, Dir: s.project, HowVerified: how, Method: s.method(), Promise: s.promise,
		Match: ralph.Match(strings.ReplaceAll(s.match, "-", "_")), Blocked: s.blocked, Always: s.always, Limits: limits,
	})
	if err := state.Err(); err != nil {
		return nil, state, exitFor(s.env, state, err, true)
	}
	return &ralph.Local{Runner: runner, Verifier: verifier, Prompt: func(_ context.Context, st ralph.State) (string, error) {
		text, err := s.template()
		return s.complete(text, st), err
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

// relative is a file as it is called in a project.
func relative(project, file string) string {
	if rel, err := filepath.Rel(resolved(project), resolved(file)); err == nil {
		file = rel
	}
	return filepath.ToSlash(file)
}

// start runs the loop with its logs.
func (s *session) start(l *ralph.Local, state ralph.State) error {
	dir, release, err := s.alone(s.env, s.project, s.mode)
	if err != nil {
		return err
	}
	defer release()
	if state.Loop = cmp.Or(s.id, s.mode); state.Loop == "prompt" && s.id == "" {
		state.Loop = "prompt:" + relative(s.project, s.file)
	}
	j, _, err := s.begin(s.env, dir, progress.KindLoop, state, l.Meta, changed(state.Task.Prompt, s.project, l.Meta))
	if err != nil {
		return err
	}
	if j != nil {
		defer j.Close()
		state = j.State
	}
	if s.learn && dir != nil {
		most := map[bool]int{true: s.max}[s.given["max"]]
		l.Learn = func(ctx context.Context, st ralph.State) (ralph.Lesson, error) { return dir.Learn(ctx, st, 10, most) }
	}
	file, err := newLog(filepath.Join(s.home, "logs"), time.Now())
	if err != nil {
		return fail(exitConfig, "session log: %w", err)
	}
	defer file.Close()
	s.say("session log: %s", near(file.Name()))
	hidden := redact().Writer(file)
	banner := &progress.Banner{W: hidden, Mode: s.mode}
	log := ralph.ProgressLog(banner)
	if s.log != "" {
		s.log = named(s.log)
		execution, err := s.executionLog(s.log)
		if err != nil {
			return err
		}
		log = progress.Multi(banner, without(execution, s.project, s.log))
	}
	log = unexamined(log)
	if s.exam != "" {
		l.Evidence = s.evidence(dir, "")
	}
	final, err := s.drive(s.env, l, j, state, log, banner, near(file.Name()))
	err = exitFor(s.env, final, err, s.strict || s.proven())
	if final.Done() && err != nil { // also if it was interrupted: it does not go on
		*s.again = "the loop has ended, " + err.Error()
	}
	reason := string(final.Stop)
	if !final.Done() {
		reason = "interrupted"
		if context.Cause(s.ctx) == nil && err != nil {
			reason = progress.PrintableLine(err.Error())
		}
	}
	result := fmt.Sprintf("%s\nExit Code: %d", reason, exitCode(s.ctx, err))
	return errors.Join(err, banner.Close(time.Now(), result), hidden.Close())
}

// newLog makes a file that was not there, named for the time.
func newLog(dir string, now time.Time) (*os.File, error) {
	base := filepath.Join(dir, "session-"+now.Format("20060102-150405"))
	name := base + ".log"
	for n := 2; ; n++ {
		f, err := progress.File{Path: name}.Create()
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		name = fmt.Sprintf("%s-%d.log", base, n)
	}
}

// maxPrompt is more than any agent takes.
const maxPrompt = 8 << 20

// readPrompt reads a prompt file, which must be text.
func readPrompt(file string) (string, error) {
	data, err := ralph.ReadFile(file, maxPrompt)
	switch {
	case err != nil:
		return "", fail(exitConfig, "prompt file %w", err)
	case len(bytes.TrimSpace(data)) == 0:
		err = errors.New("is empty")
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		err = errors.New("is not text (it is not UTF-8, or holds a NUL byte)")
	default:
		return strings.TrimPrefix(string(data), "\uFEFF"), nil
	}
	return "", fail(exitConfig, "prompt file %s %w", file, err)
}
