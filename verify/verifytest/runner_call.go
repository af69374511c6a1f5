package verifytest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A runnerCall is one call of the runner, with writers that watch how they are
// used. It is kept to the end, since a runner may go on to write after it has
// returned.
type runnerCall struct {
	routine
	Run
	r            ralph.Runner
	req          ralph.Request
	own          bool // req.Dir is the kit's, and was empty
	display, raw *recorder
	live         *meter
	heard        chan struct{} // closed when Says was written, or anything if that is ""

	resp     ralph.Response
	shown    string // resp as it was returned
	err      error
	panicked error
}

// prepare makes a call and does not start it: a step may take the writers away
// before. The folder is new and empty for each call, so that a file or a
// process in it can only be this call's.
func (k *runnerKit) prepare(name string, run Run) *runnerCall {
	c := &runnerCall{routine: newRoutine(name, k.id, len(k.calls)), Run: run, r: run.Runner, req: run.Request, heard: make(chan struct{})}
	if c.r == nil {
		c.r = k.r
	}
	heard := sync.OnceFunc(func() { close(c.heard) })
	c.display, c.raw = &recorder{name: "Display", waitFor: run.Says, heard: heard}, &recorder{name: "Raw", waitFor: run.Says, heard: heard}
	c.live = &meter{}
	c.req.Display, c.req.Raw, c.req.Live = c.display, c.raw, c.live.tell
	c.req.Mark = ralph.NewMark()
	c.req.Iteration, c.req.Attempt = max(c.req.Iteration, 1), max(c.req.Attempt, 1)
	c.req.Loop, c.req.Prompt = cmp.Or(c.req.Loop, "kit"), cmp.Or(c.req.Prompt, "Do what the script says.\n")
	if c.req.Dir == "" {
		c.own = true
		c.req.Dir = filepath.Join(k.home, fmt.Sprint(len(k.calls)))
		if err := os.Mkdir(c.req.Dir, 0o700); err != nil {
			k.report("dir", "%v", err)
		}
	}
	k.calls, k.routines = append(k.calls, c), append(k.routines, &c.routine)
	return c
}

// start begins the call. The writers are closed before anybody can see that it
// has returned, so that not a single write slips in between and passes for one
// in time.
func (c *runnerCall) start(ctx context.Context, gate <-chan struct{}) {
	c.run(ctx, gate, func(ctx context.Context) {
		defer func() {
			c.display.close()
			c.raw.close()
			c.live.close()
		}()
		c.panicked = plugin.Call("the runner", func() error { c.resp, c.err = c.r.Run(ctx, c.req); return nil })
		c.shown = c.shows()
	})
}

// back waits for the call and looks at what it returned. If it does not return,
// or panics, that breaks the rule; "" = the rule of that name. A runner that
// only hangs beside others breaks the rule for that, which tells its author
// where to look.
func (k *runnerKit) back(c *runnerCall, rule string) bool {
	wait := k.patience()
	if !c.wait(wait) {
		k.hung = true
		k.report(cmp.Or(rule, "returns"), "%s", c.missing(wait))
		return false
	}
	if c.panicked != nil {
		k.report(cmp.Or(rule, "panics"), "%s: %v", c.name, c.panicked)
		return false
	}
	k.usage(c)
	// Lstat, for a link that the agent has made in the file's place counts as
	// written.
	if file := filepath.Join(c.req.Dir, c.Writes); c.Writes != "" && c.err == nil && c.resp.Output != "" {
		if _, err := os.Lstat(file); err != nil {
			k.report("dir", "%s has not written %s in its working directory", c.name, c.Writes)
		}
	}
	return true
}

// usage looks at what a call that has returned says it has used. Limits are
// held by these numbers: a cost of 0 that is really unknown lets a loop spend
// without end.
func (k *runnerKit) usage(c *runnerCall) {
	u := c.resp.Usage
	last, odd := c.live.told()
	odd = cmp.Or(odd, oddity(u))
	if odd == "" && !k.Free && priced(u) == "0" && (c.resp.Output != "" || ralph.Usage{CostUSD: u.CostUSD} != u) {
		odd = "the cost is 0; unknown is nil (and if it is free, say so to the kit)"
	}
	if odd != "" {
		k.report("usage", "of %s: %s", c.name, odd)
		return
	}
	if less := lower(last, u, false); less != "" {
		rule := "live"
		if c.err != nil {
			rule = "partial"
		}
		k.report(rule, "the final usage of %s is less than what Live was told: %s", c.name, less)
	}
}

// oddity is what cannot be in a usage; "" = nothing.
func oddity(u ralph.Usage) string {
	if min(u.Requests, u.Messages, u.InputTokens, u.OutputTokens) < 0 {
		return fmt.Sprintf("a count is negative: %+v", u)
	}
	if u.CacheRead < 0 || u.CacheWrite < 0 || u.CacheRead > u.InputTokens || u.CacheWrite > u.InputTokens-u.CacheRead {
		return fmt.Sprintf("CacheRead %d and CacheWrite %d are not parts of InputTokens, %d", u.CacheRead, u.CacheWrite, u.InputTokens)
	}
	if u.Estimated && u.CostUSD == nil {
		return "the cost is estimated, and there is none"
	}
	if u.CostUSD != nil && (math.IsNaN(*u.CostUSD) || math.IsInf(*u.CostUSD, 0) || *u.CostUSD < 0) {
		return fmt.Sprintf("the cost is %v; unknown is nil", *u.CostUSD)
	}
	return ""
}

// lower says what of a usage is less in a later one; "" = nothing. A budget
// that was found to be used up must not become whole again. A cost may be
// corrected if this is not strict, because clients tell the true one at the
// end, but not be forgotten. An estimate gives way to a cost that is told,
// whatever that is, and to one that is unknown after all.
func lower(before, after ralph.Usage, strict bool) string {
	for _, n := range []struct {
		name     string
		from, to int64
	}{
		{"Requests", before.Requests, after.Requests}, {"Messages", before.Messages, after.Messages},
		{"InputTokens", before.InputTokens, after.InputTokens}, {"OutputTokens", before.OutputTokens, after.OutputTokens},
		{"CacheRead", before.CacheRead, after.CacheRead}, {"CacheWrite", before.CacheWrite, after.CacheWrite},
	} {
		if n.to < n.from {
			return fmt.Sprintf("%s %d, and then %d", n.name, n.from, n.to)
		}
	}
	if before.Estimated && !after.Estimated {
		return ""
	}
	if before.CostUSD != nil && (after.CostUSD == nil || strict && *after.CostUSD < *before.CostUSD) {
		return fmt.Sprintf("a cost of %s, and then %s", priced(before), priced(after))
	}
	return ""
}

// priced is a usage's cost as the report names it.
func priced(u ralph.Usage) string {
	if u.CostUSD == nil {
		return "unknown"
	}
	return fmt.Sprint(*u.CostUSD)
}

// differing says in what two runs of the same request differ; "" = in nothing
// that counts. Sessions are not compared, for each run may well have its own.
func differing(a, b *runnerCall) string {
	if (a.err == nil) != (b.err == nil) {
		return fmt.Sprintf("error %v and error %v", a.err, b.err)
	}
	x, y := a.resp, b.resp
	switch plain := func(s string) string { return varying.ReplaceAllString(s, "…") }; {
	case plain(x.Output) != plain(y.Output):
		return fmt.Sprintf("the answers are %q and %q", short(x.Output), short(y.Output))
	case !reflect.DeepEqual(ralph.Usage{}.Add(x.Usage), ralph.Usage{}.Add(y.Usage)):
		return fmt.Sprintf("the usages are %v (%d messages) and %v (%d messages)", x.Usage, x.Usage.Messages, y.Usage, y.Usage.Messages)
	case x.Model != y.Model:
		return fmt.Sprintf("the models are %q and %q", x.Model, y.Model)
	case fmt.Sprint(x.Files, x.Learnings) != fmt.Sprint(y.Files, y.Learnings):
		return fmt.Sprintf("Files and Learnings are %q %q and %q %q", x.Files, x.Learnings, y.Files, y.Learnings)
	}
	return ""
}

// ending is what a loop makes of how a run ended. It is asked of the loop
// itself, with everything else out of the way, so that the kit and the loop
// cannot come to read errors differently.
func ending(resp ralph.Response, err error) (ralph.Iteration, error) {
	l := ralph.Local{
		Runner:    ralph.RunnerFunc(func(context.Context, ralph.Request) (ralph.Response, error) { return resp, err }),
		Verifier:  ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
		Workspace: func(context.Context, string) (string, []string, error) { return "", nil, nil },
	}
	return l.Iterate(context.Background(), ralph.Start(ralph.Task{Prompt: "Go on."}))
}

// afterwards looks at what happened since a call has returned: writes that came
// late, which would end up in the next attempt's log.
func (k *runnerKit) afterwards(c *runnerCall) {
	for _, to := range []*recorder{c.display, c.raw} {
		if wrong := to.wrong(); wrong != "" {
			k.report("writers", "%s of %s was written to %s", to.name, c.name, wrong)
		}
	}
	if wrong := c.live.wrong(); wrong != "" {
		k.report("live", "in %s %s", c.name, wrong)
	}
}

// untouched looks whether what calls have returned is still the same. Slices in
// a Response that share memory with the runner change under whoever keeps it.
func (k *runnerKit) untouched(context.Context) {
	for _, c := range k.calls {
		if c.returned() && c.panicked == nil && c.shown != c.shows() {
			k.report("independent", "the Response of %s was changed after it was returned", c.name)
		}
	}
}

// shows is a Response as text, which is a copy of all that it refers to.
func (c *runnerCall) shows() string { return fmt.Sprintf("%+v %v", c.resp, priced(c.resp.Usage)) }
