package verifytest

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// goroutines reports goroutines that calls have started and that are still
// there. Those that are about to end get the time to do so.
// Those that are in one of the functions in nobodys are nobody's.
func (b broken) goroutines(calls []*routine, nobodys ...string) {
	left := leftovers(calls, nobodys)
	for range lingering {
		if len(left) == 0 {
			return
		}
		left = leftovers(calls, nobodys)
	}
	for _, c := range calls {
		if where := left[c.label]; where != "" {
			b.report("goroutines", "a call with %s has left one running in %s", c.name, where)
		}
	}
}

// lingering yields at once and then after pauses that grow, up to lingerWait.
func lingering(yield func() bool) {
	for pause := time.Duration(0); pause < lingerWait; pause = 2*pause + time.Millisecond {
		runtime.Gosched() // most end as soon as they can run
		<-time.After(pause)
		if !yield() {
			return
		}
	}
}

// leftovers finds the goroutines that carry the label of a call that has
// returned: by label, the function that a goroutine is in.
func leftovers(calls []*routine, nobodys []string) map[string]string {
	returned := map[string]bool{}
	for _, c := range calls {
		if c.returned() {
			returned[c.label] = true
		}
	}
	var profile bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&profile, 1) // to memory: it cannot fail
	left := map[string]string{}
	for entry := range strings.SplitSeq(profile.String(), "\n\n") {
		_, rest, ok := strings.Cut(entry, labelKey+`":"`)
		if !ok {
			continue
		}
		if label, _, _ := strings.Cut(rest, `"`); returned[label] && !slices.ContainsFunc(nobodys, func(name string) bool { return strings.Contains(entry, name) }) {
			left[label] = function(entry)
		}
	}
	return left
}

// signalLoop is in the one goroutine that package os/signal starts for the whole
// process.
const signalLoop = "os/signal.loop"

// function is the innermost function of a goroutine that is not the runtime's.
// A profile's line is "#", the address, function+offset, file:line.
func function(entry string) string {
	name := "a function without a name"
	for line := range strings.Lines(entry) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[0] != "#" {
			continue
		}
		if name, _, _ = strings.Cut(fields[2], "+0x"); !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/") {
			break
		}
	}
	return name
}
