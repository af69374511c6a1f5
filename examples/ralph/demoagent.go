package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/ralph-loop/ralph"
)

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
		fmt.Fprintf(e.stdout, "The check says that %s fails.\n", strings.Join(failing, " and "))
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
			end = strings.Join(left, " and ") + " still fails; that is for the next iteration."
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
