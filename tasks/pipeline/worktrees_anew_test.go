package pipeline_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWorktreesAnew: a task that begins anew has nothing that an earlier run has left, here
// or with others; that is kept beside it.
func TestWorktreesAnew(t *testing.T) {
	for _, far := range []bool{false, true} {
		dir, remote := repo(t, map[string]string{"README": "a\n"}), ""
		if far {
			remote = shared(t, map[string]string{"README": "a\n"})
			dir = clone(t, remote)
		}
		w := opened(t, dir, remote)
		if kept, err := w.Anew(t.Context(), "T1"); kept != "" || err != nil {
			t.Errorf("nothing was there: %q, %v", kept, err)
		}
		w.work("T1", "echo exam > exam; echo left > left")
		if far { // another worker has gone on with it
			opened(t, clone(t, remote), remote).work("T1", "echo more > more")
		}
		sh(t, w.place("T1"), "echo loose > loose")
		kept, err := w.Anew(t.Context(), "T1")
		if kept != "ralph/T1.1" || err != nil {
			t.Errorf("kept %q, %v", kept, err)
		}
		for _, name := range []string{"exam", "left", "loose", "more"} {
			if _, err := os.Lstat(filepath.Join(w.place("T1"), name)); err == nil {
				t.Errorf("%s is still there", name)
			}
		}
		if got := sh(t, dir, "git show ralph/T1.1:left ralph/T1.1:loose"); got != "left\nloose" {
			t.Errorf("kept: %q", got)
		}
		if again, err := w.Anew(t.Context(), "T1"); again != "" || err != nil {
			t.Errorf("again: %q, %v", again, err)
		}
		w.work("T1", "echo new > new")
		if m := w.merge("T1"); m.Commit == "" {
			t.Errorf("not merged: %+v", m)
		}
	}
}
