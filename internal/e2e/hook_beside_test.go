//go:build linux

package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// What else there may be in a session, or beside it.
func hookBeside() []hookTest {
	return []hookTest{
		{"two sessions", inTool(modelserver.Turn{Text: "I have looked at ALPHA."}, modelserver.Turn{Text: hookDone}), func(h *hooked) {
			other, err := modelserver.Start(inTool(modelserver.Turn{Text: hookDone}, modelserver.Turn{Text: "I have looked at OMEGA."}, modelserver.Turn{Text: hookDone})(h.dir)...)
			if err != nil {
				h.Fatal(err)
			}
			defer other.Close()
			started, gate := h.fifo("started"), h.fifo("gate")
			one := h.start("Fix ALPHA.", "--verify", "true")
			one.reaches(started)
			cmd := h.starting("Fix OMEGA.", "--verify", "test -f omega || { touch omega; echo NOT-YET; exit 1; }")
			cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL="+other.URL)
			two := h.run(cmd)
			two.reaches(started)
			h.open(gate, 2)
			one.ends(0, "Task completed after 2 iteration(s)")
			two.ends(0, "Task completed after 3 iteration(s)")
			for i, s := range []*modelserver.Server{h.server, other} {
				asked := s.Requests()
				if want := 3 + i; len(asked) != want {
					h.Errorf("%d requests, want %d", len(asked), want)
				}
				for _, q := range asked {
					if bytes.Contains(q.Body, []byte([]string{"OMEGA", "ALPHA"}[i])) {
						h.Errorf("session %d hears of the other one: %q", i+1, q.User)
					}
				}
			}
		}},
		{"another hook", turns(modelserver.Turn{Text: "I have looked."}, modelserver.Turn{Text: "So I go on."}, modelserver.Turn{Text: hookDone}, modelserver.Turn{Text: "That is all."}), func(h *hooked) {
			// It keeps the session going at the first stop, and at the one at which the
			// loop ends.
			h.write("other", `echo x >>stops; case $(wc -l <stops) in 1|3) echo '{"decision":"block","reason":"OTHER-REASON"}';; esac`)
			h.settings(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh other"}]}]}}`)
			h.start("Fix it.", "--verify", "true").ends(0, "Task completed after 3 iteration(s)")
			h.told(4, "2/100", "3/100")
			for i, want := range []int{0, 1, 1, 2} {
				if got := strings.Count(strings.Join(h.server.Requests()[i].User, "\n"), "OTHER-REASON"); got != want {
					h.Errorf("request %d has the other hook's reason %d times, want %d", i+1, got, want)
				}
			}
		}},
		{"goal", turns(modelserver.Turn{Text: "I have looked."}, modelserver.Turn{Reply: saying(`{"ok": false, "reason": "NO-GOAL"}`)},
			modelserver.Turn{Text: hookDone}, modelserver.Turn{Reply: saying(`{"ok": true, "reason": "it is there"}`)}), func(h *hooked) {
			h.start("/goal the tests pass", "--verify", "true").ends(0, "Task completed after 2 iteration(s)")
			h.told(4, "2/100")
			if q := h.server.Requests()[2]; !q.Holds("NO-GOAL") {
				h.Errorf("the goal's reason is hidden: %q", q.User)
			}
		}},
		{"a client in it", func(dir string) []modelserver.Turn {
			return []modelserver.Turn{{Shell: "cd " + dir + "; claude -p --dangerously-skip-permissions Help. </dev/null"}, {Text: hookDone}, {Text: "I have looked."}, {Text: hookDone}}
		}, func(h *hooked) {
			h.install("install")
			h.start("Fix it.", "--verify", "true").ends(0)
			h.stands(ralph.StopVerified, 2)
			h.told(4, "2/100")
		}},
		{"hooked twice", turns(modelserver.Turn{Text: "I have looked."}, modelserver.Turn{Text: "Not yet."}, modelserver.Turn{Text: hookDone}), func(h *hooked) {
			h.install("install")
			h.late()
			h.start("Fix it.", "--verify", "true").ends(0)
			h.stands(ralph.StopVerified, 3)
			h.told(3, "2/100", "3/100")
		}},
	}
}

// late makes the installed hooks late.
func (h *hooked) late() {
	h.Helper()
	const begin = `"command":"`
	for path, text := range h.files() {
		if strings.HasSuffix(path, "settings.json") {
			h.settings(strings.ReplaceAll(text, begin+h.tool, begin+"sleep 0.3; "+h.tool))
		}
	}
}

// settings writes the client's settings of the workspace.
func (h *hooked) settings(text string) {
	h.Helper()
	if err := os.MkdirAll(filepath.Join(h.dir, ".claude"), 0o755); err != nil {
		h.Fatal(err)
	}
	h.write(".claude/settings.json", text)
}
