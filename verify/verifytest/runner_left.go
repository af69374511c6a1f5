package verifytest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
)

// processes reports the processes of a call that has returned which are still
// there. Those that are being killed get the time to end.
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

// within lists the processes that work in a folder, where the system has /proc.
func within(dir string) []string {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var list []string
	for _, link := range links {
		at, err := os.Readlink(link)
		if err != nil || at != dir && !strings.HasPrefix(at, dir+"/") {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		list = append(list, short(strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))+" (process "+filepath.Base(filepath.Dir(link))+")")
	}
	return list
}
