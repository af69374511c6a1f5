package temporal_test

import (
	"slices"
	"testing"
	"time"
)

// makes is an agent that makes a file of its own, and claims.
const makes = `echo $agent >$task.$agent; claims`

// TestPipeline: tasks with dependencies and two stages are worked on, verified and merged,
// by workers who have one folder, who keep a stage to themselves, or who have clones.
func TestPipeline(t *testing.T) {
	for _, tt := range []struct {
		name        string
		pin, remote bool
	}{{"one folder", false, false}, {"sessions", true, false}, {"clones", false, true}, {"sessions and clones", true, true}} {
		t.Run(tt.name, func(t *testing.T) {
			y := newYard(t, 10*time.Second, "A B:A C", makes)
			before := map[string]string{}
			if y.run.Pin = tt.pin; tt.remote {
				y.clones("a", "b")
				for _, host := range []string{"a", "b"} {
					before[host] = sh(t, y.at(host), "ls; git rev-parse HEAD; git status --porcelain")
				}
			}
			y.worker("a")
			y.worker("b")
			c := y.begin()
			c.verified()
			c.recorded("", "")
			y.ran("A coder 1.1", "A reviewer 1.1", "B coder 1.1", "B reviewer 1.1", "C coder 1.1", "C reviewer 1.1")
			if got := y.names(); got != "A.coder A.reviewer B.coder B.reviewer C.coder C.reviewer" {
				t.Errorf("main has %s", got)
			}
			for host, was := range before {
				if now := sh(t, y.at(host), "ls; git rev-parse HEAD; git status --porcelain"); now != was {
					t.Errorf("in the clone %s is\n%s\nand was\n%s", host, now, was)
				}
			}
			if log := lines(y.log); slices.Index(log, "agent A reviewer 1.1") > slices.Index(log, "agent B coder 1.1") {
				t.Errorf("B began before A was over")
			}
		})
	}
}
