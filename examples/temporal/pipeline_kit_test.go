package temporal_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/temporal"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
)

// A yard is where a pipeline is worked on: a repository, a file of tasks, agents that are
// shell scripts and write down in a file what they do, and workers on several machines.
type yard struct {
	*park
	machine
	tasks      *pipeline.Pipeline // what is agreed
	run        *temporal.Pipeline
	file, main string // of the tasks, and where the main branch is
	log        string
	env        []string
}

// sh runs a script in a folder, and returns what it says.
func sh(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s%s", script, err, text, said.String())
	}
	return strings.TrimSuffix(string(text), "\n")
}

// newYard makes one; tasks are as "A B:A,C": B waits for A and C. The script of the agents
// is told "TASK AGENT ITERATION.ATTEMPT" as $n, and prelude begins it.
func newYard(t *testing.T, heartbeat time.Duration, tasks, agent string) *yard {
	t.Helper()
	t.Parallel()
	return newPark(t, heartbeat).yard(tasks, agent)
}

// yard makes one on the park's server.
func (p *park) yard(tasks, agent string) *yard {
	p.Helper()
	t, dir := p.T, p.TempDir()
	y := &yard{park: p, main: filepath.Join(dir, "main"), file: filepath.Join(dir, "tasks.yaml"), log: filepath.Join(dir, "log")}
	write(t, filepath.Join(y.main, "README"), "first\n")
	sh(t, y.main, `git init -q -b main; git config user.name user; git config user.email u@example.org; git add -A; git commit -qm first`)
	y.machine = machine{Address: p.address, Queue: p.queue, Dir: y.main, Agent: "set -- $n; task=$1 agent=$2\n" + agent}
	y.env = []string{"LOG=" + y.log, "MARKS=" + dir, "XDG_STATE_HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	var text strings.Builder
	text.WriteString("tasks:\n")
	for task := range strings.FieldsSeq(tasks) {
		id, after, _ := strings.Cut(task, ":")
		fmt.Fprintf(&text, "  - id: %s\n    title: Do %[1]s\n    dependencies: [%s]\n", id, after)
	}
	write(t, y.file, text.String())
	y.tasks = &pipeline.Pipeline{Dir: y.main, Stages: []string{"coder", "reviewer"}, Rules: pipeline.Rules{Slots: 2, Merge: true},
		Task:   iterations(4),
		Runner: func(pipeline.Place) (ralph.Runner, error) { return ralph.Replay(), nil }}
	y.run = &temporal.Pipeline{Loop: *p.loop, Name: p.queue}
	return y
}

// iterations is what a stage runs, at most so often.
func iterations(n int) func(spec.Definition, string) (ralph.Task, error) {
	return func(d spec.Definition, _ string) (ralph.Task, error) {
		return ralph.Task{Prompt: d.Title, Limits: ralph.Limits{Iterations: n}}, nil
	}
}

// verifier is that of a machine.
func (m machine) verifier() (v ralph.Verifier) {
	v = verify.String{}
	if m.Check != "" {
		v = verify.External{Shell: m.Check, InheritEnv: []string{"*"}}
	}
	if len(m.Guard) > 0 {
		v = verify.Guard{Verifier: v, Globs: m.Guard}
	}
	return v
}

// site has a worker work on pipelines.
func (m machine) site(w *temporal.Worker) error {
	w.Trees = &pipeline.Worktrees{Dir: m.Dir, Remote: m.Remote}
	w.Agent = func(p pipeline.Place) (ralph.Runner, error) { return staged{p, w.Local.Runner}, nil }
	return w.Trees.Open(context.Background())
}

// A staged runner tells its agent in the first line which stage it is.
type staged struct {
	pipeline.Place
	ralph.Runner
}

func (r staged) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	req.Prompt = fmt.Sprintf("%s %s %d.%d\n%s", r.Task, r.Agent, req.Iteration, req.Attempt, req.Prompt)
	return r.Runner.Run(ctx, req)
}

// worker starts a worker on a machine, in a process of its own.
func (y *yard) worker(host string, env ...string) *program {
	y.Helper()
	m := y.machine
	if m.Host = host; m.Remote != "" {
		m.Dir = y.at(host)
	}
	return m.starts(y.T, slices.Concat(y.env, env)...)
}

// here has a worker in this process, whose agents are a function of "TASK AGENT", which
// works in a folder.
func (y *yard) here(do func(stage string, req ralph.Request) (ralph.Response, error)) {
	y.Helper()
	w := temporal.Worker{Host: "here", Local: &ralph.Local{Verifier: y.verifier(), Runner: ralph.RunnerFunc(func(ctx context.Context, req ralph.Request) (ralph.Response, error) {
		stage, _, _ := strings.Cut(req.Prompt, "\n")
		return do(stage[:strings.LastIndex(stage, " ")], req)
	})}}
	if err := y.site(&w); err != nil {
		y.Fatal(err)
	}
	y.work(w)
}

// clones has all machines work in clones of their own, which share a bare repository.
func (y *yard) clones(hosts ...string) {
	y.Helper()
	root := y.TempDir()
	y.Remote = filepath.Join(root, "shared.git")
	sh(y, root, "git clone -q --bare "+y.main+" shared.git")
	for _, host := range hosts {
		sh(y, root, "git clone -q shared.git "+host+"; cd "+host+"; git config user.name "+host+"; git config user.email u@example.org")
	}
	y.main = y.Remote
}

// at is the clone of a machine.
func (y *yard) at(host string) string { return filepath.Join(filepath.Dir(y.Remote), host) }

// A course is a pipeline that somebody waits for.
type course struct {
	*yard
	cancel context.CancelCauseFunc
	done   chan struct{}
	state  pipeline.State
	err    error
}

// agree is what is to be done, as another process would have it.
func (y *yard) agree() *pipeline.Agreed {
	y.Helper()
	p := *y.tasks
	p.Source, p.Verifier = &pipeline.File{Path: y.file}, y.verifier()
	a, err := p.Agree(y.Context())
	if err != nil {
		y.Fatal(err)
	}
	return a
}

// begin agrees, and waits for the end in a goroutine of its own.
func (y *yard) begin() *course {
	y.Helper()
	ctx, cancel := context.WithCancelCause(within(y.T))
	c, a := &course{yard: y, cancel: cancel, done: make(chan struct{})}, y.agree()
	go func() {
		defer close(c.done)
		c.state, c.err = y.run.Run(ctx, a)
	}()
	return c
}

// end waits for the end, and returns it as "stop A=phase B=phase".
func (c *course) end() string {
	c.Helper()
	<-c.done
	return standing(c.state)
}

func standing(s pipeline.State) string {
	var text strings.Builder
	text.WriteString(string(s.Stop))
	for i, p := range s.Parts {
		text.WriteString(" " + p.ID + "=" + s.Stands[i].Phase.String())
	}
	return text.String()
}

// verified checks that all tasks are done, in the end, also where people look.
func (c *course) verified() {
	c.Helper()
	want, got := "verified", c.end()
	for _, p := range c.state.Parts {
		want += " " + p.ID + "=done"
	}
	if got != want || c.err != nil {
		c.Fatalf("it ended %q, %s, %+v: %v", got, c.state.Detail, c.state, c.err)
	}
	for id, status := range c.statuses() {
		if status != spec.StatusDone {
			c.Errorf("in the file %s is %q", id, status)
		}
	}
	c.merged()
}

// merged checks that each task was merged once, that nothing is left of it, and that the
// repository is whole.
func (c *course) merged() {
	c.Helper()
	seen := map[string]int{}
	for line := range strings.Lines(sh(c, c.main, "git log --first-parent --min-parents=2 --format=%s main")) {
		seen[strings.TrimSpace(line)]++
	}
	for i, p := range c.state.Parts {
		if title := fmt.Sprintf("Merge %s: Do %[1]s", p.ID); seen[title] != 1 && c.state.Stands[i].Phase == pipeline.PhaseDone || seen[title] > 1 {
			c.Errorf("%s was merged %d times", p.ID, seen[title])
		}
	}
	sh(c, c.main, "git fsck --full --strict --no-dangling")
	if c.Remote == "" {
		if dirty := sh(c, c.main, "git status --porcelain --untracked-files=no"); dirty != "" {
			c.Errorf("the folder is not what main is: %s", dirty)
		}
	}
	if c.state.Stop == ralph.StopVerified {
		if left := sh(c, c.main, "git for-each-ref --format='%(refname)' refs/heads/ralph"); left != "" {
			c.Errorf("left are %s", left)
		}
	}
}

// statuses are those in the file of the tasks.
func (y *yard) statuses() map[string]spec.Status {
	y.Helper()
	f, err := spec.Load(y.file)
	if err != nil {
		y.Fatal(err)
	}
	all := map[string]spec.Status{}
	for _, d := range f.Definitions() {
		all[d.ID] = d.Status
	}
	return all
}

// stands waits until the pipeline stands as it should.
func (y *yard) stands(what string, is func(pipeline.State) bool) {
	y.Helper()
	until(y.T, what, func() bool { s, err := y.run.State(within(y.T), y.run.Name); return err == nil && is(s) })
}

// signal steers the pipeline.
func (y *yard) signal(name string, v any) {
	y.Helper()
	if err := y.run.Client.SignalWorkflow(within(y.T), y.run.Name, "", name, v); err != nil {
		y.Fatal(err)
	}
}

// recorded looks at the history of the pipeline, or of the last iteration of a loop of it.
func (c *course) recorded(loop, keep string) {
	c.Helper()
	(&running{park: c.park, name: c.run.Name + loop}).recorded("", keep)
}

// logged waits until a line is in the log.
func (y *yard) logged(line string) {
	y.Helper()
	until(y.T, "in the log: "+line, func() bool { return slices.Contains(lines(y.log), line) })
}

// wrote are the lines of the log that begin so, sorted.
func (y *yard) wrote(prefix string) (all []string) {
	for _, line := range lines(y.log) {
		if rest, is := strings.CutPrefix(line, prefix); is {
			all = append(all, rest)
		}
	}
	slices.Sort(all)
	return all
}

// ran checks which attempts the agents were run for.
func (y *yard) ran(want ...string) {
	y.Helper()
	if got := y.wrote("agent "); !slices.Equal(got, want) {
		y.Errorf("agents ran for %q, want %q", got, want)
	}
}

// names are what lies on the main branch beside README.
func (y *yard) names() string {
	y.Helper()
	return strings.Join(strings.Fields(strings.ReplaceAll(sh(y, y.main, "git ls-tree -r --name-only main"), "README", "")), " ")
}
