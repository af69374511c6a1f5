package verifytest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/ralph-loop/ralph"
)

// A call is one call of the verifier, with what it was given and what came of
// it. The kit keeps all calls to the end: a verifier may write to a claim, or
// to a verdict, long after it has returned.
type call struct {
	routine
	v     ralph.Verifier
	given ralph.Claim // what the verifier gets; nobody else does
	want  ralph.Claim // how given was, and has to be
	looks int64       // > 0: the context is cancelled after this many looks at it

	verdict ralph.Verdict
	shown   ralph.Verdict // a copy of verdict as it was returned
	err     error
}

// prepare makes a call and does not start it. The claim is copied twice, so
// that what the verifier was given can be compared with what it should still
// be.
func (k *kit) prepare(n named) *call {
	c := &call{routine: newRoutine(n.name, k.id, len(k.calls)), v: k.v, given: roomy(n.claim), want: roomy(n.claim)}
	k.calls, k.routines = append(k.calls, c), append(k.routines, &c.routine)
	return c
}

// start begins a call, as soon as the gate is closed if there is one. With a
// gate many calls begin at once, and not one after the other as the goroutines
// come to be.
func (k *kit) start(ctx context.Context, n named, gate <-chan struct{}) *call {
	c := k.prepare(n)
	c.run(ctx, gate, c.verify)
	return c
}

// verify makes the call, and copies the verdict at once: who keeps a slice of
// it may write to it later.
func (c *call) verify(ctx context.Context) {
	if c.looks > 0 {
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		ctx = &lateContext{Context: inner, left: c.looks, cancel: cancel}
	}
	c.verdict, c.err = c.v.Verify(ctx, c.given)
	c.shown = c.verdict
	c.shown.Checks = slices.Clone(c.verdict.Checks)
	for i, check := range c.shown.Checks {
		if check.ExitCode != nil {
			c.shown.Checks[i].ExitCode = new(*check.ExitCode)
		}
	}
}

// A lateContext is cancelled when it has been looked at left times. So the
// verifier is cancelled at a known step of its work, whatever the machine's
// speed; a timer would hit another step each time, or none.
type lateContext struct {
	context.Context
	left   int64
	cancel context.CancelCauseFunc
}

func (c *lateContext) look() {
	if atomic.AddInt64(&c.left, -1) == 0 {
		c.cancel(ralph.ErrCancelled)
	}
}

// Done counts as a look. The channel is closed then, so that the verifier meets
// the cancellation where it waits next.
func (c *lateContext) Done() <-chan struct{} {
	defer c.look()
	return c.Context.Done()
}

// Err counts as a look, and still answers what was so before it.
func (c *lateContext) Err() error {
	defer c.look()
	return c.Context.Err()
}

// spare is how many elements a claim's slices have beyond their length, where
// an append by the verifier would write. A caller's slices often have such
// room, and two stages that append to the same one overwrite each other.
const spare = 4

// roomy returns a deep copy of the claim, with room behind its slices. A field
// of [ralph.Claim] that refers to memory has to be copied here and compared in
// changed; a test fails when one is added.
func roomy(c ralph.Claim) ralph.Claim {
	c.Files = withRoom(c.Files, "spare")
	c.Task.Acceptance = withRoom(c.Task.Acceptance, "spare")
	c.Checks = withRoom(c.Checks, ralph.Check{Name: "spare"})
	c.Task.Spec = withRoom(c.Task.Spec, ' ')
	c.Task.Guarded = maps.Clone(c.Task.Guarded)
	return c
}

// withRoom copies a slice and fills the room behind it with what is easily
// known again. nil stays nil, since a verifier may tell the two apart.
func withRoom[S ~[]E, E any](list S, fill E) S {
	if list == nil {
		return nil
	}
	all := make(S, len(list)+spare)
	for i := copy(all, list); i < len(all); i++ {
		all[i] = fill
	}
	return all[:len(list)]
}

// changed lists the claim's fields that were written to. They are named, for a
// data race elsewhere would only say where.
func (c *call) changed() []string {
	var fields []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"Files", slices.Equal(whole(c.given.Files), whole(c.want.Files))},
		{"Checks", slices.Equal(whole(c.given.Checks), whole(c.want.Checks))},
		{"Task.Acceptance", slices.Equal(whole(c.given.Task.Acceptance), whole(c.want.Task.Acceptance))},
		{"Task.Spec", slices.Equal(whole(c.given.Task.Spec), whole(c.want.Task.Spec))},
		{"Task.Guarded", maps.Equal(c.given.Task.Guarded, c.want.Task.Guarded)},
	} {
		if !f.same {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// whole is a slice with the room behind it.
func whole[S ~[]E, E any](list S) S { return list[:cap(list)] }

// differ says in what two verdicts on the same claim differ; "" = in nothing
// that counts. The texts of errors are not compared: they are for people, and
// may name what differs from call to call.
func differ(a, b *call) string {
	u, v := a.essence(), b.essence()
	switch {
	case (a.err == nil) != (b.err == nil):
		return fmt.Sprintf("error %v and error %v", a.err, b.err)
	case u.Passed != v.Passed:
		return fmt.Sprintf("Passed is %v and %v", u.Passed, v.Passed)
	case u.Feedback != v.Feedback:
		return fmt.Sprintf("feedback %q and %q", short(u.Feedback), short(v.Feedback))
	case len(u.Checks) != len(v.Checks):
		return fmt.Sprintf("%d and %d checks", len(u.Checks), len(v.Checks))
	}
	for i := range u.Checks {
		if !reflect.DeepEqual(u.Checks[i], v.Checks[i]) {
			return fmt.Sprintf("check %d is %s and %s", i+1, describe(u.Checks[i]), describe(v.Checks[i]))
		}
	}
	return ""
}

// varying is what programs print differently each time: a duration (0.05s,
// 1m30s, 12.5 ms), an address in memory. A verifier that runs a command quotes
// such things and is deterministic for all that.
var varying = regexp.MustCompile(`\b0x[0-9a-f]{6,16}\b|\b[0-9]+(\.[0-9]+)?( ?(ns|us|µs|ms|s|sec|secs|seconds?)|(h[0-9]+)?m[0-9.]+s)\b`)

// essence is the verdict without what may differ from call to call.
func (c *call) essence() ralph.Verdict {
	v := c.shown
	v.Feedback = varying.ReplaceAllString(v.Feedback, "…")
	v.Checks = slices.Clone(v.Checks)
	for i := range v.Checks {
		check := &v.Checks[i]
		check.Detail = varying.ReplaceAllString(check.Detail, "…")
		if c.given.Evidence != "" {
			check.Detail = "" // it may name a file of this call
		}
		check.Duration, check.Digest = 0, ""
	}
	return v
}

// describe is a check as the report names it.
func describe(c ralph.Check) string {
	exit := ""
	if c.ExitCode != nil {
		exit = fmt.Sprintf(" with exit code %d", *c.ExitCode)
	}
	return fmt.Sprintf("%q %s%s %q", short(c.Name), c.Status, exit, short(c.Detail))
}
