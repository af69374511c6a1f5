package verifytest

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ralph-loop/ralph"
)

// processes reports the processes of a call that has returned which are still
// there. Those that are being killed get the time to end. They are looked for
// in two ways, by the folder they work in and by the mark in their environment,
// because a program can leave either behind. What has the mark is ended: a test
// must not leave an agent running.
func (k *runnerKit) processes(c *runnerCall) {
	if c.own {
		left := within(c.req.Dir)
		for range lingering {
			if len(left) == 0 {
				break
			}
			left = within(c.req.Dir)
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
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var list []string
	for _, pid := range names {
		if strings.Trim(pid, "0123456789") != "" {
			continue
		}
		at, err := os.Readlink("/proc/" + pid + "/cwd")
		if err != nil || at != dir && !strings.HasPrefix(at, dir+"/") {
			continue
		}
		line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		list = append(list, fmt.Sprintf("%s (process %s)", short(strings.ReplaceAll(strings.Trim(string(line), "\x00"), "\x00", " ")), pid))
	}
	return list
}
