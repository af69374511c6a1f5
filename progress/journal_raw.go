package progress

import (
	"errors"
	"io"

	"github.com/ralph-loop/ralph"
)

// output makes the file of an attempt's raw output. An attempt must not fail because
// its output cannot be kept, so an error is one of the writer: the driver reports it at
// the end.
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
// kept, in bytes. A failure shows at the beginning (a wrong flag, no login) or at the
// end, and an agent may print gigabytes in between.
const keepRaw = 1 << 20

// rawText closes what it redacts for.
type rawText struct {
	io.WriteCloser
	to io.Closer
}

// Close writes what the redactor has held back, which may be the beginning of a secret,
// and then closes the file.
func (r *rawText) Close() error { return errors.Join(r.WriteCloser.Close(), r.to.Close()) }

// closeRaw ends the raw output of the attempt. It may be called when there is none.
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
