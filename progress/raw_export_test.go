package progress

import "io"

// NewRaw makes a file of raw output.
func NewRaw(path string, keep int64) (io.WriteCloser, error) { return newRaw(path, keep) }

// BeginWrite writes the beginning of p and does not tell of it, as a writer that is
// killed between its two system calls.
func BeginWrite(w io.WriteCloser, p []byte) (int, error) { return w.(*rawWriter).data(p) }

// ReadAround reads bytes that lie together, and lets between happen after it was
// found that they are there and before they are read.
func (r *Raw) ReadAround(p []byte, off int64, between func()) (int, error) {
	h, err := r.head()
	if err != nil {
		return 0, err
	}
	between()
	return r.readBy(h, p, off)
}
