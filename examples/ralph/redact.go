package main

import (
	"os"
	"strings"

	"github.com/ralph-loop/ralph/progress"
)

// redact hides secrets in what is written to files: what looks like one, and
// the values that the environment holds under such a name, for the agent has
// them too and may print them.
func redact() progress.Redact {
	var r progress.Redact
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if value = strings.TrimSpace(value); len(value) >= 8 && namesSecret(name) {
			r.Secrets = append(r.Secrets, value)
		}
	}
	return r
}

func namesSecret(name string) bool {
	for _, end := range []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_PAT"} {
		if strings.HasSuffix(strings.ToUpper(name), end) {
			return true
		}
	}
	return false
}
