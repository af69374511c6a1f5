// Package tasks reads what is to be done from the files that people and tools
// already write it in: the boxes of a Markdown list, the user stories of a
// prd.json, and definitions in YAML or JSON, which also say how the work is
// verified.
//
// A list is the simplest. Its boxes are the truth about what is done; nothing
// else is stored:
//
//	src := tasks.ListFile{Path: "specs/001-login/tasks.md"}
//	items, err := src.Items(ctx) // each box: ID, text, phase, done or not
//	…
//	err = src.Tick("T001") // changes one byte of the file
//
// The grammar is strict on purpose, since a loop that takes "- [2026-01-29]" or
// a box of the acceptance criteria for a task never ends (FAILURES 23). Boxes
// are what GitHub renders as boxes; tasks are the boxes with an ID, outside of
// sections like "Success criteria". Who has a list without IDs says so with
// [ListFile.AllBoxes].
//
// A [Source] is read again after each iteration, for the agent edits the file
// while the loop runs. [ListFile] and [PRDFile] are sources; a program with
// tasks of its own, in an issue tracker or a database, writes another.
//
// Nothing here logs, and nothing is cached. Errors name the file and say what
// to do.
package tasks
