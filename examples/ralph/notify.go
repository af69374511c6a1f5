package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/progress"
)

// An ending is what came of a run.
type ending struct {
	progress.Closing
	told bool // on standard output
}

// text is what people are told of it.
func (n ending) text() string { return redact().String(n.String()) }

// notifyTime is how long the program of --notify may take: who waits for the end of a run
// shall not wait for it for ever.
const notifyTime = 30 * time.Second

// isNotify checks the value of --notify.
func (s *shared) isNotify() error {
	_, err := splitWords(s.notify)
	return unless(!s.given["notify"] || err == nil, exitUsage, "--notify: %w", err)
}

// tell starts the program of --notify when a run has ended, with the result in its
// environment. What becomes of it changes nothing of the run's.
func (s *shared) tell(e env, err error) {
	words, bad := splitWords(s.notify)
	if bad != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), notifyTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = e.stderr, e.stderr, time.Second
	why := ""
	if err != nil {
		why = line(ours{err}.Error())
	}
	cost := ""
	end := e.end.State
	if end.Usage.CostUSD != nil {
		cost = strconv.FormatFloat(*end.Usage.CostUSD, 'f', -1, 64)
	}
	cmd.Env = append(os.Environ(),
		"RALPH_COMMAND="+e.verb, "RALPH_DIR="+absolute(s.dir), "RALPH_LOOP="+end.Loop, "RALPH_RESULT="+string(end.Stop), "RALPH_SUMMARY="+strings.TrimSpace(e.end.text()),
		fmt.Sprint("RALPH_EXIT_CODE=", exitCode(e.ctx, err)), "RALPH_ERROR="+redact().String(why),
		fmt.Sprint("RALPH_ITERATIONS=", cmp.Or(e.end.Iterations, end.Iteration)), fmt.Sprint("RALPH_SECONDS=", int64(end.Elapsed.Seconds())),
		"RALPH_COST_USD="+cost,
	)
	if err := cmd.Run(); err != nil {
		e.say("warning: --notify %s: %s", words[0], ours{err})
	}
}
