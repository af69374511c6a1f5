// Package status knows the words that people and their tools write for how far a
// task is, and says what each of them means.
package status

import (
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph/internal/nearest"
)

// A Status is how far a task is.
type Status int

const (
	Todo    Status = iota // to be worked on
	Doing                 // begun, and to be worked on
	Done                  // there is nothing left to do
	Failed                // tried, without success
	Skipped               // not to be worked on, or not now
)

// String is the status in one word, such as "doing".
func (s Status) String() string {
	for _, row := range table() {
		if name, _, _ := strings.Cut(row.words, separator); row.means == s {
			return name
		}
	}
	return "todo"
}

// Of returns what a word means, and whether it is known. A word that is not known,
// and no word, is Todo: a task that is worked on once more than needed is noticed, one
// that is left out may not be. Only letters and digits count, and not their case:
// "In-Progress", "in_progress" and "◒ inProgress" are one word. A word that has none
// of them may be a mark, such as "✅".
func Of(word string) (s Status, known bool) {
	letters := letters(word)
	for _, row := range table() {
		for one := range strings.SplitSeq(row.words, separator) {
			if same(letters, one) {
				return row.means, true
			}
		}
	}
	return Todo, false
}

// Nearest returns the known word that was probably meant by one that is not known,
// "" if none is near enough.
func Nearest(word string) string {
	var all []string
	for _, row := range table() {
		all = append(all, strings.Split(row.words, separator)...)
	}
	return nearest.Of(word, all)
}

// A row is the words of one meaning, in lower case.
type row struct {
	means Status
	words string
}

const separator = ", "

// table is all words that are known. The first of a meaning is its name. A word that is
// read in two ways is where the task is not lost: "failing" is what a test does before
// the work on it, and "approved" what a story is before it.
func table() [12]row {
	return [...]row{
		{Todo, "todo, open, pending, new, backlog, ready, planned, draft, not started, unstarted, queued, proposed"},
		{Todo, "approved, ready for dev, ready for development, ready to start, ready for implementation, ready for execution, next, up next, upcoming, scheduled, selected"},
		{Todo, "assigned, created, drafted, idle, not done, undone, unfinished, incomplete, not complete, not completed, remaining, reopened, retry, failing, not passing, inbox, triage, none"},
		// What holds it up is another task, whose turn comes first, or something that
		// only a person knows, who is told of the word.
		{Todo, "blocked, stuck, waiting, blocked by dependency, waiting for dependency, needs info"},
		{Doing, "doing, in progress, wip, work in progress, started, active, working, ongoing, current, running, in development, in dev, developing, implementing, in work, underway, claimed, partial, partially done, partially complete, partially completed, partially implemented"},
		// What is reviewed or tested is not done before somebody has said so.
		{Doing, "review, in review, under review, needs review, ready for review, awaiting review, pending review, awaiting merge, ready to merge, pending merge, code review, reviewing, testing, in testing, in test, ready for testing, ready for test, qa, in qa, ready for qa, verifying, validating, needs verification, interrupted"},
		{Done, "done, completed, complete, closed, finished, passed, passing, pass, passes, merged, resolved, fixed, shipped, verified, success, succeeded, successful, implemented"},
		{Done, "released, deployed, delivered, all done, fully implemented, ready for done, ✅, ✓, ✔, ☑, 🎉"},
		{Failed, "failed, failure, error, errored, broken, crashed, timed out, aborted"},
		{Skipped, "skipped, cancelled, canceled, wontfix, won't do, obsolete, dropped, duplicate, archived, removed, superseded, abandoned, skip"},
		{Skipped, "deprecated, deleted, discarded, disabled, excluded, ignored, invalid, n/a, not applicable, not needed, not planned, out of scope, 🚫"},
		// A person has said: not now. Nothing in the file ever ends that.
		{Skipped, "deferred, on hold, hold, paused, postponed, parked, suspended, later, someday, icebox"},
	}
}

// same reports whether letters are those of a known word.
func same(letters, known string) bool {
	for _, r := range known {
		if r == ' ' || r == '\'' || r == '/' {
			continue
		}
		rest, ok := strings.CutPrefix(letters, string(r))
		if !ok {
			return false
		}
		letters = rest
	}
	return letters == ""
}

// longest is the length of a word in bytes that may be known, with all around it.
const longest = 256

// letters returns the letters and digits of a word, in lower case. Of a word that has
// none they are all that it has but blanks; a selector says only how the mark before it
// is drawn.
func letters(word string) string {
	if len(word) > longest {
		return ""
	}
	counts := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	if strings.IndexFunc(word, counts) < 0 {
		counts = func(r rune) bool { return !unicode.IsSpace(r) && r != '\ufe0f' }
	}
	return strings.Map(func(r rune) rune {
		if counts(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, word)
}
