package stream

import (
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// A todo is an item of an agent's own list.
type todo struct{ mark, text string }

// todoMark is the box of a status; clients have many words for few.
func todoMark(status string) string {
	status = strings.TrimPrefix(strings.ToLower(status), "todo_status_")
	switch strings.ReplaceAll(status, "-", "_") {
	case "completed", "complete", "done", "true", "x":
		return "[x]"
	case "in_progress", "doing", "active", "started", "~", "/":
		return "[~]"
	case "cancelled", "canceled", "blocked", "skipped":
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
				list = append(list, todo{todoMark(item.Get("status").Scalar() + item.Get("completed").Scalar()), text})
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
			list = append(list, todo{todoMark(line[1:2]), line[3:]})
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
