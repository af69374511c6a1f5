// Package pipeline works many tasks off with many agents, each in turn: a coder, a
// reviewer, a tester, qa, several tasks at a time, each in a git worktree of its own.
package pipeline
