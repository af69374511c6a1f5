package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
)

// maxPrompt is more than any agent takes.
const maxPrompt = 8 << 20

func promptFlags(f *flags) {
	taskFlags(f)
	agentFlags(f)
}

func runPrompt(e env, f *flags, args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return fail(exitUsage, "prompt takes FILE and, if you like, N; 'ralph help prompt' tells more")
	}
	n := 10
	if len(args) == 2 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil || n < 1 {
			return fail(exitUsage, "N is the number of iterations, 1 or more, not %q", args[1])
		}
	}
	file, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	text, err := readPrompt(file)
	if err != nil {
		return err
	}
	agent, err := f.command(e)
	if err != nil {
		return err
	}
	verifier, how := f.verifier()
	match := ralph.Match(strings.ReplaceAll(f.match, "-", "_"))
	state := ralph.Start(ralph.Task{
		ID: filepath.Base(file), Prompt: text, Dir: f.dir, HowVerified: how,
		Promise: f.promise, Match: match, Blocked: f.blocked, Always: f.always,
		Limits: ralph.Limits{Iterations: n, Retries: 3, Failures: 1, IterationTimeout: f.timeout, CostUSD: f.maxCost},
	})
	if f.promise == "" {
		return fail(exitConfig, "--promise is empty")
	}
	if err := state.Err(); err != nil {
		return exitFor(e, state, err, f.strict)
	}
	local := &ralph.Local{Runner: agent, Verifier: verifier, Prompt: func(_ context.Context, s ralph.State) (string, error) {
		return promptText(file, s)
	}}
	if f.dryRun {
		text, err := promptText(file, state)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.stdout, "%s\n\n$ %s\n", strings.TrimRight(text, "\n"), strings.Join(agent.Args, " "))
		return nil
	}
	if err := needGit(e.ctx, f.dir); err != nil {
		return err
	}
	state, err = drive(e, local, state, nil)
	return exitFor(e, state, err, f.strict)
}

// promptText reads the file, which may have changed, and completes it: one that
// holds the promise is sent as it is, but for what the agent should know of the
// iterations before.
func promptText(file string, s ralph.State) (string, error) {
	text, err := readPrompt(file)
	if err != nil {
		return "", err
	}
	if strings.Contains(text, "<promise>"+s.Task.Promise+"</promise>") && !s.Task.Always {
		if more := s.Continuation(); more != "" {
			text = strings.TrimRight(text, "\n") + "\n\n" + more
		}
		return text, nil
	}
	s.Task.Prompt = text
	return s.Prompt(), nil
}

func readPrompt(file string) (string, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fail(exitConfig, "prompt file %s does not exist", file)
	case err != nil:
		return "", fail(exitConfig, "prompt file: %w", err)
	case info.IsDir():
		return "", fail(exitConfig, "prompt file %s is a folder", file)
	case info.Size() > maxPrompt:
		return "", fail(exitConfig, "prompt file %s has %d bytes; agents take at most %d", file, info.Size(), maxPrompt)
	}
	data, err := os.ReadFile(file)
	switch {
	case err != nil:
		return "", fail(exitConfig, "prompt file: %w", err)
	case len(bytes.TrimSpace(data)) == 0:
		return "", fail(exitConfig, "prompt file %s is empty", file)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", fail(exitConfig, "prompt file %s is not text (it is not UTF-8, or holds a NUL byte)", file)
	}
	return strings.TrimPrefix(string(data), "\uFEFF"), nil
}

// needGit asks for a git repository: a loop edits files, and somebody will want
// to see what it did and to go back (S3).
func needGit(ctx context.Context, dir string) error {
	if dir == "" {
		dir = "."
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fail(exitConfig, "--dir %s is not a folder", dir)
	}
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "rev-parse", "--is-inside-work-tree").CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fail(exitGit, "git is not installed, or not in PATH")
	case err != nil:
		return fail(exitGit, "%s is not in a git repository; 'git init' makes one (%s)", dir, clean(string(out)))
	}
	return nil
}
