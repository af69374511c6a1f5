//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
)

// inTool is a script whose first turn waits in a tool.
func inTool(then ...modelserver.Turn) func(dir string) []modelserver.Turn {
	return func(dir string) []modelserver.Turn {
		return append([]modelserver.Turn{{Text: "I look.", Shell: waiting(dir)}}, then...)
	}
}

// How sessions end without a proof, and how they go on.
func hookEnds() []hookTest {
	return []hookTest{
		{"maximum", turns(modelserver.Turn{Text: "Not yet.", Repeat: true}), func(h *hooked) {
			h.start("Fix it.", "--verify", "true", "--max-iterations", "2").ends(3, "Max iterations (2) reached without completion")
			h.stands(ralph.StopIterations, 2)
			h.told(2, "2/2")
		}},
		{"cancelled in a tool", inTool(modelserver.Turn{Text: "I have looked.", Repeat: true}), func(h *hooked) {
			started, gate := h.fifo("started"), h.fifo("gate")
			r := h.start("Fix it.", "--verify", "true")
			r.reaches(started)
			h.cancels(h.stands("", 1))
			h.open(gate, 1)
			r.ends(3, "not verified: cancelled")
			h.stands(ralph.StopCancelled, 1)
			h.told(2)
		}},
		{"cancelled in the verification", turns(modelserver.Turn{Text: hookDone, Repeat: true}), func(h *hooked) {
			started, gate := h.fifo("started"), h.fifo("gate")
			r := h.start("Fix it.", "--verify", waiting(h.dir)+"; false")
			r.reaches(started)
			h.cancels(h.stands("", 1))
			r.ends(3, "not verified: cancelled")
			h.stands(ralph.StopCancelled, 1)
			h.told(1)
			h.open(gate, 1)
		}},
		{"SIGINT in an answer", brokenOff, func(h *hooked) {
			cmd := h.starting("Fix it.", "--verify", "true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			r := h.run(cmd)
			r.asks(1)
			syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // as a terminal does it
			h.goesOn(r, 130)
		}},
		{"SIGTERM in an answer", brokenOff, func(h *hooked) {
			h.settings(`{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "touch asked"}]}]}}`)
			r := h.start("Fix it.", "--verify", "true")
			r.asks(1)
			r.cmd.Process.Signal(syscall.SIGTERM)
			<-r.ended
			if _, err := os.Stat(filepath.Join(h.dir, "asked")); err != nil {
				h.Errorf("the client was not asked to end: %v", err)
			}
			h.goesOn(r, 143)
		}},
		{"SIGTERM in a tool", inTool(modelserver.Turn{Text: hookDone}), func(h *hooked) {
			started, _ := h.fifo("started"), h.fifo("gate")
			r := h.start("Fix it.", "--verify", "true")
			r.reaches(started)
			r.cmd.Process.Signal(syscall.SIGTERM)
			h.goesOn(r, 143)
		}},
		{"orphan", func(dir string) []modelserver.Turn {
			tool := `setsid sh -c 'echo up >up; exec sleep 301' </dev/null >/dev/null 2>&1 &
read x <up`
			return []modelserver.Turn{{Shell: "cd " + dir + "; mkfifo up\n" + tool}, {Text: hookDone}}
		}, func(h *hooked) {
			h.start("Fix it.", "--verify", "true").ends(0, "ended what the session has left running: sleep 301")
			h.nothingRuns()
		}},
		{"500", func(string) []modelserver.Turn {
			return []modelserver.Turn{{Text: "I have looked."}, {Status: 500}, {Text: hookDone}}
		}, func(h *hooked) {
			h.env = append(h.env, "CLAUDE_CODE_MAX_RETRIES=0")
			h.start("Fix it.", "--verify", "true").ends(3, "its task is not verified", "goes on")
			h.nothingRuns()
			id := h.stands("", 2)
			if out, err := h.ralph(h.tool, "status").Output(); err != nil || !strings.Contains(string(out), id) || !strings.Contains(string(out), "last activity") {
				h.Errorf("status: %v: %s", err, out)
			}
			h.start("--session", id, "--verify", "true").ends(0)
			h.stands(ralph.StopVerified, 2)
			if last := h.server.Requests()[2]; !last.Holds("I have looked.") && !strings.Contains(string(last.Body), "I have looked.") {
				h.Error("it is not the same session")
			}
		}},
	}
}

// brokenOff is an answer that comes to no end, and one that does.
func brokenOff(string) []modelserver.Turn {
	return []modelserver.Turn{{Text: "I am in the midst of it.", Break: modelserver.BreakHang}, {Text: hookDone}}
}

// cancels cancels a loop from outside.
func (h *hooked) cancels(id string) {
	h.Helper()
	out, err := h.ralph(h.tool, "cancel", id).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Cancelled Ralph loop for") {
		h.Errorf("cancel: %v: %s", err, out)
	}
}

// goesOn checks that a session that was broken off in its first iteration has left
// nothing that runs, and goes on.
func (h *hooked) goesOn(r *hookedRun, exit int) {
	h.Helper()
	r.ends(exit, "goes on")
	h.nothingRuns()
	id := h.stands("", 1)
	h.start("--session", id, "--verify", "true").ends(0)
	h.stands(ralph.StopVerified, 1)
	h.told(2)
}
