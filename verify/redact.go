package verify

import (
	"io"
	"slices"

	"github.com/ralph-loop/ralph"
)

// Redacted returns v writing what it keeps in [ralph.Claim.Evidence] through
// redact, so that no secret reaches a file: the Writer of progress.Redact fits.
// Digests stay those of what was printed. It is for the verifiers of this package
// that keep evidence, [External], [Semantic] and what [Template] returns, and for
// those that ask others: [MultiStage], [Guard] and the fallback of Semantic.
// Others, and what is behind a [Cache], are returned as they are: wrap them
// before.
func Redacted(v ralph.Verifier, redact func(io.Writer) io.WriteCloser) ralph.Verifier {
	switch v := v.(type) {
	case External:
		v.redact = redact
		return v
	case tool:
		v.redact = redact
		return v
	case covered:
		v.redact = redact
		return v
	case Semantic:
		v.redact, v.Fallback = redact, Redacted(v.Fallback, redact)
		return v
	case MultiStage:
		v.Stages = slices.Clone(v.Stages)
		for i := range v.Stages {
			v.Stages[i].Verifier = Redacted(v.Stages[i].Verifier, redact)
		}
		return v
	case Guard:
		v.Verifier = Redacted(v.Verifier, redact)
		return v
	}
	return v
}
