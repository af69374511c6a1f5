package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/ralph-loop/ralph"
)

// An ending is what came of a run, for the program of --notify.
type ending struct {
	loop, result string
	iterations   int
	took         time.Duration
	usage        ralph.Usage
}

// ended takes note of how a run ended; result is why it stopped, "" = it was interrupted.
func (e env) ended(loop string, result ralph.StopReason, iterations int, took time.Duration, usage ralph.Usage) {
	if e.end != nil {
		*e.end = ending{loop, string(result), iterations, took, usage}
	}
}

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
	if e.end.usage.CostUSD != nil {
		cost = strconv.FormatFloat(*e.end.usage.CostUSD, 'f', -1, 64)
	}
	cmd.Env = append(os.Environ(),
		"RALPH_COMMAND="+e.verb, "RALPH_DIR="+absolute(s.dir), "RALPH_LOOP="+e.end.loop, "RALPH_RESULT="+e.end.result,
		fmt.Sprint("RALPH_EXIT_CODE=", exitCode(e.ctx, err)), "RALPH_ERROR="+redact().String(why),
		fmt.Sprint("RALPH_ITERATIONS=", e.end.iterations), fmt.Sprint("RALPH_SECONDS=", int64(e.end.took.Seconds())),
		"RALPH_COST_USD="+cost,
	)
	if err := cmd.Run(); err != nil {
		e.say("warning: --notify %s: %s", words[0], ours{err})
	}
}
