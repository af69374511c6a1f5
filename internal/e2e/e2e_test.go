//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
	"github.com/ralph-loop/ralph/verify"
)

// The tests in the e2e files run the real clients of agents against a scripted
// model API on loopback. They need what .ci/install-agents installs and skip
// without it; with RALPH_E2E=1 in the environment they fail instead.

// e2eAgents are the clients that the tests run: those that CI installs. With
// RALPH_E2E=all the others run too, which is slow, for some take minutes to end,
// and ask for hosts outside.
func e2eAgents() []string {
	agents := []string{"claude", "codex", "copilot", "gemini"}
	if os.Getenv("RALPH_E2E") == "all" {
		agents = append(agents, "opencode", "cline")
	}
	return agents
}

// e2eLimit bounds what should take seconds, on a machine that is busy.
const e2eLimit = 4 * time.Minute

// odd reports whether a client asks for hosts of its maker's whatever it is told,
// and retries for minutes. The server turns it away; it goes on without.
func odd(agent string) bool { return agent == "opencode" || agent == "cline" }

// ownTries is how often the client of e.impatient asks before it gives up.
func ownTries(agent string) int {
	switch agent {
	case "claude", "codex":
		return 1
	case "gemini":
		return 2
	}
	return 6
}

// An e2eRun is one client with a home, a workspace and a model of its own.
type e2eRun struct {
	*testing.T
	agent  string
	server *modelserver.Server
	bin    string // the folder of the client
	dir    string // the workspace
	home   string
	env    []string
}

// eachAgent runs a test with each client, on the script made for it. The script
// gets the workspace's path.
func eachAgent(t *testing.T, script func(dir string) []modelserver.Turn, test func(e *e2eRun)) {
	t.Helper()
	eachClient(t, func(_, dir string) []modelserver.Turn { return script(dir) }, test)
}

// eachClient is eachAgent for scripts that differ from client to client.
func eachClient(t *testing.T, script func(agent, dir string) []modelserver.Turn, test func(e *e2eRun)) {
	t.Helper()
	for _, agent := range e2eAgents() {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			gitInit(t, dir)
			test(newE2E(t, agent, dir, script(agent, dir)))
		})
	}
}

func newE2E(t *testing.T, agent, dir string, script []modelserver.Turn) *e2eRun {
	t.Helper()
	bin := e2eBin(t, agent)
	home := t.TempDir()
	server, err := modelserver.Start(script...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	env, err := server.Env(agent, home)
	if err != nil {
		t.Fatal(err)
	}
	e := &e2eRun{T: t, agent: agent, server: server, bin: bin, dir: dir, home: home, env: env}
	t.Cleanup(e.checkAfter)
	return e
}

// e2eBin is the folder that holds a client, which is where .ci/install-agents
// puts it. PATH is not looked at: another version is another program.
func e2eBin(t *testing.T, agent string) string {
	t.Helper()
	root := os.Getenv("RALPH_AGENTS")
	if root == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		root = filepath.Join(home, ".cache", "ralph-agents")
	}
	bin := filepath.Join(root, "node_modules", ".bin")
	if _, err := exec.LookPath(filepath.Join(bin, agent)); err != nil {
		const how = "%s is not installed; .ci/install-agents does that"
		if os.Getenv("RALPH_E2E") != "" {
			t.Fatalf(how, agent)
		}
		t.Skipf(how, agent)
	}
	return bin
}

// checkAfter holds for every run: no process is left, and no request has left
// loopback. HOME is unique to the run, and its children inherit it.
func (e *e2eRun) checkAfter() {
	e.nothingRuns()
	for _, p := range e.runs("") {
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
	for _, out := range e.server.Escapes() {
		if odd(e.agent) {
			continue
		}
		e.Errorf("wanted to leave loopback: %s", out)
	}
}

// command is the client as the preset runs it.
func (e *e2eRun) command() *ralph.Command {
	e.Helper()
	c, err := clientIn(e.bin, e.agent)
	if err != nil {
		e.Fatal(err)
	}
	c.Env = append(c.Env, e.env...)
	return c
}

// clientIn is the client in a folder, in this process's environment.
func clientIn(bin, agent string) (*ralph.Command, error) {
	c, err := ralph.Preset(agent)
	if err == nil {
		c.Args[0] = filepath.Join(bin, c.Args[0])
	}
	return c, err
}

func (e *e2eRun) context() context.Context {
	limit := e2eLimit
	if odd(e.agent) {
		limit *= 3
	}
	ctx, cancel := context.WithTimeout(e.Context(), limit)
	e.Cleanup(cancel)
	return ctx
}

// e2eLog keeps what happened in a loop, and what its agents printed.
type e2eLog struct {
	ended  []ralph.Iteration
	output bytes.Buffer
}

func (l *e2eLog) Append(_ context.Context, ev ralph.Event) error {
	if ev.Kind == ralph.EventIterationEnded {
		l.ended = append(l.ended, ev.Iteration)
	}
	return nil
}

func (l *e2eLog) faults() []ralph.Fault {
	var fs []ralph.Fault
	for _, it := range l.ended {
		fs = append(fs, it.Fault)
	}
	return fs
}

// run runs a loop whose work is to write hello.txt.
func (e *e2eRun) run(ctx context.Context, runner ralph.Runner, l ralph.Limits) (ralph.State, *e2eLog, error) {
	e.Helper()
	return e.goOn(ctx, runner, ralph.Start(ralph.Task{ID: "hello", Dir: e.dir, Prompt: e2ePrompt, Limits: l}))
}

// goOn runs a loop from a state.
func (e *e2eRun) goOn(ctx context.Context, runner ralph.Runner, s ralph.State) (ralph.State, *e2eLog, error) {
	e.Helper()
	log := e.newLog()
	s, err := helloLoop(runner, log).Run(ctx, s)
	return s, log, err
}

// newLog is a log that shows on failure what the agent printed.
func (e *e2eRun) newLog() *e2eLog {
	log := &e2eLog{}
	e.Cleanup(func() {
		if e.Failed() {
			e.Logf("output of %s:\n%s", e.agent, &log.output)
		}
	})
	return log
}

// helloLoop is a loop with hello.txt as the proof.
func helloLoop(runner ralph.Runner, log *e2eLog) *ralph.Local {
	return &ralph.Local{
		Runner:   runner,
		Verifier: verify.External{Args: []string{"test", "-f", "hello.txt"}},
		Log:      log,
		Output:   func(ralph.Request) (display, raw io.Writer) { return nil, &log.output },
	}
}

const e2ePrompt = "Write a file hello.txt that greets the reader."

const claim = "All done.\n\n<promise>COMPLETE</promise>"

func helloIn(dir string) *modelserver.File {
	return &modelserver.File{Path: filepath.Join(dir, "hello.txt"), Content: "hello\n"}
}

// An e2eProcess is one that runs.
type e2eProcess struct {
	pid  int
	args []string
}

// processes lists those with these variables in their environment, whatever session
// they are in. Zombies have none.
func processes(variables ...string) []e2eProcess {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is a good one
	var found []e2eProcess
	for _, path := range environs {
		text, err := os.ReadFile(path)
		env := strings.Split(string(text), "\x00")
		if err != nil || slices.ContainsFunc(variables, func(v string) bool { return !slices.Contains(env, v) }) {
			continue // ended meanwhile, or another's
		}
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		found = append(found, e2eProcess{pid, strings.Fields(strings.ReplaceAll(string(args), "\x00", " "))})
	}
	return found
}

func gitInit(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "init", "-q", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
}

// write writes a file in the workspace.
func (e *e2eRun) write(name, text string) {
	e.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o644); err != nil {
		e.Fatal(err)
	}
}

// runs lists the run's processes with a text in their arguments, "" = all.
func (e *e2eRun) runs(text string) []e2eProcess {
	return slices.DeleteFunc(processes("HOME="+e.home), func(p e2eProcess) bool {
		return !strings.Contains(strings.Join(p.args, " "), text)
	})
}

// nothingRuns checks that the run has left no process.
func (e *e2eRun) nothingRuns() {
	e.Helper()
	for _, p := range e.runs("") {
		e.Errorf("left behind: %d: %q", p.pid, p.args)
	}
}
