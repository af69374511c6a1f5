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
	"strings"
	"sync"
)

// An output takes what a command prints, both streams as they come: it hashes
// all of it, looks for texts in it, writes it to a file if there is one, and
// keeps its ends.
type output struct {
	mu       sync.Mutex
	hash     hash.Hash
	size     int64
	head     []byte
	tail     []byte
	contains []*seeker
	excludes []*seeker
	file     *os.File
	to       io.Writer // file, through what hides secrets
	fileErr  error

	failing     []passage
	failingSize int
	failingFull bool
}

// A seeker looks for a text in streams.
type seeker struct {
	text  string
	found bool
}

func newOutput(contains, excludes []string) *output {
	o := &output{hash: sha256.New()}
	for _, text := range contains {
		o.contains = append(o.contains, &seeker{text: text})
	}
	for _, text := range excludes {
		o.excludes = append(o.excludes, &seeker{text: text})
	}
	return o
}

// keep opens a file for all of the output in a folder, if there is one. The
// returned function closes it and says where it is, or what went wrong: that
// evidence cannot be kept does not change what was found. It removes the file of
// a command that was not started. redact may be nil.
func (o *output) keep(folder, name string, redact func(io.Writer) io.WriteCloser) func(started bool) string {
	if folder == "" {
		return func(bool) string { return "" }
	}
	if o.fileErr = os.MkdirAll(folder, 0o755); o.fileErr == nil {
		o.file, o.fileErr = os.CreateTemp(folder, slug(name)+"-*.log")
	}
	end := func() error { return nil }
	if o.file != nil {
		o.to = o.file
		if redact != nil {
			hidden := redact(o.file)
			o.to, end = hidden, hidden.Close
		}
	}
	return func(started bool) string {
		if o.file != nil {
			if err := end(); o.fileErr == nil {
				o.fileErr = err
			}
			if err := o.file.Close(); o.fileErr == nil {
				o.fileErr = err
			}
		}
		if !started {
			if o.file != nil {
				os.Remove(o.file.Name())
			}
			return ""
		}
		if o.fileErr != nil {
			return fmt.Sprintf("the full output could not be kept: %v", o.fileErr)
		}
		return "full output: " + filepath.Base(o.file.Name())
	}
}

// slug makes a part of a file name of a command.
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
// borders of writes, but not over those of streams.
func (o *output) stream() io.Writer { return &outputStream{o: o} }

type outputStream struct {
	o       *output
	last    []byte // as long as the longest text, less one
	failing highlighter
}

func (s *outputStream) Write(p []byte) (int, error) {
	o := s.o
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hash.Write(p)
	if !o.failingFull {
		s.failing.read(p, o.size, o.keepFailing)
	}
	o.size += int64(len(p))
	if o.file != nil && o.fileErr == nil {
		_, o.fileErr = o.to.Write(p)
	}
	longest := 0
	for _, list := range [][]*seeker{o.contains, o.excludes} {
		for _, k := range list {
			k.seek(s.last, p)
			longest = max(longest, len(k.text)-1)
		}
	}
	s.last = append(s.last, p[max(len(p)-longest, 0):]...)
	s.last = append(s.last[:0], s.last[max(len(s.last)-longest, 0):]...)

	room := min(headBytes-len(o.head), len(p))
	o.head = append(o.head, p[:room]...)
	p2 := p[room:]
	o.tail = append(o.tail, p2[max(len(p2)-tailBytes, 0):]...)
	if len(o.tail) > 2*tailBytes {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-tailBytes:]...)
	}
	return len(p), nil
}

// seek looks for the text in p, and over the border between last and p.
func (k *seeker) seek(last, p []byte) {
	if k.found {
		return
	}
	text := []byte(k.text)
	n := len(text) - 1
	border := append(bytes.Clone(last[max(len(last)-n, 0):]), p[:min(n, len(p))]...)
	k.found = bytes.Contains(border, text) || bytes.Contains(p, text)
}

func (o *output) missing() []string   { return texts(o.contains, false) }
func (o *output) forbidden() []string { return texts(o.excludes, true) }

func texts(list []*seeker, found bool) []string {
	var matching []string
	for _, k := range list {
		if k.found == found {
			matching = append(matching, k.text)
		}
	}
	return matching
}

func (o *output) digest() string { return "sha256:" + hex.EncodeToString(o.hash.Sum(nil)) }
