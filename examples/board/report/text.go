package report

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
)

// A text is one that nobody vouches for and that may be shown. The page has no other
// strings of tasks and agents, so that none is forgotten.
type text string

// said makes text of what a task or an agent says. What turns the direction of text around
// is shown by its name, so that nobody is fooled by it; what controls a terminal is left
// out.
func said(s string) text {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&b, "⟨%U⟩", r)
		} else {
			b.WriteString(s[:n]) // bytes that are no UTF-8 as they are: Printable knows them
		}
		s = s[n:]
	}
	return text(strings.TrimSpace(progress.Printable(b.String())))
}

// line is said on one line.
func line(s string) text { return text(strings.Join(strings.Fields(string(said(s))), " ")) }

// lines are several of them.
func lines(all []string) (texts []text) {
	for _, s := range all {
		texts = append(texts, said(s))
	}
	return texts
}

// join puts sep between the texts that are not empty.
func join(sep text, all ...text) (joined text) {
	for _, t := range all {
		if joined != "" && t != "" {
			joined += sep
		}
		joined += t
	}
	return joined
}

// A purse is how many bytes of the page some texts may take. A loop of hundreds of
// iterations can have megabytes of words on record, which no browser shows well.
type purse struct{ left int }

// take returns as much of a text as there is room for, and says what is left out.
func (p *purse) take(t text) text {
	for i, r := range t {
		n := utf8.RuneLen(r)
		if r < utf8.RuneSelf {
			n = len(template.HTMLEscapeString(string(r)))
		}
		if p.left -= n; p.left < 0 {
			p.left = 0
			if i == 0 {
				return text(fmt.Sprintf("(%s are on record)", size(len(t))))
			}
			return t[:i] + text(fmt.Sprintf(" … (%s more are on record)", size(len(t)-i)))
		}
	}
	return t
}

func size(n int) string { return count(n, "byte") }

// count is a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(int64(n)) + " " + what + "s"
}

// number has a thin blank between each three digits, as tables have it in all languages.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "\u202f" + digits[at:]
	}
	return digits
}

// amount is a number of tokens; none is what nobody told.
func amount(n int64) string {
	if n <= 0 {
		return "–"
	}
	return number(n)
}

// took is a duration as people read it.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// A moment is a time on the page; the zero value is none.
type moment struct {
	Show    string // for people
	Machine string // in RFC 3339
	Sort    int64  // in milliseconds
}

// at is a moment. A page of one day names the day once, at its top.
func (p *page) at(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	t = t.In(p.zone)
	form := "15:04:05"
	if p.days {
		form = "Jan 2, 15:04:05"
	}
	return moment{t.Format(form), t.Format(time.RFC3339), t.UnixMilli()}
}

// A cost is one on the page.
type cost struct {
	Show string
	Sort float64 // an unknown one is less than nothing
}

// costOf is what a number of attempts have cost. That of some of them may be unknown: then
// they have cost at least what is known.
func costOf(used ralph.Usage, attempts, unpriced int) cost {
	used = ralph.Usage{}.Add(used) // a cost that is no amount is unknown
	switch {
	case used.CostUSD == nil && attempts == 0:
		return cost{Show: "–", Sort: -2}
	case used.CostUSD == nil:
		return cost{Show: "unknown", Sort: -1}
	case unpriced > 0:
		return cost{Show: "at least " + used.Cost(), Sort: *used.CostUSD}
	}
	return cost{Show: used.Cost(), Sort: *used.CostUSD}
}

// unpriced is 1 if a part of what an attempt has cost is not known, else 0. A check that
// has used nothing has cost nothing, but an agent that tells nothing has cost something.
func unpriced(a board.Attempt) int {
	agent, check := ralph.Usage{}.Add(a.Usage), ralph.Usage{}.Add(a.Verdict.Usage)
	if agent.CostUSD == nil || check.CostUSD == nil && check != (ralph.Usage{}) {
		return 1
	}
	return 0
}
