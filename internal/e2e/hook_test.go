//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
	"github.com/ralph-loop/ralph/progress"
)

// A hooked is a client whose sessions the tool keeps going, by that client's hooks.
type hooked struct {
	*e2eRun
	tool string
}

// A hookTest is one with a workspace, a state folder and a model of its own.
type hookTest struct {
	name   string
	script func(dir string) []modelserver.Turn
	test   func(h *hooked)
}

// Real clients keep their sessions going, all at the same time.
func TestE2EHook(t *testing.T) {
	tool := builtTool(t)
	claude := []string{"claude"}
	for _, group := range []struct {
		name   string
		agents []string
		tests  []hookTest
	}{
		{"claim", []string{"claude", "codex", "copilot", "gemini"}, hookClaims()},
		{"long", claude, hookLong()}, {"trap", claude, hookTraps()}, {"end", claude, hookEnds()}, {"beside", claude, hookBeside()},
		{"attach", claude, hookAttach()}, {"trust", claude, hookTrust()}, {"terminal", claude, hookTerminals()},
	} {
		for _, tt := range group.tests {
			for _, agent := range group.agents {
				t.Run(group.name+"/"+tt.name+"/"+agent, func(t *testing.T) {
					t.Parallel()
					testHook(t, tool, tt, agent)
				})
			}
		}
	}
}

func testHook(t *testing.T, tool func(*e2eRun) string, tt hookTest, agent string) {
	dir, tmp := t.TempDir(), t.TempDir()
	gitInit(t, dir)
	e := newE2E(t, agent, dir, tt.script(dir))
	e.env = append(e.env, "TMPDIR="+tmp)
	tt.test(&hooked{e, tool(e)})
	if left, err := filepath.Glob(filepath.Join(tmp, "ralph-*")); err != nil || left != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// turns is a script that is the same in each workspace.
func turns(all ...modelserver.Turn) func(string) []modelserver.Turn {
	return func(string) []modelserver.Turn { return all }
}

// client is the client without a terminal, as its users start it.
func (h *hooked) client() []string {
	switch h.agent {
	case "codex":
		return []string{"codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}
	case "gemini":
		return []string{"gemini", "--output-format", "stream-json", "--yolo", "--skip-trust"}
	case "copilot":
		return []string{"copilot", "--output-format", "json", "--allow-all-tools", "--allow-all-paths", "--no-ask-user", "--no-auto-update"}
	}
	return []string{"claude", "-p", "--dangerously-skip-permissions"}
}

// A hookedRun is a program that a test has started.
type hookedRun struct {
	*hooked
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{}
}

// start starts ralph start with the client.
func (h *hooked) start(args ...string) *hookedRun {
	h.Helper()
	return h.run(h.starting(args...))
}

func (h *hooked) starting(args ...string) *exec.Cmd {
	h.Helper()
	return h.ralph(h.tool, slices.Concat([]string{"start"}, args, []string{"--"}, h.client())...)
}

func (h *hooked) run(cmd *exec.Cmd) *hookedRun {
	h.Helper()
	r := &hookedRun{hooked: h, cmd: cmd, ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &r.stdout
	}
	cmd.Stderr = &r.stderr
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		cmd.Wait() // who waits looks at the state
	}()
	h.Cleanup(func() {
		<-r.ended
		if h.Failed() {
			h.Logf("%q: %v\nstandard output:\n%s\nstandard error:\n%s", cmd.Args[1:], cmd.ProcessState, &r.stdout, &r.stderr)
		}
	})
	return r
}

// ends waits for the program's end, and checks how it is.
func (r *hookedRun) ends(exit int, says ...string) {
	r.Helper()
	<-r.ended
	if got := r.cmd.ProcessState.ExitCode(); got != exit {
		r.Errorf("exit status %d, want %d", got, exit)
	}
	for _, want := range says {
		if !strings.Contains(r.stderr.String(), want) {
			r.Errorf("%q is not said", want)
		}
	}
}

// reaches waits until somebody writes to a pipe, but not longer than the program runs.
func (r *hookedRun) reaches(pipe *os.File) {
	r.Helper()
	over := make(chan struct{})
	go func() {
		select {
		case <-r.ended:
			giveUp(pipe)
		case <-over:
		}
	}()
	defer close(over)
	if err := readLine(pipe); err != nil {
		r.Fatalf("%s: %v", pipe.Name(), err)
	}
}

// asks waits for a request of the model, the first is 1, as long as the program runs.
func (r *hookedRun) asks(n int) modelserver.Request {
	r.Helper()
	var q modelserver.Request
	r.whileItRuns(func(ctx context.Context) (err error) { q, err = r.server.Wait(ctx, n); return err })
	return q
}

// breaksOff waits until the client has broken off a request whose answer hangs.
func (r *hookedRun) breaksOff(n int) {
	r.Helper()
	r.whileItRuns(func(ctx context.Context) error { return r.server.WaitGone(ctx, n) })
}

// comesTo waits until the only session has stopped.
func (r *hookedRun) comesTo(stop ralph.StopReason) {
	r.Helper()
	r.whileItRuns(func(ctx context.Context) error {
		for r.standing().State.Stop != stop {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
}

// whileItRuns does what waits, as long as the program runs.
func (r *hookedRun) whileItRuns(wait func(context.Context) error) {
	r.Helper()
	ctx, cancel := context.WithCancelCause(r.context())
	defer cancel(nil)
	go func() {
		select {
		case <-r.ended:
			cancel(fmt.Errorf("the program has ended"))
		case <-ctx.Done():
		}
	}()
	if err := wait(ctx); err != nil {
		r.Fatal(err)
	}
}

// open lets go on, as often as given, who reads a line of a pipe.
func (h *hooked) open(pipe *os.File, times int) {
	h.Helper()
	if _, err := pipe.WriteString(strings.Repeat("go\n", times)); err != nil {
		h.Error(err)
	}
}

// waiting is a command that says that it runs, and waits until the pipe named gate is
// opened.
func waiting(dir string) string {
	return "echo up >" + filepath.Join(dir, "started") + "; read x <" + filepath.Join(dir, "gate")
}

// standing is where the only session of the workspace stands.
func (h *hooked) standing() progress.Standing {
	h.Helper()
	out, err := h.ralph(h.tool, "status", "--json").Output()
	var all []progress.Standing
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil || len(all) != 1 {
		h.Fatalf("status: %v: %s", err, out)
	}
	return all[0]
}

// stands checks where the only session stands, and returns its ID.
func (h *hooked) stands(stop ralph.StopReason, iteration int) string {
	h.Helper()
	st := h.standing()
	if st.State.Stop != stop || st.State.Iteration != iteration {
		h.Errorf("%s: %q at iteration %d (%s), want %q at %d", st.Status, st.State.Stop, st.State.Iteration, st.State.Detail, stop, iteration)
	}
	return st.Loop
}

// told checks which prompts of the loop the last request holds, by their iterations,
// and that there were so many requests.
func (h *hooked) told(requests int, want ...string) {
	h.Helper()
	asked := h.server.Requests()
	if len(asked) != requests {
		h.Fatalf("%d requests, want %d", len(asked), requests)
	}
	var got []string
	for _, text := range asked[len(asked)-1].User {
		if text == ralph.StillVerifying || strings.HasSuffix(strings.TrimSpace(text), ralph.StillVerifying) {
			got = append(got, "wait")
		}
		_, text, is := strings.Cut(text, "[RALPH LOOP - ITERATION ")
		for ; is; _, text, is = strings.Cut(text, "[RALPH LOOP - ITERATION ") {
			at, _, _ := strings.Cut(text, "]")
			got = append(got, at)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("prompts (-want +got):\n%s", diff)
	}
}

const (
	hookPrompt = "Write a file hello.txt that greets the reader."
	hookTag    = "<promise>DONE</promise>"
	hookDone   = "All done.\n\n" + hookTag
	hookVerify = "test -f hello.txt || { echo NO-GREETING; exit 1; }"
)

// A session goes on at a stop without a promise and at a false one, is told why, and
// ends at the true one.
func hookClaims() []hookTest {
	return []hookTest{
		{"false claim", func(dir string) []modelserver.Turn {
			return []modelserver.Turn{{Text: "I have looked."}, {Text: hookDone}, {Text: "So it is.", Write: helloIn(dir)}, {Text: hookDone}}
		}, func(h *hooked) {
			if h.agent == "gemini" { // it has hooks from its settings alone
				h.install("install")
			}
			h.start(hookPrompt, "--verify", hookVerify, "--max-iterations", "25").ends(0, "Task completed after 3 iteration(s)")
			h.nothingRuns()
			h.stands(ralph.StopVerified, 3)
			h.told(4, "2/25", "3/25")
			asked := h.server.Requests()
			for i, q := range asked {
				if text := strings.Join(q.User, "\n"); strings.Count(text, hookPrompt) != min(i+1, 3) || strings.Contains(text, "NO-GREETING\n") != (i > 1) {
					h.Errorf("request %d has the task or the check's words not when it should: %q", i+1, text)
				}
			}
		}},
	}
}

// Sessions that take long.
func hookLong() []hookTest {
	twelve := append(slices.Repeat([]modelserver.Turn{{Text: "Not yet."}}, 12), modelserver.Turn{Text: hookDone})
	return []hookTest{
		// One goes on more often than its client allows hooks that want it to.
		{"twelve stops", turns(twelve...), func(h *hooked) {
			h.start("Fix it.", "--verify", "true").ends(0)
			h.stands(ralph.StopVerified, 13)
			if n := len(h.server.Requests()); n != 13 {
				h.Errorf("%d requests, want 13", n)
			}
		}},
		// A verifier that takes longer than the client lets a hook: the session is told to
		// wait, and gets the verdict at its next stop. Nothing is verified twice.
		{"slow verifier", func(dir string) []modelserver.Turn {
			return []modelserver.Turn{{Text: hookDone}, {Text: "I wait."}, {Text: "So it is.", Write: helloIn(dir)}, {Text: hookDone}}
		}, func(h *hooked) {
			gate := h.fifo("gate")
			r := h.start("Greet.", "--hook-timeout", "3s", "--verify", "echo run >>runs; read x <gate; "+hookVerify)
			if q := r.asks(2); !q.Holds(ralph.StillVerifying) || q.Holds("ITERATION") {
				h.Errorf("it is not told to wait: %q", q.User)
			}
			h.open(gate, 2)
			r.ends(0)
			h.stands(ralph.StopVerified, 2)
			h.told(4, "wait", "2/100")
			if q := h.server.Requests()[2]; !q.Holds("NO-GREETING\n") {
				h.Errorf("the verdict is not told: %q", q.User)
			}
			if runs, err := os.ReadFile(filepath.Join(h.dir, "runs")); string(runs) != "run\nrun\n" {
				h.Errorf("the verifier ran: %q, %v, want it once for each claim", runs, err)
			}
		}},
	}
}

// The tag counts only in the agent's last words of its turn. The verifier takes
// whatever is taken for a claim.
func hookTraps() (tests []hookTest) {
	traps := map[string]func(dir string) []modelserver.Turn{
		"prompt": turns(modelserver.Turn{Text: "I have looked."}),
		"tool":   turns(modelserver.Turn{Shell: "echo '" + hookTag + "'"}, modelserver.Turn{Text: "So it says."}),
		"file": func(dir string) []modelserver.Turn {
			return []modelserver.Turn{{Write: &modelserver.File{Path: filepath.Join(dir, "notes"), Content: hookTag + "\n"}}, {Text: "I have noted it."}}
		},
		"earlier answer": turns(modelserver.Turn{Text: hookDone, Shell: "true"}, modelserver.Turn{Text: "That was too early."}),
		"thinking":       turns(modelserver.Turn{Thinking: hookTag, Text: "I think so."}),
	}
	for name, trap := range traps {
		var before int
		tests = append(tests, hookTest{name, func(dir string) []modelserver.Turn {
			script := trap(dir)
			before = len(script)
			return append(script, modelserver.Turn{Text: hookDone})
		}, func(h *hooked) {
			h.start("Say "+hookTag+" when it is done, like this:\n\n"+hookTag, "--verify", "true").ends(0)
			h.stands(ralph.StopVerified, 2)
			h.told(before+1, "2/100")
			last := h.server.Requests()[before]
			if all, users := string(last.Body), strings.Join(last.User, ""); name != "prompt" && strings.Count(all, hookTag) == strings.Count(users, hookTag) {
				h.Error("the trap is not in the conversation, so this proves nothing")
			}
		}})
	}
	tests = append(tests, hookTest{"earlier loop", turns(modelserver.Turn{Text: hookDone}, modelserver.Turn{Text: "I have looked."}, modelserver.Turn{Text: hookDone}), func(h *hooked) {
		h.start("Fix it.", "--verify", "true").ends(0)
		id := h.stands(ralph.StopVerified, 1)
		h.start("Fix more.", "--session", id, "--verify", "true").ends(0)
		if again := h.stands(ralph.StopVerified, 2); again != id {
			h.Errorf("session %s became %s", id, again)
		}
		h.told(3, "2/100")
		if last := h.server.Requests()[1]; !last.Holds("Fix it.") || !last.Holds("Fix more.") {
			h.Error("it is not the same session, so this proves nothing")
		}
	}})
	return tests
}
