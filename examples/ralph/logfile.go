package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// A logFile is the execution log. It stands in the folder that the agent works
// in, which may clean up there: what is deleted is begun again.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
}

func openLog(path string) (*logFile, error) {
	file, err := progress.OpenJSONL(path)
	if err != nil {
		return nil, fail(exitConfig, "execution log: %w", err)
	}
	return &logFile{path: absolute(path), file: file}, nil
}

// log is the log that is written to the file. Where loops are resumed from it, the
// tasks stay as they are, secrets and all.
func (l *logFile) log(resumed bool) ralph.ProgressLog {
	r := redact()
	r.Task = !resumed
	return r.Log(&progress.JSONL{W: l})
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.again(); err != nil {
		return 0, err
	}
	return l.file.Write(p)
}

// again opens the file again if it is not the one at its path any more.
func (l *logFile) again() error {
	now, err := os.Stat(l.path)
	if err == nil {
		if open, err := l.file.Stat(); err == nil && os.SameFile(now, open) {
			return nil
		}
	}
	folder := filepath.Dir(l.path)
	if filepath.Base(folder) == ".ralph" {
		if _, err := dotRalph(filepath.Dir(folder)); err != nil {
			return err
		}
	}
	file, err := progress.OpenJSONL(l.path)
	if err != nil {
		return err
	}
	old := l.file
	l.file = file
	return old.Close()
}

func (l *logFile) Close() error { return l.file.Close() }

// without is a log in which the files that this program writes are no changes of
// the agent's.
func without(log ralph.ProgressLog, project string, paths ...string) ralph.ProgressLog {
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		ev.Iteration.Files = slices.DeleteFunc(slices.Clone(ev.Iteration.Files), func(file string) bool {
			return slices.Contains(paths, filepath.Join(project, filepath.FromSlash(file)))
		})
		return log.Append(ctx, ev)
	})
}
