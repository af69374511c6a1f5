package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/environ"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/stream"
	"github.com/ralph-loop/ralph/internal/term"
)

// Format is how an agent's client prints: one of its JSON dialects, or text.
type Format string

const (
	FormatText     Format = "text" // the answer is all of standard output
	FormatClaude   Format = "claude"
	FormatAmp      Format = "amp"
	FormatCursor   Format = "cursor"
	FormatCodex    Format = "codex"
	FormatCline    Format = "cline"
	FormatGemini   Format = "gemini"
	FormatOpencode Format = "opencode"
	FormatCopilot  Format = "copilot"
	FormatKimi     Format = "kimi"
)

// Command is a [Runner] for agents' command-line clients. The prompt goes to
// the client's standard input through a pipe, then end of file; its standard
// output is decoded as it comes, in bounded memory however much it prints;
// standard error is shown, see Verbose, and kept raw, and its last lines explain errors,
// but nothing in it is an answer.
//
// The client inherits this process's environment (a runner is the one part of
// this package that must read it), or what Inherit names of it, without what marks
// a session of another agent, plus Env, plus a TMPDIR of its own that is removed
// afterwards.
//
// When the run is to end, the client's process group is interrupted, after
// Grace terminated, after another Grace killed. No process of it is left, also
// after a normal exit: on Linux, tools in sessions of their own are found by an
// environment name and a hard limit of the run's own, and what was ended is told in
// [Response.Ended] and on the display; on macOS only the process group is ended; on
// Windows Run returns an error. If this program is killed, a shell that it keeps
// beside itself ends what it was running.
//
// The limit is set while the client is stopped at its start. Where the system does
// not allow that, the environment name is all there is, and once in a program
// [Response.Warnings] and the display say so. A client that is a setuid program, or
// has capabilities of its own, has the name alone.
//
// What a client uses is taken from its stream and, where that tells it only at the end,
// also from the file in which the client writes it down as it goes: of claude, codex and
// gemini the record of the session in the home folder, of copilot a file in its TMPDIR.
// Only counts of tokens and names of models are read of that, and they only raise what
// the stream tells.
//
// If a writer of the request or its Live panics, the run is ended, and the error
// has the stack.
//
// An exit status alone proves nothing, and after a signal that the Command has sent it
// means nothing at all. A stream counts as complete if it holds its end event, and only
// then; also if the context was done before the client had exited, for some clients
// tell their cost only in that event, and are ended because of it. A Command must not
// be changed while it runs and may be used concurrently.
type Command struct {
	Args   []string // program and arguments
	Env    []string // "NAME=value", added to the environment
	Format Format   // "" = text
	// Inherit names the variables of this process's environment that the client gets; a
	// name that ends in * stands for all names with that beginning. nil = all of them.
	// The variables that [Environ] leaves out are never among them.
	Inherit []string

	// Model is passed on as ModelFlag and Model, before a last argument "-".
	// "" = the client's default.
	Model     string
	ModelFlag string
	// Prices are what tokens cost, for clients that tell no cost, or tell it late: what
	// they use is then estimated, while they run and at their end, each message with
	// its model's price as far as the client tells that, and [Usage.Estimated] says so.
	// A cost that the client tells takes its place. If a part of the tokens has no
	// price, the cost is unknown. Nil = nothing is estimated.
	Prices Prices

	// Grace is the time between interrupting, terminating and killing. 0 = 5 s.
	Grace time.Duration
	// IdleTimeout ends a run that prints nothing for so long, as a time-out.
	// 0 = off: silence is not death, builds are long.
	IdleTimeout time.Duration
	// Verbose shows on the display what the client says of its own, warnings and notices on
	// standard error and between the events of its stream, as it comes. False = one line
	// tells how many such lines there were, and they are shown if the run fails and its
	// stream does not say why: the last 16 KiB. It decides nothing else, and nothing at all with [FormatText], where all that
	// comes may be the agent's words.
	Verbose bool
	// Filter pipes what the client prints through other commands. Zero = none.
	Filter Filter
	// Sandbox restricts what the client may do. The Filter's commands and Version are
	// not in it. Nil = nothing is restricted.
	Sandbox *Sandbox
	// ExitTimeout ends a client that has printed its end event and does not exit:
	// so long after the last thing that it printed. Its answer counts. 0 = 30 s.
	ExitTimeout time.Duration

	// private is a file that the client needs, which is written to its TMPDIR.
	// privateFile in Args stands for its path.
	private string
}

var _ Runner = (*Command)(nil)

// Causes for ending a run.
var (
	errIdle     = errors.New("idle")
	errLingered = errors.New("did not exit after its end event")
)

// Hurry returns a context for the second Ctrl-C of a user who does not want to wait. A
// command that a runner or a verifier of this module runs with it is killed as soon as
// now is closed and the context is done; before that, a done context asks the command
// to end and waits for it. Closing now alone ends nothing.
func Hurry(ctx context.Context, now <-chan struct{}) context.Context {
	return process.Hurry(ctx, now)
}

// Validate reports what can be known to be wrong before the client is run: there
// are no Args, the Format is not known, Model cannot be passed on, the program, or the
// Filter's for the answer, is not installed, a price is no amount (see
// [Prices.Validate]), or the task has no limit that could be kept (see [Command.Bounds]).
func (c *Command) Validate(t Task) error {
	args, err := c.CommandLine()
	if err != nil {
		return err
	}
	if _, err := stream.New(string(cmp.Or(c.Format, FormatText)), stream.Options{}); err != nil {
		return err
	}
	if err := cmp.Or(c.Sandbox.Validate(t.Dir), c.Prices.Validate()); err != nil {
		return err
	}
	if _, err := c.Bounds(t.Limits); err != nil {
		return err
	}
	if _, err := process.LookPath(args[0], t.Dir, c.environ(os.TempDir())); err != nil {
		return fmt.Errorf("agent: %s: %w (is it installed, and in PATH?)", args[0], err)
	}
	if filter := c.Filter.Response; len(filter) > 0 {
		if _, err := process.LookPath(filter[0], t.Dir, os.Environ()); err != nil {
			return fmt.Errorf("%s: %s: %w (is it installed, and in PATH?)", cmp.Or(c.Filter.ResponseName, "response filter"), filter[0], err)
		}
	}
	return nil
}

// Run runs the client once, and blocks until it has ended and none of its processes is
// left. Its errors are of the kinds that [Runner] names.
func (c *Command) Run(ctx context.Context, req Request) (Response, error) {
	args, err := c.CommandLine()
	if err != nil {
		return Response{}, Permanent(err)
	}
	if req.Mark != "" && !process.ValidMark(req.Mark) {
		return Response{}, Permanent(fmt.Errorf("ralph: the request's Mark %q is not one that NewMark makes", clip(req.Mark, 80)))
	}
	filters, err := c.Filter.start(ctx, req)
	if err != nil {
		return Response{}, Permanent(err)
	}
	resp, err := filters.end(c.run(ctx, req, args, filters))
	return resp, cmp.Or(err, show(req.Display, resp))
}

func (c *Command) run(ctx context.Context, req Request, args []string, filters *filters) (Response, error) {
	tmp, err := process.NewTempDir("")
	if err != nil {
		return Response{}, fmt.Errorf("temporary folder: %w", err)
	}
	defer tmp.Remove()
	rules, err := (*sandbox.Spec)(c.Sandbox).Rules(req.Dir, tmp.Path)
	if err != nil {
		return Response{}, Permanent(fmt.Errorf("ralph: %w", err))
	}
	if args, err = c.withPrivate(args, tmp.Path); err != nil {
		return Response{}, err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &feed{prompt: req.Prompt, raw: req.Raw, filters: filters, cancel: cancel, idle: c.IdleTimeout, linger: cmp.Or(c.ExitTimeout, 30*time.Second)}
	known, env := c.Format.client(), c.environ(tmp.Path)
	env = append(env, known.ledger.environ(env, tmp.Path)...)
	started := time.Now()
	options := stream.Options{Echo: req.Prompt, Dir: req.Dir, Price: c.pricing(), Model: c.Model, Zeros: known.zeros, Since: started}
	if req.Display != nil && filters.display == nil {
		options.Display = req.Display
		if f.display = term.Strip(req.Display); c.Format != "" && c.Format != FormatText {
			options.Notes = &stream.Notes{To: f.display, Name: string(c.Format), Verbose: c.Verbose}
			f.notes, f.display = options.Notes, options.Notes
		}
	}
	if req.Live != nil {
		options.Live = func(u stream.Usage) { req.Live(Usage(u)) }
	}
	if f.decoder, err = stream.New(string(cmp.Or(c.Format, FormatText)), options); err != nil {
		return Response{}, Permanent(err)
	}
	defer f.watch()()
	settle := f.follow(known.ledger.reader(env, tmp.Path, started), req.Live != nil)
	var warnings []string
	if isCommand(req.Prompt) && c.client().commands {
		warnings = append(warnings, "the prompt begins with "+firstWord(req.Prompt)+": if the client has a command of that name, it runs that, and the agent does not see the prompt as it is")
	}
	exit, err := process.Run(ctx, process.Cmd{
		Args: args, Dir: req.Dir, Env: env, Stdin: []byte(req.Prompt), Grace: c.Grace,
		Stdout: writerFunc(f.stdout), Stderr: writerFunc(f.stderr),
		Sandbox: rules, Mark: req.Mark, Warn: func(text string) { warnings = append(warnings, text) },
	})
	panicked := settle()
	if errors.Is(err, errors.ErrUnsupported) {
		return Response{}, Permanent(fmt.Errorf("agent: %w", err))
	}
	if errors.Is(err, process.ErrStart) {
		return Response{}, Permanent(fmt.Errorf("agent: %w (is it installed, and in PATH?)", err))
	}
	var res stream.Result
	if shown := plugin.Call("display", func() error { res = f.decoder.Result(); return nil }); err == nil {
		err = shown
	}
	resp := Response{
		Output: res.Text, Omitted: res.Omitted, Usage: Usage(res.Usage),
		Model: res.Model, Session: res.Session, Files: res.Files,
		Ended: boundedEnded(exit.Ended), Warnings: warnings,
	}
	fault := cmp.Or(panicked, c.fault(ctx, err, exit, res, f))
	shown := plugin.Call("display", func() error { f.notes.Close(fault != nil); return nil })
	return resp, cmp.Or(fault, shown)
}

// Version asks the client for its version with --version, and returns the first
// line that it prints, without control sequences, at most 80 bytes. It takes at
// most twenty seconds, and nothing of the client is left running. The error
// wraps [exec.ErrNotFound] if the client is not installed; it is another one if
// the client fails or says nothing.
func (c *Command) Version(ctx context.Context) (string, error) {
	if len(c.Args) == 0 {
		return "", errNoArgs
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	output, exit, err := c.ask(ctx, c.environ(os.TempDir()), []string{"--version"})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("ralph: version of %s: %s", c.Args[0], exit)
	}
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	line = term.Line(line)
	if line == "" {
		return "", fmt.Errorf("ralph: version of %s: it prints none", c.Args[0])
	}
	return strings.ToValidUTF8(line[:min(len(line), 80)], ""), nil
}

var errNoArgs = errors.New("ralph: the Command has no Args")

// CommandLine returns the program and the arguments that Run starts, with ModelFlag and
// Model among them, and with what Sandbox.Wrap puts in front. It is an error if there
// are no Args, or if Model is set without a ModelFlag.
func (c *Command) CommandLine() ([]string, error) {
	args, err := c.clientLine()
	return (*sandbox.Spec)(c.Sandbox).Args(args), err
}

func (c *Command) clientLine() ([]string, error) {
	if len(c.Args) == 0 {
		return nil, errNoArgs
	}
	if c.Model == "" {
		return c.Args, nil
	}
	if c.ModelFlag == "" {
		return nil, fmt.Errorf("ralph: Model is %q, but the Command has no ModelFlag to pass it on with", c.Model)
	}
	args := slices.Clone(c.Args)
	at := len(args)
	if at > 1 && args[at-1] == "-" {
		at--
	}
	return slices.Insert(args, at, c.ModelFlag, c.Model), nil
}

func (c *Command) environ(tmp string) []string {
	env := Environ()
	if c.Inherit != nil {
		env, _ = environ.Keep(env, c.Inherit)
	}
	return slices.Concat(env, []string{"TMPDIR=" + tmp}, c.Env)
}
