package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
)

// A view is what fills the screen.
type view int

const (
	lanesView view = iota
	treeView
	detailView
	outputView // the tail of the output alone
	helpView
)

// A model is what is shown, and what keys do to it. Only the commands that it returns
// touch a disk.
type model struct {
	ctx context.Context
	dir *progress.Dir
	src *source

	tree   board.Tree
	detail detail
	now    time.Time
	loaded bool
	failed string // why the folder cannot be read

	view, before view
	width        int
	height       int
	pressed      bool   // a key was
	chosen       string // the key of a card, or the name of a run
	loop         string // of a card's loops the one that the details are of
	scroll       int
	filter       string
	ask          *question
	input        textinput.Model
	said         string // about what was asked for last

	looking, again bool // a look is under way; another one is wanted
	turn           int  // of the clock: an older tick is none
}

// newModel shows a folder. The size is known when the terminal has told it.
func newModel(ctx context.Context, dir *progress.Dir) *model {
	input := textinput.New()
	input.SetStyles(textinput.Styles{}) // its own are for dark grounds
	input.CharLimit = 2000
	return &model{ctx: ctx, dir: dir, src: &source{reader: board.Reader{Dir: dir}}, now: time.Now(), width: 80, height: 24, input: input, looking: true}
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return m.src.look(m.ctx, wanted{}) }

// View implements [tea.Model].
func (m *model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen, v.WindowTitle = true, "board"
	return v
}

type tick int

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case looked:
		return m, m.take(msg)
	case tick:
		if int(msg) == m.turn {
			return m, m.look()
		}
	case answered:
		m.said = string(msg)
		return m, m.look()
	case tea.KeyPressMsg:
		if m.ask != nil {
			return m, m.answer(msg)
		}
		return m, m.press(msg.String())
	case tea.PasteMsg:
		return m, m.edit(msg)
	}
	return m, nil
}

// edit hands something to the line that is being typed, if there is one.
func (m *model) edit(msg tea.Msg) (cmd tea.Cmd) {
	if m.ask != nil && m.ask.prompt != "" {
		m.input, cmd = m.input.Update(msg)
	}
	return cmd
}

// look has the folder looked at now, or once more if that is under way.
func (m *model) look() tea.Cmd {
	if m.looking {
		m.again = true
		return nil
	}
	m.looking = true
	return m.src.look(m.ctx, m.wanted())
}

// wanted is what has to be read besides the tree.
func (m *model) wanted() (w wanted) {
	if c, ok := m.card(); ok && len(c.Loops) > 0 && (m.view == detailView || m.view == outputView) {
		w.loop = c.Loops[m.at(c)].Loop
	}
	return w
}

// at is which of a card's loops the details are of: the last one, until one is held.
func (m *model) at(c board.Card) int {
	if n := slices.IndexFunc(c.Loops, func(st progress.Standing) bool { return st.Loop == m.loop }); n >= 0 {
		return n
	}
	return len(c.Loops) - 1
}

// lookEvery is how often the folder is looked at. A look that takes long is followed by a
// pause ten times as long, so that the board never takes much of a machine that works.
const lookEvery = 500 * time.Millisecond

// take shows what a look has found, and has the clock ring for the next one.
func (m *model) take(l looked) tea.Cmd {
	m.looking, m.loaded, m.now, m.failed = false, true, l.now, ""
	if l.err != nil {
		m.failed = line(l.err.Error())
	} else {
		m.tree, m.detail = l.tree, l.detail
	}
	m.settle()
	if m.again = m.again || l.err == nil && m.wanted().loop != m.detail.loop; m.again { // its first loop has begun
		m.again = false
		return m.look()
	}
	m.turn++
	turn := m.turn
	return tea.Tick(max(lookEvery, 10*l.took), func(time.Time) tea.Msg { return tick(turn) })
}

// settle has something chosen that is shown: what a key does must be done to what people
// see as chosen, and a task may go, or be filtered out.
func (m *model) settle() {
	if !m.pressed && m.view == lanesView {
		m.chosen = "" // nobody has chosen anything: what is at work is looked at
	}
	switch m.view {
	case lanesView:
		m.moveLanes(0, 0)
	case treeView:
		m.choose(0)
	case detailView, outputView: // no other loop comes in its place without a key, for keys steer it
		if c, ok := m.card(); ok && len(c.Loops) > 0 {
			m.loop = c.Loops[m.at(c)].Loop
		}
	}
}

// shown are the runs with the cards that pass the filter.
func (m *model) shown() []board.Run {
	if m.filter == "" {
		return m.tree.Runs
	}
	var runs []board.Run
	want := strings.ToLower(m.filter)
	for _, run := range m.tree.Runs {
		all := strings.Contains(strings.ToLower(run.Loop), want)
		own := run
		own.Cards = slices.DeleteFunc(slices.Clone(run.Cards), func(c board.Card) bool {
			return !all && !strings.Contains(strings.ToLower(c.ID+"\x00"+c.Title+"\x00"+c.Agent), want)
		})
		if len(own.Cards) > 0 || all {
			runs = append(runs, own)
		}
	}
	return runs
}

// lanes are the cards by their lanes. What is over stands with the newest run first.
func (m *model) lanes() map[board.Lane][]board.Card {
	all := map[board.Lane][]board.Card{}
	runs := m.shown()
	for i := range runs {
		for _, c := range runs[i].Cards {
			if c.Lane == board.Todo || c.Lane == board.Running {
				all[c.Lane] = append(all[c.Lane], c)
			}
		}
		for _, c := range runs[len(runs)-1-i].Cards {
			if c.Lane != board.Todo && c.Lane != board.Running {
				all[c.Lane] = append(all[c.Lane], c)
			}
		}
	}
	return all
}

// card is the chosen one.
func (m *model) card() (board.Card, bool) {
	for _, run := range m.tree.Runs {
		for _, c := range run.Cards {
			if c.Key() == m.chosen {
				return c, true
			}
		}
	}
	return board.Card{}, false
}

// press does what a key says.
func (m *model) press(key string) tea.Cmd {
	m.said, m.pressed = "", true
	if does, ok := keys()[key]; ok {
		return does(m)
	}
	return nil
}

// keys are what a key does, where no line is being typed.
func keys() map[string]func(*model) tea.Cmd {
	show := func(v view) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd { return m.show(v) }
	}
	move := func(x, y int) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd { return m.move(x, y) }
	}
	quit := func(*model) tea.Cmd { return tea.Quit }
	const far = 1 << 20
	return map[string]func(*model) tea.Cmd{
		"q": quit, "ctrl+c": quit, "ctrl+z": func(*model) tea.Cmd { return tea.Suspend },
		"left": move(-1, 0), "right": move(1, 0), "up": move(0, -1), "down": move(0, 1),
		"shift+tab": move(-1, 0), "tab": move(1, 0), "k": move(0, -1), "j": move(0, 1), "h": move(-1, 0),
		"pgup": move(0, -10), "pgdown": move(0, 10), "home": move(0, -far), "end": move(0, far),
		"t": show(treeView), "enter": show(detailView), "o": show(outputView), "?": show(helpView),
		"esc": func(m *model) tea.Cmd { return m.back() },
		"c":   cancel, "p": pause, "s": stop, "g": guide, "l": limit, "/": search,
	}
}

// show fills the screen with a view; the key of a view that is shown already leads back.
func (m *model) show(v view) tea.Cmd {
	_, card := m.card()
	switch {
	case v == m.view:
		return m.back()
	case (v == detailView || v == outputView) && m.chosen == "":
		m.said = "nothing is chosen"
		return nil
	case (v == detailView || v == outputView) && !card:
		m.said = "a run has no details of its own: choose one of its tasks"
		return nil
	case v == treeView && m.view != lanesView && m.view != treeView:
		m.before = lanesView
	case m.view == lanesView || m.view == treeView:
		m.before, m.loop = m.view, ""
	}
	m.view, m.scroll = v, 0
	m.settle()
	return m.look()
}

// back leads to where the details were asked for, and from there to the lanes.
func (m *model) back() tea.Cmd {
	switch {
	case m.view != lanesView && m.view != treeView:
		m.view = m.before
	case m.view == treeView:
		m.view = lanesView
	default:
		m.filter = ""
	}
	m.settle()
	return nil
}

// move moves the choice, or scrolls what is longer than the screen.
func (m *model) move(x, y int) tea.Cmd {
	switch m.view {
	case lanesView:
		m.moveLanes(x, y)
	case treeView:
		m.choose(y + x)
	case detailView:
		if c, ok := m.card(); ok && x != 0 {
			if n := m.at(c) + x; n >= 0 && n < len(c.Loops) {
				m.loop, m.scroll = c.Loops[n].Loop, 0
			}
			return m.look()
		}
		m.scroll = max(m.scroll+y, 0)
	case outputView: // is counted from its end, where what is new comes
		m.scroll = max(m.scroll-y, 0)
	default:
		m.scroll = max(m.scroll+y, 0)
	}
	return nil
}
