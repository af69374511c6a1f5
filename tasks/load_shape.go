package tasks

import "slices"

// onlyTask are the keys that make a mapping a definition, whatever else is in it.
func onlyTask() []string {
	return []string{"id", "spec_id", "title", "status", "priority", "dependencies", "assignee",
		"created_at", "updated_at", "metadata", "iteration", "completion_spec"}
}

// wrappers are the keys that may stand above tasks.
func wrappers() []string { return []string{"task", "tasks"} }

// root reads one document, whatever its shape.
func (r *reader) root(f *File, n *node) {
	switch {
	case n.kind == nodeList:
		r.units(f, n, "")
	case n.kind != nodeMap:
		r.bad(n, "expected a task or a list of tasks, found %s", n.found())
	case n.has("tasks"):
		r.mapping(n, "", []field{{"tasks", func(n *node, what string) { r.units(f, n, what) }}}, r.version)
	case n.has("task"):
		r.mapping(n, "", []field{{"task", func(n *node, what string) { r.unit(f, n) }}}, r.version)
	case n.has(onlyTask()...):
		r.unit(f, n)
	default:
		r.part(f, n)
	}
}

// version accepts a version beside tasks: or task:, which many formats have.
func (r *reader) version(key, value *node) bool {
	return key.text == "version" && value.kind != nodeList && value.kind != nodeMap
}

func (r *reader) units(f *File, n *node, what string) {
	items := r.list(n, what)
	if n.kind == nodeList && len(items) == 0 {
		r.bad(n, "there is no task in the list")
	}
	for _, item := range items {
		if item.kind == nodeMap && len(item.keys) == 1 && item.has("task") {
			item = item.items[0]
		}
		r.unit(f, item)
	}
}

func (r *reader) unit(f *File, n *node) {
	f.units = append(f.units, unit{n, r.definition(n)})
}

// part reads a mapping that is not a definition as what its keys say.
func (r *reader) part(f *File, n *node) {
	add := func(c Completion) { f.parts = append(f.parts, c) }
	switch {
	case n.has("ralph"):
		r.bad(n.keys[n.index("ralph")], "this is a configuration and not a task; see ParseConfig")
	case n.has("completion") && len(n.keys) == 1:
		if c := n.items[0]; c.kind == nodeMap {
			add(r.completion(c))
		} else {
			r.expected(c, "completion", "a mapping")
		}
	case n.has("outcome", "acceptance_criteria"):
		add(r.completion(n))
	case n.has("promise", "verification_method", "verification_config", "max_iterations"):
		add(Completion{Agents: []AgentCriteria{{"", r.criteria(n, "", "")}}})
	case len(n.keys) > 0 && !slices.ContainsFunc(n.items, notCriteria):
		var c Completion
		r.mapping(n, "", nil, func(key, value *node) bool { return r.agent(&c, key, value) })
		add(c)
	case len(n.keys) > 0 && guessMethod(n) != "":
		method := guessMethod(n)
		r.methodConfig(method, n, "")
		add(Completion{Agents: []AgentCriteria{{"", Criteria{Method: method, Config: n.json()}}}})
	case len(n.keys) == 0:
		r.bad(n, "there is no task in it")
	case len(n.keys) == 1 && nearest(n.keys[0].text, wrappers()) != "":
		r.bad(n.keys[0], "unknown key %s%s", quoteShort(n.keys[0].text), meant(n.keys[0].text, wrappers()))
	default:
		r.unit(f, n) // to be told which keys there are
	}
}

func notCriteria(n *node) bool {
	return n.kind != nodeMap || !n.has(criteriaKeys()...)
}
