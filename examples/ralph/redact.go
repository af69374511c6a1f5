package main

import (
	"os"

	"github.com/ralph-loop/ralph/progress"
)

// redact hides secrets in what is written to files: what looks like one, and
// the values that the environment holds under such a name, for the agent has
// them too and may print them.
func redact() progress.Redactor {
	return progress.Redactor{Secrets: progress.SecretsIn(os.Environ())}
}
