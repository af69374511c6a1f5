package ralph

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultPromise is the promise of a Task that names none.
const DefaultPromise = "COMPLETE"

// A Task is what is to be done and when it counts as done. It is a value: a
// State carries its own copy, which shares nothing with the caller's.
type Task struct {
	ID    string `json:"id,omitempty"`
	Agent string `json:"agent,omitempty"` // the role: coder, reviewer, tester, qa, …
	Title string `json:"title,omitempty"`
	// Prompt is the task in the user's words. [State.Prompt] adds to it.
	Prompt string `json:"prompt,omitempty"`
	// Dir is the workspace the agent and the verifiers work in. "" = the
	// current directory.
	Dir string `json:"dir,omitempty"`

	// Outcome and Acceptance say what done means. The agent is shown them.
	Outcome    string   `json:"outcome,omitempty"`
	Acceptance []string `json:"acceptance,omitempty"`

	// Promise is the text of the completion promise, one line without
	// <promise> or </promise>. "" = [DefaultPromise].
	Promise string `json:"promise,omitempty"`
	// Success and HowVerified tell the agent what its work is measured by and
	// how.
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

// Validate reports everything that is wrong with the task, a line for each
// problem, by field. Drivers call it; [Start] of an invalid task is done, with
// [StopInvalid].
func (t Task) Validate() error { return invalid(t.problems()) }

func (t Task) problems() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("task: "+format, args...)) }
	for _, f := range []struct{ name, text string }{
		{"id", t.ID}, {"agent", t.Agent}, {"title", t.Title}, {"prompt", t.Prompt}, {"dir", t.Dir},
		{"outcome", t.Outcome}, {"success", t.Success}, {"how_verified", t.HowVerified},
	} {
		if !utf8.ValidString(f.text) {
			bad("%s is not valid UTF-8", f.name)
		}
	}
	for i, a := range t.Acceptance {
		if !utf8.ValidString(a) {
			bad("acceptance[%d] is not valid UTF-8", i)
		}
	}
	if strings.ContainsRune(t.Dir, 0) {
		bad("dir holds a NUL byte")
	}
	if t.Promise != "" {
		if err := validPromise(t.Promise); err != nil {
			bad("promise %q %w", t.Promise, err)
		}
	}
	if t.Blocked != "" {
		if err := validPromise(t.Blocked); err != nil {
			bad("blocked %q %w", t.Blocked, err)
		} else if strings.EqualFold(fold(t.Blocked), fold(t.promise())) {
			bad("blocked %q is the same as the promise", t.Blocked)
		}
	}
	if !t.Match.valid() {
		bad("match %q is not known; use one of %s", string(t.Match), strings.Join(matchNames(), ", "))
	}
	if len(t.Spec) > 0 && !json.Valid(t.Spec) {
		bad("spec is not valid JSON")
	}
	return append(errs, t.Limits.problems()...)
}

// hasText reports whether the task says what is to be done.
func (t Task) hasText() bool {
	for _, text := range append([]string{t.Prompt, t.Title, t.Outcome, t.Success}, t.Acceptance...) {
		if strings.TrimSpace(text) != "" {
			return true
		}
	}
	return false
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
