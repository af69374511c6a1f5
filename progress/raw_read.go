package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
)

// Raw is the raw output of one attempt: what its agent wrote, as it came, without
// secrets. It is read by the offset of each byte in all that was written, also while
// another process writes it, and after that process has died. Of a long stream only
// the beginning and the end are kept; what is read is what was written there, or an
// error, also where the writer is faster than the reader. Raw may be used
// concurrently.
//
// What a process wrote before it was killed is there. After a loss of power the file
// may hold less than it tells, or nothing.
type Raw struct {
	f *os.File
}

var _ interface {
	io.ReaderAt
	io.Closer
} = (*Raw)(nil)

// A LostError says that bytes of a stream were not kept. It is no failure of the file:
// read on at Next. An agent that prints faster than somebody reads makes it.
type LostError struct {
	Offset int64 // of the byte that was asked for
	Next   int64 // from where on bytes are kept, or will be for a while if the writer is fast
}

func (e *LostError) Error() string {
	return fmt.Sprintf("progress: raw output: %d bytes from %d on were not kept", e.Next-e.Offset, e.Offset)
}

// OpenRaw opens the raw output of an attempt. The error is fs.ErrNotExist if there is
// none. The path is that of [Dir.Raw]. The caller closes it. It may be opened before
// the agent has printed anything, and while it does.
func OpenRaw(path string) (*Raw, error) {
	f, err := file.Open("", path)
	if err != nil {
		return nil, fmt.Errorf("progress: raw output: %w", err)
	}
	r := &Raw{f}
	if _, err := r.head(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// Close closes the file. It ends no [Raw.Tail]. A Tail that goes on reads from a closed
// file, which is an error of that.
func (r *Raw) Close() error { return r.f.Close() }

// Size is the number of bytes that were written so far, kept or not. It grows while the
// agent prints.
func (r *Raw) Size() (int64, error) {
	h, err := r.head()
	return h.written, err
}

// ReadAt reads from an offset on, see [io.ReaderAt]. Where bytes are missing, it
// returns those before them and a [*LostError]; at the end of what was written so
// far, io.EOF.
func (r *Raw) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = r.read(p[n:], off+int64(n))
		n += k
	}
	return n, err
}

// Tail reads from an offset on, in pieces as they come, until the writer has closed the
// stream. Where bytes are missing it yields a [*LostError] and goes on behind them; any
// other error is the last pair. It cannot know that a writer was killed, so it waits
// until ctx is done; then it yields what was written by that time, and
// context.Cause(ctx). With a context that is done from the start, it yields all that is
// there and does not wait.
//
// A piece is valid until the next one. An offset below 0 is 0.
func (r *Raw) Tail(ctx context.Context, from int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf, off := make([]byte, rawWrite), max(from, 0)
		for {
			over := ctx.Err() != nil
			h, err := r.head()
			if err != nil {
				yield(nil, err)
				return
			}
			for off < h.written {
				n, err := r.read(buf[:min(int64(len(buf)), h.written-off)], off)
				off += int64(n)
				lost, missing := errors.AsType[*LostError](err)
				if missing {
					off = lost.Next
				}
				if !yield(buf[:n], err) || err != nil && !missing {
					return
				}
			}
			switch {
			case h.ended != 0:
				return
			case over:
				yield(nil, context.Cause(ctx))
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(rawPoll):
			}
		}
	}
}

// rawPoll is how often a tail looks for more. The writer tells nobody: it may be
// another process, on a file system that has no notifications.
const rawPoll = 100 * time.Millisecond

// read reads bytes that lie together in the file. The header is read anew each time,
// for the writer may have gone on.
func (r *Raw) read(p []byte, off int64) (int, error) {
	h, err := r.head()
	if err != nil {
		return 0, err
	}
	return r.readBy(h, p, off)
}

// readBy reads where a header tells that they are, which it may not any more.
//
// So the header is read once more afterwards: if the bytes are still kept by then,
// nothing can have been written over them before.
func (r *Raw) readBy(h rawHead, p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, errors.New("progress: raw output: a negative offset")
	case off >= h.written:
		return 0, io.EOF
	case off >= h.keep && off < h.last():
		return 0, &LostError{Offset: off, Next: h.last()}
	}
	n, err := r.f.ReadAt(p[:min(int64(len(p)), h.run(off)-off)], h.at(off))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, r.failed(err)
	}
	if off < h.keep {
		return n, nil // this is never written again
	}
	now, err := r.head()
	if err != nil {
		return 0, err
	}
	if off < now.last() {
		// Overtaken: what is only just kept would be lost again before it is read.
		return 0, &LostError{Offset: off, Next: now.written - now.keep/2}
	}
	return n, nil
}

// head reads the header. Of a file that has none yet, nothing is written. A header that
// stays unreadable over many looks is damaged, and not being written.
func (r *Raw) head() (rawHead, error) {
	var b [rawHeadSize]byte
	for range 100 { // it may be read while it is written
		n, err := r.f.ReadAt(b[:], 0)
		switch {
		case n == 0 && err == io.EOF:
			return rawHead{}, nil
		case err != nil && err != io.EOF:
			return rawHead{}, r.failed(err)
		}
		if h, ok := parseRawHead(b[:]); ok && err == nil {
			return h, nil
		}
	}
	return rawHead{}, r.failed(errors.New("its header is damaged, or it is none of ours"))
}

// failed says of which file an error is.
func (r *Raw) failed(err error) error {
	return fmt.Errorf("progress: raw output %s: %w", r.f.Name(), err)
}
