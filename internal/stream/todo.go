package stream

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// A todo is an item of an agent's own list.
type todo struct {
	mark, text string
	id         string // "" = the list is told whole
}

// maxKept bounds a list that is told in changes.
const maxKept = 200

// todoMark is the box of a status; clients have many words for few.
func todoMark(status string) string {
	status = strings.TrimPrefix(strings.ToLower(status), "todo_status_")
	switch strings.ReplaceAll(status, "-", "_") {
	case "completed", "complete", "done", "true", "x":
		return "[x]"
	case "in_progress", "doing", "active", "started", "~", "/":
		return "[~]"
	case "cancelled", "canceled", "blocked", "skipped", "deleted":
		return "[-]"
	}
	return "[ ]"
}

// todosOf reads a list: of objects, or a text with a box in each line.
func todosOf(input *jsonlines.Value) []todo {
	var list []todo
	for _, name := range []string{"todos", "plan", "items", "task_progress"} {
		v := input.Get(name)
		for _, item := range v.Items() {
			if text := item.FirstOf("content", "text", "description", "title", "step"); text != "" {
				list = append(list, todo{mark: todoMark(item.Get("status").Scalar() + item.Get("completed").Scalar()), text: text})
			}
		}
		if list = append(list, boxes(v.Scalar())...); list != nil {
			break
		}
	}
	return list
}

// boxes reads a list in Markdown.
func boxes(text string) []todo {
	var list []todo
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, " \t-*")
		if len(line) > 3 && line[0] == '[' && line[2] == ']' {
			list = append(list, todo{mark: todoMark(line[1:2]), text: line[3:]})
		}
	}
	return list
}

// todos shows an agent's list.
func (d *Decoder) todos(c call, input *jsonlines.Value) {
	list := todosOf(input)
	if len(list) == 0 {
		d.shows(c, short(input))
		return
	}
	d.list(c, list)
}

func (d *Decoder) list(c call, list []todo) {
	done := 0
	for _, t := range list {
		if t.mark == "[x]" {
			done++
		}
	}
	d.shows(c, strconv.Itoa(done)+" of "+strconv.Itoa(len(list))+" done")
	for n, t := range list {
		if n == maxTodos {
			d.put(c.sub, "  … ", strconv.Itoa(len(list)-n), " more")
			break
		}
		d.put(c.sub, "  ", t.mark, " ", cut(tidy(t.text), maxGist))
	}
}

// task takes over a change of a list that Claude Code keeps: an item is added, or gets
// another state. It numbers them from 1, in the order they are added; of a conversation
// that goes on, the earlier ones are not known.
func (d *Decoder) task(c call, input *jsonlines.Value) {
	if id := input.Get("taskId").Scalar(); id != "" {
		n := slices.IndexFunc(d.kept, func(t todo) bool { return t.id == id })
		if n < 0 {
			d.shows(c, short(input))
			return
		}
		d.kept[n].changed(input.Str("status"), input.Str("subject"))
		d.list(c, d.kept)
		return
	}
	text := input.FirstOf("subject", "description")
	d.keep(todo{todoMark(""), text, strconv.Itoa(len(d.kept) + 1)})
	d.shows(c, text)
}

// keep adds an item to the list that is told in changes.
func (d *Decoder) keep(t todo) {
	if len(d.kept) < maxKept {
		t.text, t.id = strings.Clone(t.text), strings.Clone(t.id)
		d.kept = append(d.kept, t)
	}
}

// changed is an item in another state, or with another text; "" = as it was.
func (t *todo) changed(status, text string) {
	if status != "" {
		t.mark = todoMark(status)
	}
	if text != "" {
		t.text = strings.Clone(text)
	}
}
