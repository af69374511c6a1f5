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

// ask asks a verifier about a claim.
func ask(ctx context.Context, verifier ralph.Verifier, c ralph.Claim) (ralph.Verdict, error) {
	var v ralph.Verdict
	err := plugin.Call("verify: the verifier", func() (err error) {
		v, err = verifier.Verify(ctx, c)
		return err
	})
	return v, err
}

// validate asks what a verifier consists of, a verifier or a judge, whether it can
// work on a task. Nil, and one that has no Validate, can.
func validate(part any, t ralph.Task) error {
	v, ok := part.(interface{ Validate(ralph.Task) error })
	if !ok {
		return nil
	}
	return plugin.Call("verify: Validate", func() error { return v.Validate(t) })
}

// prepare has a verifier prepare a task. Nil, and one that has no Prepare, needs
// nothing.
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

// of names the part of a verifier that an error comes from.
func of(part string, err error) error {
	if err == nil {
		return nil
	}
	return &hiddenError{fmt.Sprintf("verify: %s: %s", part, strings.TrimPrefix(err.Error(), "verify: ")), err}
}

// agree adds to what a task guards. What is agreed already stays as it is.
func agree(t ralph.Task, more map[string]string) ralph.Task {
	if len(more) == 0 {
		return t
	}
	guarded := maps.Clone(more)
	maps.Copy(guarded, t.Guarded)
	t.Guarded = guarded
	return t
}
