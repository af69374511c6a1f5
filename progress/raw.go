package progress

import "io"

func newRaw(path string, keep int64) (io.WriteCloser, error) { panic("stub") }
