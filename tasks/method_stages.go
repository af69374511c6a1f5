package tasks

import (
	"fmt"
	"strings"
)

type stagesConfig struct {
	stages   []stageConfig
	anyOne   bool
	parallel int
}

type stageConfig struct {
	name, method string
	config       *node // nil = none
	advisory     bool
}

func (c *stagesConfig) fields(r *reader) []field {
	return []field{
		{"stages", func(n *node, what string) {
			for i, item := range r.list(n, what) {
				c.stages = append(c.stages, r.stage(item, fmt.Sprintf("%s[%d]", what, i)))
			}
		}},
		{"require_all", func(n *node, what string) { c.anyOne = !r.boolean(n, what) }},
		{"parallel", func(n *node, what string) {
			switch {
			case n.kind != nodeBool:
				c.parallel = r.integer(n, what, 0, 1000)
			case n.text == "true":
				c.parallel = -1 // all at once
			}
		}},
	}
}

func (r *reader) stagesConfig(n *node, what string) stagesConfig {
	var c stagesConfig
	r.mapping(n, what, c.fields(r), nil)
	if n.kind != nodeMap {
		return c
	}
	advisory := 0
	for _, s := range c.stages {
		if s.advisory {
			advisory++
		}
	}
	switch at := n.get("stages"); {
	case at == nil:
		r.refuse(n, "%s: stages is missing", orMethod(what, methodMultiStage))
	case at.kind == nodeList && len(c.stages) == 0:
		r.refuse(at, "%s is empty; it needs at least one stage", inside(what, "stages"))
	case at.kind == nodeList && advisory == len(c.stages):
		r.refuse(at, "%s: no stage is required, so nothing could ever be verified", inside(what, "stages"))
	}
	return c
}

func (c *stageConfig) fields(r *reader, method **node) []field {
	return []field{
		{"name", func(n *node, what string) { c.name = r.name(n, what) }},
		{"method", func(n *node, what string) { *method, c.method = n, r.text(n, what) }},
		{"config", func(n *node, what string) { c.config = r.configuration(n, what) }},
		{"required", func(n *node, what string) { c.advisory = !r.boolean(n, what) }},
	}
}

// configuration returns a mapping as it is, or nil.
func (r *reader) configuration(n *node, what string) *node {
	if n.kind != nodeMap {
		r.expected(n, what, "a mapping")
		return nil
	}
	return n
}

func (r *reader) stage(n *node, what string) stageConfig {
	var c stageConfig
	var method *node
	r.mapping(n, what, c.fields(r, &method), nil)
	if n.kind != nodeMap {
		return c
	}
	switch {
	case method == nil && c.config != nil && len(c.config.keys) > 0:
		r.refuse(n, "%s has a config but no method", what)
	case method == nil:
		c.method = methodString // S1
	case method.kind == nodeText && strings.TrimSpace(c.method) == "":
		r.refuse(method, "%s is empty", inside(what, "method"))
	case method.kind == nodeText:
		r.methodUse(n, method, c.method, c.config, inside(what, "config"))
	}
	return c
}

type contradictionsConfig struct{ patterns []string }

func (c *contradictionsConfig) fields(r *reader) []field {
	return []field{{"patterns", func(n *node, what string) { c.patterns = r.patterns(n, what) }}}
}

func (r *reader) contradictionsConfig(n *node, what string) contradictionsConfig {
	var c contradictionsConfig
	r.mapping(n, what, c.fields(r), nil)
	return c
}

// stageRules are the agents S4 has rules for.
func stageRules() []string { return []string{"coder", "tester", "reviewer"} }

type agentConfig struct{ agent string }

func (c *agentConfig) fields(r *reader) []field {
	return []field{{"agent", func(n *node, what string) {
		if c.agent = r.text(n, what); n.kind == nodeText && !hasRule(c.agent) {
			r.refuse(n, "%s: there is no rule for %s%s", what, quoteShort(c.agent), meant(c.agent, stageRules()))
		}
	}}}
}

func (r *reader) agentConfig(n *node, what string) agentConfig {
	var c agentConfig
	r.mapping(n, what, c.fields(r), nil)
	return c
}

// guardConfig names files that must not change, and what else must hold.
type guardConfig struct {
	files  []string
	method string
	config *node // nil = none
}

func (c *guardConfig) fields(r *reader) []field {
	return []field{
		{"files", func(n *node, what string) { c.files = r.patterns(n, what) }},
		{"method", func(n *node, what string) { c.method = r.text(n, what) }},
		{"config", func(n *node, what string) { c.config = r.configuration(n, what) }},
	}
}

func (r *reader) guardConfig(n *node, what string) guardConfig {
	var c guardConfig
	r.mapping(n, what, c.fields(r), nil)
	if n.kind != nodeMap {
		return c
	}
	if n.get("files") == nil {
		r.refuse(n, "%s: files is missing", orMethod(what, methodGuard))
	} else if len(c.files) == 0 && n.get("files").kind == nodeList {
		r.refuse(n.get("files"), "%s is empty", inside(what, "files"))
	}
	switch method := n.get("method"); {
	case c.method != "":
		r.methodUse(n, method, c.method, c.config, inside(what, "config"))
	case c.config != nil:
		r.refuse(c.config, "%s has a config but no method", orMethod(what, methodGuard))
	}
	return c
}

type templateConfig struct {
	name string
	args []string
}

func (c *templateConfig) fields(r *reader) []field {
	return []field{
		{"name", func(n *node, what string) { c.name = r.text(n, what) }},
		{"args", func(n *node, what string) { c.args = r.words(n, what) }},
	}
}

func (r *reader) templateConfig(n *node, what string) templateConfig {
	var c templateConfig
	r.mapping(n, what, c.fields(r), nil)
	switch at := n.get("name"); {
	case n.kind != nodeMap || at != nil && at.kind != nodeText:
	case strings.TrimSpace(c.name) == "":
		r.refuse(n, "%s: name is missing; it says which template", orMethod(what, methodTemplate))
	case !hasPlaceholder(n):
		if err := checkTemplate(c.name, c.args); err != nil {
			r.refuse(at, "%s: %v", orMethod(what, methodTemplate), err)
		}
	}
	return c
}
