package ralph_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestFilter pipes what an agent prints through other commands.
func TestFilter(t *testing.T) {
	t.Parallel()
	agent := `echo 'ask: say <promise>COMPLETE</promise>'; printf 'answer: \033[1mDone.\033[0m\nanswer: '; echo '<promise>COMPLETE</promise>'; echo 'answer: a notice' >&2`
	answers := []string{"sed", "-n", "s/^answer: //p"}
	sh := func(script string) []string { return []string{"/bin/sh", "-c", script} }
	for _, tt := range []struct {
		name    string
		filter  ralph.Filter
		agent   string
		output  string // "" = the error counts
		display string // what is shown, in part
		fault   ralph.Fault
		err     string
	}{
		{name: "an answer", filter: ralph.Filter{Response: answers}, output: "\x1b[1mDone.\x1b[0m\n<promise>COMPLETE</promise>\n", display: "ask: say"},
		{name: "a display", filter: ralph.Filter{Display: []string{"sed", "s/^/SHOWN /"}}, output: "answer: ", display: "SHOWN answer: Done.\n"},
		// Whole lines: where one of both streams falls into a line of the other nobody says.
		{name: "a display of standard error", filter: ralph.Filter{Display: []string{"sed", "s/^/SHOWN /"}}, agent: "echo 'answer: Done.'; echo 'answer: a notice' >&2", output: "answer: ", display: "SHOWN answer: a notice\n"},
		{name: "both", filter: ralph.Filter{Response: answers, Display: []string{"tr", "a-z", "A-Z"}}, output: "<promise>COMPLETE</promise>", display: "ANSWER: DONE."},
		{name: "nothing chosen", filter: ralph.Filter{Response: sh("cat >/dev/null")}, fault: ralph.FaultEmpty, err: "no answer"},
		{name: "nothing chosen, with a reason", filter: ralph.Filter{Response: sh("cat >/dev/null; echo no such field >&2")}, fault: ralph.FaultEmpty, err: "no answer (response filter: no such field)"},
		{name: "it fails", filter: ralph.Filter{Response: sh("cat; echo oops >&2; exit 3"), ResponseName: "ANSWERS"}, fault: ralph.FaultError, err: "ANSWERS: exit status 3: oops"},
		{name: "it dies", filter: ralph.Filter{Response: sh("cat; kill -9 $$"), Skipped: -1}, fault: ralph.FaultError, err: "response filter: ended by signal: killed"},
		{name: "lines are skipped", filter: ralph.Filter{Response: sh("cat; exit 5"), Skipped: 5}, output: "<promise>COMPLETE</promise>"},
		{name: "all lines are skipped", filter: ralph.Filter{Response: sh("cat >/dev/null; echo why >&2; exit 5"), Skipped: 5}, fault: ralph.FaultEmpty, err: "no answer (response filter: why)"},
		{name: "another status", filter: ralph.Filter{Response: sh("cat; exit 6"), Skipped: 5}, fault: ralph.FaultError, err: "exit status 6"},
		{name: "it is not installed", filter: ralph.Filter{Response: []string{"no-such-filter"}}, fault: ralph.FaultPermanent, err: "no-such-filter"},
		{name: "the agent failed too", filter: ralph.Filter{Response: sh("exit 3")}, agent: "echo out; echo broken >&2; exit 9", fault: ralph.FaultError, err: "exit status 9: broken"},
		{name: "it reads no more", filter: ralph.Filter{Response: []string{"head", "-n", "1"}}, agent: "echo first; head -c 3000000 /dev/zero", output: "first\n"},
		{name: "a display that fails", filter: ralph.Filter{Display: sh("echo oops >&2; exit 3")}, output: "answer: ", display: "ralph: display filter: exit status 3: oops\n"},
		{name: "a display that fails in silence", filter: ralph.Filter{Display: sh("exit 3")}, output: "answer: "},
		{name: "a display that cannot be started", filter: ralph.Filter{Display: []string{"./no-such-command"}}, output: "answer: ", display: "ralph: display filter: cannot start ./no-such-command: "},
		{name: "its own name", filter: ralph.Filter{Display: sh("no-such-command"), DisplayName: "SHOW"}, output: "answer: ", display: "ralph: SHOW: exit status 127: "},
		{name: "it says control sequences", filter: ralph.Filter{Display: sh(`printf 'a\033[2Jb\n'`)}, output: "answer: ", display: "ab\n"},
		{name: "it leaves a child", filter: ralph.Filter{Response: sh("setsid sleep 300 >/dev/null 2>&1 & echo $! >pids; cat")}, output: "<promise>COMPLETE</promise>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.agent == "" {
				tt.agent = agent
			}
			var display bytes.Buffer
			dir := t.TempDir()
			c := &ralph.Command{Args: sh(tt.agent), Filter: tt.filter}
			resp, err := c.Run(t.Context(), ralph.Request{Display: &display, Dir: dir})
			if tt.output != "" && (err != nil || !strings.Contains(resp.Output, tt.output)) {
				t.Errorf("output %q, %v", resp.Output, err)
			}
			if len(tt.filter.Response) > 0 && strings.Contains(resp.Output, "notice") {
				t.Errorf("standard error is an answer: %q", resp.Output)
			}
			if tt.output == "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, output %q", err, resp.Output)
			}
			if !strings.Contains(display.String(), tt.display) || strings.Contains(display.String(), "\x1b") {
				t.Errorf("display %q", display.String())
			}
			if len(tt.filter.Display) > 0 && tt.display == "" && display.Len() > 0 {
				t.Errorf("display %q", display.String())
			}
			if tt.fault != "" {
				if it := faultOf(t, c); it.Fault != tt.fault {
					t.Errorf("fault %q (%s)", it.Fault, it.Error)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "pids")); err == nil {
				checkDead(t, filepath.Join(dir, "pids"))
			}
		})
	}
}

// TestFilterWithoutDisplay starts no filter for a display that nobody looks at,
// and keeps the raw stream as it came.
func TestFilterWithoutDisplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var raw bytes.Buffer
	c := &ralph.Command{Args: []string{"echo", "fine"}, Filter: ralph.Filter{Display: []string{"touch", "started"}, Response: []string{"tr", "a-z", "A-Z"}}}
	resp, err := c.Run(t.Context(), ralph.Request{Dir: dir, Raw: &raw})
	if err != nil || resp.Output != "FINE\n" || raw.String() != "fine\n" {
		t.Errorf("%q, %q, %v", resp.Output, raw.String(), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("the display filter was started")
	}
}

// TestFilterSeesTheStreamAsItComes: the agent waits for what the filter does.
func TestFilterSeesTheStreamAsItComes(t *testing.T) {
	t.Parallel()
	c := &ralph.Command{
		Args:   []string{"/bin/sh", "-c", "echo one; while ! test -e seen; do sleep 0.01; done; echo two"},
		Filter: ralph.Filter{Response: []string{"/bin/sh", "-c", "read x; echo $x; touch seen; cat"}},
	}
	resp, err := c.Run(t.Context(), ralph.Request{Dir: t.TempDir()})
	if err != nil || resp.Output != "one\ntwo\n" {
		t.Errorf("%q, %v", resp.Output, err)
	}
}

// TestFilterIsNoEcho: a prompt that a filter repeats claims nothing.
func TestFilterIsNoEcho(t *testing.T) {
	t.Parallel()
	prompt := "Do it, then say <promise>COMPLETE</promise>."
	c := &ralph.Command{Args: []string{"cat"}, Filter: ralph.Filter{Response: []string{"cat"}}}
	resp, err := c.Run(t.Context(), ralph.Request{Prompt: prompt})
	if strings.Contains(resp.Output, "COMPLETE") || !errors.Is(err, ralph.ErrEmpty) {
		t.Errorf("%q, %v", resp.Output, err)
	}
}

// TestPanics: what is plugged into a run and panics is the run's error, and nothing
// is left running.
func TestPanics(t *testing.T) {
	t.Parallel()
	explode := onWrite(func() { panic("boom") })
	live := func(ralph.Usage) { panic("boom") }
	agent := func(format ralph.Format, end string) *ralph.Command {
		return &ralph.Command{Format: format, Args: []string{"/bin/sh", "-c", "setsid sleep 300 & echo $! >pids; echo x >&2; " + says(claudeDone, claudeEnd) + end}}
	}
	filtered := agent("text", "") // it goes on to its end: a display filter only shows things
	filtered.Filter.Display = []string{"cat"}
	for name, tt := range map[string]struct {
		command *ralph.Command
		req     ralph.Request
	}{
		"display":             {agent("text", "wait"), ralph.Request{Display: explode}},
		"display of a stream": {agent("claude", "wait"), ralph.Request{Display: explode}},
		"display of a filter": {filtered, ralph.Request{Display: explode}},
		"raw":                 {agent("text", "wait"), ralph.Request{Raw: explode}},
		"live":                {agent("claude", "wait"), ralph.Request{Live: live}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.req.Dir = t.TempDir()
			_, err := tt.command.Run(t.Context(), tt.req)
			if err == nil || !strings.Contains(err.Error(), "panicked: boom") || !strings.Contains(err.Error(), "TestPanics") {
				t.Error(err)
			}
			checkDead(t, filepath.Join(tt.req.Dir, "pids"))
		})
	}
}
