package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// redact hides secrets in what is written to files: what looks like one, and
// the values that the environment holds under such a name, for the agent has
// them too and may print them.
func redact() progress.Redactor {
	return progress.Redactor{Secrets: progress.SecretsIn(os.Environ())}
}

// executionLog is the log that is written to a file, for people and programs.
func (e env) executionLog(path string) (ralph.ProgressLog, error) {
	file := progress.File{Path: absolute(path)}
	if _, err := file.Write(nil); err != nil {
		return nil, fail(exitConfig, "execution log: %w", err)
	}
	e.say("execution log: %s", path)
	return progress.Redactor{Secrets: redact().Secrets, Task: true}.Log(&progress.JSONL{W: file}), nil
}

// without is a log in which the files that this program writes are no changes of
// the agent's.
func without(log ralph.ProgressLog, project string, paths ...string) ralph.ProgressLog {
	others := func(files []string) []string {
		return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
			path := filepath.Join(project, filepath.FromSlash(file))
			return slices.ContainsFunc(paths, func(own string) bool { return absolute(own) == path })
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

// unexamined is a log that the agent may read: of an exam, which a flag or a
// definition names, it tells no more than the agent was told.
func unexamined(log ralph.ProgressLog) ralph.ProgressLog {
	var examined sync.Map // by loop: several may run at once
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		if ev.State != nil {
			examined.Store(ev.Loop, slices.ContainsFunc(slices.Collect(maps.Keys(ev.State.Task.Guarded)), isExam))
		}
		if is, _ := examined.Load(ev.Loop); is != true {
			return log.Append(ctx, ev)
		}
		ev.Iteration.Verdict.Checks = nil
		ev.Meta = maps.Clone(ev.Meta)
		delete(ev.Meta, "exam")
		delete(ev.Meta, "args") // of the command line
		if ev.State != nil {
			s := *ev.State
			s.Verdict.Checks = nil
			ev.State = &s
		}
		return log.Append(ctx, ev)
	})
}

// isExam reports whether a key of what a task guards stands for an exam.
func isExam(key string) bool { return strings.HasPrefix(key, "//exam/") }

// named is a file that the user has named for us to write. It may be a link to a
// file, which is resolved now, and not when an agent may have changed it.
func named(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
