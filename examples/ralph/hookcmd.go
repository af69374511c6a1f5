package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

const (
	clientName = "RALPH_HOOK_CLIENT" // the client's process, for one in the background
	maxEvent   = 64 << 20            // bytes
)

// hookFlags are the flags of hook.
type hookFlags struct {
	shared
	within   time.Duration
	launched bool // by start, for its session alone
}

func (f *hookFlags) own(set *flag.FlagSet) {
	set.BoolVar(&f.launched, "launched", false, "")
	hookTimeout(set, &f.within)
}

func hookTimeout(set *flag.FlagSet, to *time.Duration) {
	set.DurationVar(to, "hook-timeout", 0, "how long the client lets a hook take, a `TIME`; the verdict of a longer verification comes with the next (default: as long as the client allows)")
}

// run puts hooks into a client's settings, takes them out, or is one.
func (f *hookFlags) run(e env, args []string) error {
	name := cmp.Or(strings.Join(args[1:], ""), "claude")
	c, err := clientFor(func(c client) bool { return c.Name == name }, name)
	if err != nil {
		return err
	}
	f.within, err = c.longest(f.within)
	switch {
	case err != nil:
		return err
	case args[0] == "install" || args[0] == "uninstall":
		return f.edit(e, c, args[0] == "install")
	case slices.Contains([]string{"stop", "end", "command"}, args[0]):
		return f.answer(e, args[0])
	}
	return fail(exitUsage, "hook takes install or uninstall, not %q", args[0])
}

// A hookEvent is what clients tell their hooks.
type hookEvent struct {
	Session  string `json:"session_id"`
	Last     string `json:"last_assistant_message"`
	Reason   string `json:"reason"`
	Command  string `json:"command_name"`
	Argument string `json:"command_args"`
}

// answer answers a client's event: by what the process says that decides.
func (f *hookFlags) answer(e env, hook string) error {
	var ev hookEvent
	if err := json.NewDecoder(io.LimitReader(e.stdin, maxEvent)).Decode(&ev); err != nil || ev.Session == "" {
		return fail(exitConfig, "this is for the hooks of clients, which tell of a session on standard input")
	}
	if hook == "command" && ev.Command == "ralph" {
		return f.begin(e, ev)
	}
	q := ralph.Ask{Kind: hook, Session: ev.Session, Text: cmp.Or(ev.Last, ev.Reason), Within: f.within - min(f.within/5, 5*time.Second)}
	if hook == "command" {
		q.Kind = ralph.AskCancel
	}
	var places []string // where both kinds of hooks are there, one of them answers
	if f.launched || hook == "command" {
		places = append(places, os.Getenv(ralph.RelayPlace))
	}
	if text, err := readFile(sessionFile(ev.Session), 1<<10); err == nil && !f.launched {
		places = append(places, string(text))
	}
	a, err := ralph.AskRelay(e.ctx, q, places...)
	if err != nil {
		a.Note = ours{err}.Error()
	}
	if hook == "command" {
		return f.print(e, "block", cmp.Or(a.Note, "No Active Loop: No Ralph Loop is currently running"), "")
	}
	return f.print(e, map[bool]string{true: "block"}[a.Prompt != ""], a.Prompt, a.Note)
}

// print answers in the words that all clients know.
func (f *hookFlags) print(e env, decision, reason, note string) error {
	text, err := json.Marshal(struct {
		Decision string `json:"decision,omitempty"`
		Reason   string `json:"reason,omitempty"`
		Note     string `json:"systemMessage,omitempty"`
	}{decision, reason, note})
	if err == nil {
		_, err = fmt.Fprintln(e.stdout, string(text))
	}
	return err
}

// sessionFile is where hooks find who decides about a session that was not launched.
func sessionFile(session string) string {
	dir, err := progress.WorkspaceDir(os.TempDir())
	if err != nil {
		return ""
	}
	dir.Path = filepath.Join(filepath.Dir(dir.Path), "sessions")
	return strings.TrimSuffix(dir.File(session), ".jsonl")
}

// begin starts a loop in the session whose user has typed /ralph. Who decides about it
// goes on in the background.
func (f *hookFlags) begin(e env, ev hookEvent) error {
	args, err := words(ev.Argument, "")
	if err == nil && slices.Contains(args, "--") {
		err = errors.New("/ralph takes a task and flags, and no client")
	}
	var stderr bytes.Buffer
	var signal []byte
	if err == nil {
		cmd := exec.Command(self(), append([]string{"start", "--session", ev.Session, "--background"}, args...)...)
		cmd.Env, cmd.Stderr, cmd.SysProcAttr = append(os.Environ(), clientName+"="+os.Getenv("CLAUDE_PID")), &stderr, apartFromUs()
		var out io.ReadCloser
		if out, err = cmd.StdoutPipe(); err == nil {
			err = cmd.Start()
		}
		if err == nil {
			signal, err = io.ReadAll(io.LimitReader(out, 64<<10))
		}
		if err == nil && len(signal) == 0 {
			err = cmp.Or(cmd.Wait(), errors.New("nothing was said"))
		}
	}
	if err != nil {
		return f.print(e, "block", "ralph: "+cmp.Or(strings.TrimPrefix(strings.TrimSpace(stderr.String()), "ralph: "), err.Error()), "")
	}
	_, err = fmt.Fprintf(e.stdout, `{"hookSpecificOutput":{"hookEventName":"UserPromptExpansion","additionalContext":%s}}`+"\n", asText(string(signal)))
	return err
}

// asText is text as JSON.
func asText(text string) string {
	quoted, _ := json.Marshal(text) // it is text
	return string(quoted)
}

// edit changes a client's settings, and nothing else in them.
func (f *hookFlags) edit(e env, c client, install bool) error {
	project, _, err := f.workspace(e.ctx)
	if err != nil {
		return err
	}
	path := named(filepath.Join(project, c.Settings))
	was, err := readFile(path, 1<<20)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing || err == nil && len(bytes.TrimSpace(was)) == 0:
		was = []byte("{}\n")
	case err != nil:
		return fail(exitConfig, "%w", err)
	case !json.Valid(was):
		return fail(exitConfig, "%s is not valid JSON, so it is left as it is", path)
	}
	text, err := c.without(was)
	if err == nil && install {
		text, err = c.with(text, f.within, "", "stop", "end", "command", "")
	}
	if err == nil && !bytes.Equal(text, was) {
		err = progress.File{Path: path}.Replace(text)
	}
	for name, text := range map[string]string{"ralph": "", "cancel-ralph": "", "ralph-tasks": definitionsPrompt} {
		if err == nil && c.Commands != "" {
			err = putCommand(filepath.Join(project, c.Commands, name+".md"), text, install)
		}
	}
	if err != nil {
		return fail(exitConfig, "%s: %w", path, err)
	}
	e.say(map[bool]string{true: "the hooks are in %s", false: "no hook of ours is in %s any more"}[install], path)
	return nil
}

// putCommand puts a command where a client finds it, or takes it away. One that is not
// ours stays.
func putCommand(path, text string, install bool) error {
	if text == "" {
		own, err := clientFiles.ReadFile("clients/" + filepath.Base(path))
		if err != nil {
			return err
		}
		text = string(own)
	}
	was, err := readFile(path, maxPrompt)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && string(was) != text:
		if install {
			return fmt.Errorf("%s is there already and is not ours; move it away", path)
		}
		return nil
	case !install && err == nil:
		return os.Remove(path)
	case install && err != nil:
		return progress.File{Path: path}.Replace([]byte(text))
	}
	return nil
}
