package progress

import "io"

// Held is the number of bytes that a writer of a Redactor takes for its buffers.
func Held(w io.WriteCloser) int {
	r := w.(*redactWriter)
	return cap(r.out) + cap(r.f.middle) + cap(r.f.first.buf) + cap(r.f.second.buf)
}
