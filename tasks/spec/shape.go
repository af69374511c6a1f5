package spec

import (
	"slices"

	"github.com/ralph-loop/ralph/internal/doc"
)

// root reads one document, whatever its shape. Several shapes are in use for the same
// thing, and which one a file has is clear from its keys, so none has to be declared.
func (r *reader) root(f *File, n *doc.Node) {
	switch {
	case n.Kind == doc.List:
		r.units(f, n, "")
	case n.Kind != doc.Map:
		r.bad(n, "expected a task or a list of tasks, found %s", n.Found())
	case n.Has("tasks"):
		r.mapping(n, "", []field{{"tasks", func(n *doc.Node, what string) { r.units(f, n, what) }, nil}}, version)
	case n.Has("task"):
		r.mapping(n, "", []field{{"task", func(n *doc.Node, _ string) { r.unit(f, n) }, nil}}, version)
	case n.Has(onlyTask()...):
		r.unit(f, n)
	default:
		r.part(f, n)
	}
}

// version accepts a version beside tasks: or task:, which many formats have. It is not
// looked at: there is one version of these files, and keys that it does not have are
// errors.
func version(key, value *doc.Node) bool {
	return key.Text == "version" && value.Kind != doc.List && value.Kind != doc.Map
}

// onlyTask are the keys that make a mapping a definition, whatever else is in it. A
// description and a completion do not: parts of definitions have them too.
func onlyTask() []string {
	return slices.DeleteFunc(names(new(Definition).fields(&reader{})), func(name string) bool {
		return name == "description" || name == "completion"
	})
}

// units reads a list of tasks, each with or without a task: above it. An empty list is
// an error, for a run of no tasks would end at once and look like success.
func (r *reader) units(f *File, n *doc.Node, what string) {
	if n.Kind != doc.List {
		r.expected(n, what, "a list")
	} else if len(n.Items) == 0 {
		r.bad(n, "there is no task in the list")
	}
	for _, item := range n.Items {
		if item.Kind == doc.Map && len(item.Keys) == 1 && item.Has("task") {
			item = item.Items[0]
		}
		r.unit(f, item)
	}
}

func (r *reader) unit(f *File, n *doc.Node) {
	f.units = append(f.units, unit{n, r.definition(n)})
}

// part reads a mapping that is not a definition as what its keys say, the clearest case
// first. Parts serve people who try out one method on work that is there; nothing runs
// an agent on a part.
func (r *reader) part(f *File, n *doc.Node) {
	add := func(c Completion) { f.parts = append(f.parts, c) }
	wrappers := []string{"task", "tasks"}
	switch {
	case n.Has("ralph"):
		r.bad(n.Key("ralph"), "this is a configuration and not a task; see ParseConfig")
	case n.Has("completion") && len(n.Keys) == 1:
		add(r.completion(n.Items[0]))
	case n.Has(completionKeys()...):
		add(r.completion(n))
	case n.Has("promise", methodKey, configKey, "max_iterations"):
		criteria, _ := r.criteria(n, "", "")
		add(Completion{Agents: []AgentCriteria{{"", criteria}}})
	case len(n.Keys) > 0 && !slices.ContainsFunc(n.Items, notCriteria):
		var c Completion
		r.mapping(n, "", nil, func(key, value *doc.Node) bool { return r.agent(&c, key, value) })
		add(c)
	case len(n.Keys) > 0 && guessMethod(n) != "":
		method := guessMethod(n)
		r.check(n, doc.String(method), n, "")
		add(Completion{Agents: []AgentCriteria{{"", Criteria{Method: method, Config: n.JSON()}}}})
	case len(n.Keys) == 0:
		r.bad(n, "there is no task in it")
	case len(n.Keys) == 1 && Nearest(n.Keys[0].Text, wrappers...) != "":
		r.bad(n.Keys[0], "unknown key %s%s", doc.Quote(n.Keys[0].Text), meant(n.Keys[0].Text, wrappers))
	default:
		r.unit(f, n) // so that the error lists the known keys
	}
}

// notCriteria is for telling agents' names, of which any will do, from misspelt keys:
// what stands below an agent's name has at least one key of criteria.
func notCriteria(n *doc.Node) bool {
	return n.Kind != doc.Map || !n.Has(criteriaKeys()...)
}
