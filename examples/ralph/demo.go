package main

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

//go:embed demo
var demoFiles embed.FS

// runDemo makes a small project with failing tests and runs a real loop on it.
func runDemo(e env, f *shared, _ []string) error {
	for _, tool := range []string{"go", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fail(exitConfig, "the demo needs %s, which is not in PATH", tool)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	agent := &ralph.Command{Args: []string{self, "demo-agent"}} // as an agent's client is run
	if f.agent != "" || f.agentCmd != "" {
		if agent, err = f.command(e, nil, ""); err == nil {
			err = e.ready(agent)
		}
	} else {
		err = f.bounded("", agent)
	}
	if err != nil {
		return err
	}
	base, err := demoFolder(f.dir)
	if err != nil {
		return err
	}
	project := filepath.Join(base, "project")
	if err := makeProject(e.ctx, project); err != nil {
		return err
	}
	path := cmp.Or(named(f.log), filepath.Join(base, "events.jsonl"))
	log, err := e.executionLog(path)
	if err != nil {
		return err
	}
	prompt, _ := demoFiles.ReadFile("demo/PROMPT.md.txt") // it is in the program
	limits, check := f.limits(), []string{"go", "test", "./..."}
	f.verify = strings.Join(check, " ") // as it is shown
	limits.Iterations = cmp.Or(f.max, 10)
	fmt.Fprintf(e.stderr, "A small Go project with failing tests is in %s.\nThe loop runs an agent on it until `go test ./...` passes.\n", project)
	state := ralph.Start(ralph.Task{ID: "demo", Prompt: string(prompt), Dir: project, HowVerified: "`go test ./...` must pass", Limits: limits})
	state.Loop = cmp.Or(f.id, state.Loop)
	state, err = f.drive(e, &ralph.Local{
		Runner:   agent,
		Verifier: verify.External{Args: check, Env: goEnv()},
	}, nil, state, log, nil, near(path)+"; files: "+project)
	return exitFor(e, state, err, true)
}

// goEnv keeps the demo's go command to itself and off the network.
func goEnv() []string {
	return []string{"GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local"}
}

func demoFolder(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "ralph-demo-")
	}
	if _, err := os.Lstat(dir); err == nil {
		return "", fail(exitConfig, "--dir %s exists already", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// makeProject makes a repository of the demo's files, but for the prompt.
func makeProject(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "shop.go", "shop_test.go"} { // nobody else knows this folder yet
		data, _ := demoFiles.ReadFile("demo/" + name + ".txt")
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	for _, args := range []string{"init -q", "config user.name ralph", "config user.email demo@example.com", "config commit.gpgsign false", "add -A", "commit -q -m Bugs"} {
		if err := demoGit(ctx, dir, strings.Fields(args)...); err != nil {
			return err
		}
	}
	return nil
}

func demoGit(ctx context.Context, dir string, args ...string) error {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		return fail(exitGit, "git %s: %w: %s", args[0], err, line(string(out)))
	}
	return nil
}

// mends are what the scripted agent knows to do about failing tests: what becomes
// what.
func mends() map[string][2]string {
	return map[string][2]string{
		"TestTotal":  {"range prices[1:]", "range prices"},
		"TestSlug":   {`strings.Join(strings.Fields(name), "_")`, `strings.Join(strings.Fields(strings.ToLower(name)), "-")`},
		"TestMedian": {"sorted[len(sorted)/2]", "sorted[(len(sorted)-1)/2]"},
	}
}

// runDemoAgent works like a real agent, on the project in the current folder: it
// is told of the task on standard input, mends one thing, and at first is too
// sure of itself.
func runDemoAgent(e env, _ *shared, _ []string) error {
	input, err := io.ReadAll(e.stdin)
	if err != nil {
		return err
	}
	prompt := string(input)
	failing := failures(prompt) // what the verifier said
	first := !strings.Contains(prompt, "## What is missing") && !strings.Contains(prompt, "## About the last iteration")
	if len(failing) == 0 {
		fmt.Fprintln(e.stdout, "I run the tests to see where things stand.")
		failing = failures(runTests(e.ctx))
	} else {
		fmt.Fprintf(e.stdout, "The check says that %s.\n", failed(failing, "fail"))
	}
	if len(failing) > 0 {
		if err := apply(e.ctx, e.stdout, failing[0]); err != nil {
			return err
		}
	}
	const claim = "\n\n<promise>" + ralph.DefaultPromise + "</promise>"
	end := "That was the bug. Everything must work now." + claim
	if !first {
		end = "All tests pass: I ran them." + claim
		if left := failures(runTests(e.ctx)); len(left) > 0 {
			end = failed(left, "still fail") + "; that is for the next iteration."
		}
	}
	_, err = fmt.Fprintln(e.stdout, end)
	return err
}

var failedTest = regexp.MustCompile(`--- FAIL: (\w+)`)

func failures(text string) []string {
	var names []string
	for _, m := range failedTest.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// failed says that tests fail.
func failed(tests []string, verb string) string {
	return strings.Join(tests, " and ") + " " + verb + map[bool]string{true: "s"}[len(tests) == 1]
}

func runTests(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, "go", "test", "./...")
	cmd.Env = append(os.Environ(), goEnv()...)
	out, _ := cmd.CombinedOutput() // that tests fail is what it is run for
	return string(out)
}

func apply(ctx context.Context, w io.Writer, test string) error {
	const file = "shop.go"
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mend := mends()[test]
	fmt.Fprintf(w, "I mend %s: %s becomes %s.\n", file, mend[0], mend[1])
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), mend[0], mend[1], 1)), 0o644); err != nil {
		return err
	}
	return demoGit(ctx, ".", "commit", "-q", "-a", "-m", "Mend what "+test+" shows")
}
