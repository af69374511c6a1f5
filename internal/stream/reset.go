package stream

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is believed of a provider's words.
const (
	maxWait    = 7 * 24 * time.Hour
	maxWeekly  = 8 * 24 * time.Hour
	justPassed = 5 * time.Minute
)

// ResetTime reads from an error message when a limit is over: "try again in 3 hours
// 5 minutes", "resets 7pm (America/New_York)", "try again at Nov 25th, 2026 3:05 PM",
// "retry after Sun, 22 Nov 2026 23:15:00 GMT", "resets_at":1795363562 and the like.
// The time is in the zone that is named, else a clock time is in local, as clients
// write it, and all else in UTC. It is at most 7 days ahead, 8 if the message is about
// a week. The zero time: nothing is said, or nothing that makes sense, as a time that
// has passed or a zone that this machine does not know.
//
// A clock time alone is the next such time; but if it has only just passed, nothing is
// said: the reset is at hand, not a day away.
func ResetTime(message string, now time.Time, local *time.Location) time.Time {
	text := evened(message[:min(len(message), 16<<10)])
	m := lower(text)
	longest := maxWait
	if strings.Contains(m, "week") {
		longest = maxWeekly
	}
	for from := 0; ; {
		at, lead := nextLead(m[from:])
		if at < 0 {
			break
		}
		from += at + len(lead)
		to := min(len(m), from+160)
		p := timeReader{rest: m[from:to], text: text[from:to], now: now, local: local, bare: time.Second}
		if t := p.read(); t.After(now) {
			return earlier(t, now.Add(longest))
		}
	}
	// "usage limit reached|1767225600"
	if t := unixTime(strings.TrimSpace(m[strings.LastIndexByte(m, '|')+1:])); t.After(now) {
		return earlier(t, now.Add(longest))
	}
	return time.Time{}
}

func earlier(t, bound time.Time) time.Time {
	if t.After(bound) {
		return bound.In(t.Location())
	}
	return t
}

// nextLead finds the first of the words that a time follows.
func nextLead(m string) (at int, lead string) {
	at = -1
	for _, l := range []string{"try again", "retry", "reset", "available again", "please wait", "must wait", "to wait", "until "} {
		if n := strings.Index(m, l); n >= 0 && (at < 0 || n < at) {
			at, lead = n, l
		}
	}
	return at, lead
}

// A timeReader reads the time that follows a lead.
type timeReader struct {
	rest  string // in lower case
	text  string // all, as it came
	now   time.Time
	local *time.Location
	after bool          // a number alone is a wait
	bare  time.Duration // the unit of such a one

	year, day    int
	month        time.Month
	weekday      int // from 1, Sunday; 0 = not told
	hour, minute int
	clock        bool
	zone         *time.Location
}

func (p *timeReader) read() time.Time {
	p.skip()
	if d, ok := p.duration(); ok {
		return p.now.Add(d).UTC()
	}
	if t := p.instant(); !t.IsZero() {
		return t
	}
	for p.part() {
	}
	return p.resolve()
}

// skip goes over what may stand between a lead and its time: the rest of a word or of
// a key, punctuation, and small words.
func (p *timeReader) skip() {
	n := strings.IndexFunc(p.rest, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '_' || r == '-') })
	if n > 0 {
		p.filler(p.rest[:n])
	}
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\n:,=\"'\\·∙*–|")
		switch word := p.word(); word {
		case "in", "at", "on", "after", "again", "time", "is", "by", "the", "your", "quota", "limit", "will", "for", "about", "approximately", "to", "please", "be", "and", "it":
			p.filler(word)
		default:
			return
		}
	}
}

func (p *timeReader) filler(word string) {
	p.rest = p.rest[len(word):]
	p.after = p.after || word == "in" || strings.Contains(word, "_in") || strings.Contains(word, "after") || strings.Contains(word, "delay")
	if strings.HasSuffix(word, "_ms") || strings.HasSuffix(word, "-ms") {
		p.bare = time.Millisecond
	}
}

// word is what letters the rest begins with.
func (p *timeReader) word() string {
	n := 0
	for n < len(p.rest) && (p.rest[n] >= 'a' && p.rest[n] <= 'z') {
		n++
	}
	return p.rest[:n]
}

// number takes the number that the rest begins with; "" = none.
func (p *timeReader) number() string {
	n := 0
	for n < len(p.rest) && (isDigit(p.rest[n]) || n > 0 && p.rest[n] == '.' && n+1 < len(p.rest) && isDigit(p.rest[n+1])) {
		n++
	}
	number := p.rest[:n]
	p.rest = p.rest[n:]
	return number
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// duration takes "3h20m5s", "3 hours and 5 minutes", and after "retry-after" and the
// like a number alone.
func (p *timeReader) duration() (total time.Duration, ok bool) {
	for {
		back := p.rest
		p.rest = strings.TrimPrefix(strings.TrimLeft(p.rest, " ,"), "and ")
		text := p.number()
		amount, err := strconv.ParseFloat(text, 64)
		if err == nil && !ok && p.alone(text) {
			return bounded(amount, p.bare), true
		}
		p.rest = strings.TrimLeft(p.rest, " ")
		name := p.word()
		unit := unitOf(name)
		if err != nil || unit == 0 {
			p.rest = back
			return total, ok
		}
		p.rest = p.rest[len(name):]
		total, ok = min(total+bounded(amount, unit), 2*maxWeekly), true
	}
}

// alone reports whether a number that was taken stands alone, and is no Unix time.
func (p *timeReader) alone(number string) bool {
	rest := strings.TrimLeft(p.rest, " ")
	return p.after && len(number) < 9 && (rest == "" || strings.IndexByte(`.,;)}]"'\`, rest[0]) >= 0)
}

// bounded is an amount of a unit, as far as a duration can hold it.
func bounded(amount float64, unit time.Duration) time.Duration {
	return time.Duration(min(amount*float64(unit), float64(2*maxWeekly)))
}

// instant takes a time that is written in full.
func (p *timeReader) instant() time.Time {
	if t := unixTime(p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]); !t.IsZero() {
		return t
	}
	upper := strings.ToUpper(p.rest)
	for _, layout := range []string{time.RFC1123, "2006-01-02 15:04:05 MST"} {
		text := upper[:min(len(upper), len(layout))]
		if t, err := time.Parse(layout, text); err == nil && (strings.HasSuffix(text, "UTC") || strings.HasSuffix(text, "GMT")) {
			return time.Unix(t.Unix(), 0).UTC()
		}
	}
	word, _, _ := strings.Cut(upper, " ")
	t, err := time.Parse(time.RFC3339, strings.TrimRight(word, `.,;)}"'\`))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// part takes one part of a date or a clock time; false = the rest is something else.
func (p *timeReader) part() bool {
	p.rest = strings.TrimLeft(p.rest, " ,")
	if strings.HasPrefix(p.rest, "(") {
		p.rest = p.rest[1:]
		p.named()
		return false
	}
	word := p.word()
	if word == "" {
		return p.numeral()
	}
	switch {
	case word == "at" || word == "on" || word == "of":
	case monthOf(word) > 0:
		p.month = monthOf(word)
	case weekdayOf(word) > 0:
		p.weekday = weekdayOf(word)
	default:
		if p.clock {
			p.named()
		}
		return false
	}
	p.rest = strings.TrimPrefix(p.rest[len(word):], ".") // that of an abbreviation
	return true
}

// numeral takes a clock time, a day or a year.
func (p *timeReader) numeral() bool {
	text := p.number()
	n, err := strconv.Atoi(text)
	if err != nil {
		return false
	}
	if strings.HasPrefix(p.rest, ":") || p.half() != "" {
		return !p.clock && p.clockTime(n)
	}
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		p.rest = strings.TrimPrefix(p.rest, suffix)
	}
	switch {
	case n >= 1 && n <= 31 && p.day == 0:
		p.day = n
	case len(text) == 4 && p.year == 0:
		p.year = n
	default:
		return false
	}
	return true
}

// half is which half of the day the rest begins with.
func (p *timeReader) half() string {
	rest := strings.TrimLeft(p.rest, " ")
	for _, name := range []string{"am", "pm", "a.m.", "p.m."} {
		if after, ok := strings.CutPrefix(rest, name); ok && (after == "" || after[0] < 'a' || after[0] > 'z') {
			return name
		}
	}
	return ""
}

func (p *timeReader) clockTime(hour int) bool {
	ok := true
	for n := 0; n < 2 && strings.HasPrefix(p.rest, ":"); n++ {
		p.rest = p.rest[1:]
		text := p.number()
		value, err := strconv.Atoi(text)
		ok = ok && err == nil && len(text) == 2 && value < 60
		if n == 0 {
			p.minute = value
		}
	}
	if half := p.half(); half != "" {
		p.rest = strings.TrimLeft(p.rest, " ")[len(half):]
		ok = ok && hour >= 1 && hour <= 12
		hour %= 12
		if half[0] == 'p' {
			hour += 12
		}
	}
	p.hour, p.clock = hour, ok && hour < 24
	return p.clock
}

// named takes the zone that the rest begins with. One in brackets, or with a slash,
// that is not known makes the time unknown.
func (p *timeReader) named() {
	text := p.text[len(p.text)-len(p.rest):]
	n := strings.IndexFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/_+-", r))
	})
	if n < 0 {
		n = len(text)
	}
	name := text[:n]
	zone, ok := zoneOf(name)
	switch {
	case ok:
		p.zone = zone
	case strings.Contains(name, "/") || strings.HasPrefix(text[n:], ")"):
		p.clock, p.month, p.weekday = false, 0, 0
	}
}

// resolve is the time that the parts make.
func (p *timeReader) resolve() time.Time {
	dated := p.month > 0 && p.day > 0
	if !p.clock && !dated && p.weekday == 0 {
		return time.Time{}
	}
	zone := cmp.Or(p.zone, p.local)
	now := p.now.In(zone)
	on := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, p.hour, p.minute, 0, 0, zone)
	}
	switch {
	case dated && p.year > 0:
		return p.of(on(p.year, p.month, p.day))
	case dated: // the nearest
		t := on(now.Year(), p.month, p.day)
		for _, year := range []int{now.Year() - 1, now.Year() + 1} {
			if other := on(year, p.month, p.day); other.Sub(now).Abs() < t.Sub(now).Abs() {
				t = other
			}
		}
		return p.of(t)
	case p.weekday > 0:
		ahead := (p.weekday - 1 - int(now.Weekday()) + 7) % 7
		if t := on(now.Year(), now.Month(), now.Day()+ahead); t.After(now) {
			return t
		}
		return on(now.Year(), now.Month(), now.Day()+ahead+7)
	}
	today := on(now.Year(), now.Month(), now.Day())
	switch {
	case today.After(now):
		return today
	case now.Sub(today) < justPassed:
		return time.Time{}
	}
	return on(now.Year(), now.Month(), now.Day()+1)
}

// of refuses a day that the month does not have.
func (p *timeReader) of(t time.Time) time.Time {
	if t.Month() != p.month {
		return time.Time{}
	}
	return t
}
