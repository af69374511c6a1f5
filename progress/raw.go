package progress

import (
	"io"
	"path/filepath"

	"github.com/ralph-loop/ralph/internal/file"
)

func newRaw(path string, keep int64) (io.WriteCloser, error) {
	if err := file.Folder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return file.Append("", path, file.Private)
}
