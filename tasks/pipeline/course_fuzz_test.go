package pipeline_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// FuzzCourse reads courses that somebody has edited, and has drivers do with them what they
// like: no method panics or writes through, and what is written can be read again.
func FuzzCourse(f *testing.F) {
	for i, seed := range []string{
		`{"state":{"v":1,"rules":{"merge":true,"repair":true,"back":{"r":{"to":"c"}}},"orders":[["c","r"]],"parts":[{"id":"a"},{"id":"b","after":[0]}],"stands":[{},{}]},"tasks":[{"stages":[{"id":"a","prompt":"p"},{"id":"a","prompt":"p"}],"once":[false,true]},{"stages":[{}]}]}`,
		`{"state":{"v":1,"orders":[["c","r"]],"parts":[{"id":"a"},{"id":"b"}],"stands":[{"phase":"ready","verified":3},{"phase":"interrupted","verified":1}],"running":[{"part":1,"used":{"input_tokens":4}}]},"ends":{"a":{"c":{"commit":"x"}},"nobody":{"":{}},"b":null},"sent":{"b":{"kind":"unmerged","conflicts":["f"]}}}`,
		`{"state":{"v":1,"orders":[["c"]],"parts":[{"id":"a","after":[7,-1],"order":9},{"id":"b","order":-1},{"id":"c"}],"stands":[{"phase":"running"}],"running":[{"part":0},{"part":9},{"part":-1}]},"tasks":[{},{"stages":[],"once":[true]}]}`,
		`{"state":{"orders":[["","c"]],"parts":[{"id":"a"},{"id":"a"}],"stands":[{"phase":"ready","verified":18446744073709551615,"rounds":-1}]}}`,
	} {
		for j := range 8 {
			data := make([]byte, 200)
			for k := range data {
				data[k] = byte((k*k*7 + (i+j)*k*13 + i*31 + j) >> (j % 3))
			}
			f.Add(seed, data)
		}
	}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		var c pipeline.Course
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		was, err := json.Marshal(c)
		if err != nil { // raw JSON in it that is none
			return
		}
		var again pipeline.Course
		if err := json.Unmarshal(was, &again); err != nil {
			t.Fatalf("cannot be read again: %v\n%s", err, was)
		}
		if now := asJSON(t, again); now != string(was) {
			t.Fatalf("read again it is another:\nwas %s\nis  %s", was, now)
		}
		d := &dice{data}
		for range 12 {
			before := c
			c = d.drive(c)
			if now, err := json.Marshal(before); err == nil && string(now) != string(was) {
				t.Fatalf("written through:\nwas %s\nis  %s", was, now)
			}
			if was, err = json.Marshal(c); err != nil {
				return // of amounts that are none
			}
		}
	})
}

// drive does something with a course.
func (d *dice) drive(c pipeline.Course) pipeline.Course {
	steps := c.State.Ready()
	step := pipeline.Step{Kind: pipeline.StepStage, Part: pick(d, 0, 1, 2, -1, 99), Task: pick(d, "a", "b", "", "nobody"), Agent: pick(d, "c", "r", "", "odd"), Loop: pick(d, "a.c", "odd"), GoOn: d.roll(2) == 0}
	if len(steps) > 0 && d.roll(4) > 0 {
		step = steps[d.roll(len(steps))]
	}
	c.Verified(step.Part)
	if d.roll(4) == 0 {
		return c.Next(d.event(c.State))
	}
	c = c.Next(beginning(step))
	was := ralph.State{V: d.roll(2), Stop: pick(d, "", ralph.StopCost, ralph.StopVerified), NextIteration: d.roll(3), NextAttempt: d.roll(3)}
	s, told := c.Begin(step, was)
	if d.roll(2) == 0 {
		s.Stop = pick(d, "", ralph.StopVerified, ralph.StopVerified, ralph.StopBlocked, ralph.StopInvalid, ralph.StopTokens, "odd")
	}
	s.Usage, s.Feedback = d.usage(), strings.Repeat("é", d.roll(9)*1000)
	end := pipeline.StageEnd{State: s, Answer: ralph.Response{Output: told.Feedback}, Commit: "c", Unchecked: d.roll(2) == 0}
	if c = c.End(step, end, nil); d.roll(2) == 0 {
		c = c.End(step, end, &pipeline.Amount{Tokens: 3})
	}
	if step.Kind == pipeline.StepMerge {
		c = c.Next(pipeline.Event{Kind: pick(d, pipeline.EventMerged, pipeline.EventUnmerged), Task: step.Task, Conflicts: slices.Repeat([]string{"f"}, d.roll(3))})
	}
	return c
}
