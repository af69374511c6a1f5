package verifytest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// How long the kit waits. These are bounds for what would otherwise hang, not
// measures: a runner that works is never waited for in full.
const (
	defaultGrace = 15 * time.Second
	beginWait    = 10 * time.Second       // for a long run to say something
	settle       = 100 * time.Millisecond // for what was said to be taken in
)

// A Run is a request for the runner that is tested, and what is expected to come of
// it. The agent behind it is a script, or a model server of the test's own, so that
// asked the same it does the same. The zero value is no run: what it stands for is
// not tested.
type Run struct {
	// Runner is what runs it. nil = the runner that is tested. Another one, of
	// the same kind, is for clients whose script is chosen by the runner and
	// not by the request: a command with another script as its argument, say.
	Runner ralph.Runner
	// Request is what it is asked. The kit fills in what is zero, sets Mark,
	// Display, Raw and Live, and gives each call an empty folder of its own as
	// Dir if that is "". With a Dir of its own, some of what a run leaves
	// behind cannot be seen.
	Request ralph.Request

	// Says is a part of the agent's answer, on one line. "" = the text is not
	// tested, only that there is an answer.
	Says string
	// Writes is a file that the agent writes in its working directory, by its
	// path relative to that; Request.Dir must be "" then. It shows that the
	// agent really works where the request says. "" = not tested.
	Writes string

	// Fault is how a run of Runs.Faults ends, and RetryAfter is the wait that
	// the client is told with FaultRateLimit; 0 = it is told none.
	Fault      ralph.Fault
	RetryAfter time.Duration
}

// Runs are what [TestRunner] tests a runner with. Good is required. What is left
// out is not tested: a runner that can do little is tested with little, and the
// more runs the kit is given, the more it sees.
type Runs struct {
	// Good ends well, with an answer. It is the measure for all others: if it
	// does not end well, little else is tested.
	Good Run
	// Other ends well too. Its answer holds its own Says and not Good's, and
	// Good's answer not that of Other: this shows whether runs at the same time
	// mix what they say.
	Other Run
	// Long says its Says, so that Display or Raw get it within seconds, and
	// then goes on until it is ended. It must not end by itself: a run that
	// does cannot show that it can be cancelled.
	Long Run
	// Faults end in their Fault each: FaultError, FaultPermanent,
	// FaultRateLimit, FaultIncomplete, FaultEmpty or FaultTimeout, as many of
	// them as the runner can tell. Those that loops make themselves, such as an
	// interrupt, are an error of the test.
	Faults []Run

	// Alone says that the runner does not allow concurrent calls. Free says
	// that runs cost nothing, so that a cost of 0 is true and not a cost that
	// nobody knows. Grace is how long Run may take to return after its context
	// is done: 0 = 15 s, which lets a client end its own tools.
	Alone bool
	Free  bool
	Grace time.Duration
}

// TestRunner tests a runner. It returns nil, or one error that joins a line for
// each rule that is broken. A line begins with the rule's name:
//
//	returns      every call returns: the first within two minutes, others in about the time it took
//	panics       no call panics
//	answers      Good and Other end without an error, with an answer that holds their Says
//	independent  the same request gets the same answer and the same usage again, and a Response
//	             that was returned is not written to by later calls
//	optional     without Display, Raw and Live a run does the same
//	writers      Display and Raw are each written to by one goroutine at a time, and not after
//	             Run has returned; that they cannot be written changes nothing
//	live         the usage that Live is told never falls, it is told before Run returns, and the
//	             final counts are not less; a final cost may be, but not unknown if it was known;
//	             an estimated cost may be replaced by any other, and be unknown after all
//	usage        counts are not negative, CacheRead and CacheWrite are parts of InputTokens, only
//	             a cost is estimated; an unknown cost is nil: neither NaN, infinite or negative,
//	             nor 0 beside an answer or tokens unless Free
//	echo         a promise that stands in the prompt alone is not found in the answer
//	dir          Writes is in the folder that Request.Dir names; if it is told
//	concurrent   four calls at once do what single ones do, and no call's Display and Raw get what
//	             another's agent says; not if Alone, and the latter with Other only
//	faults       each of Faults ends in an error that a loop takes for its Fault, a rate limit with
//	             its RetryAfter, give or take a second and the time that the run took
//	partial      what was said (Says) and what Live was told comes with an error too; of Long,
//	             what had been written to Display or Raw before it was cancelled
//	cancel       a call whose context is done returns within Grace, with an error, which is
//	             neither Permanent nor a rate limit; tested with a context that is done
//	             before, and with Long while it runs
//	processes    on Linux: when Run has returned, or a moment later, no process is left that
//	             works in the folder that the kit gave it, or that has the request's Mark
//	goroutines   no goroutine that a call has started outlives it, apart from the moment it
//	             takes to end and the idle connections of an HTTP client
//
// A rule that cannot be judged because another one is broken is not reported; if
// Good does not end well, little can be. A runner is called some twelve times, more
// often if it is quick, and once for each of Faults. One that does not write what it
// says to Display or Raw is waited for ten seconds before Long is cancelled.
//
// Each call has a Request of its own. In one of them the prompt ends with a few words
// more, which tell the agent a promise that it is not to make.
//
// What it does not see: a process that has left the folder and does not have the mark;
// with a Request.Dir of the caller's, or if it is another user's, any that does not have
// the mark; a panic in a goroutine of the runner, which ends the test; a connection left
// open; whether two runs share a session of the agent's, for a script may tell the
// same one each time. What has the mark is ended. Goroutines are found by a label in the
// goroutine profile, so other tests may run at the same time. Data races are for
// the race detector to find. The first writes to Display and Raw take two milliseconds
// each; in a synctest bubble a runner must not hold a Mutex meanwhile.
func TestRunner(r ralph.Runner, runs Runs) error {
	if f, ok := r.(ralph.RunnerFunc); r == nil || ok && f == nil {
		return errors.New("runner: it is nil")
	}
	if err := runs.validate(); err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "ralph-runner-")
	if err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	defer os.RemoveAll(home)
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	runs.Grace = cmp.Or(runs.Grace, defaultGrace)
	k := &runnerKit{Runs: runs, r: r, id: rand.Text(), home: home, broken: broken{}}
	k.test()
	return k.err("returns", "panics", "answers", "independent", "optional", "writers", "live", "usage", "echo", "dir",
		"concurrent", "faults", "partial", "cancel", "processes", "goroutines")
}

// validate reports what is wrong with the test itself. These are errors of
// their own and no broken rules, so that nobody mends a runner for a mistake in
// its test.
func (r Runs) validate() error {
	if !r.Good.given() {
		return errors.New("runs: Good is required: a Request that the runner answers, and what its answer Says")
	}
	for _, run := range append([]Run{r.Good, r.Other, r.Long}, r.Faults...) {
		if run.Writes != "" && run.Request.Dir != "" {
			return fmt.Errorf("runs: one writes %s in a Dir of its own; the kit cannot tell whether it was there before", run.Writes)
		}
	}
	for _, run := range r.Faults {
		switch run.Fault {
		case "", ralph.FaultInterrupted, ralph.FaultBudget:
			return fmt.Errorf("runs: one of Faults ends in %q, which is nothing that a runner tells", run.Fault)
		}
	}
	if !r.Other.given() {
		return nil
	}
	if good, other := r.Good.Says, r.Other.Says; good == "" || other == "" || strings.Contains(good, other) || strings.Contains(other, good) {
		return fmt.Errorf("runs: Good and Other must differ in what they say, and one not be a part of the other; they say %q and %q", good, other)
	}
	return nil
}

// given reports whether there is such a run.
func (r Run) given() bool { return !reflect.ValueOf(r).IsZero() }

// A runnerKit is one run of TestRunner. It is used by one goroutine; the calls
// have theirs.
type runnerKit struct {
	Runs
	r     ralph.Runner
	id    string // of the profile labels
	home  string // where folders are made
	calls []*runnerCall
	good  *runnerCall // the first with Good; nil = it did not end well
	other *runnerCall
	broken
	hung bool // a call has not returned
}

// test runs all steps in order. What a later step compares with comes from
// earlier ones, so it ends where nothing can be compared any more: after a call
// that hangs, since whatever it holds would make all others hang too, and
// without a good run.
func (k *runnerKit) test() {
	// The context lives until the end: a goroutine that waits for a loop to be
	// cancelled is left for as long as the loop runs.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, step := range []func(context.Context){
		k.alone, k.again, k.bare, k.unwritable, k.echo, k.untouched, k.together, k.faults, k.cancelled,
	} {
		step(ctx)
		if k.hung || k.good == nil {
			break
		}
	}
	var all []*routine
	for _, c := range k.calls {
		all = append(all, &c.routine)
	}
	k.goroutines(all, signalLoop, "net/http.(*persistConn)", "net/http.(*http2")
	for _, c := range k.calls {
		k.afterwards(c)
	}
	k.untouched(ctx)
}

// patience is how long a call may take: that of the first ones twentyfold,
// because several run at once later, and Grace on top. It is measured on this
// runner and machine, so a slow client is not taken for one that hangs.
func (k *runnerKit) patience() time.Duration {
	if k.good == nil {
		return firstWait
	}
	longest := k.good.took
	if k.other != nil {
		longest = max(longest, k.other.took)
	}
	return k.Grace + 20*longest
}

// alone runs Good and Other for the first time, with nothing beside them: what
// they say now is what they have to say later.
func (k *runnerKit) alone(ctx context.Context) {
	k.good = k.well(ctx, k.prepare("the good run", k.Good))
	if k.good != nil && k.Other.given() {
		k.other = k.well(ctx, k.prepare("the other run", k.Other))
	}
}

// well makes a call that is to end well; nil = it did not.
func (k *runnerKit) well(ctx context.Context, c *runnerCall) *runnerCall {
	c.start(ctx, nil)
	if !k.back(c, "") {
		return nil
	}
	k.processes(c)
	switch {
	case c.err != nil:
		k.report("answers", "%s ended in an error: %v", c.name, c.err)
	case strings.TrimSpace(c.resp.Output) == "":
		k.report("answers", "%s gave no answer", c.name)
	case !strings.Contains(c.resp.Output, c.Says):
		k.report("answers", "%s does not say %q but %q", c.name, c.Says, short(c.resp.Output))
	default:
		return c
	}
	return nil
}

// same makes a call that is to end as the first with Good did. If it does not,
// the rule is broken whose circumstance is the only difference between the two.
func (k *runnerKit) same(ctx context.Context, c *runnerCall, rule string) {
	if k.hung || len(k.broken["independent"]) > 0 {
		return // there is nothing to compare with
	}
	c.start(ctx, nil)
	fault := rule
	if rule == "independent" {
		fault = ""
	}
	if !k.back(c, fault) {
		return
	}
	k.processes(c)
	if diff := differing(k.good, c); diff != "" {
		k.report(rule, "%s differs from the first: %s", c.name, diff)
	}
}

// The steps that follow change one thing each in the good run.
func (k *runnerKit) again(ctx context.Context) {
	k.same(ctx, k.prepare("the good run again", k.Good), "independent")
}

func (k *runnerKit) bare(ctx context.Context) {
	c := k.prepare("the good run without Display, Raw and Live", k.Good)
	c.req.Display, c.req.Raw, c.req.Live = nil, nil, nil
	k.same(ctx, c, "optional")
}

func (k *runnerKit) unwritable(ctx context.Context) {
	c := k.prepare("the good run whose Display and Raw cannot be written", k.Good)
	c.display.fail = errors.New("the kit's writer cannot be written")
	c.raw.fail = c.display.fail
	k.same(ctx, c, "writers")
}

// echo puts a promise into the prompt that the agent is not to make. A runner
// that hands on the prompt as a part of the answer would have its loop end
// there, without any work done. The promise is random, so no script can say it
// by chance.
func (k *runnerKit) echo(ctx context.Context) {
	promise := ralph.NoncePromise("KIT")
	c := k.prepare("the good run with a promise in its prompt", k.Good)
	c.req.Promise = promise
	c.req.Prompt += "\n\nThe next line is a test's, not to be repeated by anybody.\n<promise>" + promise + "</promise>\nSo much for that.\n"
	c.start(ctx, nil)
	if !k.back(c, "") {
		return
	}
	k.processes(c)
	if c.err != nil {
		k.report("echo", "%s ended in an error: %v", c.name, c.err)
	} else if ralph.FindPromise(c.resp.Output, promise, ralph.MatchAnywhere).Found {
		k.report("echo", "the answer holds a promise that only the prompt makes: %q", short(c.resp.Output))
	}
}

// together makes four calls at once, and again if that is cheap, for calls must
// overlap to disturb each other. Two kinds of them run in turn, so that what
// one says can be told from what the other does.
func (k *runnerKit) together(ctx context.Context) {
	if k.Alone || len(k.broken["independent"]) > 0 {
		return
	}
	start := time.Now()
	for round := 0; round < 1 || round < 4 && time.Since(start) < cheap; round++ {
		gate := make(chan struct{})
		var calls []*runnerCall
		for i := range 4 {
			c := k.prepare("the good run beside others", k.Good)
			if i%2 > 0 && k.other != nil {
				c = k.prepare("the other run beside others", k.Other)
			}
			c.start(ctx, gate)
			calls = append(calls, c)
		}
		close(gate)
		for _, c := range calls {
			if k.back(c, "concurrent") {
				k.apart(c)
			}
		}
		for _, c := range calls {
			if c.returned() {
				k.processes(c)
			}
		}
		if k.hung || len(k.broken["concurrent"]) > 0 {
			return
		}
	}
}

// apart looks at a call that was made beside others: it has to say what it said
// alone, and nothing of theirs.
func (k *runnerKit) apart(c *runnerCall) {
	alone, others := k.good, ""
	if k.other != nil {
		others = k.Other.Says
		if c.Says == others {
			alone, others = k.other, k.Good.Says
		}
	}
	if diff := differing(alone, c); diff != "" {
		k.report("concurrent", "%s differs from when it was alone: %s", c.name, diff)
	}
	for _, to := range []*recorder{c.display, c.raw} {
		if others != "" && to.got(others) {
			k.report("concurrent", "%s of %s got %q, which another one says", to.name, c.name, others)
		}
	}
}
