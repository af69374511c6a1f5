package pipeline_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// TestForeignStatus takes the words of others for what they say: what is completed is not
// run again, and what depends on it is; what is cancelled, deferred or broken is not run,
// nor what depends on it; all else is. Of the file only statuses of tasks that were worked
// on are written over, and those in place.
func TestForeignStatus(t *testing.T) {
	t.Parallel()
	a := &agents{}
	a.do = makes(t)
	words := []string{"Completed", "", "in progress", "Cancelled", "", "finshed", "'To Do'", "deferred", "ERROR", "blocked"}
	after := map[int][]string{1: {"TA"}, 4: {"TD"}}
	var tasks []string
	for i, word := range words {
		var more []string
		if word != "" {
			more = []string{"status: " + word + " # theirs"}
		}
		tasks = append(tasks, task("T"+string(rune('A'+i)), "", after[i], more...))
	}
	p, path := plain(t, a, tasks...)
	p.Stages = []string{"coder"}

	agreed, err := p.Agree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []spec.Status
	for _, task := range agreed.Tasks {
		got = append(got, task.Definition.Status)
	}
	want := []spec.Status{"done", "todo", "todo", "skipped", "todo", "todo", "todo", "skipped", "failed", "todo"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("agreed (-want +got):\n%s", diff)
	}
	if agreed.Unsettled() {
		t.Error("what others have begun is taken for what a run has")
	}
	if warnings := p.Source.(*pipeline.File).Warnings(); len(warnings) != 8 {
		t.Errorf("warnings %q", warnings)
	}

	all, final, err := journey(t, p)
	if reason(t, err) != ralph.StopStalled || final.Stands[4].Phase != pipeline.PhaseOpen {
		t.Errorf("%v: %q", err, all)
	}
	if got, want := statuses(t, path), "TA Completed, TB done, TC done, TD Cancelled, TE , TF done, TG done, TH deferred, TI ERROR, TJ done"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"status: Completed # theirs\n", "status: done # theirs\n", "status: 'done' # theirs\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("%q is not in %s", line, text)
		}
	}
}
