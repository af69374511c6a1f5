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

const maxOwn = 1 << 20 // bytes

// Own puts a file with this text among those of somebody else, or takes it away again.
// What is there already and has another text is not ours: to put it is an error then,
// which wraps [fs.ErrExist], and to take it away does nothing.
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

// SessionFile is where the process that decides about a session tells the session's hooks
// where it is ([ralph.Relay.File]), if they cannot be given that in their environment: in the
// state folder, for a session of any workspace. "" = there is no such folder.
func SessionFile(session string) string {
	dir, err := WorkspaceDir(os.TempDir())
	if err != nil {
		return ""
	}
	dir.Path = filepath.Join(filepath.Dir(dir.Path), "sessions")
	return strings.TrimSuffix(dir.File(session), ".jsonl")
}
