package verify

import (
	"context"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// ask asks a verifier that somebody has plugged in, whose panic is an error.
func ask(ctx context.Context, verifier ralph.Verifier, c ralph.Claim) (ralph.Verdict, error) {
	var v ralph.Verdict
	err := plugin.Call("verify: the verifier", func() (err error) {
		v, err = verifier.Verify(ctx, c)
		return err
	})
	return v, err
}
