//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// e2eIdle ends a client that a signal did not. Some say nothing for long when
// they start.
func e2eIdle(agent string) time.Duration {
	if agent == "opencode" {
		return 90 * time.Second
	}
	return 20 * time.Second
}

// A client that somebody else kills in the middle of a slow tool, with whatever
// signal, leaves nothing behind and has not claimed anything.
func TestE2EClientKilled(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			eachAgent(t, slowTool, func(e *e2eRun) {
				e.write("hello.txt", "hello\n")
				started := e.fifo("started")
				killed := make(chan int, 1)
				go func() {
					defer close(killed)
					if readLine(started) == nil {
						n := 0
						for _, p := range e.runs("") {
							if isChild(p.pid, os.Getpid()) && syscall.Kill(p.pid, sig) == nil {
								n++
							}
						}
						killed <- n
					}
				}()
				c := e.command()
				c.IdleTimeout = e2eIdle(e.agent) // some ignore some of them
				_, log, err := e.run(e.context(), c, ralph.Limits{Retries: -1, Failures: 1, Iterations: 1})
				giveUp(started)
				if n := <-killed; n != 1 {
					e.Errorf("%d clients were killed", n)
				}
				if len(log.ended) != 1 || log.ended[0].Claimed || log.ended[0].Fault == "" {
					e.Errorf("%v, faults %q", err, log.faults())
				}
				e.nothingRuns()
			})
		})
	}
}

// isChild reports whether a process is a child of another.
func isChild(pid, parent int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return len(fields) > 1 && fields[1] == fmt.Sprint(parent)
}
