// Package redact finds secrets in text by their formats and by values that are
// known, in one pass and in bounded memory, however the text is cut into pieces.
//
// What is secret is said in tables: keys by their first bytes in formats.go, names
// before values in values.go. Everything else is mechanism.
package redact

import "github.com/ralph-loop/ralph/internal/term"

// MinSecret is the length in bytes of the shortest known value that is looked
// for; ordinary text is full of shorter ones.
const MinSecret = 6

// A Finder knows what is to be hidden. It is not changed once it is made, and may
// be used concurrently.
type Finder struct {
	named   *named
	formats *formats
}

// New returns a finder of what looks like a secret, and of the values given, in
// all the forms in which they are written.
func New(secrets []string) Finder {
	return Finder{named: newNamed(secrets), formats: newFormats()}
}

// Text returns the text without its secrets.
func (f Finder) Text(s string) string {
	if s == "" {
		return ""
	}
	stream := f.Stream()
	return string(stream.Add(make([]byte, 0, len(s)+len(s)/8), []byte(s), true))
}

// Shown is what hide makes of a text, unless a secret would stand in that once it is
// made safe to show: then it is the safe text, without the secret. Zero-width
// characters part a secret only for programs.
func Shown(hide func(string) string, text string) string {
	hidden := hide(text)
	if safe := term.Clean(hidden); safe != hidden {
		if again := hide(safe); again != safe {
			return again
		}
	}
	return hidden
}

// Stream returns a stream of its own for a text that comes in pieces.
func (f Finder) Stream() Stream { return Stream{filter{named: f.named, formats: f.formats}} }

// A Stream is a text that comes in pieces. It must not be used concurrently.
type Stream struct{ f filter }

// Add takes the next piece and appends to out what can be passed on by now; end
// says that the text ends with it. What is passed on altogether does not depend
// on where the text was cut.
func (s *Stream) Add(out, piece []byte, end bool) []byte { return s.f.add(out, piece, end) }

// Held is the size of the buffers, in bytes.
func (s *Stream) Held() int {
	return cap(s.f.middle) + cap(s.f.first.buf) + cap(s.f.second.buf)
}
