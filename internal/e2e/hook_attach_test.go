//go:build linux

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// theirSettings are a client's, in their owner's hand.
const theirSettings = "{\n   \"model\":   \"sonnet\",\n\t\"hooks\" : { \"Stop\": [ ] ,\"PreToolUse\":[]},\n  \"env\": {\"THEIRS\":\"1\"} }"

// A loop that the user of a session starts and cancels in it, by commands that ralph
// hook install has put there. Who decides ends with the session.
func hookAttach() []hookTest {
	const fix = `/ralph "Fix it" --max-iterations=5 --verify "test -f done"`
	return []hookTest{
		{"runs", func(dir string) []modelserver.Turn {
			return []modelserver.Turn{{Text: "I have looked."}, {Text: hookDone}, {Shell: "touch " + filepath.Join(dir, "done")}, {Text: hookDone}}
		}, func(h *hooked) {
			h.settings(theirSettings)
			before := h.files()
			h.install("install")
			if len(h.files()) != len(before)+3 {
				h.Errorf("there are %q", h.files())
			}
			h.run(h.session(fix)).ends(0)
			h.endedWithin(20 * time.Second)
			h.stands(ralph.StopVerified, 3)
			h.told(4, "2/5", "3/5")
			if st := h.standing(); st.State.Task.Prompt != "Fix it" || st.State.Task.Promise != "DONE" {
				h.Errorf("the task is %+v", st.State.Task)
			}
			if q := h.server.Requests()[0]; !strings.Contains(string(q.Body), hookTag) {
				h.Error("the session is not told of the promise")
			}
			h.install("uninstall")
			if diff := cmp.Diff(before, h.files()); diff != "" {
				h.Errorf("the settings are not as they were (-want +got):\n%s", diff)
			}
		}},
		{"is cancelled", inTool(modelserver.Turn{Text: "I have looked.", Repeat: true}), func(h *hooked) {
			started, gate := h.fifo("started"), h.fifo("gate")
			h.install("install")
			r := h.run(h.session(fix))
			r.reaches(started)
			id := h.stands("", 1)
			c := h.run(h.session("/cancel-ralph", "--resume", id))
			c.ends(0)
			if !strings.Contains(c.stdout.String(), "Ralph Loop Cancelled") {
				h.Errorf("it is not told: %s", &c.stdout)
			}
			h.stands(ralph.StopCancelled, 1)
			h.open(gate, 1)
			r.ends(0)
			h.endedWithin(20 * time.Second)
			h.told(2)
			c = h.run(h.session("/cancel-ralph", "--resume", id))
			c.ends(0)
			if !strings.Contains(c.stdout.String(), "No Active Loop") || len(h.server.Requests()) != 2 {
				h.Errorf("%d requests, and it is told %s", len(h.server.Requests()), &c.stdout)
			}
		}},
		{"ends with its session", inTool(modelserver.Turn{Text: "I have looked.", Repeat: true}), func(h *hooked) {
			started, gate := h.fifo("started"), h.fifo("gate")
			h.install("install")
			r := h.run(h.session(fix))
			r.reaches(started)
			if len(h.runs("--background")) != 1 {
				h.Error("nobody decides")
			}
			r.cmd.Process.Kill() // its hooks tell nobody
			<-r.ended
			h.open(gate, 1)
			h.endedWithin(20 * time.Second)
			h.stands("", 1)
		}},
		{"is refused", turns(modelserver.Turn{Text: "What?", Repeat: true}), func(h *hooked) {
			h.install("install")
			for args, want := range map[string]string{`"Fix it" --max-iteration=5`: "max-iteration", `"Fix it`: "quot", `"Fix it" -- claude`: "no client"} {
				r := h.run(h.session("/ralph " + args))
				r.ends(0)
				if got := r.stdout.String(); !strings.Contains(got, "ralph: ") || !strings.Contains(got, want) {
					h.Errorf("/ralph %s: %s", args, got)
				}
			}
			if n := len(h.server.Requests()); n > 0 {
				h.Errorf("%d requests", n)
			}
		}},
	}
}

// session is the client as its users start it.
func (h *hooked) session(prompt string, flags ...string) *exec.Cmd {
	h.Helper()
	client := h.client()
	return h.ralph(filepath.Join(h.bin, client[0]), slices.Concat(client[1:], flags, []string{"--", prompt})...)
}

func (h *hooked) install(what string) {
	h.Helper()
	h.run(h.ralph(h.tool, "hook", what, h.agent)).ends(0)
}

// files are the client's files in the workspace.
func (h *hooked) files() map[string]string {
	h.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(h.dir, ".claude"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var text []byte
			text, err = os.ReadFile(path)
			files[path] = string(text)
		}
		return err
	})
	if err != nil {
		h.Error(err)
	}
	return files
}
