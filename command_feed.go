package ralph

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph/internal/stream"
	"github.com/ralph-loop/ralph/internal/term"
)

// A feed takes what a client prints to where it belongs: to the raw sink, the filters,
// the decoder, and the display. The two streams come on two goroutines; one lock keeps
// their pieces whole and in order, for a display in which half a line of each is mixed
// is of no use.
type feed struct {
	prompt       string
	cancel       context.CancelCauseFunc
	idle, linger time.Duration

	mu      sync.Mutex // serialises the two streams
	raw     io.Writer
	filters *filters
	display io.Writer     // of standard error
	notes   *stream.Notes // nil = it is shown as it comes
	decoder *stream.Decoder
	tail    tail
	count   atomic.Int64 // bytes of standard output
	timer   *time.Timer
	since   time.Time     // from which due counts
	due     atomic.Int64  // when the timer is, in nanoseconds
	kick    chan struct{} // something was printed
}

// watch starts the timers that output resets; the function ends them.
//
// One timer serves two purposes, since at any time only one of them applies: before the
// end event the client may be idle too long, after it may fail to exit.
func (f *feed) watch() (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.since = time.Now()
	f.timer = time.AfterFunc(time.Hour, func() {
		switch late := time.Since(f.since) - time.Duration(f.due.Load()); {
		case late > stopped:
			f.reset()
		case f.decoder.Ended():
			f.cancel(errLingered)
		default:
			f.cancel(errIdle)
		}
	})
	f.reset()
	return func() { f.timer.Stop() }
}

// stopped is how late the timer may be. If it is later this process was stopped (Ctrl-Z),
// or the machine asleep: what the client has said meanwhile is still in the pipe, and
// nobody can tell whether it was silent.
const stopped = time.Second

// reset puts the timer off: there was output. A client that has told its end gets a
// time to exit in any case; one that has not is ended for its silence only if the
// caller wants that, for builds are silent too.
func (f *feed) reset() {
	wait := f.idle
	switch {
	case f.decoder.Ended():
		wait = f.linger
	case wait <= 0:
		f.timer.Stop()
		return
	}
	f.due.Store(int64(time.Since(f.since) + wait))
	f.timer.Reset(wait)
}

// stdout takes what the client prints. The raw sink comes first: what a decoder makes
// of the bytes can be made again from there, the bytes themselves cannot. That a sink
// cannot be written does not end the run, see [Request].
func (f *feed) stdout(p []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count.Add(int64(len(p)))
	if f.raw != nil {
		f.raw.Write(p)
	}
	f.filters.stdout(p)
	f.decoder.Write(p)
	f.reset()
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// stderr takes what the client complains of. It is shown and kept, and its end may
// explain a failure, but it never reaches the decoder: nothing on it is an answer.
func (f *feed) stderr(p []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.raw != nil {
		f.raw.Write(p)
	}
	f.filters.stderr(p)
	if f.display != nil {
		f.display.Write(p)
	}
	f.tail.Write(p)
	f.reset()
}

// lastWords are what explains a failure that nothing explains: the sentence of
// standard error that does, else the last of what is not of the stream's dialect.
func (f *feed) lastWords(res stream.Result) string {
	if reason := stream.Reason(f.tail.String()); reason != "" {
		return reason
	}
	if n := len(res.LastSkipped); n > 0 {
		return res.LastSkipped[n-1]
	}
	return ""
}

// A writerFunc makes a writer of a function that takes all it is given.
type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// A tail keeps the last few KiB of what is written to it. The end of standard error
// explains most failures, and a client may print gigabytes of it.
type tail struct{ b []byte }

// Write copies the buffer down only when it is twice too long: once for each piece
// would be quadratic for a client that prints byte by byte.
func (t *tail) Write(p []byte) {
	const size = 8 << 10
	if len(p) > size {
		p = p[len(p)-size:]
	}
	t.b = append(t.b, p...)
	if len(t.b) > 2*size {
		t.b = append(t.b[:0], t.b[len(t.b)-size:]...)
	}
}

// String is the text without control sequences, for it goes into errors that people see
// on terminals.
func (t *tail) String() string { return term.Clean(string(t.b)) }
