// Package redact finds secrets in text by their formats, by the names that they are
// assigned to, and by values that are known, in one pass and in bounded memory, however
// the text is cut into pieces.
//
// What is secret is said in tables: keys with beginnings of their own in formats.go,
// names in names.go, other ways of writing in ways.go, what stands where no secret is
// told in value.go. Everything else is mechanism.
package redact

import "github.com/ralph-loop/ralph/internal/term"

// MinSecret is the length in bytes of the shortest known value that is looked
// for; ordinary text is full of shorter ones.
const MinSecret = 6

// A Finder knows what is to be hidden. It is not changed once it is made, and may
// be used concurrently.
type Finder struct {
	*triggers
	named bool // there are values that are known
	brief bool // what a name says is secret is one however it looks
}

// New returns a finder of what looks like a secret, and of the values given, in
// all the forms in which they are written.
func New(secrets []string) Finder {
	if rules := knownRules(secrets); len(rules) > 0 {
		return Finder{triggers: known().with(rules), named: true}
	}
	return Finder{triggers: known()}
}

// CommandLine returns a command line without its secrets, for one goes into prompts,
// and prompts are kept and sent. Here a value is a secret however short it is, if its
// name says so, or Bearer, Basic or -u before it.
func CommandLine(line string) string { return Finder{triggers: known(), brief: true}.Text(line) }

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
func (f Finder) Stream() Stream { return Stream{filter{Finder: f, runs: map[alphabet]*token{}}} }

// A Stream is a text that comes in pieces. It must not be used concurrently.
type Stream struct{ f filter }

// Add takes the next piece and appends to out what can be passed on by now; end
// says that the text ends with it. What is passed on altogether does not depend
// on where the text was cut.
func (s *Stream) Add(out, piece []byte, end bool) []byte { return s.f.add(out, piece, end) }

// Begun is the end of the text so far that is held back for no more than that a secret
// may begin so, as many words do: at most three characters, which say nothing of it. ""
// = what is held back is more than that, is nothing, or may be of a value that is known.
func (s *Stream) Begun() string {
	f := &s.f
	held := f.buf[f.passed:]
	if !f.ahead || len(f.rest) > 0 || len(held) > 3 {
		return ""
	}
	return string(held)
}

// Held is the size of the buffers, in bytes.
func (s *Stream) Held() int {
	return cap(s.f.buf) + cap(s.f.rest) + cap(s.f.hidden) + 16*cap(s.f.escapes)
}
