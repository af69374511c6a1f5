package progresstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// compare reads the log back and reports the first of its rules that is broken.
func (k *kit) compare(log ralph.ProgressLog, want []ralph.Event) {
	if k.Read == nil || len(k.broken["append"])+len(k.broken["unmodified"]) > 0 {
		return
	}
	if got, ok := k.read(log); ok {
		if rule, detail := judge(want, got, k.Partial); rule != "" {
			k.report(rule, "%s", detail)
		}
	}
}

// readable reports whether what is read back says anything about other rules.
func (k *kit) readable() bool {
	return k.Read != nil && len(k.broken["unmodified"])+len(k.broken["read"])+len(k.broken["fold"])+len(k.broken["whole"]) == 0
}

// read calls Read as it calls Append, with patience. An error breaks the rule read,
// since a log that says it can be read must be readable while it is open.
func (k *kit) read(log ralph.ProgressLog) ([]ralph.Event, bool) {
	var got []ralph.Event
	err := errors.New("the call of Read ended its goroutine instead of returning")
	if !soon(func() { got, err = k.Read(log) }) {
		k.report("returns", "Read did not return within %v", patience)
		return nil, false
	}
	if err != nil {
		k.report("read", "%v", err)
	}
	return got, err == nil
}

// disagree returns how the events that were read differ from those that were
// appended, for rules that do not care which of read, fold and whole it is.
func disagree(want, got []ralph.Event, partial bool) string {
	_, detail := judge(want, got, partial)
	return detail
}

// judge says which rule is broken by the events that were read, and how. The
// gravest comes first: where an event is missing the fold differs too, and to
// report both would only repeat it.
func judge(want, got []ralph.Event, partial bool) (rule, detail string) {
	if !partial {
		for i := range max(len(want), len(got)) {
			switch {
			case i >= len(got):
				return "read", fmt.Sprintf("%d events were appended, the first %d came back", len(want), len(got))
			case i >= len(want):
				return "read", fmt.Sprintf("%d events were appended, %d came back", len(want), len(got))
			case name(want[i]) != name(got[i]):
				return "read", fmt.Sprintf("event %d came back as %s; it was %s", i+1, name(got[i]), name(want[i]))
			}
		}
	}
	if w, g := fold(want), fold(got); encode(w) != encode(g) {
		return "fold", "the events that came back fold to another state: " + differing(w, g)
	}
	for i := range want {
		if !partial && encode(want[i]) != encode(got[i]) {
			return "whole", fmt.Sprintf("event %d (%s) came back changed: %s", i+1, want[i].Kind, differing(want[i], got[i]))
		}
	}
	return "", ""
}

// name is what tells events apart in a report. It is not unique: two events of one
// name that change places break the rule fold or whole, and not read.
func name(ev ralph.Event) string {
	s := string(ev.Kind) + " of " + ev.Loop
	if ev.Iteration.Number > 0 {
		s += fmt.Sprintf(", iteration %d, attempt %d", ev.Iteration.Number, ev.Iteration.Attempt)
	}
	return s
}

// encode returns JSON, by which events are compared: a log may store them in any
// form, but what JSON shows is what other programs see of them.
func encode[T ralph.Event | ralph.State](v T) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// differing names the fields, by their JSON keys, in which a and b differ.
func differing[T ralph.Event | ralph.State](a, b T) string {
	var x, y map[string]json.RawMessage
	json.Unmarshal([]byte(encode(a)), &x) // what was encoded can be decoded
	json.Unmarshal([]byte(encode(b)), &y)
	var keys []string
	for key := range x {
		if string(x[key]) != string(y[key]) {
			keys = append(keys, key)
		}
	}
	for key := range y {
		if _, ok := x[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return "differs in " + strings.Join(keys, ", ")
}
