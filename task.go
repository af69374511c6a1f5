package ralph

import (
	"cmp"
	"encoding/json"
	"strings"
)

// DefaultPromise is the promise of a Task that names none.
const DefaultPromise = "COMPLETE"

// A Task is what is to be done and when it counts as done. It is a value: a
// State carries its own copy, which shares nothing with the caller's.
type Task struct {
	// ID names the task, in logs and in the loop's name; "" = it has none. Agent is the
	// role in which the agent works on it: coder, reviewer, tester, qa, … Title is one
	// line for people, which stands for the Prompt if there is none.
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
	// Method is how claims are verified in one word, the same for all tasks that are
	// verified alike: external, semantic … It is for those who compare loops; nothing
	// is decided by it. "" = nothing is said.
	Method string `json:"method,omitempty"`
	// Blocked is an optional second promise: "I cannot go on". "" = none.
	Blocked string `json:"blocked,omitempty"`
	// Match says which text counts as a promise. The zero value is
	// [MatchLastLine].
	Match Match `json:"match,omitempty"`
	// Always has every iteration verified, promise or not ("until the tests
	// pass"). The prompt then asks for no promise.
	Always bool `json:"always,omitempty"`

	Limits Limits `json:"limits,omitzero"`

	// Spec is the definition that a verifier can be built from, as spec.Verifier does,
	// so that a worker on another machine can build the same one. This package does not
	// read it. Nil = none.
	Spec json.RawMessage `json:"spec,omitempty"`
	// Guarded maps paths to the SHA-256 they had before the first iteration. A
	// verifier that is to see what has changed since adds to it, see [Verifier].
	Guarded map[string]string `json:"guarded,omitempty"`
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
func (t Task) promise() string { return cmp.Or(t.Promise, DefaultPromise) }
