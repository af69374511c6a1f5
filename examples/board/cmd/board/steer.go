package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// What is asked of a loop goes through the folder, as 'ralph cancel' does it: the process
// that runs the loop finds it there, or the next one that does.

// A question stands in the line before the last until it is answered.
type question struct {
	text   string
	prompt string // what a typed line is for; "" = y says yes, and every other key no
	live   bool   // the filter follows what is typed
	does   func(text string) tea.Cmd
}

// answered says what came of a request.
type answered string

// target is the loop that requests are for, and what people call it.
func (m *model) target() (e progress.Entry, name string, ok bool) {
	for _, run := range m.tree.Runs {
		if run.Loop == m.chosen {
			return run.Entry, run.Name(), true
		}
	}
	c, ok := m.card()
	if !ok || len(c.Loops) == 0 {
		return e, line(c.ID), false
	}
	st := c.Loops[len(c.Loops)-1]
	if m.view == detailView || m.view == outputView {
		st = c.Loops[m.at(c)]
	}
	return st.Entry, join(" ", st.Name(), paren(line(st.Stage))), true
}

func paren(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// steer has something done to the target, or says that there is none.
func (m *model) steer(does func(e progress.Entry, name string) tea.Cmd) tea.Cmd {
	e, name, ok := m.target()
	switch {
	case ok:
		return does(e, name)
	case name != "":
		m.said = name + " has not begun: t shows its run, which can be steered"
	default:
		m.said = "nothing is chosen"
	}
	return nil
}

// request asks, elsewhere, and says what came of it.
func request(name, follows string, ask func() (progress.Entry, error)) tea.Cmd {
	return func() tea.Msg {
		was, err := ask()
		switch {
		case errors.Is(err, progress.ErrOver):
			return answered(fmt.Sprintf("%s is over already: %s", name, was.State.Stop))
		case err != nil:
			return answered(name + ": " + line(err.Error()))
		}
		if len(was.Ended) > 0 {
			follows += "; ended what its process had left running: " + line(strings.Join(was.Ended, ", "))
		}
		return answered(name + ": " + follows)
	}
}

func cancel(m *model) tea.Cmd {
	return m.steer(func(e progress.Entry, name string) tea.Cmd {
		m.ask = &question{text: "Cancel " + name + " for good? y/n", does: func(string) tea.Cmd {
			return request(name, "cancelled", func() (progress.Entry, error) { return m.dir.Cancel(e.Loop, "cancelled on the board") })
		}}
		return nil
	})
}

func pause(m *model) tea.Cmd {
	return m.steer(func(e progress.Entry, name string) tea.Cmd {
		if !e.State.Paused {
			return request(name, "paused; what runs comes to its end, p lets it go on", func() (progress.Entry, error) { return m.dir.Pause(e.Loop, true) })
		}
		return request(name, "goes on", func() (progress.Entry, error) {
			_, err := m.dir.Continue(m.ctx, e)
			return e, err
		})
	})
}

func stop(m *model) tea.Cmd {
	return m.steer(func(e progress.Entry, name string) tea.Cmd {
		return request(name, "ends after the iteration that has begun", func() (progress.Entry, error) { return m.dir.Stop(e.Loop) })
	})
}

func guide(m *model) tea.Cmd {
	return m.steer(func(e progress.Entry, name string) tea.Cmd {
		return m.typed("Guide "+name+": ", "", false, func(text string) tea.Cmd {
			if text == "" {
				return nil
			}
			return request(name, "its next prompt will say so", func() (progress.Entry, error) { return m.dir.Guide(e.Loop, text) })
		})
	})
}

func search(m *model) tea.Cmd {
	return m.typed("Filter: ", m.filter, true, func(text string) tea.Cmd {
		m.filter = text
		m.settle()
		return nil
	})
}

func limit(m *model) tea.Cmd {
	return m.steer(func(e progress.Entry, name string) tea.Cmd {
		were := told(e.Kind, e.State.Task.Limits)
		return m.typed("Limit "+name+": ", were, false, func(text string) tea.Cmd {
			changed := slices.DeleteFunc(strings.Fields(text), func(field string) bool { return slices.Contains(strings.Fields(were), field) })
			if len(changed) == 0 {
				return nil
			}
			return m.limit(e, name, strings.Join(changed, " "))
		})
	})
}

// limit changes the limits that were typed, and leaves the others as they are by now:
// somebody else may have changed them since the board has looked.
func (m *model) limit(e progress.Entry, name, text string) tea.Cmd {
	return func() tea.Msg {
		now, err := m.dir.Look(e.Loop)
		if err != nil {
			return answered(name + ": " + line(err.Error()))
		}
		l, err := limits(e.Kind, now.State.Task.Limits, text)
		if err != nil {
			return answered(err.Error())
		}
		return request(name, "limits changed to "+cmp.Or(told(e.Kind, l), "none"), func() (progress.Entry, error) { return m.dir.Limit(e.Loop, l) })()
	}
}

// A bound is one of the limits that can be changed here.
type bound struct {
	name string
	loop bool // a pipeline has none: each of its tasks has its own
	told func(ralph.Limits) string
	set  func(*ralph.Limits, string) error
}

func bounds() []bound {
	return []bound{
		{"max", true, func(l ralph.Limits) string { return number(l.Iterations) }, func(l *ralph.Limits, v string) (err error) {
			if l.Iterations, err = strconv.Atoi(v); err == nil && l.Iterations == 0 { // which would be the usual number
				err = strconv.ErrRange
			}
			return
		}},
		{"cost", false, func(l ralph.Limits) string { return number(l.CostUSD) }, func(l *ralph.Limits, v string) (err error) {
			l.CostUSD, err = strconv.ParseFloat(strings.TrimPrefix(v, "$"), 64)
			return
		}},
		{"tokens", false, func(l ralph.Limits) string { return number(l.Tokens) }, func(l *ralph.Limits, v string) (err error) { l.Tokens, err = strconv.ParseInt(v, 10, 64); return }},
		{"time", false, func(l ralph.Limits) string { return strings.TrimPrefix(l.Duration.String(), "0s") }, func(l *ralph.Limits, v string) (err error) { l.Duration, err = time.ParseDuration(v); return }},
	}
}

// number is that of a limit, "" if there is none.
func number[T int | int64 | float64](n T) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// told are limits as they are typed: "max=15 cost=5".
func told(kind progress.Kind, l ralph.Limits) string {
	var all []string
	for _, b := range bounds() {
		if v := b.told(l); v != "" && !(b.loop && kind == progress.KindPipeline) {
			all = append(all, b.name+"="+v)
		}
	}
	return strings.Join(all, " ")
}

// limits are those that were, with what was typed. A bare number is the iterations.
func limits(kind progress.Kind, was ralph.Limits, text string) (ralph.Limits, error) {
	const how = "limits are typed as max=20 cost=5 tokens=100000 time=2h"
	for field := range strings.FieldsSeq(text) {
		name, value, named := strings.Cut(field, "=")
		if !named {
			name, value = "max", field
		}
		known := false
		for _, b := range bounds() {
			if b.name != name {
				continue
			}
			if known = true; b.loop && kind == progress.KindPipeline {
				return was, errors.New("a pipeline has no number of iterations: each of its tasks has its own")
			}
			if err := b.set(&was, value); err != nil {
				return was, fmt.Errorf("%s: %s is no value of it: %s", name, strconv.Quote(value), how)
			}
		}
		if !known {
			return was, fmt.Errorf("%s is no limit: %s", strconv.Quote(name), how)
		}
	}
	return was, nil
}

// typed has a line typed.
func (m *model) typed(prompt, value string, live bool, does func(string) tea.Cmd) tea.Cmd {
	m.ask = &question{prompt: prompt, live: live, does: does}
	m.input.Prompt = prompt
	m.input.SetValue(value)
	m.input.CursorEnd()
	return m.input.Focus()
}

// answer takes a key while there is a question.
func (m *model) answer(key tea.KeyPressMsg) tea.Cmd {
	q := m.ask
	switch {
	case q.prompt == "":
		if m.ask = nil; key.String() == "y" || key.String() == "Y" {
			return q.does("")
		}
		m.said = "nothing was done"
	case key.String() == "enter":
		m.ask = nil
		return q.does(strings.TrimSpace(m.input.Value()))
	case key.String() == "esc" || key.String() == "ctrl+c":
		if m.ask = nil; q.live {
			m.filter = ""
		}
	default:
		cmd := m.edit(key)
		if q.live {
			m.filter = strings.TrimSpace(m.input.Value())
			m.settle()
		}
		return cmd
	}
	return nil
}
