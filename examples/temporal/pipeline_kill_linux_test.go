package temporal_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// lives reports whether a process of the test's agents lives.
func (y *yard) lives(pid int) bool {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return bytes.Contains(env, []byte(agentName+"="+y.Name()+"\x00"))
}

// halts is an agent whose coder leaves a file in its first iteration, and in its second
// another one, and comes to no end: also not a process in a session of its own.
const halts = `log sees $n $(ls)
case "$n" in
"A coder 1.1") echo 1 >one; says 'not yet' ;;
"A coder 2.1") echo 2 >half; works; setsid sleep 301 >/dev/null 2>&1 </dev/null & log pid $$; log pid $!; log works; sleep 302 ;;
*) echo $agent >$task.$agent; claims ;;
esac`

// pids are the processes that the agents have told.
func (y *yard) pids(n int) (pids []int) {
	y.Helper()
	for _, text := range y.wrote("pid ") {
		pid, _ := strconv.Atoi(text)
		if pids = append(pids, pid); !y.lives(pid) {
			y.Errorf("the process %d is none of the agent's", pid)
		}
	}
	if len(pids) != n {
		y.Errorf("the agents' processes are %v", pids)
	}
	return pids
}

// used waits until a loop is known to have used so many tokens.
func (y *yard) used(loop string, tokens int64) {
	y.Helper()
	until(y.T, "the usage", func() bool {
		s, err := y.loop.State(within(y.T), y.run.Name+"/"+loop)
		return err == nil && s.Usage.InputTokens == tokens
	})
}

// gone waits for the end of processes.
func (y *yard) gone(pids []int) {
	y.Helper()
	for _, pid := range pids {
		until(y.T, "the end of the agent", func() bool { return !y.lives(pid) })
	}
}

// TestPipelineKilled: a stage whose worker is killed goes on at another, with what lies in
// the folder, or what was pushed.
func TestPipelineKilled(t *testing.T) {
	for _, tt := range []struct {
		name        string
		pin, remote bool
		sees        string
	}{{"one folder", false, false, "README half one"}, {"session", true, false, "README half one"}, {"clones", false, true, "README one"}} {
		t.Run(tt.name, func(t *testing.T) {
			y := newYard(t, 3*time.Second, "A", halts)
			if y.run.Pin = tt.pin; tt.remote {
				y.clones("a", "b")
			}
			one := y.worker("a")
			c := y.begin()
			y.logged("works")
			y.used("A.coder", 300)
			pids := y.pids(2)
			one.kill()
			y.gone(pids)
			y.worker("b")
			c.verified()
			c.recorded("", "")
			y.ran("A coder 1.1", "A coder 2.1", "A coder 2.2", "A reviewer 1.1")
			if sees := y.wrote("sees A coder 2.2 "); len(sees) != 1 || sees[0] != tt.sees {
				t.Errorf("the second worker's agent sees %q, want %q", sees, tt.sees)
			}
			if u := c.state.Settled; u.InputTokens != 200+100+200+200 {
				t.Errorf("it used %+v", u)
			}
		})
	}
}

// killing is a git that kills its worker once, at a command.
const killing = `#!/bin/sh
case "$*" in *%s*)
	[ -e "$MARKS/killed" ] || { [ -z %q ] || %[3]s "$@"; : >"$MARKS/killed"; kill -9 $PPID; exit 1; } ;;
esac
exec %[3]s "$@"
`

// TestPipelineKilledMerge: a merge whose worker is killed in it comes to its end once, also
// when the next one has done something else before.
func TestPipelineKilledMerge(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, command, after string
		remote               bool
	}{
		{"before it is made", "merge-tree", "", false},
		{"before main moves", `"update-ref -m ralph: merge"`, "", false},
		{"when main has moved", `"update-ref -m ralph: merge"`, "1", false},
		{"before main is pushed", ":refs/heads/main", "", true},
		{"when main is pushed", ":refs/heads/main", "1", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			y := newYard(t, 2*time.Second, "A B:A", makes)
			if tt.remote {
				y.clones("a", "b")
			}
			bin := filepath.Dir(write(t, filepath.Join(filepath.Dir(y.log), "bin", "git"), fmt.Sprintf(killing, tt.command, tt.after, git)))
			path := "PATH=" + bin + ":" + os.Getenv("PATH")
			one := y.worker("a", path)
			c := y.begin()
			<-one.ended
			y.worker("b", path)
			c.verified()
			c.recorded("", "")
			y.ran("A coder 1.1", "A reviewer 1.1", "B coder 1.1", "B reviewer 1.1")
			if got := y.names(); got != "A.coder A.reviewer B.coder B.reviewer" {
				t.Errorf("main has %s", got)
			}
		})
	}
}

// TestPipelineKilledVerifiedMerge: a merge that was about to move main when its worker was
// killed is brought to its end as it was verified.
func TestPipelineKilledVerifiedMerge(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	y := newYard(t, 2*time.Second, "A B", `log works; until [ "$(grep -c works $LOG)" = 2 ]; do sleep 0.1; done; touch $task.part; claims`)
	y.tasks.Stages = []string{"coder"}
	y.Check = `echo verified $(ls *.part) >>$LOG`
	bin := write(t, filepath.Join(filepath.Dir(y.log), "bin", "git"), fmt.Sprintf(killing, `"update-ref -m ralph: merge"`, "", git))
	text := lines(bin)
	text[0] += "\ngrep -q 'verified A.part B.part' $LOG || exec " + git + ` "$@"`
	path := "PATH=" + filepath.Dir(write(t, bin, strings.Join(text, "\n")+"\n")) + ":" + os.Getenv("PATH")
	one := y.worker("a", path)
	c := y.begin()
	<-one.ended
	y.worker("b", path)
	c.verified()
	if got := y.wrote("verified "); !slices.Equal(got, []string{"A.part", "A.part B.part", "B.part"}) {
		t.Errorf("what was verified is %q", got)
	}
}
