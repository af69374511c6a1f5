package progress

import (
	"bytes"
	"io"
	"sync"
)

// Prefix is a writer for one of several agents that print at the same time: it writes
// whole lines to W, each with Text before it, so that a reader can tell them apart. A
// line is written when it has its end, or is longer than 64 KiB; blank lines are left
// out. Each agent has a Prefix of its own, and those that share a W share a Lock.
type Prefix struct {
	W    io.Writer // required
	Text string    // as it is to stand before each line, with its blank
	// Lock is held while W is written to, and guards the Prefix itself too. Nil = nobody
	// else writes to W, and the Prefix is used by one goroutine.
	Lock sync.Locker

	rest []byte // a line that has no end yet
}

// Without it an agent that prints no line ends would be held in memory, and never seen.
const maxPrefixed = 64 << 10

// Write never fails because of what is written, and tells the error of W. All lines of
// one call are one write to W.
// Should W take long, the agent waits, and so do those that share the Lock: nothing is
// queued here. A [Display] on a terminal is what never slows an agent.
func (p *Prefix) Write(text []byte) (int, error) {
	defer p.locked()()
	if p.rest = append(p.rest, text...); len(p.rest) > maxPrefixed {
		p.rest = append(p.rest, '\n')
	}
	at := bytes.LastIndexByte(p.rest, '\n') + 1
	var out bytes.Buffer
	for line := range bytes.Lines(p.rest[:at]) {
		if len(bytes.TrimSpace(line)) > 0 {
			out.WriteString(p.Text)
			out.Write(line)
		}
	}
	p.rest = append(p.rest[:0], p.rest[at:]...)
	if out.Len() == 0 {
		return len(text), nil
	}
	_, err := p.W.Write(out.Bytes())
	return len(text), err
}

// Open reports whether the line that was written last has no end yet. Ask it before
// you write something else to W, which would stand in the middle of that line.
func (p *Prefix) Open() bool {
	defer p.locked()()
	return len(p.rest) > 0
}

// locked takes the Lock, if there is one, and returns how to give it back.
func (p *Prefix) locked() (unlock func()) {
	if p.Lock == nil {
		return func() {}
	}
	p.Lock.Lock()
	return p.Lock.Unlock
}
