package spec

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/doc"
)

// An agreement is what is kept of a definition in Task.Spec, so that any worker
// can build the verifier of the task.
type agreement struct {
	version        int
	agent          string
	verifyPromises bool
	outcome        string
	acceptance     []string
	criteria       *doc.Node // filled in
	guard          []string  // read from criteria, as is check
	check          check
}

const agreementVersion = 1

func (a *agreement) fields(r *reader) []field {
	return []field{
		key("v", &a.version, r.whole(agreementVersion, agreementVersion)),
		key("agent", &a.agent, r.text),
		key("verify_promises", &a.verifyPromises, r.boolean),
		key("outcome", &a.outcome, r.text),
		key("acceptance_criteria", &a.acceptance, r.texts),
		key("criteria", &a.criteria, r.tree),
	}
}

func (a agreement) encode() (json.RawMessage, error) {
	if len(a.acceptance) == 0 {
		a.acceptance = nil
	}
	return toJSON(write(a.fields(&reader{})))
}

// agreed reads a task's Spec. What is not understood may be a condition, so it is
// an error.
func agreed(t ralph.Task) (agreement, error) {
	var a agreement
	if len(t.Spec) == 0 {
		return a, errors.New("it has no Spec, so there is nothing to build a verifier from")
	}
	n, err := doc.FromJSON(t.Spec)
	if err != nil {
		return a, unread("Spec", err)
	}
	r := reader{doc: &doc.Doc{}, anyMethod: true}
	r.mapping(n, "Spec", a.fields(&r), nil)
	if n.Kind == doc.Map && a.version != agreementVersion {
		return a, fmt.Errorf("Spec: version %d is not known here; known is %d", a.version, agreementVersion)
	}
	if a.criteria != nil {
		var criteria Criteria
		criteria, a.check = r.criteria(a.criteria, "Spec.criteria", a.agent)
		a.guard = criteria.Guard
	}
	return a, r.problems()
}
