package progress

import (
	"errors"
	"io"

	"github.com/ralph-loop/ralph"
)

// output makes the file of an attempt's raw output.
func (j *journal) output(req ralph.Request) io.Writer {
	if err := j.closeRaw(); err != nil {
		return failing{err}
	}
	raw, err := newRaw(j.d.Raw(j.loop, req.Iteration, req.Attempt), keepRaw)
	if err != nil {
		return failing{err}
	}
	j.raw = &rawText{WriteCloser: j.d.Redactor.Writer(raw), to: raw}
	return j.raw
}

// keepRaw is how much of the beginning and of the end of an attempt's raw output is
// kept, in bytes.
const keepRaw = 1 << 20

// rawText closes what it redacts for.
type rawText struct {
	io.WriteCloser
	to io.Closer
}

func (r *rawText) Close() error { return errors.Join(r.WriteCloser.Close(), r.to.Close()) }

func (j *journal) closeRaw() error {
	if j.raw == nil {
		return nil
	}
	err := j.raw.Close()
	j.raw = nil
	return err
}

// A failing writer says why it cannot be written to.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
