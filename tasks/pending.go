package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"

	"github.com/ralph-loop/ralph/internal/file"
)

// A PendingFile keeps in a file which items of a list are not verified, between one
// [Session] and the next. Its methods Load and Keep are for [Session.Pending] and
// [Session.Keep]. Its methods may not be called concurrently.
//
// Without it a box that was ticked before a crash, and that no check has seen, is taken
// for done by the next session.
type PendingFile struct {
	// Path of the file, which has at most 16 MiB. It must lie where the agent cannot
	// write: what it could remove would prove nothing.
	Path string
	// Redact returns a text without its secrets, as progress.Redactor's String does:
	// why an item was rejected may quote what a test has printed. nil = reasons are
	// kept as they are.
	Redact func(string) string
}

// maxPending is the most that is read, in bytes. A reason has at most 2 KiB, so this is
// enough for thousands.
const maxPending = 16 << 20

// Load returns what Keep was given last, for [Session.Pending]; nil if there is no
// file. A file that is damaged is an error that says what it would mean to remove it:
// to begin without it would take for done what was rejected.
func (f PendingFile) Load() (pending map[string]string, err error) {
	text, err := file.Read("pending items", f.Path, maxPending)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 { // or a crash came before the first Keep was done
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &pending)
	}
	if err != nil {
		return nil, fmt.Errorf("tasks: %s holds which boxes are not verified, and cannot be read: %w; remove it to take all that are ticked for done", f.Path, err)
	}
	return pending, nil
}

// Keep replaces what is in the file, all or nothing, for [Session.Keep]. The file and
// its folder are made for this user alone. Reasons are redacted, keys are not: they
// must be found again.
func (f PendingFile) Keep(pending map[string]string) error {
	pending = maps.Clone(pending)
	for key, why := range pending {
		if f.Redact != nil {
			pending[key] = f.Redact(why)
		}
	}
	text, err := json.MarshalIndent(pending, "", "  ")
	if err == nil {
		err = file.Folder(filepath.Dir(f.Path))
	}
	if err == nil {
		err = file.Put("", f.Path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("tasks: the boxes that are not verified could not be kept: %w", err)
	}
	return nil
}
