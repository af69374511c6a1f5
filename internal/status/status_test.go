package status_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/status"
)

func TestOf(t *testing.T) {
	for want, words := range map[status.Status][]string{
		status.Todo:    {"todo", "To Do", "○ To Do", "TODO", "Open", "pending", "backlog", "Not Started", "not-done", "Draft", "Approved", "failing", "blocked", "incomplete"},
		status.Doing:   {"in-progress", "in_progress", "In Progress", "inProgress", "◒ In Progress", "WIP", "started", "Review", "Ready for Review", "QA", "testing"},
		status.Done:    {"done", "Done", "DONE.", "✅ Done", "Completed", "closed", "Finished", "passed", "✅", "✔️", " ✔ ", "merged"},
		status.Failed:  {"failed", "Error", "broken"},
		status.Skipped: {"skipped", "cancelled", "Canceled", "won't fix", "Won’t Do", "deferred", "On Hold", "paused", "archived", "N/A", "duplicate"},
	} {
		for _, word := range words {
			if got, known := status.Of(word); got != want || !known {
				t.Errorf("%q: %v, known %v, want %v", word, got, known, want)
			}
		}
	}
	for _, word := range []string{"", " ", "-", "\ufe0f", "finshed", "done?no", "done (partly)", "\xff", "0", strings.Repeat("done", 1<<18)} {
		if got, known := status.Of(word); got != status.Todo || known {
			t.Errorf("%.20q: %v, known %v", word, got, known)
		}
	}
}

func TestNearest(t *testing.T) {
	got := map[string]string{}
	for _, word := range []string{"finshed", "in progres", "compleet", "Skiped", "unknown to anybody", ""} {
		got[word] = status.Nearest(word)
	}
	want := map[string]string{"finshed": "finished", "in progres": "in progress", "compleet": "complete", "Skiped": "skipped", "unknown to anybody": "", "": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each meaning has a name, which means it.
func TestString(t *testing.T) {
	var got []string
	for _, s := range []status.Status{status.Todo, status.Doing, status.Done, status.Failed, status.Skipped} {
		got = append(got, s.String())
		if of, known := status.Of(s.String()); of != s || !known {
			t.Errorf("%v means %v", s, of)
		}
	}
	if diff := cmp.Diff([]string{"todo", "doing", "done", "failed", "skipped"}, got); diff != "" {
		t.Error(diff)
	}
}

// No word stands in two rows: the first would hide what the other says.
func TestOnce(t *testing.T) {
	if twice := status.Twice(); len(twice) > 0 {
		t.Errorf("given twice: %q", twice)
	}
}
