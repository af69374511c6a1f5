package progress

import (
	"bytes"
	"io"
	"sync"
)

// Prefix writes lines to W, each with Text before it: what several agents say at the
// same time, in one stream. A line is written when it is whole, or longer than 64 KiB;
// blank ones are left out. Those that share a W share a Lock.
type Prefix struct {
	W    io.Writer
	Text string
	Lock sync.Locker // nil = nobody else writes to W meanwhile

	rest []byte // a line that has no end yet
}

const maxPrefixed = 64 << 10

// Write never fails because of what is written, and tells the error of W.
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

// Open reports whether what was written last has no end of a line yet.
func (p *Prefix) Open() bool {
	defer p.locked()()
	return len(p.rest) > 0
}

func (p *Prefix) locked() (unlock func()) {
	if p.Lock == nil {
		return func() {}
	}
	p.Lock.Lock()
	return p.Lock.Unlock
}
