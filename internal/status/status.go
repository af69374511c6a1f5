// Package status knows the words that people and their tools write for how far a
// task is, and says what each of them means.
package status

import (
	"strings"
	"unicode"
	"unicode/utf8"

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
		if row.means == s {
			return row.words[0]
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
	for _, row := range table() {
		for _, one := range row.words {
			if same(word, one) {
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
		all = append(all, row.words...)
	}
	return nearest.Of(word, all)
}

// A row is the words of one meaning.
type row struct {
	means Status
	words []string
}

// table is all words that are known. The first of a meaning is its name. A word that is
// read in two ways is where the task is not lost: "failing" is what a test does before
// the work on it, and "approved" what a story is before it.
func table() [12]row {
	return [...]row{
		{Todo, []string{"todo", "open", "pending", "new", "backlog", "ready", "planned", "draft", "not started", "unstarted", "queued", "proposed"}},
		{Todo, []string{"approved", "ready for dev", "ready for development", "ready to start", "ready for implementation", "next", "up next", "upcoming", "scheduled", "selected"}},
		{Todo, []string{"assigned", "created", "drafted", "idle", "not done", "undone", "unfinished", "incomplete", "not complete", "not completed", "remaining", "reopened", "retry", "failing", "not passing", "inbox", "triage", "none"}},
		// What holds it up is another task, whose turn comes first, or something that
		// only a person knows, who is told of the word.
		{Todo, []string{"blocked", "stuck", "waiting", "blocked by dependency", "waiting for dependency", "needs info"}},
		{Doing, []string{"doing", "in progress", "wip", "work in progress", "started", "active", "working", "ongoing", "current", "running", "in development", "in dev", "developing", "implementing", "in work", "underway", "claimed", "partial", "partially done", "partially complete", "partially completed", "partially implemented"}},
		// What is reviewed or tested is not done before somebody has said so.
		{Doing, []string{"review", "in review", "under review", "needs review", "ready for review", "awaiting review", "pending review", "code review", "reviewing", "testing", "in testing", "in test", "ready for testing", "ready for test", "qa", "in qa", "ready for qa", "verifying", "validating", "needs verification", "interrupted"}},
		{Done, []string{"done", "completed", "complete", "closed", "finished", "passed", "passing", "pass", "passes", "merged", "resolved", "fixed", "shipped", "verified", "success", "succeeded", "successful", "implemented"}},
		{Done, []string{"released", "deployed", "delivered", "all done", "fully implemented", "ready for done", "✅", "✓", "✔", "☑", "🎉", "x"}},
		{Failed, []string{"failed", "failure", "error", "errored", "broken", "crashed", "timed out", "aborted"}},
		{Skipped, []string{"skipped", "cancelled", "canceled", "wontfix", "won't do", "obsolete", "dropped", "duplicate", "archived", "removed", "superseded", "abandoned", "skip"}},
		{Skipped, []string{"deprecated", "deleted", "discarded", "disabled", "excluded", "ignored", "invalid", "n/a", "not applicable", "not needed", "not planned", "out of scope", "🚫"}},
		// A person has said: not now. Nothing in the file ever ends that.
		{Skipped, []string{"deferred", "on hold", "hold", "paused", "postponed", "parked", "suspended", "later", "someday", "icebox"}},
	}
}

// same reports whether a word as it is written is a known one.
func same(word, known string) bool {
	w, k := letters(word), letters(known)
	for {
		a, b := w(), k()
		if a != b || a == 0 {
			return a == b
		}
	}
}

// letters returns the letters and digits of a word one by one, in lower case, and then
// 0. Of a word that has none they are all that it has but blanks.
func letters(word string) func() rune {
	counts := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	if strings.IndexFunc(word, counts) < 0 {
		// A selector says only how the mark before it is drawn.
		counts = func(r rune) bool { return !unicode.IsSpace(r) && r != '\ufe0f' }
	}
	return func() rune {
		for word != "" {
			r, size := utf8.DecodeRuneInString(word)
			word = word[size:]
			if counts(r) {
				return unicode.ToLower(r)
			}
		}
		return 0
	}
}
