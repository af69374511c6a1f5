package ralph

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// DefaultPromise is the promise of a Task that names none.
const DefaultPromise = "COMPLETE"

// A Task is what is to be done and when it counts as done. It is a value: a
// State carries its own copy, and maps and slices in it are not changed.
type Task struct {
	ID    string `json:"id,omitempty"`
	Agent string `json:"agent,omitempty"` // the role: coder, reviewer, tester, qa, …
	Title string `json:"title,omitempty"`
	// Prompt is the task in the user's words. [State.Prompt] adds to it.
	Prompt string `json:"prompt,omitempty"`
	// Dir is the workspace the agent and the verifiers work in. "" = the
	// current directory.
	Dir string `json:"dir,omitempty"`

	// Outcome and Acceptance say what done means (S1). The agent is shown them.
	Outcome    string   `json:"outcome,omitempty"`
	Acceptance []string `json:"acceptance,omitempty"`

	// Promise is the text of the completion promise, one line without
	// <promise> or </promise>. "" = [DefaultPromise].
	Promise string `json:"promise,omitempty"`
	// Success and HowVerified tell the agent what its work is measured by and
	// how (S1's criteria description and method).
	Success     string `json:"success,omitempty"`
	HowVerified string `json:"how_verified,omitempty"`
	// Blocked is an optional second promise: "I cannot go on". "" = none.
	Blocked string `json:"blocked,omitempty"`
	// Match says which text counts as a promise. The zero value is
	// [MatchLastLine].
	Match Match `json:"match,omitempty"`
	// Always has every iteration verified, promise or not ("until the tests
	// pass"). The prompt then asks for no promise.
	Always bool `json:"always,omitempty"`

	Limits Limits `json:"limits,omitzero"`

	// Spec is the definition that a verifier can be built from, so that any
	// worker can build it.
	Spec json.RawMessage `json:"spec,omitempty"`
	// Guarded maps paths to the SHA-256 they had before the first iteration.
	Guarded map[string]string `json:"guarded,omitempty"`
}

// Limits say how much a loop may spend. The zero value is a safe default:
// 10 iterations, 3 retries of each, and a stop after 3 failed ones in a row.
type Limits struct {
	// Iterations is the number of iterations. 0 = 10; negative = unlimited,
	// which needs a Duration, Tokens or CostUSD.
	Iterations int `json:"iterations,omitempty"`
	// Retries is how many more times one iteration is run after a fault.
	// 0 = 3; negative = none.
	Retries int `json:"retries,omitempty"`
	// Failures is the number of consecutive iterations that failed, by fault
	// or because a check could not run, after which the loop stops. 0 = 3;
	// negative = never.
	Failures int `json:"failures,omitempty"`
	// Stalls is the number of consecutive iterations without any change in
	// the workspace after which the loop stops. 0 = off. An iteration of which
	// it is not known whether it changed anything is not a stall.
	Stalls int `json:"stalls,omitempty"`

	// IterationTimeout and VerifyTimeout bound one run of the agent and one
	// verification. 0 = none.
	IterationTimeout time.Duration `json:"iteration_timeout,omitempty"`
	VerifyTimeout    time.Duration `json:"verify_timeout,omitempty"`
	// Duration bounds the time of running, verifying and waiting, summed over
	// resumes; time between resumes is not counted. It also ends a run in
	// progress. 0 = none.
	Duration time.Duration `json:"duration,omitempty"`
	// Wait bounds the waiting for rate limits in all. 0 = 24 hours; negative =
	// no limit.
	Wait time.Duration `json:"wait,omitempty"`

	// CostUSD and Tokens (input and output) bound what the loop spends, summed
	// over resumes. They are checked before an iteration (with the last
	// iteration's cost as the forecast), while it runs as far as the agent
	// tells, and after it. 0 = none.
	CostUSD float64 `json:"cost_usd,omitempty"`
	Tokens  int64   `json:"tokens,omitempty"`
}

// The effective limits.
func (l Limits) iterations() int     { return orDefault(l.Iterations, 10) }
func (l Limits) retries() int        { return max(orDefault(l.Retries, 3), 0) }
func (l Limits) failures() int       { return orDefault(l.Failures, 3) }
func (l Limits) wait() time.Duration { return orDefault(l.Wait, 24*time.Hour) }

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// Validate reports everything that is wrong with the limits.
func (l Limits) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if math.IsNaN(l.CostUSD) || math.IsInf(l.CostUSD, 0) || l.CostUSD < 0 {
		bad("limits: cost_usd is %v; it must be 0 (none) or a positive amount", l.CostUSD)
	}
	if l.Tokens < 0 {
		bad("limits: tokens is %d; it must be 0 (none) or positive", l.Tokens)
	}
	if l.Stalls < 0 {
		bad("limits: stalls is %d; it must be 0 (off) or positive", l.Stalls)
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"iteration_timeout", l.IterationTimeout}, {"verify_timeout", l.VerifyTimeout}, {"duration", l.Duration}} {
		if d.d < 0 {
			bad("limits: %s is %v; it must be 0 (none) or positive", d.name, d.d)
		}
	}
	if l.Iterations < 0 && l.Duration <= 0 && l.Tokens <= 0 && !(l.CostUSD > 0) {
		bad("limits: unlimited iterations need a duration, tokens or cost_usd to stop at")
	}
	return errors.Join(errs...)
}

// Validate reports everything that is wrong with the task, by field. Drivers
// call it; [Start] of an invalid task is done, with [StopInvalid].
func (t Task) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, f := range []struct{ name, text string }{
		{"id", t.ID}, {"agent", t.Agent}, {"title", t.Title}, {"prompt", t.Prompt}, {"dir", t.Dir},
		{"outcome", t.Outcome}, {"success", t.Success}, {"how_verified", t.HowVerified},
	} {
		if !utf8.ValidString(f.text) {
			bad("task: %s is not valid UTF-8", f.name)
		}
	}
	for i, a := range t.Acceptance {
		if !utf8.ValidString(a) {
			bad("task: acceptance[%d] is not valid UTF-8", i)
		}
	}
	if strings.ContainsRune(t.Dir, 0) {
		bad("task: dir holds a NUL byte")
	}
	if t.Promise != "" {
		if err := validPromise(t.Promise); err != nil {
			bad("task: promise %q %w", t.Promise, err)
		}
	}
	if t.Blocked != "" {
		if err := validPromise(t.Blocked); err != nil {
			bad("task: blocked %q %w", t.Blocked, err)
		} else if strings.EqualFold(fold(t.Blocked), fold(t.promise())) {
			bad("task: blocked %q is the same as the promise", t.Blocked)
		}
	}
	if !t.Match.valid() {
		bad("task: match %q is not known; use one of %s", string(t.Match), strings.Join(matchNames(), ", "))
	}
	if len(t.Spec) > 0 && !json.Valid(t.Spec) {
		bad("task: spec is not valid JSON")
	}
	if err := t.Limits.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// promise is the effective promise.
func (t Task) promise() string {
	if t.Promise == "" {
		return DefaultPromise
	}
	return t.Promise
}

// validPromise rejects a text that no answer could ever hold as one promise.
func validPromise(p string) error {
	lower := strings.ToLower(p)
	switch {
	case !utf8.ValidString(p):
		return errors.New("is not valid UTF-8")
	case strings.ContainsAny(p, "\r\n"):
		return errors.New("has a line break; a promise is one line")
	case strings.Contains(lower, "<promise>") || strings.Contains(lower, "</promise>"):
		return errors.New("holds a promise tag; give the text between the tags only")
	case strings.ContainsFunc(p, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
		return errors.New("holds a control character")
	case fold(p) == "":
		return errors.New("is blank")
	case len(p) > 1<<10:
		return errors.New("is longer than 1 KiB")
	}
	return nil
}
