package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

const (
	clientName = "RALPH_HOOK_CLIENT" // the client's process, for one in the background
	maxEvent   = 64 << 20            // bytes
)

// hook puts hooks into a client's settings, takes them out, or is one.
func hook(e env, s *shared, args []string) error {
	name := cmp.Or(strings.Join(args[1:], ""), "claude")
	c, err := clientFor(func(c client) bool { return c.Name == name }, name)
	s.hookTimeout = c.longest(s.hookTimeout)
	switch {
	case err != nil:
		return err
	case args[0] == "install" || args[0] == "uninstall":
		return s.edit(e, c, args[0] == "install")
	case slices.Contains([]string{"stop", "end", "command"}, args[0]):
		return s.answer(e, c, args[0])
	}
	return fail(exitUsage, "hook takes install or uninstall, not %q", args[0])
}

// A hookEvent is what clients tell their hooks, by either of its names.
type hookEvent struct {
	Session     string          `json:"session_id"`
	SessionID   string          `json:"sessionId"`
	Transcript  string          `json:"transcript_path"`
	Transcript2 string          `json:"transcriptPath"`
	Time        json.RawMessage `json:"timestamp"`
	Last        string          `json:"last_assistant_message"`
	Reason      string          `json:"reason"`
	Command     string          `json:"command_name"`
	Argument    string          `json:"command_args"`
}

// answer answers a client's event: by what the process says that decides.
func (s *shared) answer(e env, c client, hook string) error {
	var ev hookEvent
	err := json.NewDecoder(io.LimitReader(e.stdin, maxEvent)).Decode(&ev)
	if ev.Session = cmp.Or(ev.Session, ev.SessionID); err != nil || ev.Session == "" {
		return fail(exitConfig, "this is for the hooks of clients, which tell of a session on standard input")
	}
	if hook == "command" && ev.Command == "ralph" {
		return begin(e, ev)
	}
	q := ralph.Ask{Kind: hook, Session: ev.Session, Text: cmp.Or(ev.Last, ev.Reason), Within: s.hookTimeout - min(s.hookTimeout/5, 5*time.Second)}
	switch {
	case hook == "command":
		q.Kind = ralph.AskCancel
	case hook == "stop" && c.Words.Type != "":
		q.Text, q.Turn, err = c.Words.Last(e.ctx, cmp.Or(ev.Transcript, ev.Transcript2), ev.Time)
		q.Unread = err != nil
	case hook == "stop" && c.Chooses:
		q.Turn = ev.Session + "/" + ralph.NewSession() // see launch
	}
	// Where both kinds of hooks are there, one of them answers.
	place := map[bool]string{true: os.Getenv(ralph.RelayPlace)}[s.launched || hook == "command" || c.Installed]
	other, _ := ralph.ReadFile(progress.SessionFile(ev.Session), 1<<10) // or there is none
	a, err := ralph.AskRelay(e.ctx, q, place, string(other))
	if err != nil {
		a.Note = ours{err}.Error()
	}
	if hook == "command" {
		return printAnswer(e, "block", cmp.Or(a.Note, "No Active Loop: No Ralph Loop is currently running"), "")
	}
	return printAnswer(e, map[bool]string{true: "block"}[a.Prompt != ""], a.Prompt, a.Note)
}

// printAnswer answers in the words that all clients know.
func printAnswer(e env, decision, reason, note string) error {
	return json.NewEncoder(e.stdout).Encode(struct {
		Decision string `json:"decision,omitempty"`
		Reason   string `json:"reason,omitempty"`
		Note     string `json:"systemMessage,omitempty"`
	}{decision, reason, note})
}

// begin starts a loop in the session whose user has typed /ralph. Who decides about it
// goes on in the background.
func begin(e env, ev hookEvent) error {
	args, err := words(ev.Argument, "")
	if err == nil && slices.Contains(args, "--") {
		err = fail(exitUsage, "/ralph takes a task and flags, and no client")
	}
	var said string
	if err == nil {
		cmd := exec.Command(self(), append(append([]string{"start"}, args...), "--session", ev.Session, "--background")...) // the last one counts
		cmd.Env = append(os.Environ(), clientName+"="+os.Getenv("CLAUDE_PID"))
		said, err = ralph.StartApart(cmd)
	}
	if err != nil {
		return printAnswer(e, "block", "ralph: "+strings.TrimPrefix(err.Error(), "ralph: "), "")
	}
	_, err = fmt.Fprintf(e.stdout, `{"hookSpecificOutput":{"hookEventName":"UserPromptExpansion","additionalContext":%s}}`+"\n", asText(said))
	return err
}

// asText is text as JSON, with nothing escaped that need not be.
func asText(text string) string {
	is, _ := asJSON(text, "") // it is text
	return strings.TrimSpace(is)
}

// edit changes a client's settings, and nothing else in them.
func (s *shared) edit(e env, c client, install bool) error {
	project, _, err := s.workspace(e.ctx)
	path := filepath.Join(project, c.Settings)
	all, errHooks := c.hooks(s.hookTimeout, "", "stop", "end", "command", "")
	if err = errors.Join(err, errHooks, unless(within(path, project), exitConfig, "it is a link that leads out of the project: %s", path)); err == nil {
		err = spec.EditFile(path, install, all...)
	}
	for name, text := range map[string]string{"ralph": "", "cancel-ralph": "", "ralph-tasks": definitionsPrompt} {
		if err == nil && c.Commands != "" {
			own, _ := clientFiles.ReadFile("clients/" + name + ".md") // or it is none
			err = progress.File{Path: filepath.Join(project, c.Commands, name+".md")}.Own(cmp.Or(text, string(own)), install)
		}
	}
	if err != nil {
		return fail(exitConfig, "%w", err)
	}
	done := map[bool]string{true: "the hooks are in %s" + strings.TrimSuffix("; "+c.Note, "; "), false: "no hook of ours is in %s any more"}
	e.say(done[install], path)
	return nil
}
