package progress

import "io"

// Held is the number of bytes that a writer of a Redactor takes for its buffers.
func Held(w io.WriteCloser) int {
	r := w.(*redactWriter)
	return cap(r.out) + r.stream.Held()
}
