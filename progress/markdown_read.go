package progress

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// Progress is what progress.txt holds. People and agents write in the file too, so all
// of it may be missing, and nothing of it is evidence.
type Progress struct {
	// Feature and Started are those of the header. Started is in UTC; zero = not told.
	Feature string
	Started time.Time
	// Patterns are the lines of the patterns section, without list marks and blank lines:
	// what the agent wants later iterations to know.
	Patterns []string
	// Sections are in the order of the file, whatever their numbers. Notes is what else
	// stands before the first one.
	Sections []Section
	Notes    string
}

// maxMarkdownLine bounds what is kept of a line, in bytes. The rest of a longer line is
// passed over.
const maxMarkdownLine = 64 << 10

// ReadMarkdown reads a progress.txt. It takes what agents and people have made
// of it: sections in any order, lines between them (which are Notes), other
// line ends, a byte-order mark, sections cut off by a crash. A section begins
// with a line "## Iteration <number> - <time>" and nothing else does. Of a line
// at most 64 KiB are kept. The only errors are those of r; what was read until
// then is returned with them.
//
// It reads r to its end, in memory that grows with the file.
func ReadMarkdown(r io.Reader) (Progress, error) {
	var p markdownParser
	in := bufio.NewReaderSize(r, 32<<10)
	for first := true; ; first = false {
		b, err := readLine(in, maxMarkdownLine)
		if len(b) > 0 || err == nil {
			if first {
				b = bytes.TrimPrefix(b, []byte(byteOrderMark))
			}
			p.read(strings.ToValidUTF8(string(bytes.TrimRight(b, "\r\n")), "\uFFFD"))
		}
		if err != nil {
			p.finish()
			if errors.Is(err, io.EOF) {
				return p.Progress, nil
			}
			return p.Progress, fmt.Errorf("progress: %w", err)
		}
	}
}

// byteOrderMark is what editors on Windows put in front of a text.
const byteOrderMark = "\uFEFF"

// readLine returns the next line with its end, and at most limit bytes of it. The last
// line comes with the error. The line is valid until the next read. Agents paste logs; a
// line of a gigabyte costs as much memory as one of the limit.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	b, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		b = bytes.Clone(b)
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = in.ReadSlice('\n')
			b = append(b, more[:min(len(more), limit-len(b))]...)
		}
	}
	return b, err
}

// markdownParser reads progress.txt line by line. It never fails: what it does not know
// is a note.
type markdownParser struct {
	Progress
	list     *[]string // the list that is open; nil = none
	patterns bool      // it is the patterns section, which holds more than list items
	ended    bool      // the section, or the header, is ended by its rule
	notes    []string  // of the section, or of the header
}

// read takes a line. A heading goes before everything else, so that a section which was
// cut off does not swallow the next one.
func (p *markdownParser) read(text string) {
	if n, when, ok := heading(text); ok {
		p.finish()
		p.Sections = append(p.Sections, Section{Number: n, Time: parseTime(when)})
		return
	}
	text = strings.TrimRight(text, " \t\r")
	switch {
	case text == sectionEnd:
		p.list, p.ended = nil, true
	case patternsHeading(text):
		p.list, p.patterns = &p.Patterns, true
	case p.entry(text):
	case !p.ended && len(p.Sections) == 0 && p.headerLine(text):
	case !p.ended && len(p.Sections) > 0 && p.field(text):
	default:
		p.notes = append(p.notes, text)
	}
}

// finish ends a section, or the header. Notes belong to what stands above them.
func (p *markdownParser) finish() {
	notes := strings.Trim(strings.Join(p.notes, "\n"), "\n")
	if n := len(p.Sections); n > 0 {
		p.Sections[n-1].Notes = notes
	} else {
		p.Notes = notes
	}
	p.list, p.ended, p.notes = nil, false, nil
}

// patternsHeading reports whether a line is the heading of the patterns, on whatever
// level agents put it.
func patternsHeading(text string) bool {
	name, ok := strings.CutPrefix(text, "#")
	return ok && strings.EqualFold(strings.Trim(name, "# \t"), patternsTitle)
}

// entry gives a line to the list that is open, if it belongs there. The patterns
// section takes everything below its heading; the others take list items and their
// indented lines. Agents write patterns as paragraphs and with headings of their own,
// which must not be lost.
func (p *markdownParser) entry(text string) bool {
	if p.list == nil {
		return false
	}
	bare := strings.TrimSpace(text)
	item, isItem := listItem(bare)
	indented := strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t")
	switch n := len(*p.list); {
	// A mark without a text is an entry that somebody has emptied.
	case strings.Trim(bare, "-*+") == "":
	case isItem:
		*p.list = append(*p.list, item)
	case p.patterns && !strings.HasPrefix(text, "# ") && !strings.HasPrefix(text, "## "):
		if bare != patternsToCome {
			*p.list = append(*p.list, bare)
		}
	// An entry that goes on below itself, as agents wrap them.
	case !p.patterns && indented && n > 0:
		if last := &(*p.list)[n-1]; len(*last) < maxMarkdownLine {
			*last += " " + bare
		}
	default:
		p.list = nil
		return false
	}
	return true
}

// headerLine reads a line of the header. Each counts once, for lines below may look the
// same by chance.
func (p *markdownParser) headerLine(text string) bool {
	name, value, _ := strings.Cut(strings.TrimSpace(text), ":")
	value = strings.TrimSpace(value)
	switch {
	case text == markdownTitle:
	case name == "Feature" && p.Feature == "":
		p.Feature = value
	case name == "Started" && p.Started.IsZero():
		p.Started = parseTime(value)
	default:
		return false
	}
	return true
}

// field reads a line of a section. The first task and the first status count. Agents
// who copy a section as a form leave the old lines below.
func (p *markdownParser) field(text string) bool {
	s := &p.Sections[len(p.Sections)-1]
	name, rest, ok := label(text)
	switch {
	case !ok:
		return false
	// The ID is one word, and the rest of the line is the title.
	case strings.EqualFold(name, "Task") && s.Task == "" && s.Title == "":
		s.Task, s.Title, _ = strings.Cut(rest, " ")
		s.Title = strings.TrimSpace(s.Title)
	case strings.EqualFold(name, "Status") && s.Status == "":
		s.Status = parseStatus(rest)
	case strings.EqualFold(name, "Files Changed") || strings.EqualFold(name, "Files"):
		p.open(&s.Files, rest)
	case strings.EqualFold(name, "Learnings"):
		p.open(&s.Learnings, rest)
	default:
		return false
	}
	return true
}

// open begins a list, whose first entry may stand beside its label. "none" beside the
// label is no entry.
func (p *markdownParser) open(list *[]string, rest string) {
	p.list, p.patterns = list, false
	if rest = strings.TrimSpace(rest); !nothing(rest) {
		*list = append(*list, rest)
	}
}

// nothing reports whether an entry says that there is none. A text of its own for it
// would otherwise be told as something that was learned.
func nothing(text string) bool {
	switch strings.ToLower(strings.TrimRight(text, ".")) {
	case "", "-", "none", "n/a":
		return true
	}
	return false
}

// parseStatus reads a mark, or a word alone. A line with several marks is a form that
// nobody has filled in. A word in a sentence is none: "not completed" would be a
// success.
func parseStatus(text string) ralph.Outcome {
	var byMark, byWord ralph.Outcome
	marks := 0
	for _, s := range shownOutcomes() {
		if strings.Contains(text, strings.TrimSuffix(s.mark, "\uFE0F")) {
			byMark = s.outcome
			marks++
		}
		if strings.EqualFold(strings.TrimSpace(text), s.word) {
			byWord = s.outcome
		}
	}
	// "✅ / ❌" is the form itself, as a prompt shows it.
	if marks > 1 {
		return ""
	}
	return cmp.Or(byMark, byWord)
}

// parseTime reads RFC 3339, and what people write instead, which is taken as UTC. What
// cannot be read is no time, and no error: the section counts without it.
func parseTime(text string) time.Time {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
