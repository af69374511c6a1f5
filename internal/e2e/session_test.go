//go:build linux

package e2e_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks"
)

// A real client works a list off: it ticks one box, claims too early, ticks the
// other. The log is read back.
func TestE2ESession(t *testing.T) {
	script := func(dir string) []modelserver.Turn {
		tick := func(id string) string {
			return "sed -i 's/\\[ \\] " + id + "/[x] " + id + "/' " + filepath.Join(dir, "tasks.md")
		}
		return []modelserver.Turn{
			{Shell: tick("T001")}, {Text: "One is done.\n\n**Learnings**:\n- it was easy\n\n" + claim},
			{Shell: tick("T002")}, {Text: claim},
		}
	}
	eachAgent(t, script, func(e *e2eRun) {
		e.write("tasks.md", "- [ ] T001 One\n- [ ] T002 Two\n")
		events := &e2eLog{}
		log := filepath.Join(e.dir, "progress.txt")
		s := &tasks.Session{
			Source: tasks.ListFile{Path: filepath.Join(e.dir, "tasks.md")}, Runner: e.command(), Dir: e.dir, Feature: "001-shop",
			Log:    progress.Multi(events, &progress.Markdown{Path: log, Feature: "001-shop"}),
			Output: func(ralph.Request) (io.Writer, io.Writer) { return nil, &events.output },
		}
		report, err := s.Run(e.context())
		if err != nil || report.Status != tasks.SessionCompleted || report.IterationsRun != 2 || report.TasksCompleted != 2 {
			e.Errorf("%+v, %v\n%s", report, err, &events.output)
		}
		if asked := e.server.Requests(); len(asked) != 4 || !asked[2].Holds("1 task is open: T002") {
			e.Errorf("%d requests; the early claim is not told", len(asked))
		}
		file, err := os.Open(log)
		if err != nil {
			e.Fatal(err)
		}
		defer file.Close()
		p, err := progress.ReadMarkdown(file)
		if err != nil {
			e.Fatal(err)
		}
		var got []string
		for _, s := range p.Sections {
			got = append(got, s.Task+" "+string(s.Status))
		}
		if diff := cmp.Diff([]string{"T001 success", "T002 success"}, got); diff != "" {
			e.Error(diff)
		}
		if len(p.Sections) > 0 {
			if diff := cmp.Diff([]string{"it was easy"}, p.Sections[0].Learnings); diff != "" {
				e.Error(diff)
			}
		}
	})
}
