package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// shared are the values of the flags that more than one command takes. Each
// command's struct of flags embeds it; which of them it takes, handles says.
type shared struct {
	agent, agentCmd, format, model              string
	stage, judge, judgeModel                    string
	verify, promise, match, blocked             string
	dir, config, log, state, exam               string
	id, tag                                     string
	verifyEnv, notify                           string
	sandbox                                     optional
	prices                                      string
	guard                                       list
	always, strict, dryRun                      bool
	acceptConfig, trust                         bool
	allBoxes, criteriaToo, optionalToo, onlyIDs bool
	anew, share, resumed, warned, launched      bool
	learn, summary                              bool
	quiet, json, verbose                        bool

	max, stalls, maxBlocked                          int
	maxTokens, judgeBytes                            int64
	maxCost                                          float64
	timeout, idleTimeout, verifyTimeout, maxDuration time.Duration
	hookTimeout                                      time.Duration

	given  map[string]bool      // the flags that were given, whatever their value
	judges []*ralph.Command     // those that the run has by now
	table  ralph.Prices         // the built-in prices with those of --prices over them; nil = the command has no such flag
	stated bool                 // what is run has numbers of iterations of its own
	once   func(string, ...any) // says a thing, once
	shown  *view                // of the run; nil = it has none
}

func (s *shared) common() *shared { return s }

// A handle is a flag of some commands. To give it to another one, add the
// command's name to its row; a new one is a row and a field of shared.
type handle struct {
	name  string
	on    []string
	to    any    // a pointer into shared; what it points to is the default
	help  string // with the value's kind in back quotes
	check func() error
}

// handles is the table of the flags that commands share. A flag that means
// another thing for another command has a row for each meaning.
func (s *shared) handles() []handle {
	s.promise, s.match = ralph.DefaultPromise, "last-line"
	modes := []string{"plan", "build", "prompt"}
	work := slices.Concat(modes, []string{"run"})
	loops := slices.Concat(work, []string{"demo"})
	shows := append(loops[:5:5], "resume")
	limit, steers := []string{"limit"}, []string{"status", "cancel", "pause", "stop", "resume", "guide", "limit", "log"}
	hosted, start := append(modes[:3:3], "start"), []string{"start"}
	run, demo, verify, check := []string{"run"}, []string{"demo"}, []string{"verify"}, []string{"task check"}
	boxes := []string{"run", "task list", "task check"}
	known := "the `NAME` of a known agent: " + strings.Join(ralph.Presets(), ", ") + "; default: "
	return []handle{
		// Who works, and who judges.
		{"agent", work, &s.agent, known + "the first one installed", s.oneAgent},
		{"agent", demo, &s.agent, known + "a scripted one, built in", s.oneAgent},
		{"agent-cmd", loops, &s.agentCmd, "any other agent: a `COMMAND` that reads the prompt from standard input", s.isCommand},
		{"format", loops, &s.format, "how it prints, a `FORMAT`: " + formats() + " (default with --agent-cmd: text)", s.isFormat},
		{"model", loops, &s.model, "the `MODEL` it is to use", nil},
		{"stage", verify, &s.stage, "of a definition, the `AGENT` whose part alone it is (default: each that it names, else coder)", nil},
		{"judge", verify, &s.judge, "the `NAME` of the agent that judges what is verified by meaning (semantic)", nil},
		{"judge", run, &s.judge, "the `NAME` of the agent that judges: of a list each item, of definitions what is verified by meaning (semantic)", nil},
		{"judge", hosted, &s.judge, "the `NAME` of an agent that judges whether the task is done", nil},
		{"judge-model", slices.Concat(work, verify, start), &s.judgeModel, "the `MODEL` it uses when a definition names none", nil},

		{"judge-bytes", slices.Concat(work, start), &s.judgeBytes, "what the judge of --judge is shown, at most this `NUMBER` of bytes (0: 262144); what does not fit is not judged", nil},

		// When the work is done.
		{"verify", hosted, &s.verify, "a shell `COMMAND` that succeeds when the task is done", nil},
		{"verify", run, &s.verify, "a shell `COMMAND` that succeeds when an item of a list is done; a definition's own checks come first", nil},
		{"exam", slices.Concat(work, start), &s.exam, "a `FOLDER` elsewhere with tests that the agent has not seen, laid over a copy of the work for --verify, or the checks of definitions", nil},
		{"guard", slices.Concat(work, start), &s.guard, "`FILES` that the agent must not change, like '**/*_test.go'; may be given several times", nil},
		{"accept-config", slices.Concat(work, verify, start), &s.acceptConfig, "have checks run although programs, or what tools read from the home folder, changed", nil},
		{"verify-env", slices.Concat(work, verify, start), &s.verifyEnv, "`NAMES` of variables, with commas between, that the checks of definitions and judges get beside those that tools need; all: all of them", nil},
		{"always", modes, &s.always, "verify after every iteration, whether the agent claims to be done or not", nil},
		{"promise", modes, &s.promise, "the `TEXT` of the completion promise", s.isPromise},
		{"completion-promise", start, &s.promise, "the `TEXT` of the completion promise (default: DONE)", s.isPromise},
		{"match", hosted, &s.match, "which text counts as the promise, a `RULE`: last-line, own-line, anywhere, fold", nil},
		{"blocked", hosted, &s.blocked, "the `TEXT` of a promise that says \"I cannot go on\"", nil},
		{"max-blocked", hosted, &s.maxBlocked, "stop at the `N`th iteration in a row that says so with the promise of --blocked (1; negative: never); until then the agent is asked for another way", s.saysBlocked},
		{"max-blocked", limit, &s.maxBlocked, "stop at the `N`th iteration in a row that says that it is blocked (1; negative: never)", s.isMaxBlocked},
		{"strict", modes, &s.strict, "exit with 3 when the limit of iterations is reached, as it does with --verify, --judge and --guard", nil},
		{"strict", check, &s.strict, "a task without a completion is an error", nil},
		{"all-boxes", boxes, &s.allBoxes, "of a list, take the boxes without an ID for tasks too; --all-boxes=false: only those with one, however few they are", nil},
		{"criteria", boxes, &s.criteriaToo, "of a list, take the boxes for tasks too that say how work is judged: below success criteria, definition of done, QA results", nil},
		{"optional", boxes, &s.optionalToo, "of a list, take the boxes for tasks too that are marked as optional: [ ]*", nil},
		{"tag", boxes, &s.tag, "of Taskmaster's tasks.json, the `TAG` whose tasks are meant (default: its current one, else master, else the only one)", nil},

		// How much may be spent.
		{"max", slices.Concat(modes, demo), &s.max, "at most `N` iterations (10)", s.isMax},
		{"max", run, &s.max, "at most `N` iterations: of a list in all (10), of definitions for each stage (its own number), of a list with --slots or --worktrees for each item (3)", s.isMax},
		{"max-iterations", start, &s.max, "at most `N` iterations (100)", s.isMax},
		{"max", limit, &s.max, "at most `N` iterations, with those that it has had", s.isMax},
		{"max-cost", slices.Concat(loops, limit), &s.maxCost, "stop at this cost in `USD` (0: no limit)", nil},
		{"max-tokens", slices.Concat(loops, limit), &s.maxTokens, "stop at this `NUMBER` of tokens, input and output (0: no limit)", nil},
		{"max-duration", slices.Concat(loops, limit, start), &s.maxDuration, "stop after this `TIME` of running, verifying and waiting, like 8h (0: no limit)", nil},
		{"learn", modes, &s.learn, "take the number of iterations, but no more than --max, and what the agent is to heed from what earlier loops here have shown ('ralph log --summary')", nil},
		{"learn", run, &s.learn, "take the number of iterations and what the agent is to heed from what earlier loops here have shown ('ralph log --summary'); never more iterations than are configured; learn: true below ralph: in the configuration does so, too", nil},
		{"summary", []string{"log"}, &s.summary, "print what loops have shown, by agent and method of verification: of a file or a loop, of a folder of records, or of this workspace's", nil},
		{"prices", loops, &s.prices, "a JSON `FILE` of what models cost, over the built-in prices (" + ralph.PricesDate + "): {\"MODEL\": {\"input\": 3, \"output\": 15}}, in USD for a million tokens; by it the cost of a client that tells none is estimated", s.readPrices},
		{"stalls", slices.Concat(modes, demo, start, limit), &s.stalls, "stop after `N` iterations in a row that changed nothing in the workspace (0: never)", s.isStalls},
		{"stalls", run, &s.stalls, "stop after `N` iterations in a row that changed nothing in the workspace (0: never); of definitions, or with --slots or --worktrees, each loop by itself", s.isStalls},
		{"timeout", slices.Concat(modes, demo), &s.timeout, "end an iteration after this `TIME`, like 30m (0: never)", nil},
		{"timeout", run, &s.timeout, "end an iteration after this `TIME`, like 30m (0: never; default of definitions, and with --slots or --worktrees: 1h)", nil},
		{"timeout", verify, &s.timeout, "end a verification after this `TIME`, like 30m (0: never)", nil},
		{"idle-timeout", loops, &s.idleTimeout, "end an iteration that prints nothing for this `TIME` (0: never)", nil},
		{"verify-timeout", append(loops[:5:5], "start"), &s.verifyTimeout, "end a verification after this `TIME` (default: 5m; negative: never)", func() error { return nil }},
		{"launched", []string{"hook"}, &s.launched, "", nil},
		{"hook-timeout", []string{"start", "hook"}, &s.hookTimeout, "how long the client lets a hook take, a `TIME`; the verdict of a longer verification comes with the next (default: as long as the client allows)", nil},

		// Where it happens, and what is written of it.
		{"dir", append(hosted[:4:4], "hook"), &s.dir, "the `FOLDER` to work in (default: the current one)", nil},
		{"dir", slices.Concat(run, verify), &s.dir, "the `FOLDER` to work in (default: the top of the git work tree, else the current folder)", nil},
		{"dir", steers, &s.dir, "the `FOLDER` that the loops work in (default: the current one)", nil},
		{"dir", demo, &s.dir, "the `FOLDER` to make it in, which must not exist (default: a temporary one)", nil},
		{"config", modes, &s.config, "the config `FILE`, which can name an agent and filters to start (default: config in the home folder)", nil},
		{"config", []string{"run", "verify"}, &s.config, "the `FILE` with a ralph: section of defaults, which can name a judge to start (default: .ralph/config.yaml)", nil},
		{"log", modes, &s.log, "an execution log `FILE` like .ralph/log.jsonl, for ralph log and for programs (default: none)", nil},
		{"log", run, &s.log, "the execution log `FILE` (default: .ralph/log.jsonl)", nil},
		{"log", demo, &s.log, "the execution log `FILE` (default: events.jsonl in the demo's folder)", nil},
		{"state", slices.Concat(work, start), &s.state, "the `FOLDER` in which it is on record what was agreed, out of the agent's reach (default: in ~/.local/state/ralph)", nil},
		{"state", steers, &s.state, "the `FOLDER` that they are on record in (default: in ~/.local/state/ralph)", nil},
		{"id", loops, &s.id, "the `NAME` by which ralph status and others know it (default: its command, prompt file or task file)", nil},
		{"new", modes, &s.anew, "start over what was interrupted", nil},
		{"new", run, &s.anew, "start over what was interrupted, and forget what checks have said of the boxes of a list", nil},
		{"share", modes, &s.share, "work in a folder where another agent is at work", nil},
		{"share", run, &s.share, "work in a folder where another agent is at work; with --slots, have several work in it", nil},
		{"trust", slices.Concat(work, verify), &s.trust, "agree to the commands that the file or the configuration names, from now on", nil},
		{"sandbox", slices.Concat(loops, verify), &s.sandbox, "let the agent write to the workspace, its own folders and the tools' caches, and checks and judges to less; --sandbox=require: or do not run", nil},
		{"notify", append(loops[:5:5], "start", "resume"), &s.notify, "a `COMMAND` to start at the end, without a shell, with the result in its environment: RALPH_RESULT, RALPH_SUMMARY, RALPH_EXIT_CODE, RALPH_ERROR, RALPH_ITERATIONS, RALPH_SECONDS, RALPH_COST_USD, RALPH_LOOP, RALPH_DIR and others", s.isNotify},
		{"quiet", shows, &s.quiet, "print the result only", s.isOne},
		{"verbose", shows, &s.verbose, "show what the agent's client says of its own, warnings and notices (default: how many they are)", s.isOne},
		{"json", shows, &s.json, "print what happens as lines of JSON, for programs, each with a version (v) and a kind; those of kinds that begin with pipeline_ tell of a run of definitions, or with --slots or --worktrees, the others of its loops; nothing else but errors", s.isOne},
		{"dry-run", work, &s.dryRun, "print the prompt and the commands, and run nothing", nil},
		{"dry-run", verify, &s.dryRun, "print the commands, and run nothing", nil},
	}
}

// checked returns what is wrong with a handle's value.
func (s *shared) checked(h handle) error {
	if h.check != nil {
		return h.check()
	}
	switch v := h.to.(type) {
	case *string: // "$CHECK", where there is no such variable
		checks := slices.Contains([]string{"verify", "judge", "exam"}, h.name)
		return unless(*v != "" || !checks || !s.given[h.name], exitUsage, "--%s is empty, so nothing would be checked", h.name)
	case *float64:
		return unless(*v >= 0 && !math.IsInf(*v, 0), exitUsage, "--%s is an amount in USD, 0 or more, not %v", h.name, *v)
	case *int64:
		return unless(*v >= 0, exitUsage, "--%s is a number, 0 or more, not %d", h.name, *v)
	case *time.Duration:
		return unless(*v >= 0, exitUsage, "--%s is a time, 0 or more, not %v", h.name, *v)
	}
	return nil
}

func (s *shared) oneAgent() error {
	return unless(s.agent == "" || s.agentCmd == "", exitUsage, "--agent and --agent-cmd exclude each other")
}

func (s *shared) isOne() error {
	return unless(!(s.quiet && s.json || s.quiet && s.verbose || s.json && s.verbose), exitUsage, "--quiet, --json and --verbose exclude each other")
}

func (s *shared) isCommand() error {
	_, err := splitWords(s.agentCmd)
	return unless(s.agentCmd == "" || err == nil, exitUsage, "--agent-cmd: %w", err)
}

func (s *shared) isFormat() error {
	known := s.format == "" || slices.Contains(ralph.Formats(), ralph.Format(s.format))
	return unless(known, exitUsage, "--format: unknown format %q; the known ones are %s", s.format, formats())
}

func (s *shared) isMax() error {
	return unless(s.max > 0 || !s.given["max"] && !s.given["max-iterations"], exitUsage, "--max is the number of iterations, 1 or more, not %d", s.max)
}

func (s *shared) isStalls() error {
	return unless(s.stalls >= 0, exitUsage, "--stalls is the number of iterations, 0 or more, not %d", s.stalls)
}

func (s *shared) isMaxBlocked() error {
	return unless(s.maxBlocked != 0 || !s.given["max-blocked"], exitUsage, "--max-blocked is a number of iterations, 1 or more, or negative for never, not 0")
}

func (s *shared) saysBlocked() error {
	return cmp.Or(unless(s.blocked != "" || !s.given["max-blocked"], exitUsage, "--max-blocked needs --blocked, the promise by which an agent says so"), s.isMaxBlocked())
}

// readPrices reads the prices.
func (s *shared) readPrices() error {
	s.table = ralph.DefaultPrices()
	if !s.given["prices"] {
		return nil
	}
	text, err := ralph.ReadFile(s.prices, maxConfig)
	if err != nil {
		return fail(exitConfig, "--prices: %w", err)
	}
	own, err := ralph.ParsePrices(text)
	if err != nil {
		return fail(exitConfig, "--prices %s: %w", s.prices, err)
	}
	s.table = s.table.With(own)
	return nil
}

func (s *shared) isPromise() error { return unless(s.promise != "", exitConfig, "--promise is empty") }

func unless(good bool, code int, format string, args ...any) error {
	if good {
		return nil
	}
	return fail(code, format, args...)
}

func formats() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(ralph.Formats()), "[]"), " ", ", ")
}

// limits are what the flags allow a loop, or a session, to spend.
func (s *shared) limits() ralph.Limits {
	return ralph.Limits{
		Iterations: s.max, CostUSD: s.maxCost, Priced: s.maxCost > 0, Tokens: s.maxTokens, Duration: s.maxDuration,
		IterationTimeout: s.timeout, VerifyTimeout: s.verifyTimeout, Stalls: s.stalls, Blocked: s.maxBlocked,
	}
}

// bounded says once what limits of money and tokens a client cannot be held to. That none
// of those that somebody has set can be kept is an error.
func (s *shared) bounded(who string, c *ralph.Command) error {
	l := s.limits()
	if !s.given["max"] {
		l.Iterations = 0
	}
	if s.stated || who != "" { // a judge's costs are not all there are
		l.Iterations = 1
	}
	warning, err := c.Bounds(l)
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	if warning != "" {
		s.once("warning: %s%s", who, line(warning))
	}
	return nil
}
