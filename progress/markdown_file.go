package progress

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
)

// write appends a section, and the header before it if the file is new. A nil
// section makes sure that there is a file with a header. The file is opened
// each time, for editors replace files instead of writing into them, and what
// is appended to a replaced file is lost.
func (m *Markdown) write(now time.Time, s *Section) error {
	return own(m.append(now, s))
}

// append is write, with the error as it came. A new file gets the mode of the umask: it
// is part of the project, and people who share that read it.
func (m *Markdown) append(now time.Time, s *Section) (err error) {
	f, err := file.Append("", m.Path, file.Shared)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var text string
	var e ending
	if size := info.Size(); size == 0 {
		// A file that is made late, by its first section, has begun when that did.
		if s != nil && !s.Time.IsZero() && s.Time.Before(now) {
			now = s.Time
		}
		text, e = header(m.feature(), now), ending{newline: true, closed: true}
	} else if s == nil {
		return nil
	} else if e, err = readEnd(f, size); err != nil {
		return fmt.Errorf("%s: %w", m.Path, err)
	}
	if s != nil {
		text += e.next(*s)
	}
	// One write: what another process appends at the same moment comes before or after
	// it, and never in the middle.
	_, err = io.WriteString(f, text)
	return err
}

// feature is the feature in the header. The folder's name is usually the project's.
func (m *Markdown) feature() string {
	path, err := filepath.Abs(m.Path)
	if err != nil {
		path = m.Path
	}
	return cmp.Or(m.Feature, filepath.Base(filepath.Dir(path)))
}

// An ending is what must be known of a file to append a section. It is read from the
// file each time, and not remembered: between two sections the agent may have rewritten
// all of it.
// The zero value is a file without any section whose last line has no end: the most
// careful guess, with which nothing that is there can be damaged.
type ending struct {
	last    int  // number of the last section; 0 = there is none
	closed  bool // the section, or the header, is ended by its rule
	newline bool // the last line is ended
	blank   bool // and is blank
	crlf    bool // as editors on Windows do it
}

// next is a section as it must be appended: after what a crash has left undone. The
// rules of the form are restored rather than demanded: the agent may have taken away
// the last line, or a crash half of a section.
func (e ending) next(s Section) string {
	s.Number = min(e.last+1, maxNumber)
	text := s.text()
	if !e.blank {
		text = "\n" + text
	}
	switch {
	case e.closed:
	case e.last == 0: // a line above the rule would become a heading
		text = "\n" + sectionEnd + "\n" + "\n" + strings.TrimPrefix(text, "\n")
	default:
		text = sectionEnd + "\n" + "\n" + strings.TrimPrefix(text, "\n")
	}
	if !e.newline {
		text = "\n" + text
	}
	// A file with mixed line ends is shown as changed in every line by some editors.
	if e.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// The end of a file is read in windows, the last one first, each larger than the one
// after it. They overlap by more than what makes a line a heading. Most sections fit
// into the first; one with hundreds of files needs a few more.
const (
	firstWindow = 1 << 10
	lastWindow  = 64 << 10
	overlap     = 64
)

// readEnd looks for the last section from the end of the file, so that it costs
// the same however long the file is.
//
// Most files are read in one piece, for the last section is usually short. A section
// whose heading lies further up is looked for in larger pieces; a heading that lies on
// the border of two is found by their overlap.
func readEnd(f io.ReaderAt, size int64) (ending, error) {
	var e ending
	var buf []byte
	for hi, window := size, int64(firstWindow); hi > 0; window = min(4*window, lastWindow) {
		lo := max(hi-window, 0)
		n := int(min(hi+overlap, size) - lo)
		part := slices.Grow(buf[:0], n)[:n]
		buf = part
		// The agent may cut the file while it is read: then nothing is appended now,
		// and the section is tried again.
		if n, err := f.ReadAt(part, lo); n < len(part) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // it is shorter than it was
			}
			return ending{}, err
		}
		if hi == size {
			e.newline = bytes.HasSuffix(part, []byte("\n"))
			e.blank = bytes.HasSuffix(part, []byte("\n\n")) || bytes.HasSuffix(part, []byte("\n\r\n"))
			// The last line end tells how the file is written.
			if i := bytes.LastIndexByte(part, '\n'); i > 0 {
				e.crlf = part[i-1] == '\r'
			}
		}
		at, number := lastHeading(part, lo == 0)
		e.closed = e.closed || holdsRule(part[max(at, 0):])
		if number > 0 {
			e.last = number
			break
		}
		hi = lo
	}
	return e, nil
}

// lastHeading returns where the last heading of an iteration begins. Only with first
// does a line begin where text does. What only begins like a heading is passed over.
func lastHeading(text []byte, first bool) (at, number int) {
	for end := len(text); ; {
		i := bytes.LastIndex(text[:end], []byte("\n"+iterationHeading))
		if i < 0 {
			break
		}
		if n, _, ok := heading(firstLine(text[i+1:])); ok {
			return i, n
		}
		// It was none: look further up, from there.
		end = i + 1
	}
	if first {
		if n, _, ok := heading(firstLine(bytes.TrimPrefix(text, []byte(byteOrderMark)))); ok {
			return 0, n
		}
	}
	return -1, 0
}

// firstLine is enough of it to know a heading. A pasted log may have no line end for
// megabytes.
func firstLine(text []byte) string {
	text = text[:min(len(text), overlap)]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return string(text)
}

// maxNumber bounds the numbers of sections, whatever others have written. An agent that
// numbers a section with thirty digits must not make the next number overflow.
const maxNumber = 999_999_999

// heading takes apart "## Iteration 12 - when". A number without the hyphen after it is
// none: a crash may have cut it off. The time is not looked at: people write what they
// like.
func heading(text string) (number int, when string, ok bool) {
	text, ok = strings.CutPrefix(text, iterationHeading)
	if !ok {
		return 0, "", false
	}
	digits, when, ok := strings.Cut(text, " - ")
	if !ok {
		return 0, "", false
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), when, err == nil && n > 0 && n <= maxNumber
}

// holdsRule reports whether a line after the first is a rule. The first line is the
// heading itself.
func holdsRule(text []byte) bool {
	for rule := []byte("\n" + sectionEnd); ; {
		i := bytes.Index(text, rule)
		if i < 0 {
			return false
		}
		text = text[i+len(rule):]
		rest, _, _ := bytes.Cut(text, []byte("\n"))
		if len(bytes.Trim(rest, " \t\r")) == 0 {
			return true
		}
	}
}
