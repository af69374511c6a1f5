package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// startFlags are the flags of start.
type startFlags struct {
	shared
	session    string
	background bool
	program    []string // what stands after --

	client client
	dir    *progress.Dir // nil = nothing is on record
	relay  *ralph.Relay
	kept   *ralph.OwnStore
}

func (f *startFlags) own(set *flag.FlagSet) {
	set.StringVar(&f.session, "session", "", "go on with the client's session of this `ID`; without a client: in one that runs, after ralph hook install")
	set.BoolVar(&f.background, "background", false, "")
}

func (f *startFlags) after(args []string) { f.program = args }

// run starts a loop in a session of a client: it launches that, or attaches to one
// that runs, answers its hooks, decides and verifies.
func (f *startFlags) run(e env, args []string) (err error) {
	prompt := strings.Join(args, "")
	switch {
	case len(f.program) == 0 && f.session == "":
		return fail(exitUsage, "start takes a client, like -- claude, or the --session of one that runs")
	case strings.TrimSpace(prompt) == "" && f.session == "":
		return fail(exitUsage, "start takes a PROMPT: what the agent is to do")
	case len(f.program) > 0:
		if f.client, err = clientOf(f.program); err != nil {
			return err
		}
	}
	hold, err := f.build(e)
	if err != nil {
		return err
	}
	defer hold.Close()
	*e.again = fmt.Sprintf("'ralph start --session %s', with the flags of this one, goes on", strings.TrimSuffix(word(f.session)+" -- "+strings.Join(f.program, " "), " -- "))
	x, err := f.begin(e, prompt)
	if err == nil && f.program != nil {
		err = f.launch(e, x, prompt != "")
	} else if err == nil {
		err = f.attend(e, x)
	}
	return f.result(e, err)
}

// build makes what decides about the session.
func (f *startFlags) build(e env) (hold *progress.Hold, err error) {
	project, _, err := f.workspace(e.ctx)
	if err != nil {
		return nil, err
	}
	verifier, how, err := f.checks(nil)
	if err != nil {
		return nil, err
	}
	if verifier == nil {
		verifier = verify.String{}
	}
	if f.dir, err = f.records(e, project); err != nil {
		return nil, err
	}
	f.session = cmp.Or(f.session, ralph.NewSession())
	f.relay = &ralph.Relay{Session: f.session, Client: map[bool]string{false: f.session}[f.client.Chooses]}
	if f.program == nil {
		f.relay.File = progress.SessionFile(f.session)
	} else if text, _ := ralph.ReadFile(filepath.Join(project, f.client.Settings), 4<<20); f.client.Installed && !bytes.Contains(text, []byte(f.client.mark("stop"))) {
		return nil, fail(exitConfig, "%s takes hooks from its settings alone, and ours are not there; 'ralph hook install %s' puts them into %s", f.client.Name, f.client.Name, f.client.Settings)
	}
	f.kept = &ralph.OwnStore{Store: &ralph.MemoryStore{}}
	h := &ralph.Hook{
		Store: f.kept, Verifier: verifier, Inject: f.relay.Inject, Delay: -1, Recovery: -1,
		Task: ralph.Task{Dir: project, HowVerified: how, Method: f.method(), Match: ralph.Match(strings.ReplaceAll(f.match, "-", "_")), Blocked: f.blocked, Limits: f.limits()},
		Notify: func(ctx context.Context, n ralph.Notice) {
			f.relay.Notify(ctx, n)
			if !f.background && (f.program == nil || !tty(e.stdin)) { // else nobody reads it, or the client has the screen
				e.say("%s: %s", n.Title, n.Message)
			}
		},
	}
	if f.given["completion-promise"] {
		h.Task.Promise = f.promise
	}
	f.relay.Hook = h
	if f.dir == nil {
		return nil, nil
	}
	f.kept.Store, h.Evidence = f.dir, f.evidence(f.dir, f.dir.Path+"/log")
	hold, err = f.dir.Hold(f.session, "ralph start")
	return hold, wrong(err)
}

// begin starts the loop, or goes on with the one that the session has.
func (f *startFlags) begin(e env, prompt string) (ralph.HookState, error) {
	h := f.relay.Hook
	x, err := h.State(e.ctx, f.session)
	switch {
	case err == nil && !x.Active() && prompt == "":
		return x, fail(exitConfig, "session %s has no loop to go on with; give start a PROMPT", f.session)
	case x.Active() && prompt != "":
		return x, fail(exitConfig, "session %s has an active loop, at iteration %d; leave the PROMPT out to go on with it, or end it with 'ralph cancel %s'", f.session, x.State.Iteration, word(f.session))
	case x.Active() && (x.State.Task.HowVerified != h.Task.HowVerified || x.State.Task.Dir != h.Task.Dir): // what is on record could name any folder
		return x, fail(exitConfig, "session %s began with other checks (%s), or in another folder than this one (%s); give the same ones", f.session, cmp.Or(x.State.Task.HowVerified, "none"), x.State.Task.Dir)
	case x.Active() && (f.given["max-iterations"] || f.given["max-duration"] || f.given["stalls"] || f.given["max-blocked"]):
		return x, fail(exitUsage, "session %s has its limits; 'ralph limit %s' changes them", f.session, word(f.session))
	case err != nil || x.Active():
		return x, wrong(err)
	}
	if !f.proven() {
		e.say("warning: nothing but the agent's word ends this loop; --verify names a command that checks its work")
	}
	if x, err = h.Start(e.ctx, f.session, ralph.Task{Prompt: prompt}); err != nil {
		return x, fail(exitConfig, "%w", err)
	}
	return x, nil
}

// launch runs the client until it ends. One that chooses its sessions' IDs has told its own
// with the last turn, if there was any.
func (f *startFlags) launch(e env, x ralph.HookState, fresh bool) error {
	goesOn, session := f.given["session"], f.session
	if f.client.Chooses && !fresh {
		session, _, goesOn = strings.Cut(strings.TrimLeft(x.Turn, "-"), "/") // it stands in the command line
	}
	cmd := &exec.Cmd{Env: append(os.Environ(), f.client.Env...), Dir: x.State.Task.Dir, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	folder, errFolder := os.MkdirTemp("", "ralph-")
	defer os.RemoveAll(folder)
	path, err := exec.LookPath(f.program[0])
	cmd.Path = absolute(path)
	prompt, errPrompt := f.relay.Hook.Prompt(e.ctx, f.session)
	if err = errors.Join(err, errFolder, errPrompt); err == nil {
		is := map[string]string{"SESSION": session, "PROMPT": prompt, "FOLDER": folder}
		cmd.Args, err = f.client.line(f.program, is, goesOn, tty(e.stdin), f.hookTimeout)
	}
	var ended []string
	if err == nil {
		ended, err = f.relay.Launch(e.ctx, cmd)
	}
	e.sayEnded("session", ended)
	if err != nil && cmd.Process == nil {
		if fresh {
			_, cancelled := f.relay.Hook.Cancel(context.WithoutCancel(e.ctx), f.session)
			err = errors.Join(err, cancelled)
		}
		return fail(exitAgent, "%w", err)
	}
	return err
}

// attend waits until the loop or the session ends.
func (f *startFlags) attend(e env, x ralph.HookState) error {
	client, _ := strconv.Atoi(os.Getenv(clientName))
	why, err := f.relay.Attend(e.ctx, client, func() {
		if !f.background {
			e.say("attached to session %s: give it its task. With Ctrl-C it goes on without a loop; %s", f.session, *e.again)
			return
		}
		fmt.Fprint(e.stdout, x.State.Signal())
		os.Stdout.Close() // who has started this waits for it
		e.stderr = io.Discard
	})
	if why != "" {
		e.say("the session has ended (%s)", why)
	}
	return err
}

// result tells what has become of the loop, and turns it into an exit code. That it is
// verified is never taken from the record, to which its agent can write. What it prints is
// on standard error: the client has standard output.
func (f *startFlags) result(e env, err error) error {
	s := f.kept.Left(f.session).State
	if f.dir != nil && !s.Done() {
		entry, bad := f.dir.Look(f.session)
		if bad != nil {
			return cmp.Or(err, wrong(bad))
		}
		if entry.State.Done() && entry.State.Stop != ralph.StopVerified { // others have ended it
			s = entry.State
		}
	}
	if e.end.State = s; err != nil {
		return err
	}
	c := progress.Closing{State: s}
	if err = exitFor(e, s, s.Err(), true); !s.Done() {
		err = fail(exitNotVerified, "the session has ended at iteration %d, and its task is not verified; %s%s", s.Iteration, *e.again, strings.TrimSuffix("; "+f.client.Cap, "; "))
		c.Result = err.Error()
	}
	if f.dir != nil {
		c.Records = near(f.dir.File(f.session))
	}
	if e.stdout = e.stderr; !f.background {
		f.ended(e, c)
	}
	return err
}
