package verify

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/term"
)

// An output takes what a command prints, both streams as they come: it hashes
// all of it and looks for texts in it. Of what is left when the secrets are
// hidden, what a terminal may show goes to a file, if there is a folder for it,
// and the two ends are kept. So memory does not grow with the output.
type output struct {
	mu       sync.Mutex
	hash     hash.Hash
	contains []string
	excludes []string
	found    map[string]bool // of both

	hide   hider
	hidden *hiding     // both streams in one, if there is a hider
	merged highlighter // of hidden

	size int64 // of what was kept and of what was left out between its ends
	head []byte
	tail []byte

	folder  string // for the file; "" = none
	name    string // of the command, for that of the file
	file    *os.File
	shown   io.Writer // to the file
	fileErr error

	failing     []passage
	failingSize int
	failingFull bool
}

func newOutput(contains, excludes []string, hide hider) *output {
	o := &output{hash: sha256.New(), contains: contains, excludes: excludes, found: map[string]bool{}, hide: hide}
	if hide != nil {
		o.hidden = &hiding{to: func(p []byte) { o.keep(&o.merged, p) }, hide: hide}
	}
	return o
}

// record writes to a file of its own in the folder, which is made with the
// first byte: what prints nothing leaves no file. That evidence cannot be kept,
// on a full disk, say, does not change what was found; end tells of it. After
// the first error nothing more is written, so that no file has a hole in it.
func (o *output) record(p []byte) {
	if o.folder == "" || o.fileErr != nil || len(p) == 0 {
		return
	}
	if o.file == nil {
		o.file, o.fileErr = file.Temp(o.folder, slug(o.name)+"-*.log")
	}
	if o.shown == nil {
		o.shown = term.Strip(o.file)
	}
	if o.fileErr == nil {
		_, o.fileErr = o.shown.Write(p)
	}
}

// end is called when all is printed. It closes the file, if there is one, and
// says where it is, or what went wrong. The name alone is told, since the
// folder is the caller's and new for each attempt.
func (o *output) end() string {
	if o.hidden != nil {
		o.hidden.end()
	}
	if o.file != nil {
		if err := o.file.Close(); o.fileErr == nil {
			o.fileErr = err
		}
	}
	switch {
	case o.fileErr != nil:
		return fmt.Sprintf("the full output could not be kept: %v", o.fileErr)
	case o.file == nil:
		return ""
	}
	return "full output: " + filepath.Base(o.file.Name())
}

// slug makes a part of a file name of a command: letters and digits of ASCII,
// which every file system takes, 40 of them at most.
func slug(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
	return cmp.Or(strings.Trim(name[:min(len(name), 40)], "-"), "output")
}

// stream returns a writer for one of the streams. Texts are found over the
// borders of writes, but not over those of streams: how two streams mix is
// chance, and would make a check pass now and then.
func (o *output) stream() io.Writer { return &outputStream{o: o} }

type outputStream struct {
	o       *output
	last    []byte // as long as the longest text, less one
	failing highlighter
}

// Write never fails. An error would have the command killed by a broken pipe,
// for a reason that has nothing to do with it.
func (s *outputStream) Write(p []byte) (int, error) {
	o := s.o
	o.mu.Lock()
	defer o.mu.Unlock()
	// The digest is of what was printed, before anything is hidden or cut, so
	// that it can be compared with an output that somebody has kept.
	o.hash.Write(p)
	longest := 0
	for _, text := range slices.Concat(o.contains, o.excludes) {
		o.found[text] = o.found[text] || printed([]byte(text), s.last, p)
		longest = max(longest, len(text)-1)
	}
	s.last = append(s.last, p[max(len(p)-longest, 0):]...)
	s.last = append(s.last[:0], s.last[max(len(s.last)-longest, 0):]...)
	if o.hidden != nil {
		o.hidden.add(p)
	} else {
		o.keep(&s.failing, p)
	}
	return len(p), nil
}

// keep takes what may be kept: the first headBytes, and at least the last
// tailBytes. The tail is trimmed when it has doubled, and not with each write,
// which would copy it for each byte of a slow output.
func (o *output) keep(failing *highlighter, p []byte) {
	if !o.failingFull {
		failing.read(p, o.size, o.keepFailing)
	}
	o.size += int64(len(p))
	o.record(p)
	room := min(headBytes-len(o.head), len(p))
	o.head = append(o.head, p[:room]...)
	p = p[room:]
	o.tail = append(o.tail, p[max(len(p)-tailBytes, 0):]...)
	if len(o.tail) > 2*tailBytes {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-tailBytes:]...)
	}
}

// printed reports whether a text is in p, or over the border between last and p.
// It is looked for in the original, and not in what is kept: a text that must not
// be printed may be in the middle, or be a secret.
func printed(text, last, p []byte) bool {
	n := len(text) - 1
	border := append(bytes.Clone(last[max(len(last)-n, 0):]), p[:min(n, len(p))]...)
	return bytes.Contains(border, text) || bytes.Contains(p, text)
}

// Texts that a user asked for may be secrets themselves, so they are hidden
// before they are quoted.
func (o *output) missing() []string   { return o.texts(o.contains, false) }
func (o *output) forbidden() []string { return o.texts(o.excludes, true) }

func (o *output) texts(list []string, found bool) (matching []string) {
	for _, text := range list {
		if o.found[text] == found {
			matching = append(matching, o.hide.text(text))
		}
	}
	return matching
}

func (o *output) digest() string { return "sha256:" + hex.EncodeToString(o.hash.Sum(nil)) }
