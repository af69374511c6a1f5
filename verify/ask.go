package verify

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// Verifiers that somebody has plugged in, whose panic is an error.

// ask asks a verifier about a claim; nil takes the promise as enough. A panic in it becomes an error, which
// rejects: a verifier that somebody plugged in must not end the program that
// embeds it, nor a loop that has been paid for. A panic on a goroutine that the
// verifier starts itself cannot be caught here.
func ask(ctx context.Context, verifier ralph.Verifier, c ralph.Claim) (ralph.Verdict, error) {
	// A panic leaves v as it was, so the zero verdict, which rejects, goes with
	// the error.
	var v ralph.Verdict
	if verifier == nil {
		verifier = String{}
	}
	err := plugin.Call("verify: the verifier", func() (err error) {
		v, err = verifier.Verify(ctx, c)
		return err
	})
	return v, err
}

// validate asks a part, a verifier or a judge, whether it can work on a task.
// Nil, and a part without the method Validate, can. The method is found by a
// type assertion and is not in [ralph.Verifier], so that the interface keeps
// one method and a function can still be a verifier.
func validate(part any, t ralph.Task) error {
	v, ok := part.(interface{ Validate(ralph.Task) error })
	if !ok {
		return nil
	}
	return plugin.Call("verify: Validate", func() error { return v.Validate(t) })
}

// prepare has a verifier prepare a task. Nil, and one without the method
// Prepare, need nothing. On an error the task is returned as it came: half of a
// preparation would look like a whole one to Verify, which only sees which keys
// are there.
func prepare(ctx context.Context, verifier ralph.Verifier, t ralph.Task) (ralph.Task, error) {
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	v, ok := verifier.(interface {
		Prepare(context.Context, ralph.Task) (ralph.Task, error)
	})
	if !ok {
		return t, nil
	}
	prepared := t
	err := plugin.Call("verify: Prepare", func() (err error) { prepared, err = v.Prepare(ctx, t); return })
	if err != nil {
		return t, err
	}
	return prepared, nil
}

// of names the part of a verifier that an error comes from. The package's own
// prefix is taken off first, so that it stands once in the text however deep
// verifiers are nested. errors.Is and errors.As still find the cause.
func of(part string, err error) error {
	if err == nil {
		return nil
	}
	return &hiddenError{fmt.Sprintf("verify: %s: %s", part, strings.TrimPrefix(err.Error(), "verify: ")), err}
}

// agree adds to what a task guards. What is there already stays as it is: it
// was noted earlier, by a [Snapshot] that the caller has taken, say, and the
// earlier a note the less the agent can have changed before it. The caller's
// map is not written to, for the claim and the caller share it.
func agree(t ralph.Task, more map[string]string) ralph.Task {
	if len(more) == 0 {
		return t
	}
	guarded := maps.Clone(more)
	maps.Copy(guarded, t.Guarded)
	t.Guarded = guarded
	return t
}
