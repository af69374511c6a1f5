package pipeline_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// killedEnv names the folder of a run that is killed, for the test binary as its program.
const killedEnv = "PIPELINE_TEST_KILLED"

// killedAgent does its task's part of a plan: $P/plan/TASK.AGENT, or the AGENT's. At the
// point of its life that $P/kill names it kills the program, and goes on as if nothing
// were.
const killedAgent = `cat >/dev/null
point() { if [ "$(cat $P/kill 2>/dev/null)" = "$T.$A $1" ]; then rm $P/kill; kill -9 $(cat $P/pid); left=1; fi; }
echo "$T.$A" >>$P/ran
point began
plan=$P/plan/$T.$A; [ -e $plan ] || plan=$P/plan/$A
. $plan
point half
if [ -n "$left" ]; then setsid sh -c 'sleep 300; echo late >>late' >/dev/null 2>&1 </dev/null & fi
echo "All is committed, all tests pass (3 passed), approved."; echo; echo "<promise>$PROMISE</promise>"
`

// killedCheck verifies a claim by the script that it is called with.
const killedCheck = `if [ "$(cat $P/kill 2>/dev/null)" = "$1 check" ]; then rm $P/kill; kill -9 $(cat $P/pid); fi
eval "$2"
`

// TestKilledProgram is no test, but the program that is killed.
func TestKilledProgram(t *testing.T) {
	folder := os.Getenv(killedEnv)
	if folder == "" {
		return
	}
	t.Setenv("P", folder)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := os.WriteFile(filepath.Join(folder, "pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	p := killedPipeline(folder)
	for ev, err := range p.Events(ctx) {
		if err != nil {
			fmt.Fprintf(os.Stderr, "= %v\n", err)
			break
		}
		fmt.Fprintf(os.Stderr, "> %s %s %s %s %s\n", ev.Kind, ev.Task, ev.Agent, ev.Stop, strings.ReplaceAll(ev.Text, "\n", " "))
	}
	if err := p.Record.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "= over")
}

// killedPipeline is what runs in a folder.
func killedPipeline(folder string) *pipeline.Pipeline {
	ws := filepath.Join(folder, "ws")
	return &pipeline.Pipeline{
		Source: &pipeline.File{Path: filepath.Join(ws, "tasks.yaml")}, Dir: ws,
		Record: &progress.Dir{Path: filepath.Join(folder, "record"), NoSync: true},
		Limits: ralph.Limits{Iterations: 2},
		Rules:  pipeline.Rules{Slots: 3, Merge: true, CostUSD: 10}, Stages: []string{"coder", "tester"},
		Verifier: spec.Verifier(spec.Env{Dir: ws, InheritEnv: []string{"PATH", "HOME", "TMPDIR", "P"}}),
		Runner: func(at pipeline.Place) (ralph.Runner, error) {
			return ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
				c := &ralph.Command{Args: []string{"/bin/sh", "-c", killedAgent}, Env: []string{"P=" + folder, "T=" + at.Task, "A=" + at.Agent, "PROMISE=" + req.Promise}}
				resp, err := c.Run(ctx, req)
				resp.Usage = resp.Usage.Add(ralph.Usage{Requests: 1, CostUSD: new(0.01)})
				return resp, err
			}), nil
		},
	}
}

// A killing is a pipeline whose program is killed again and again.
type killing struct {
	*testing.T
	folder, ws string
	verified   []string // "task.agent", as of the last life
	ran        int      // lines of what ran, as of the last life
	ended      bool     // the last life has recorded the run's end, whatever else it still had to do
	said       bytes.Buffer
}

// kill begins a killing: tasks are lines of a task file, plan are the scripts of agents.
func kill(t *testing.T, plan map[string]string, tasks ...string) *killing {
	if runtime.GOOS == "windows" {
		t.Skip("the agents are shell scripts")
	}
	t.Parallel()
	k := &killing{T: t}
	k.ws = repo(t, map[string]string{"tasks.yaml": "tasks:\n" + strings.Join(tasks, ""), "README": "first\n", "shared": "one\ntwo\nthree\n"})
	k.folder = filepath.Dir(k.ws)
	if err := os.Rename(k.ws, filepath.Join(k.folder, "ws")); err != nil {
		t.Fatal(err)
	}
	k.ws = filepath.Join(k.folder, "ws")
	files := map[string]string{"check": killedCheck, "plan/coder": "echo made >$T\n", "plan/tester": "echo tested >$T.test\n"}
	for name, script := range plan {
		files["plan/"+name] = script
	}
	writeAll(t, k.folder, files)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("all lives:\n%s", k.said.String())
		}
	})
	return k
}

// program runs what is killed.
func (k *killing) program() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		k.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestKilledProgram$")
	cmd.Env = append(os.Environ(), killedEnv+"="+k.folder)
	return cmd
}

// killedTask is a task of both stages, each with a check.
func killedTask(id string, after []string, check string) string {
	if check == "" {
		check = "test -e " + id
	}
	method := func(agent, check string) string {
		return fmt.Sprintf("verification_method: external\n        verification_config: {command: %q}\n",
			"/bin/sh $P/check "+id+"."+agent+" '"+check+"'")
	}
	return task(id, "/bin/sh $P/check "+id+".coder '"+check+"'", after) +
		"      tester:\n        promise: TESTED\n        " + method("tester", "test -e "+id+".test && "+check)
}

// live runs the program once, and has it killed after so many events; 0 = not by that.
// It reports whether the run has come to its end.
func (k *killing) live(sig syscall.Signal, events int, change ...func(*exec.Cmd)) (over bool) {
	k.Helper()
	cmd := k.program()
	for _, f := range change {
		f(cmd)
	}
	from, to, err := os.Pipe()
	if err != nil {
		k.Fatal(err)
	}
	cmd.Stderr = to
	if err := cmd.Start(); err != nil {
		k.Fatal(err)
	}
	to.Close()
	fmt.Fprintf(&k.said, "--- %v after %d events; %s\n", sig, events, bytes.TrimSpace(k.read("kill")))
	defer from.Close()
	n := 0
	for lines := bufio.NewScanner(from); lines.Scan(); {
		fmt.Fprintln(&k.said, lines.Text())
		over = over || lines.Text() == "= over"
		if n++; n == events {
			cmd.Process.Signal(sig)
		}
	}
	_ = cmd.Wait() // it was killed, as often as not
	if sig == os.Interrupt && n >= events && events > 0 && !over {
		k.Error("an interrupt is no clean end")
	}
	over = over && (events == 0 || n < events || sig == syscall.SIGKILL)
	k.looked()
	return over
}

// looked checks that nothing ran again that was on record as verified before this life.
func (k *killing) looked() {
	k.Helper()
	ran := strings.Fields(string(k.read("ran")))
	for _, stage := range ran[k.ran:] {
		if slices.Contains(k.verified, stage) {
			k.Errorf("%s ran again, although it was verified", stage)
		}
	}
	k.ran, k.verified, k.ended = len(ran), nil, false
	dir := &progress.Dir{Path: filepath.Join(k.folder, "record")}
	s, _, err := pipeline.Recorded(k.Context(), dir, "pipeline")
	if err != nil {
		return // it was killed before it began
	}
	for part, st := range s.Stands {
		for i, agent := range s.Orders[s.Parts[part].Order] {
			e, err := dir.Look("pipeline/" + s.Parts[part].ID + "." + agent)
			if st.Verified&(1<<i) != 0 || err == nil && e.State.Stop == ralph.StopVerified {
				k.verified = append(k.verified, s.Parts[part].ID+"."+agent)
			}
		}
	}
	k.ended = s.Done()
}

func (k *killing) read(name string) []byte {
	text, err := os.ReadFile(filepath.Join(k.folder, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.Fatal(err)
	}
	return text
}

// over checks how a run must have ended: with these files in main, beside those of the
// start, these statuses, and these branches and worktrees.
func (k *killing) over(files map[string]string, want string, open ...string) {
	k.Helper()
	torn, _ := filepath.Glob(filepath.Join(k.ws, ".tasks.yaml.*")) // a kill leaves what was being written
	for _, name := range torn {
		os.Remove(name)
	}
	sound(k, k.ws, "M tasks.yaml")
	is := there(k, k.ws, "main")
	delete(is, "tasks.yaml")
	for name, text := range is {
		if files[name] != text {
			k.Errorf("main has %s: %q", name, text)
		}
	}
	for name := range files {
		if _, ok := is[name]; !ok {
			k.Errorf("main has no %s", name)
		}
	}
	if got := statuses(k, filepath.Join(k.ws, "tasks.yaml")); got != want {
		k.Errorf("the tasks are\n%s, want\n%s", got, want)
	}
	branches, trees := left(k, k.ws)
	for i := range branches {
		branches[i] = strings.TrimPrefix(branches[i], "ralph/")
	}
	if !slices.Equal(branches, open) || !slices.Equal(trees, open) {
		k.Errorf("left are the branches %q and the worktrees %q, want %q", branches, trees, open)
	}
}

// costs checks that the run knows what all its loops have used.
func (k *killing) costs() {
	k.Helper()
	dir := &progress.Dir{Path: filepath.Join(k.folder, "record")}
	s, _, err := pipeline.Recorded(k.Context(), dir, "pipeline")
	if err != nil {
		k.Fatal(err)
	}
	var used ralph.Usage
	whole, err := dir.Look("pipeline")
	if err != nil {
		k.Fatal(err)
	}
	for _, e := range dir.Parts(k.Context(), whole) {
		used = used.Add(e.State.Usage)
	}
	if got, want := s.Used().Requests, used.Requests; got != want {
		k.Errorf("the run has used %d requests, its loops %d", got, want)
	}
}

// TestKilledAnywhere kills a run of twelve tasks, with failures by plan, wherever one can.
func TestKilledAnywhere(t *testing.T) {
	k := kill(t, map[string]string{
		"T6.coder": "echo six >shared; echo made >T6", "T7.coder": "echo seven >shared; echo made >T7", // whichever is second conflicts
		"T8.coder": "true",                                         // claims what is not so
		"T9.coder": "echo made >T9", "T10.coder": "echo made >T10", // whichever is second breaks the other's check
	},
		killedTask("T1", nil, ""),
		killedTask("T2", []string{"T1"}, ""), killedTask("T3", []string{"T1"}, ""), killedTask("T4", []string{"T2", "T3"}, "test -e T2 -a -e T3.test -a -e T4"),
		killedTask("T5", []string{"T4"}, ""),
		killedTask("T6", []string{"T1"}, ""), killedTask("T7", []string{"T1"}, ""),
		killedTask("T8", nil, ""), killedTask("T9", nil, "test -e T9 -a ! -e T10"), killedTask("T10", nil, "test -e T10 -a ! -e T9"),
		killedTask("T11", []string{"T8"}, ""), killedTask("T12", []string{"T4"}, ""),
	)
	for _, at := range []string{"T1.coder began", "T1.coder half", "T2.coder check", "T3.tester half", "T4.tester check", "T5.coder began"} {
		writeAll(t, k.folder, map[string]string{"kill": at})
		k.live(0, 0)
	}
	os.Remove(filepath.Join(k.folder, "kill"))
	for n := 1; !k.live([]syscall.Signal{syscall.SIGKILL, syscall.SIGINT}[n%2], 3*n) && !k.ended; n++ { // another life would begin another run
	}
	k.costs()
	k.live(0, 0)

	files := map[string]string{"README": "first", "shared": "six"}
	for _, id := range []string{"T1", "T2", "T3", "T4", "T5", "T12"} {
		files[id], files[id+".test"] = "made", "tested"
	}
	is := there(t, k.ws, "main")
	status := map[string]string{"T6": "done", "T7": "running", "T9": "done", "T10": "running"}
	open := []string{"T7", "T8", "T10"}
	if is["T7"] != "" {
		files["shared"], status["T6"], status["T7"], open[0] = "seven", "running", "done", "T6"
	}
	if is["T10"] != "" {
		status["T9"], status["T10"], open[2] = "running", "done", "T9"
	}
	for id, s := range status {
		if s == "done" {
			files[id], files[id+".test"] = "made", "tested"
		}
	}
	slices.Sort(open)
	k.over(files, fmt.Sprintf("T1 done, T2 done, T3 done, T4 done, T5 done, T6 %s, T7 %s, T8 todo, T9 %s, T10 %s, T11 , T12 done",
		status["T6"], status["T7"], status["T9"], status["T10"]), open...)
}

// killedGit is a git that kills the program at its call number $N, before it does anything,
// or when it has done it.
const killedGit = `printf x >>$P/calls
if [ $(($(wc -c <$P/calls))) != $N ]; then exec %[1]q "$@"; fi
if [ $(($N %% 2)) = 0 ]; then kill -9 $(cat $P/pid); exit 1; fi
%[1]q "$@"
kill -9 $(cat $P/pid)
`

// TestKilledAtEachCall kills a run at each call of git, again and again: each life comes a
// little further than the one before.
func TestKilledAtEachCall(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for offset := range 2 {
		t.Run(strconv.Itoa(offset), func(t *testing.T) {
			k := kill(t, map[string]string{"T1.coder": "echo made >T1; echo one >shared", "T2.coder": "echo made >T2; rm -f README"},
				killedTask("T1", nil, ""), killedTask("T2", []string{"T1"}, ""))
			writeAll(t, k.folder, map[string]string{"bin/git": "#!/bin/sh\n" + fmt.Sprintf(killedGit, git)})
			if err := os.Chmod(filepath.Join(k.folder, "bin", "git"), 0o755); err != nil {
				t.Fatal(err)
			}
			for n, over := 16+3*offset, false; !over; n += 8 {
				os.Remove(filepath.Join(k.folder, "calls"))
				over = k.live(0, 0, func(cmd *exec.Cmd) {
					cmd.Env = append(cmd.Env, "N="+strconv.Itoa(n), "P="+k.folder, "PATH="+filepath.Join(k.folder, "bin")+":"+os.Getenv("PATH"))
				})
			}
			k.over(map[string]string{"shared": "one", "T1": "made", "T1.test": "tested", "T2": "made", "T2.test": "tested"}, "T1 done, T2 done")
		})
	}
}
