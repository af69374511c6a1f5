package process

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// again is how soon process IDs may begin again at the lowest: nobody starts 500,000
// processes and threads a second. 0 = it is not known.
func again() time.Duration {
	text, _ := os.ReadFile("/proc/sys/kernel/pid_max")
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return time.Duration(n) * time.Second / 500_000
}

func lastPID() int {
	load, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(load))
	if len(fields) == 0 {
		return 0
	}
	last, _ := strconv.Atoi(fields[len(fields)-1])
	return last
}

// younger returns the processes that may have been started after the root: those
// with higher IDs, or all, where IDs may have begun again or there is no root.
func (t *tree) younger() []int {
	last := lastPID()
	all := last < t.root || time.Since(t.begun) > t.again
	if !all {
		if few, ok := t.next(last); ok {
			return few
		}
	}
	return slices.DeleteFunc(pids(), func(pid int) bool {
		return pid == t.root || pid == os.Getpid() || !all && pid < t.root
	})
}

// next returns which of the few IDs that were given out after the root's are in
// use, by processes or threads, which is less work than to list all processes. It
// is not ok if there were many.
func (t *tree) next(last int) (used []int, ok bool) {
	const few = 64
	for pid := t.root + 1; pid <= last; pid++ {
		if last-t.root > few {
			return nil, false
		}
		if _, err := os.Lstat("/proc/" + strconv.Itoa(pid)); err == nil {
			used = append(used, pid)
		}
		if pid == last { // one that is gone now may have left others, up to here
			last = lastPID()
		}
	}
	return used, last >= t.root
}

func pids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var list []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list
}
