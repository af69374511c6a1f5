package main

import (
	"testing"

	"github.com/ralph-loop/ralph/tasks"
)

// TestSideBySide: which files have tasks that more than one slot is of use for.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	marked := func(phase string, done bool) tasks.Item {
		return tasks.Item{Parallel: true, Phase: phase, Done: done}
	}
	for _, test := range []struct {
		name  string
		kind  tasks.Kind
		items []tasks.Item
		want  bool
	}{
		{"no marks", tasks.KindList, make([]tasks.Item, 3), false},
		{"marked", tasks.KindList, []tasks.Item{{}, marked("a", false), marked("a", false)}, true},
		{"one is marked", tasks.KindList, []tasks.Item{{}, marked("a", false)}, false},
		{"below other headings", tasks.KindList, []tasks.Item{marked("a", false), marked("b", false)}, false},
		{"one is left", tasks.KindList, []tasks.Item{marked("a", true), marked("a", false)}, false},
		{"stories", tasks.KindPRD, make([]tasks.Item, 3), false},
		{"Taskmaster", tasks.KindTaskmaster, make([]tasks.Item, 3), true},
		{"Backlog.md", tasks.KindBacklog, make([]tasks.Item, 3), true},
		{"definitions", tasks.KindDefinitions, nil, true},
	} {
		if got := sideBySide(test.kind, test.items); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
