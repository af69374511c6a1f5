package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// redact hides secrets in what is written to files: what looks like one, and
// the values that the environment holds under such a name, for the agent has
// them too and may print them.
func redact() progress.Redactor {
	return progress.Redactor{Secrets: progress.SecretsIn(os.Environ())}
}

// A logFile is the path of an execution log. It is opened for each line: it stands
// in the folder that the agent works in, which may clean up there, and then it is
// begun again.
type logFile string

// openLog makes sure that a log can be written.
func (e env) openLog(path string) (logFile, error) {
	l := logFile(absolute(path))
	file, err := l.open()
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return "", fail(exitConfig, "execution log: %w", err)
	}
	e.say("execution log: %s", path)
	return l, nil
}

// open opens the file. The folder .ralph is made if it is not there: it is no part
// of the project, and says so to git.
func (l logFile) open() (*os.File, error) {
	folder := filepath.Dir(string(l))
	if _, err := os.Stat(folder); filepath.Base(folder) == ".ralph" && err != nil {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, ".gitignore"), []byte("*\n"), 0o644); err != nil {
			return nil, err
		}
	}
	return progress.OpenJSONL(string(l))
}

func (l logFile) Write(p []byte) (int, error) {
	file, err := l.open()
	if err != nil {
		return 0, err
	}
	n, err := file.Write(p)
	return n, cmp.Or(err, file.Close())
}

// log is the log that is written to the file. Where loops are resumed from it, the
// tasks stay as they are, secrets and all.
func (l logFile) log(resumed bool) ralph.ProgressLog {
	r := redact()
	r.Task = !resumed
	return r.Log(&progress.JSONL{W: l})
}

// without is a log in which the files that this program writes are no changes of
// the agent's.
func without(log ralph.ProgressLog, project string, paths ...string) ralph.ProgressLog {
	others := func(files []string) []string {
		return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
			return slices.Contains(paths, filepath.Join(project, filepath.FromSlash(file)))
		})
	}
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		ev.Iteration.Files = others(ev.Iteration.Files)
		if ev.State != nil {
			s := *ev.State
			s.Files = others(s.Files)
			ev.State = &s
		}
		return log.Append(ctx, ev)
	})
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
