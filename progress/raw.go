package progress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/ralph-loop/ralph/internal/file"
)

// A file of raw output is a header, the first bytes of the stream, and laps: what
// follows is written behind the first bytes until enough of it is there, and then
// over itself, from the beginning. A lap ends between two writes, so that no write
// lies in two places.
//
// The header is written after the data that it tells of, so it never tells of what
// is not there. What it says is kept is not touched by the write that follows: a
// lap is longer than what is kept by a whole write. So a reader that finds bytes
// kept before and after it has read them has read them as they were.
const (
	rawMagic    = "ralphrw1"
	rawHeadSize = int64(len(rawMagic)) + 5*8 + 4
	rawWrite    = 64 << 10 // the most bytes that are written at once
)

// A rawHead is the header. All offsets are in bytes of the stream, not of the file:
// they only grow, so a reader can keep them over any number of laps.
type rawHead struct {
	keep    int64 // how many bytes are kept of the beginning, and how many of the end
	written int64 // bytes of the stream so far
	lap     int64 // offset in the stream at which the lap that is written began
	before  int64 // and the lap before it
	ended   int64 // 1 = the writer has closed it
}

// bytes is the header as it is written, with a check sum: a reader may meet it while it
// is written, and knows by that to look again.
func (h rawHead) bytes() []byte {
	b := append(make([]byte, 0, rawHeadSize), rawMagic...)
	for _, n := range [...]int64{h.keep, h.written, h.lap, h.before, h.ended} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// parseRawHead reads a header. It is not ok if it is none, or not a whole one. Its
// numbers are checked too, for offsets are computed of them: a file that somebody has
// edited must not lead outside of itself.
func parseRawHead(b []byte) (h rawHead, ok bool) {
	body := b[:rawHeadSize-4]
	if string(b[:len(rawMagic)]) != rawMagic || crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(b[len(body):]) {
		return h, false
	}
	for i, n := range [...]*int64{&h.keep, &h.written, &h.lap, &h.before, &h.ended} {
		*n = int64(binary.LittleEndian.Uint64(body[len(rawMagic)+8*i:]))
	}
	return h, h.keep > 0 && h.written >= 0 && h.before >= h.keep && h.lap >= h.before
}

// at is where in the file a byte of the stream lies that is kept, or comes next.
func (h rawHead) at(off int64) int64 {
	switch {
	case off < h.keep:
		return rawHeadSize + off
	case off < h.lap:
		off -= h.before
	default:
		off -= h.lap
	}
	return rawHeadSize + h.keep + off
}

// last is where the bytes begin that are kept of the end.
func (h rawHead) last() int64 { return max(h.keep, h.written-h.keep) }

// run is where the bytes end that lie in the file behind this one. A read must not go
// beyond, for the next byte of the stream lies elsewhere.
func (h rawHead) run(off int64) int64 {
	switch {
	case off < h.keep:
		return min(h.keep, h.written)
	case off < h.lap:
		return h.lap
	}
	return h.written
}

// A rawWriter writes raw output of one attempt: of a stream of any length the first
// keep bytes stay, and the last keep bytes, or a few more. [OpenRaw] reads it,
// also while it is written and after its process has died: each byte that Write has
// returned from is there. Nothing is forced to the disk.
//
// A write is two system calls, and so is each further 64 KiB of a longer one. Its
// methods may be called concurrently.
//
// A file that is cut at its front, or two files in turns, was not taken: the first
// needs copying, the second loses track of a reader when the files change places.
type rawWriter struct {
	mu   sync.Mutex
	f    *os.File
	head rawHead
}

// newRaw makes the file, 0600, and its folder. A file that is there already gives
// way to it, if it is one that could be written: those who read it read on in it.
func newRaw(path string, keep int64) (*rawWriter, error) {
	f, err := rawFile(path)
	if err != nil {
		return nil, fmt.Errorf("progress: raw output: %w", err)
	}
	keep = max(keep, 1)
	w := &rawWriter{f: f, head: rawHead{keep: keep, lap: keep, before: keep}}
	if err := w.tell(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// rawFile makes the file anew. The old one is removed and not cut, so that those who
// read it still see what was there; what is in its place must be a regular file, as
// everywhere.
func rawFile(path string) (*os.File, error) {
	if err := file.Folder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := file.Edit("", path)
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(path))
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		f, err = file.Create("", path, file.Private)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, err
	}
	return file.Edit("", path) // Create's file takes what is written only at its end
}

// Write appends to the stream.
func (w *rawWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := 0
	for done < len(p) {
		n, err := w.data(p[done:])
		done += n
		if n > 0 {
			err = errors.Join(err, w.tell())
		}
		if err != nil {
			return done, fmt.Errorf("progress: raw output: %w", err)
		}
	}
	return done, nil
}

// data writes the beginning of p, of which the header does not tell yet. A new lap
// begins only when the one before it holds enough to serve as the end that is kept.
func (w *rawWriter) data(p []byte) (int, error) {
	h, most := &w.head, min(w.head.keep, rawWrite)
	if h.written-h.lap >= h.keep+most {
		h.before, h.lap = h.lap, h.written
	}
	n, err := w.f.WriteAt(p[:min(int64(len(p)), most)], h.at(h.written))
	h.written += int64(n)
	return n, err
}

// tell writes the header: from then on readers see what was written before it.
func (w *rawWriter) tell() error {
	_, err := w.f.WriteAt(w.head.bytes(), 0)
	return err
}

// Close tells those who follow the stream that it has ended.
func (w *rawWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head.ended = 1
	if err := errors.Join(w.tell(), w.f.Close()); err != nil {
		return fmt.Errorf("progress: raw output: %w", err)
	}
	return nil
}

var _ io.WriteCloser = (*rawWriter)(nil)
