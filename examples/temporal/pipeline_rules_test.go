package temporal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// An office is agents in this process: what they do by their stages and turns.
type office struct {
	sync.Mutex
	turns   map[string]int
	prompts map[string]string // the last of each stage
	do      func(stage string, turn int, dir string) (string, error)
	used    ralph.Usage // by each turn
}

func (y *yard) office(used ralph.Usage, do func(stage string, turn int, dir string) (string, error)) *office {
	y.Helper()
	o := &office{turns: map[string]int{}, prompts: map[string]string{}, do: do, used: used}
	y.here(func(stage string, req ralph.Request) (ralph.Response, error) {
		o.Lock()
		o.turns[stage]++
		turn := o.turns[stage]
		o.prompts[stage] = req.Prompt
		o.Unlock()
		text, err := o.do(stage, turn, req.Dir)
		return ralph.Response{Output: text, Usage: o.used}, err
	})
	return o
}

// makesFile is an agent that makes a file of its own, and claims.
func makesFile(stage string, _ int, dir string) (string, error) {
	return claim, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(stage, " ", ".")), []byte(stage), 0o600)
}

// TestPipelineSentBack: a task goes back with the reviewer's words, or with a conflict, and
// is verified again.
func TestPipelineSentBack(t *testing.T) {
	t.Run("by the reviewer", func(t *testing.T) {
		y := newYard(t, 0, "A", "")
		y.tasks.Rules.Back = map[string]pipeline.Back{"reviewer": {To: "coder"}}
		o := y.office(ralph.Usage{}, func(stage string, turn int, dir string) (string, error) {
			if stage == "A reviewer" && turn == 1 {
				return "The parser fails on line 7.\n<promise>REVIEWER_REJECTED</promise>", nil
			}
			return makesFile(stage, turn, dir)
		})
		c := y.begin()
		c.verified()
		if o.turns["A coder"] != 2 || o.turns["A reviewer"] != 2 || c.state.Stands[0].Rounds != 1 {
			t.Errorf("%v turns, %+v", o.turns, c.state.Stands)
		}
		if prompt := o.prompts["A coder"]; !strings.Contains(prompt, "The parser fails on line 7.") {
			t.Errorf("the coder is told %s", prompt)
		}
	})
	t.Run("by a conflict", func(t *testing.T) {
		y := newYard(t, 0, "A B", "")
		y.tasks.Rules.Repair, y.tasks.Stages = true, []string{"coder"}
		var both sync.WaitGroup // so that none begins on what the other has made
		both.Add(2)
		o := y.office(ralph.Usage{}, func(stage string, turn int, dir string) (string, error) {
			if turn == 1 {
				both.Done()
				both.Wait()
				return claim, os.WriteFile(filepath.Join(dir, "README"), []byte(stage+"\n"), 0o600)
			}
			text, err := os.ReadFile(filepath.Join(dir, "README"))
			if !strings.Contains(string(text), "<<<<<<<") {
				err = fmt.Errorf("there is no conflict in %q", text)
			}
			return claim, errors.Join(err, os.WriteFile(filepath.Join(dir, "README"), []byte("A coder\nB coder\n"), 0o600))
		})
		c := y.begin()
		c.verified()
		if n := o.turns["A coder"] + o.turns["B coder"]; n != 3 {
			t.Errorf("%v turns", o.turns)
		}
		if text := sh(t, y.main, "cat README"); text != "A coder\nB coder" {
			t.Errorf("main has %q", text)
		}
	})
}

// TestPipelineHistories: what is on record of pipelines, and of the iterations of their
// stages, is what is replayed.
func TestPipelineHistories(t *testing.T) {
	y := newYard(t, 0, "A B C:A", "")
	y.tasks.Rules.Back = map[string]pipeline.Back{"reviewer": {To: "coder"}}
	y.office(ralph.Usage{InputTokens: 10}, func(stage string, turn int, dir string) (string, error) {
		switch {
		case stage == "A reviewer" && turn == 1:
			return "The parser fails on line 7.\n<promise>REVIEWER_REJECTED</promise>", nil
		case stage == "B coder" && turn == 1:
			return "", ralph.RetryAfter(errors.New("too many requests"), time.Second)
		case stage == "C coder" && turn == 1:
			return "not yet", nil
		}
		return makesFile(stage, turn, dir)
	})
	c := y.begin()
	c.verified()
	c.recorded("", "pipeline")
	c.recorded("/B.coder", "pipeline-stage")
}

// TestPipelineBudget: what is agreed for the run is exceeded by no more than the iterations
// that run.
func TestPipelineBudget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rules  pipeline.Rules
		stop   ralph.StopReason
		stages []string
		most   int // turns
	}{
		{"cost", pipeline.Rules{CostUSD: 1.25}, ralph.StopCost, []string{"coder"}, 2},
		{"tokens", pipeline.Rules{Tokens: 250}, ralph.StopTokens, []string{"coder"}, 2},
		{"agents of which nothing is known", pipeline.Rules{Tokens: 250}, ralph.StopTokens, []string{"coder", "reviewer"}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			y := newYard(t, 0, "A B C D E F", "")
			tt.rules.Slots, tt.rules.Merge = 2, true
			y.tasks.Rules, y.tasks.Stages = tt.rules, tt.stages
			o := y.office(ralph.Usage{InputTokens: 80, OutputTokens: 20, CostUSD: new(0.5)}, makesFile)
			c := y.begin()
			<-c.done
			turns := 0
			for _, n := range o.turns {
				turns += n
			}
			if c.state.Stop != tt.stop || turns < 2 || turns > tt.most {
				t.Errorf("it ended %s (%s) after %v: %v", standing(c.state), c.state.Detail, o.turns, c.err)
			}
			if u := c.state.Used(); *u.CostUSD != 0.5*float64(turns) || u.InputTokens != 80*int64(turns) {
				t.Errorf("on record is %v of %d turns", u, turns)
			}
			c.merged()
		})
	}
}

// TestPipelineBudgetAwaited: an iteration that waits for what others have reserved of the
// budget does not wait for ever when they leave too little.
func TestPipelineBudgetAwaited(t *testing.T) {
	y := newYard(t, 0, "A B", "")
	y.tasks.Rules.CostUSD, y.tasks.Stages = 1.25, []string{"coder"}
	waits := make(chan struct{})
	y.office(ralph.Usage{CostUSD: new(0.5)}, func(stage string, turn int, dir string) (string, error) {
		if stage == "A coder" {
			return "not yet", nil
		}
		<-waits
		return makesFile(stage, turn, dir)
	})
	c := y.begin()
	y.stands("that A waits", func(s pipeline.State) bool {
		return slices.ContainsFunc(s.Running, func(r pipeline.Live) bool { return r.Part == 0 && r.Waits })
	})
	close(waits)
	if got := c.end(); got != "cost A=interrupted B=done" || *c.state.Used().CostUSD != 1 {
		t.Errorf("it ended %s (%s), used %v: %v", got, c.state.Detail, c.state.Used(), c.err)
	}
	c.merged()
}

// TestPipelineVerified: what is merged is what was verified.
func TestPipelineVerified(t *testing.T) {
	exam := func(y *yard) {
		write(t, filepath.Join(y.main, "exam.sh"), "test -e answer\n")
		sh(y, y.main, "git add -A; git commit -qm exam")
		y.Check, y.Guard, y.tasks.Stages = "sh exam.sh", []string{"exam.sh"}, []string{"coder"}
	}
	t.Run("a changed exam", func(t *testing.T) {
		y := newYard(t, 0, "A", `case $n in *1.1) echo true >exam.sh; git commit -qam easier ;; esac; claims`)
		exam(y)
		y.clones("a", "b")
		y.tasks.Task = iterations(1)
		y.worker("a")
		y.worker("b")
		c := y.begin()
		if got := c.end(); got != "stalled A=failed" {
			t.Errorf("it ended %s: %v", got, c.err)
		}
		c.merged()
		// It begins anew, without what lies there.
		c = y.begin()
		if got := c.end(); got != "stalled A=failed" {
			t.Errorf("it ended %s: %v", got, c.err)
		}
		c.merged()
	})
	t.Run("what an earlier run has left", func(t *testing.T) {
		y := newYard(t, 0, "A", "")
		exam(y)
		y.tasks.Task = iterations(1)
		run := 0
		y.office(ralph.Usage{}, func(_ string, _ int, dir string) (string, error) {
			if run++; run == 1 {
				return claim, os.WriteFile(filepath.Join(dir, "exam.sh"), []byte("true\n"), 0o600)
			}
			return claim, nil
		})
		for range 2 {
			c := y.begin()
			if got := c.end(); got != "stalled A=failed" || run == 0 {
				t.Errorf("it ended %s: %v", got, c.err)
			}
			c.merged()
		}
		if run != 2 {
			t.Errorf("%d turns", run)
		}
		kept := sh(t, y.main, "git for-each-ref --format='%(refname)' refs/heads/ralph")
		if !strings.Contains(kept, ".1") {
			t.Errorf("what was left is not kept: %s", kept)
		}
	})
	t.Run("together they fail", func(t *testing.T) {
		y := newYard(t, 0, "A B", "")
		y.Check, y.tasks.Stages = `test "$(ls *.part | wc -l)" = 1`, []string{"coder"}
		var both sync.WaitGroup
		both.Add(2)
		y.office(ralph.Usage{}, func(stage string, turn int, dir string) (string, error) {
			both.Done()
			both.Wait()
			return claim, os.WriteFile(filepath.Join(dir, stage[:1]+".part"), nil, 0o600)
		})
		c := y.begin()
		if got := c.end(); got != "stalled A=done B=unmerged" && got != "stalled A=unmerged B=done" {
			t.Errorf("it ended %s: %v", got, c.err)
		}
		c.merged()
		if parts := sh(t, y.main, "ls *.part"); len(parts) != len("A.part") {
			t.Errorf("main has %s", parts)
		}
	})
	t.Run("together they are verified again", func(t *testing.T) {
		y := newYard(t, 0, "A B", "")
		y.Check, y.tasks.Stages = `ls *.part | wc -l >>`+y.log, []string{"coder"}
		var both sync.WaitGroup
		both.Add(2)
		y.office(ralph.Usage{}, func(stage string, turn int, dir string) (string, error) {
			both.Done()
			both.Wait()
			return claim, os.WriteFile(filepath.Join(dir, stage[:1]+".part"), nil, 0o600)
		})
		y.begin().verified()
		if seen := fmt.Sprint(y.wrote("")); seen != "[1 1 2]" {
			t.Errorf("what was verified had %s parts", seen)
		}
	})
}
