package verify

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/process"
)

// A tool is a command some of whose exit codes say that it could not do its
// work. [External] does not know such codes, since each tool has others;
// without them, a tool that could not start would be held against the agent.
type tool struct {
	External
	unable []int
	late   []int // those that say that it ran out of time
	hint   string

	watch *watch // nil = nothing in the workspace redirects it
	// reads makes the results of one run in a workspace, which may write to a folder of
	// its own; nil = there are no tests.
	reads func(workspace, folder string) results
	at    int // where in the arguments those of the results go

	// covered has go test read a floor under its coverage: percent of all
	// statements. It has no such option itself, and what it prints for each package
	// is no figure for all of them.
	covered bool
	percent float64
}

// Prepare notes what surrounds the command and what redirects it. On an error
// the task is returned as it came.
func (t tool) Prepare(ctx context.Context, task ralph.Task) (ralph.Task, error) {
	prepared, err := t.External.Prepare(ctx, task)
	if err != nil || t.watch == nil {
		return prepared, err
	}
	noted, err := t.watch.prepare(task.Dir)
	if err != nil {
		return task, err
	}
	return agree(prepared, noted), nil
}

// Verify implements [ralph.Verifier]. What redirects the check is looked for
// before the tool is run: a redirected run tells nothing, and may run anything.
func (t tool) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	var more []ralph.Check
	if t.watch != nil {
		check, ok, err := t.watch.redirected(c.Task)
		switch {
		case err != nil:
			return ralph.Verdict{}, err
		// The tool is not run: what it found would be about other tests.
		case !ok && !t.AcceptConfig:
			return judge(check), nil
		case !ok:
			check.Status, check.Detail = ralph.CheckWarning, "accepted: "+check.Detail
			more = append(more, check)
		}
		// Looked for before the run as well, which may itself rewrite tests
		// (snapshots, say).
		if check, changed := t.watch.changedTests(c.Task); changed {
			more = append(more, check)
		}
	}
	v, err := t.run(ctx, c)
	if err == nil {
		v.Checks = few(append(v.Checks, more...))
	}
	return v, err
}

// run runs the tool and reads its results and its exit code. The results go to
// a folder for this call, outside the workspace: there, the agent's files could
// stand for them.
func (t tool) run(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	run, profile := t.External, ""
	if t.reads != nil {
		folder, err := process.NewTempDir("")
		if err != nil {
			return ralph.Verdict{}, fmt.Errorf("verify: Template: %w", err)
		}
		defer folder.Remove()
		run.title = t.name() // without what is added
		run.results = t.reads(c.Task.Dir, folder.Path)
		run.writes = append(slices.Clone(run.writes), folder.Path)
		args := run.results.args()
		profile = filepath.Join(folder.Path, "cover.out")
		if t.covered {
			args = append(args, "-coverprofile="+profile)
		}
		run.Args = slices.Insert(slices.Clone(run.Args), t.at, args...)
	}
	v, err := run.Verify(ctx, c)
	if err != nil {
		return v, err
	}
	if v.Passed && t.covered {
		return t.enough(v, profile)
	}
	v.Checks = slices.Clone(v.Checks)
	for i, check := range v.Checks {
		switch {
		case check.Name != run.name():
		case check.Status == ralph.CheckUnable:
			v.Checks[i].Detail = t.Args[0] + " is needed: " + check.Detail
			v.Feedback = v.Checks[i].Detail
		case check.ExitCode != nil && slices.Contains(t.late, *check.ExitCode):
			v.Checks[i].Status = ralph.CheckTimeout
		case check.ExitCode != nil && slices.Contains(t.unable, *check.ExitCode):
			v.Checks[i].Status = ralph.CheckUnable
			v.Checks[i].Detail = t.hint + ": " + check.Detail
		}
	}
	return v, nil
}

// enough adds the check of the coverage to a verdict that passed: of tests that
// fail it says little. A profile that cannot be read is an error, since the tests
// passed and nothing is known about the floor.
func (t tool) enough(v ralph.Verdict, profile string) (ralph.Verdict, error) {
	text, err := file.Read("", profile, 256<<20)
	var percent float64
	if err == nil {
		percent, err = coverage(string(text))
	}
	if err != nil {
		return ralph.Verdict{}, fmt.Errorf("verify: coverage: %w", err)
	}
	check := ralph.Check{Name: "coverage", Status: ralph.CheckPassed, Detail: fmt.Sprintf("%.1f%% of statements are covered", percent)}
	if percent < t.percent {
		check.Status = ralph.CheckFailed
		check.Detail = fmt.Sprintf("%.1f%% of statements are covered by tests, at least %g%% are asked for", percent, t.percent)
	}
	return judge(slices.Insert(v.Checks, 1, check)...), nil
}

// coverage is the part of the statements in a profile that ran, in percent. A
// block that several packages' tests report counts once, and as run if any of
// them ran it. 100 if there are no statements: nothing is uncovered then.
func coverage(profile string) (float64, error) {
	type block struct {
		statements int
		ran        bool
	}
	blocks := map[string]block{}
	for line := range strings.Lines(profile) {
		if strings.HasPrefix(line, "mode:") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return 0, fmt.Errorf("a line of the profile is %q", ends(line, 60, 20))
		}
		n := len(fields)
		statements, err := strconv.Atoi(fields[n-2])
		if err != nil {
			return 0, err
		}
		where := strings.Join(fields[:n-2], " ")
		blocks[where] = block{statements, blocks[where].ran || fields[n-1] != "0"}
	}
	all, ran := 0, 0
	for _, b := range blocks {
		all += b.statements
		if b.ran {
			ran += b.statements
		}
	}
	if all == 0 {
		return 100, nil
	}
	return 100 * float64(ran) / float64(all), nil
}
