//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
	"github.com/ralph-loop/ralph/progress"
)

// In a terminal a session goes on like any other. An answer that its user breaks off
// is no stop: the loop is still there, and goes on with the next.
func hookTerminals() []hookTest {
	return []hookTest{{"Esc", func(dir string) []modelserver.Turn {
		return []modelserver.Turn{{Text: "I have looked."}, {Text: "I am in the midst of it.", Break: modelserver.BreakHang}, {Text: "Not yet."}, {Write: helloIn(dir)}, {Text: hookDone}}
	}, func(h *hooked) {
		h.knowsUser()
		h.env = append(h.env, "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1")
		s := h.terminal("start", "Greet.", "--verify", hookVerify, "--", "claude", "--dangerously-skip-permissions")
		s.asks(2)
		s.types("\x1b", "")
		s.breaksOff(2)
		if st := h.standing(); st.Status != progress.StatusRunning || st.State.Iteration != 2 {
			h.Errorf("after Esc it is %s at iteration %d, want running at 2", st.Status, st.State.Iteration)
		}
		s.types("please-go-on", "please-go-on")
		s.types("\r", "")
		s.comesTo(ralph.StopVerified)
		s.types("/exit", "/exit")
		s.types("\r", "")
		s.ends(0)
		h.nothingRuns()
		h.stands(ralph.StopVerified, 3)
		h.told(5, "2/100", "3/100")
	}}}
}

// knowsUser makes the client believe that its user has seen it before.
func (h *hooked) knowsUser() {
	h.Helper()
	text := fmt.Sprintf(`{"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
"projects": {%q: {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
"customApiKeyResponses": {"approved": ["dummy"], "rejected": []}}`, h.dir)
	dir := filepath.Join(h.home, ".claude")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".claude.json"), []byte(text), 0o600)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// A hookTerminal is a run in a terminal.
type hookTerminal struct {
	*hookedRun
	keys io.Writer

	mu      sync.Mutex
	screen  []byte        // what was shown, without what is no letter
	changed chan struct{} // closed and replaced when that grows
}

// terminal runs the tool in a terminal.
func (h *hooked) terminal(args ...string) *hookTerminal {
	h.Helper()
	var line strings.Builder
	line.WriteString("stty cols 120 rows 40; exec " + quoted(h.tool))
	for _, arg := range args {
		line.WriteString(" " + quoted(arg))
	}
	cmd := h.ralph("script", "-qfec", line.String(), "/dev/null")
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "SHELL=/bin/sh")
	keys, err := cmd.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	s := &hookTerminal{keys: keys, changed: make(chan struct{})}
	cmd.Stdout = s
	s.hookedRun = h.run(cmd)
	h.Cleanup(func() {
		if h.Failed() {
			h.Logf("the screen: %s", letters(s.screen))
		}
	})
	return s
}

func quoted(arg string) string { return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'" }

// Write shows something.
func (s *hookTerminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.screen = append(s.screen, p...)
	close(s.changed)
	s.changed = make(chan struct{})
	return len(p), nil
}

// types types keys, and waits until something is shown after that.
func (s *hookTerminal) types(keys, shown string) {
	s.Helper()
	s.mu.Lock()
	from := len(s.screen)
	s.mu.Unlock()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.Fatal(err)
	}
	for {
		s.mu.Lock()
		text, changed := letters(s.screen[from:]), s.changed
		s.mu.Unlock()
		if bytes.Contains(text, letters([]byte(shown))) {
			return
		}
		select {
		case <-changed:
		case <-s.ended:
			s.Fatalf("%q is not shown", shown)
		}
	}
}

// letters is what is shown without escape sequences and spaces: programs move the
// cursor instead of writing these. Nor do they write a letter that already stands where
// it is to be, so only what is shown in an empty place is found whole.
func letters(screen []byte) []byte {
	var text []byte
	for i := 0; i < len(screen); i++ {
		switch c := screen[i]; {
		case c == 0x1b && i+1 < len(screen) && screen[i+1] == '[':
			for i += 2; i < len(screen) && (screen[i] < '@' || screen[i] > '~'); i++ {
			}
		case c > ' ':
			text = append(text, c)
		}
	}
	return text
}
