package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
	"github.com/ralph-loop/ralph/verify"
)

// coding is a pipeline of coders alone, with a check for each task: its file must be there.
func coding(t *testing.T, a *agents, dir string, rules pipeline.Rules, ids ...string) *pipeline.Pipeline {
	t.Helper()
	var tasks []string
	for _, id := range ids {
		tasks = append(tasks, task(id, "test -s "+id, nil))
	}
	rules.Merge = true
	return &pipeline.Pipeline{Source: file(t, filepath.Join(t.TempDir(), "tasks.yaml"), tasks...), Dir: dir, Runner: a.runner, Stages: []string{"coder"}, Rules: rules}
}

// checked has a runner, and verifies as definitions say.
func checked(r ralph.Runner) *ralph.Local {
	return &ralph.Local{Runner: r, Verifier: spec.Verifier(spec.Env{})}
}

// TestSiteConflict: a conflict leaves a task unmerged, or is given to the coder. The merge
// that is begun for it is begun again where a worker was lost with it.
func TestSiteConflict(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		repair bool
		loss   bool // the worker that has begun to mend it is lost, with its clone
		phase  pipeline.Phase
	}{{"left", false, false, pipeline.PhaseUnmerged}, {"mended", true, false, pipeline.PhaseDone}, {"mended by another worker", true, true, pipeline.PhaseDone}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := shared(t, map[string]string{"line": "none\n"})
			dir := clone(t, url)
			a := &agents{}
			mended, lost := 0, false
			a.do = func(_ context.Context, req ralph.Request) (string, error) {
				files := map[string]string{req.Task: "made\n", "line": req.Task + "\n"}
				if strings.Contains(req.Prompt, "conclude the merge with git commit") {
					text, err := os.ReadFile(filepath.Join(req.Dir, "line"))
					if err != nil || !strings.Contains(string(text), "<<<<<<<") {
						t.Errorf("there is no conflict to mend: %q, %v", text, err)
					}
					if test.loss && !lost {
						lost = true
						return "", errors.New("lost")
					}
					mended++
					files["line"] = "T1\nT2\n"
				}
				writeAll(t, req.Dir, files)
				return claim(req), nil
			}
			e := engineOf(t, coding(t, a, dir, pipeline.Rules{Slots: 2, Repair: test.repair}, "T1", "T2"), 1, workers(t, 1, checked(a), "", url)...)
			e.stop = func(e *engine) bool { // once the first worker is lost, its folder is too
				if lost && len(e.sites) == 1 && e.loss == 0 {
					e.loss, e.sites = -1, workers(t, 1, checked(a), "", url)
				}
				return false
			}
			final := e.run()
			last := e.merged[len(e.merged)-1]
			if final.Stands[0].Phase+final.Stands[1].Phase != pipeline.PhaseDone+test.phase || (mended > 0) != test.repair || lost != test.loss {
				t.Errorf("%v, mended %d times, lost %v, at last %+v", final.Stands, mended, lost, last)
			}
			if !test.repair && (strings.Join(last.Conflicts, " ") != "line" || !strings.Contains(last.Rejected, "conflicts with the main branch in line") || len(e.Course.Sent) > 0) {
				t.Errorf("%+v, %v", last, e.Course.Sent)
			}
			if got := sh(t, url, "git show main:line"); test.repair && got != "T1\nT2" {
				t.Errorf("line: %q", got)
			}
		})
	}
}

// TestSiteLeft: what was left after the verification was not verified: the merge verifies it.
func TestSiteLeft(t *testing.T) {
	t.Parallel()
	dir := repo(t, nil)
	a := &agents{do: makes(t)}
	asked := 0
	l := &ralph.Local{Runner: a, Verifier: ralph.VerifierFunc(func(_ context.Context, c ralph.Claim) (ralph.Verdict, error) {
		if asked++; asked == 1 {
			writeAll(t, c.Task.Dir, map[string]string{"backdoor": "open\n"}) // as a process does that the agent has left
			return ralph.Pass(), nil
		}
		if _, err := os.Lstat(filepath.Join(c.Task.Dir, "backdoor")); err == nil {
			return ralph.Reject("there is a back door"), nil
		}
		return ralph.Pass(), nil
	})}
	e := engineOf(t, coding(t, a, dir, pipeline.Rules{}, "T1"), 1, workers(t, 1, l, dir, "")...)
	if final := e.run(); asked != 2 || final.Stands[0].Phase != pipeline.PhaseUnmerged || len(e.merged) != 1 || !strings.Contains(e.merged[0].Rejected, "there is a back door") {
		t.Errorf("asked %d times: %v, %+v", asked, final.Stands, e.merged)
	}
	if _, there := there(t, dir, "main")["backdoor"]; there {
		t.Error("what nobody has verified is on main")
	}
}

// TestSiteUncommitted: a claim whose work cannot be committed, or shared, does not count;
// the loop goes on, and the agent is told.
func TestSiteUncommitted(t *testing.T) {
	t.Parallel()
	for _, overtaken := range []bool{false, true} {
		t.Run(fmt.Sprintf("overtaken %v", overtaken), func(t *testing.T) {
			t.Parallel()
			url := shared(t, map[string]string{"README": "a\n"})
			dir := clone(t, url)
			other := opened(t, clone(t, url), url)
			a := &agents{}
			a.do = func(_ context.Context, req ralph.Request) (string, error) {
				switch {
				case req.Iteration > 1:
					sh(t, req.Dir, "rm -rf inner")
				case overtaken:
					other.work("T1", "echo other > other")
				default:
					sh(t, req.Dir, "git init -q inner; cd inner; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x")
				}
				writeAll(t, req.Dir, map[string]string{"T1": "made\n"})
				return claim(req), nil
			}
			e := engineOf(t, coding(t, a, dir, pipeline.Rules{}, "T1"), 1, workers(t, 1, checked(a), "", url)...)
			final := e.run()
			if final.Stands[0].Phase != pipeline.PhaseDone || a.times("T1", "coder") != 2 {
				t.Fatalf("%+v, %d times: %v", final.Stands[0], a.times("T1", "coder"), e.merged)
			}
			want := map[bool]string{true: "overtaken by somebody else", false: "inner"}[overtaken]
			if prompt := a.prompts("T1", "coder")[1]; !strings.Contains(prompt, want) {
				t.Errorf("the agent is not told of %q: %s", want, prompt)
			}
			if _, there := there(t, url, "main")["other"]; there != overtaken {
				t.Errorf("what the other worker has pushed is on main: %v", there)
			}
		})
	}
}

// TestSiteOnce: a single pass is over without a check, and verified by one.
func TestSiteOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		check, says string
		phase       pipeline.Phase
		over        [2]uint64 // verified, passed
	}{
		{"", "I have looked at it.", pipeline.PhaseUnverified, [2]uint64{0, 1}},
		{"test -s T1", "", pipeline.PhaseDone, [2]uint64{1, 0}},
		{"test -s T2", "", pipeline.PhaseFailed, [2]uint64{0, 0}},
	} {
		dir := repo(t, nil)
		a := &agents{}
		a.do = func(ctx context.Context, req ralph.Request) (string, error) {
			said, err := makes(t)(ctx, req)
			return cmpOr(test.says, said), err
		}
		p := coding(t, a, dir, pipeline.Rules{})
		p.Source = file(t, filepath.Join(t.TempDir(), "tasks.yaml"), task("T1", test.check, nil))
		p.Config = config(t, "  enabled: false\n")
		final := engineOf(t, p, 1, workers(t, 1, checked(a), dir, "")...).run()
		if s := final.Stands[0]; s.Phase != test.phase || [2]uint64{s.Verified, s.Passed} != test.over || len(a.ran) != 1 {
			t.Errorf("check %q: %+v, ran %q", test.check, s, a.ran)
		}
	}
}

// TestSiteRefused: a runner that cannot be had, and a prompt that cannot be made, are told
// as what no worker can do; what may be gone the next time is an error.
func TestSiteRefused(t *testing.T) {
	t.Parallel()
	dir := repo(t, nil)
	a := &agents{do: makes(t)}
	e := engineOf(t, coding(t, a, dir, pipeline.Rules{}, "T1"), 1)
	step := e.Course.State.Ready()[0]
	s, told := e.Course.Begin(step, ralph.State{})
	site := workers(t, 1, checked(a), dir, "")[0]
	site.Runner = func(place pipeline.Place) (ralph.Runner, error) {
		if branch, at := pipeline.Branch("T1"); place.Agent != "coder" || place.Task != "T1" || place.Dir != filepath.Join(dir, at) || branch == "" || len(place.Write) == 0 {
			t.Errorf("place %+v", place)
		}
		return nil, errors.New("no such client")
	}
	serve := func(told pipeline.Stage) error {
		t.Helper()
		v, err := site.Enter(t.Context(), s, told)
		if err != nil {
			t.Fatal(err)
		}
		d := ralph.Dispatch{State: v.State}
		_, err = v.Local.Serve(t.Context(), d, ralph.Beat{Host: "a"}, func(ralph.Beat) error { return nil })
		return err
	}
	if err := serve(told); err == nil || !strings.Contains(err.Error(), "no such client") {
		t.Errorf("a runner that cannot be had: %v", err)
	}
	site.Runner = func(pipeline.Place) (ralph.Runner, error) { panic("broken") }
	if err := serve(told); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a runner that panics: %v", err)
	}
	site.Runner = nil
	if err := serve(told); err != nil {
		t.Errorf("Local's own: %v", err)
	}
	if err := os.Symlink("/nonexistent/spec.md", filepath.Join(dir, "specs")); err != nil {
		t.Fatal(err)
	}
	told.Definition.SpecID = "auth"
	if err := serve(told); err == nil || !strings.Contains(err.Error(), "spec") {
		t.Errorf("a specification that leaves the workspace: %v", err)
	}
	site.Trees = &pipeline.Worktrees{Dir: dir}
	if _, err := site.Enter(t.Context(), s, told); err == nil {
		t.Error("worktrees that are not open are no error")
	}
	site.Trees = nil
	if _, err := site.Merge(t.Context(), "T1", "m", nil, [2]string{}, nil); err == nil {
		t.Error("a merge without worktrees")
	}
}

// TestSitePrepared: what lies in the workspace is guarded as it was when the stage began,
// also where the worker that was to prepare it is lost, and where main goes on meanwhile.
func TestSitePrepared(t *testing.T) {
	t.Parallel()
	for _, row := range [][2]bool{{false, true}, {false, false}, {true, true}} {
		far, lost := row[0], row[1]
		files := map[string]string{"check.sh": "test -s T1\n"}
		dir, url := "", ""
		if far {
			url = shared(t, files)
			dir = clone(t, url)
		} else {
			dir = repo(t, files)
		}
		a, calls := &agents{}, 0
		a.do = func(ctx context.Context, req ralph.Request) (string, error) {
			if calls++; calls == 1 {
				writeAll(t, req.Dir, map[string]string{"check.sh": "true\n"})
				return claim(req), nil
			}
			writeAll(t, req.Dir, map[string]string{"check.sh": files["check.sh"]})
			return makes(t)(ctx, req)
		}
		l := &ralph.Local{Runner: a, Verifier: verify.Guard{Verifier: verify.External{Shell: "sh check.sh"}, Globs: []string{"check.sh"}}}
		e := engineOf(t, coding(t, a, dir, pipeline.Rules{}, "T1"), 1, workers(t, 2, l, dir, url)...)
		sh(t, e.sites[0].Trees.Dir, "git checkout -q -b ralph/T1; echo true > check.sh; echo x > stale; git add -A; git commit -qm stale; git checkout -q main") // of an earlier run
		e.begin(e.Course.State.Ready()[0])
		for lost && !e.Jobs[0].D.State.Begun() { // it is lost before it has prepared anything
			e.loss = 10
			e.stage(e.Jobs[0])
		}
		e.loss = 0
		main := e.sites[0].Trees.Dir
		for e.Jobs[0].D.Hosts == nil {
			e.stage(e.Jobs[0])
		}
		if far {
			main = clone(t, url)
		}
		sh(t, main, "echo 'test -s T1 # more' > check.sh; git commit -qam more"+map[bool]string{true: "; git push -q origin main"}[far])
		final := e.run()
		if s := final.Stands[0]; s.Phase != pipeline.PhaseDone || a.times("T1", "coder") != 2 {
			t.Errorf("remote %v, lost %v: %+v, ran %q: %+v", far, lost, s, a.ran, e.merged)
		}
		if now := there(t, cmpOr(url, dir), "main"); now["stale"] != "" || now["check.sh"] != "test -s T1 # more" {
			t.Errorf("remote %v, lost %v: main has %q", far, lost, now)
		}
	}
}

// TestSiteGuarded: a merge is verified with what was guarded of the stage, in the workspace
// and on the machine; on one that has never had the stage, with what holds on all.
func TestSiteGuarded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		changed, host string
		phase         pipeline.Phase
	}{{"exam", "host1", pipeline.PhaseUnmerged}, {"exam", "host2", pipeline.PhaseUnmerged}, {"outside", "host1", pipeline.PhaseUnmerged}, {"outside", "host2", pipeline.PhaseDone}, {"else", "host1", pipeline.PhaseDone}} {
		dir, outside := repo(t, map[string]string{"exam": "hard\n"}), filepath.Join(t.TempDir(), "outside")
		writeAll(t, filepath.Dir(outside), map[string]string{"outside": "strict\n"})
		a := &agents{do: makes(t)}
		l := &ralph.Local{Runner: a, Verifier: verify.Guard{Verifier: verify.String{}, Globs: []string{"exam", outside}}}
		e := engineOf(t, coding(t, a, dir, pipeline.Rules{}, "T1"), 1, workers(t, 1, l, dir, "")...)
		e.ended = func(e *engine, j *job) { // as a process does that the agent has left; and the merge is another's
			w := treeWorker{t, e.sites[0].Trees}
			if test.changed == "outside" {
				writeAll(t, filepath.Dir(outside), map[string]string{"outside": "lax\n"})
				w.work("T1", "echo x > more")
			} else {
				w.work("T1", "echo easy > "+test.changed)
			}
			e.sites[0].Host = test.host
		}
		ends := e.Course.Verified(0)
		final := e.run()
		if got := final.Stands[0].Phase; got != test.phase || len(ends) > 0 {
			t.Errorf("%s changed, merged on %s: %v, %+v", test.changed, test.host, got, e.merged)
		}
	}
}

// TestSiteElsewhere: what was verified where nobody here can see it is not taken for merged,
// and no later stage begins without it.
func TestSiteElsewhere(t *testing.T) {
	t.Parallel()
	here, there := repo(t, map[string]string{"README": "a\n"}), repo(t, map[string]string{"README": "a\n"})
	commit, tree := opened(t, there, "").work("T1", "echo work > T1")
	w := opened(t, here, "")
	w.place("T1") // as a reviewer's, who has changed nothing
	site := &pipeline.Site{Local: &ralph.Local{Runner: ralph.Replay(), Verifier: verify.String{}}, Trees: w.Worktrees}
	end := pipeline.StageEnd{State: ralph.Start(ralph.Task{ID: "T1", Agent: "coder", Prompt: "do"}), Commit: commit, Tree: tree}
	m, err := site.Merge(t.Context(), "T1", "Merge T1", []pipeline.StageEnd{end}, [2]string{}, nil)
	if err == nil || m.Commit != "" || !strings.Contains(err.Error(), "Remote") {
		t.Errorf("merged: %+v, %v", m, err)
	}
	s := ralph.Start(ralph.Task{ID: "T1", Agent: "reviewer", Prompt: "look"})
	told := pipeline.Stage{Definition: spec.Definition{ID: "T1"}, Agent: "reviewer", Before: []pipeline.Record{{Agent: "coder", Verified: true, Commit: commit}}}
	if _, err := site.Enter(t.Context(), s, told); err == nil || !strings.Contains(err.Error(), "Remote") {
		t.Errorf("a reviewer begins without the work: %v", err)
	}
	site.Trees = opened(t, there, "").Worktrees
	if m, err := site.Merge(t.Context(), "T1", "Merge T1", []pipeline.StageEnd{end}, [2]string{}, func([2]string) error { return nil }); err != nil || m.Commit == "" {
		t.Errorf("where it is: %+v, %v", m, err)
	}
}

// TestCourseFound: what was found on a machine first stays, whatever is found later.
func TestCourseFound(t *testing.T) {
	t.Parallel()
	first := pipeline.Course{}.Found(map[string]map[string]string{"a": {"//program/go": "1"}})
	c := first.Found(map[string]map[string]string{"a": {"//program/go": "2", "//config/x": "3"}, "b": nil})
	want := map[string]map[string]string{"a": {"//program/go": "1", "//config/x": "3"}, "b": {}}
	if !reflect.DeepEqual(c.Machines, want) || len(first.Machines) != 1 || len(first.Machines["a"]) != 1 {
		t.Errorf("%v, of %v", c.Machines, first.Machines)
	}
}
