package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
)

// What comes from tasks and agents passes line or printable before it is shown, and is
// painted afterwards: so the only control sequences on the terminal are those of paint.

// line makes text that nobody vouches for safe to show, on one line.
func line(text string) string { return progress.PrintableLine(text) }

// fit cuts text to so many cells.
func fit(text string, width int) string {
	return ansi.Truncate(text, max(width, 0), "…")
}

// pad fits text into exactly so many cells.
func pad(text string, width int) string {
	text = fit(text, width)
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// wrapped breaks text of several lines, which is made safe, at a width.
func wrapped(text string, width int) []string {
	var all []string
	for l := range strings.SplitSeq(strings.TrimRight(progress.Printable(text), "\n"), "\n") {
		l = strings.ReplaceAll(l, "\t", "    ")
		all = append(all, strings.Split(ansi.Wrap(l, max(width, 1), ""), "\n")...)
	}
	return all
}

// capital begins a word with a capital letter.
func capital(word string) string {
	r, size := utf8.DecodeRuneInString(word)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + word[size:]
}

// took is a duration as people say it: "5m 23s".
func took(d time.Duration) string {
	switch d = max(d, 0).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}

// cost is what was used in money, "" if nothing is known of it.
func cost(u ralph.Usage) string {
	if u.CostUSD == nil {
		return ""
	}
	return u.Cost()
}

// join puts a separator between the texts that are not empty.
func join(sep string, all ...string) string {
	var some []string
	for _, text := range all {
		if text != "" {
			some = append(some, text)
		}
	}
	return strings.Join(some, sep)
}

// count says how many there are.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// of is an iteration and its limit: "3/15", "3" if there is none.
func of(iteration, limit int) string {
	if limit <= 0 {
		return fmt.Sprint(iteration)
	}
	return fmt.Sprintf("%d/%d", iteration, limit)
}

// The colours are of the sixteen that every terminal has. Some of them are faint on a light
// or a dark ground, so but for errors they are those of marks and frames, and words are in
// the colour that the terminal has for them. Nothing is told by a colour alone.
const (
	plain   = ""
	red     = "1"
	green   = "2"
	magenta = "5"
	cyan    = "6"
)

func laneColour(l board.Lane) string {
	return map[board.Lane]string{board.Running: cyan, board.Done: green, board.Failed: red}[l]
}

// marked gives the mark with which a text begins the colour of its lane.
func marked(l board.Lane, text string) string {
	mark, rest, _ := strings.Cut(text, " ")
	return paint(laneColour(l), false, mark) + " " + rest
}

func paint(colour string, bold bool, text string) string {
	s := lipgloss.NewStyle().Bold(bold).Inline(true)
	if colour != plain {
		s = s.Foreground(lipgloss.Color(colour))
	}
	return s.Render(text)
}

// beside puts blocks of lines beside each other, each of its width, with a gap.
func beside(gap string, blocks [][]string, widths []int) []string {
	var all []string
	for y := 0; ; y++ {
		var row strings.Builder
		more := false
		for i, b := range blocks {
			cell := ""
			if y < len(b) {
				cell, more = b[y], true
			}
			if i > 0 {
				row.WriteString(gap)
			}
			row.WriteString(pad(cell, widths[i]))
		}
		if !more {
			return all
		}
		all = append(all, row.String())
	}
}

// box draws lines into a frame of a width; a heavy one is that of what is chosen, which
// must be seen without colours too.
func box(lines []string, width int, heavy bool, colour string) []string {
	b := lipgloss.RoundedBorder()
	if heavy {
		b = lipgloss.ThickBorder()
	}
	edge := func(text string) string { return paint(colour, heavy, text) }
	all := []string{edge(b.TopLeft + strings.Repeat(b.Top, width-2) + b.TopRight)}
	for _, l := range lines {
		if l == rule {
			l = strings.Repeat("─", width-4)
		}
		all = append(all, edge(b.Left)+" "+pad(l, width-4)+" "+edge(b.Right))
	}
	return append(all, edge(b.BottomLeft+strings.Repeat(b.Bottom, width-2)+b.BottomRight))
}

// rule is a line across a box.
const rule = "\x00rule"
