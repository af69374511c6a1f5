package progress

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// maxOwn bounds what is read to compare, in bytes: a longer file is nobody's but its owner's.
const maxOwn = 1 << 20

// Own puts a file with this text into somebody else's folder, or, with put false, takes
// it away again. The text itself shows whose the file is: one with another text is not
// ours, so it is neither overwritten (an error that wraps [fs.ErrExist]) nor removed
// (no error). It is of use for a client's configuration of hooks, which its user may
// have edited.
func (f File) Own(text string, put bool) error {
	was, err := file.Read("", f.Path, maxOwn)
	switch there := !errors.Is(err, fs.ErrNotExist); {
	case there && err != nil:
		return fmt.Errorf("progress: %w", err)
	case !there && put:
		return f.Replace([]byte(text))
	case there && string(was) != text && put:
		return fmt.Errorf("progress: %s is not ours, move it away: %w", f.Path, fs.ErrExist)
	case there && string(was) == text && !put:
		if err := os.Remove(f.Path); err != nil {
			return fmt.Errorf("progress: %w", err)
		}
	}
	return nil
}

// SessionFile returns the path to use as [ralph.Relay.File] for a session: the file
// from which hooks learn where to ask, if their environment does not tell them. It lies
// in the user's state folder, whatever the workspace. "" = there is no state folder.
// SessionFile makes nothing.
func SessionFile(session string) string {
	dir, err := WorkspaceDir(os.TempDir())
	if err != nil {
		return ""
	}
	dir.Path = filepath.Join(filepath.Dir(dir.Path), "sessions")
	return strings.TrimSuffix(dir.File(session), ".jsonl")
}
