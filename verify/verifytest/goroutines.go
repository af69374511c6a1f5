package verifytest

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// goroutines reports goroutines that calls have started and that are still
// there. Those that are about to end get the time to do so.
func (k *kit) goroutines() {
	left := k.leftovers()
	for pause := time.Duration(0); len(left) > 0 && pause < lingerWait; pause = 2*pause + time.Millisecond {
		runtime.Gosched() // most end as soon as they can run
		<-time.After(pause)
		left = k.leftovers()
	}
	for _, c := range k.calls {
		if where := left[c.label]; where != "" {
			k.report("goroutines", "a call with %s has left one running in %s", c.name, where)
		}
	}
}

// leftovers finds the goroutines that carry the label of a call that has
// returned: by label, the function that a goroutine is in. The one goroutine
// that package os/signal starts for the whole process is nobody's.
func (k *kit) leftovers() map[string]string {
	returned := map[string]bool{}
	for _, c := range k.calls {
		if c.returned() {
			returned[c.label] = true
		}
	}
	var profile bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&profile, 1) // to memory: it cannot fail
	left := map[string]string{}
	for entry := range strings.SplitSeq(profile.String(), "\n\n") {
		_, rest, ok := strings.Cut(entry, labelKey+`":"`+k.id)
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, `"`)
		if label := k.id + number; returned[label] && !strings.Contains(entry, "os/signal.loop") {
			left[label] = function(entry)
		}
	}
	return left
}

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
