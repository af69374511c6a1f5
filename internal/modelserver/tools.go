package modelserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A tool is one that a client offers.
type tool struct {
	name   string
	schema schema
}

// A schema is as much of a JSON schema as is needed to call a tool.
type schema struct {
	Type       json.RawMessage   `json:"type"` // a name, or a list of names
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Enum       []json.RawMessage `json:"enum"`
	Items      *schema           `json:"items"`
}

// is reports whether the schema allows the type, which is in lower case.
func (s schema) is(name string) bool {
	return strings.Contains(strings.ToLower(string(s.Type)), `"`+name+`"`)
}

// A toolCall is a call of a client's tool.
type toolCall struct {
	id, name  string
	arguments string // JSON
}

// Names that clients give to the tools and to their arguments, in the order in
// which they are tried: clients differ in these and in little else.
func shellTools() []string {
	return []string{"Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command", "run_commands", "execute_command"}
}

func commandArgs() []string { return []string{"command", "cmd", "commands", "script"} }

func writeTools() []string {
	return []string{"Write", "write", "write_file", "write_to_file", "create", "editor"}
}

func pathArgs() []string    { return []string{"file_path", "filePath", "path", "absolute_path"} }
func contentArgs() []string { return []string{"content", "file_text", "new_text", "text"} }

// find returns the first of names that the client offers.
func (q Request) find(names []string) (tool, bool) {
	for _, name := range names {
		if i := slices.IndexFunc(q.tools, func(t tool) bool { return t.name == name }); i >= 0 {
			return q.tools[i], true
		}
	}
	return tool{}, false
}

// shellCall calls the client's shell tool.
func (q Request) shellCall(command string) (toolCall, error) {
	t, ok := q.find(shellTools())
	if !ok {
		return toolCall{}, fmt.Errorf("no shell tool is known among %v", q.Tools)
	}
	arg := t.arg(commandArgs())
	if arg == "" {
		return toolCall{}, fmt.Errorf("tool %s takes no command: it takes %v", t.name, slices.Sorted(maps.Keys(t.schema.Properties)))
	}
	value := encode(command)
	if s := t.schema.Properties[arg]; s.is("array") && !s.is("string") {
		if arg == "command" { // an argument vector
			value = encode([]string{"bash", "-c", command})
		} else {
			value = encode([]string{command})
		}
	}
	return t.call(map[string]json.RawMessage{arg: value}), nil
}

// writeCall calls the client's tool that writes a file, or its shell tool.
func (q Request) writeCall(f File) (toolCall, error) {
	t, ok := q.find(writeTools())
	if !ok {
		return q.shellCall("printf %s " + shellQuote(f.Content) + " > " + shellQuote(f.Path))
	}
	path, text := t.arg(pathArgs()), t.arg(contentArgs())
	if path == "" || text == "" {
		return toolCall{}, fmt.Errorf("tool %s takes no path and content: it takes %v", t.name, slices.Sorted(maps.Keys(t.schema.Properties)))
	}
	return t.call(map[string]json.RawMessage{path: encode(f.Path), text: encode(f.Content)}), nil
}

// call calls a tool by its name.
func (q Request) call(c Call) (toolCall, error) {
	t, ok := q.find([]string{c.Name})
	if !ok {
		return toolCall{}, fmt.Errorf("no tool %s is among %v", c.Name, q.Tools)
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal([]byte(c.Input), &args); err != nil {
		return toolCall{}, fmt.Errorf("the input for %s is no object: %w", c.Name, err)
	}
	return t.call(args), nil
}

// arg returns the first of names that the tool takes, or "".
func (t tool) arg(names []string) string {
	for _, name := range names {
		if _, ok := t.schema.Properties[name]; ok {
			return name
		}
	}
	return ""
}

// call calls t with args and whatever else it requires.
func (t tool) call(args map[string]json.RawMessage) toolCall {
	for _, name := range t.schema.Required {
		if _, ok := args[name]; !ok {
			args[name] = t.schema.Properties[name].filler()
		}
	}
	return toolCall{name: t.name, arguments: string(encode(args))}
}

// filler is a value that the schema allows.
func (s schema) filler() json.RawMessage {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.is("boolean"):
		return encode(false)
	case s.is("integer"), s.is("number"):
		return encode(1)
	case s.is("array"):
		return encode([]string{})
	case s.is("object"):
		return encode(struct{}{})
	}
	return encode("scripted")
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
