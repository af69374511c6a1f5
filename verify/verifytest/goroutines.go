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
// there. Those that are about to end get the time to do so. Those that are in
// one of the functions in nobodys are nobody's: the runtime and net/http keep
// some for the whole process, and start them in whichever call comes first.
func (b broken) goroutines(calls []*routine, nobodys ...string) {
	var left map[string]string
	for range lingering {
		if left = leftovers(calls, nobodys); len(left) == 0 {
			return
		}
	}
	for _, c := range calls {
		if where := left[c.label]; where != "" {
			b.report("goroutines", "a call with %s has left one running in %s", c.name, where)
		}
	}
}

// lingering yields at once and then after pauses that grow, up to lingerWait.
// It is an iterator and no helper with a condition, so that each caller can
// look at what is left in its own way. time.After and not time.Sleep: in a
// synctest bubble both take no time, and outside most loops end at the first
// look.
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
// returned: by label, the function that a goroutine is in. Goroutines inherit
// labels from the one that starts them, so those that a goroutine of the call
// has started are found too. To count goroutines before and after would blame
// the call for those of other tests that run beside it.
func leftovers(calls []*routine, nobodys []string) map[string]string {
	returned := map[string]bool{}
	for _, c := range calls {
		if c.returned() {
			returned[c.label] = true
		}
	}
	var profile bytes.Buffer
	// Form 1 prints each group of equal stacks with its labels.
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

// signalLoop is in the one goroutine that package os/signal starts for the
// whole process. It never ends, and has the label of whichever call was the
// first to ask for a signal.
const signalLoop = "os/signal.loop"

// function is the innermost function of a goroutine that is not the runtime's:
// the place where it waits, which is what the author of the verifier has to
// find. A profile's line is "#", the address, function+offset, file:line.
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
