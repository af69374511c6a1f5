package verifytest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// processes reports the processes of a call that has returned which are still
// there. Those that are being killed get the time to end. They are looked for
// in two ways, by the folder they work in and by the mark in their environment,
// because a program can leave either behind. What has the mark is ended: a test
// must not leave an agent running.
func (k *runnerKit) processes(c *runnerCall) {
	if c.own {
		var left []string
		for range lingering {
			if left = within(c.req.Dir); len(left) == 0 {
				break
			}
		}
		if len(left) > 0 {
			k.report("processes", "%s has left running: %s", c.name, strings.Join(left, ", "))
		}
	}
	ended, err := ralph.EndLeft(c.req.Mark)
	if len(ended) > 0 && len(k.broken["processes"]) == 0 {
		k.report("processes", "%s has left running: %s", c.name, strings.Join(ended, ", "))
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		k.report("processes", "%s: %v", c.name, err)
	}
}

// within lists the processes that work in a folder, where the system has /proc,
// and none elsewhere. Processes of other users do not show their folder, and
// are not listed.
func within(dir string) []string {
	var list []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && file.Within(dir, at) {
			proc := filepath.Dir(link)
			line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
			list = append(list, fmt.Sprintf("%s (process %s)", short(strings.ReplaceAll(strings.Trim(string(line), "\x00"), "\x00", " ")), filepath.Base(proc)))
		}
	}
	return list
}
