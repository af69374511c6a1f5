package progress

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/environ"
	"github.com/ralph-loop/ralph/internal/file"
)

// A Dir is a folder with the records of loops, one file for each, from which they
// are resumed: what was agreed when a loop started (its task, limits and guarded
// hashes, and Local.Meta), and all that came of it. It must lie where the agent
// does not work, see [Resume] and [WorkspaceDir]. What an agent with the user's
// rights can do to it all the same, only a sandbox prevents.
//
// It is a [ralph.ProgressLog]. Folder and files are made for this user alone. A
// loop that starts and has not run yet replaces the record of an earlier loop of
// its name. Loops of different names may be recorded concurrently, also by several
// processes.
type Dir struct {
	// Path is the folder. It is made when something is recorded.
	Path string
}

var _ ralph.ProgressLog = Dir{}

// WorkspaceDir is the usual folder for the loops that work in a workspace:
// ralph/<name> in $XDG_STATE_HOME, or in ~/.local/state if that is not set. The
// name is the workspace's with a hash of its path, all links resolved.
func WorkspaceDir(workspace string) (Dir, error) {
	home, err := environ.StateHome()
	if err != nil {
		return Dir{}, fmt.Errorf("progress: no folder for records: %w", err)
	}
	path, err := filepath.Abs(workspace)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return Dir{}, fmt.Errorf("progress: %w", err)
	}
	return Dir{Path: filepath.Join(home, "ralph", fileName(path))}, nil
}

// Sub is a folder in the folder, for loops that have names of their own: those of
// one task file, say. Any text is a name.
func (d Dir) Sub(name string) Dir { return Dir{Path: filepath.Join(d.Path, fileName(name))} }

// File is where the loop's record is, or would be. It is an execution log, as
// [JSONL] writes them.
func (d Dir) File(loop string) string { return filepath.Join(d.Path, fileName(loop)+".jsonl") }

// fileName makes a name for files of any text: legible where it can be, and
// another one for another text, also for file systems that ignore case.
func fileName(text string) string {
	legible := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r == '-') {
			return r
		}
		return '_'
	}, filepath.Base(text))
	sum := sha256.Sum256([]byte(text))
	return legible[:min(len(legible), 60)] + "-" + hex.EncodeToString(sum[:6])
}

// Append implements [ralph.ProgressLog].
func (d Dir) Append(ctx context.Context, ev ralph.Event) error {
	name := d.File(ev.Loop)
	if err := d.Make(); err != nil {
		return err
	}
	if s := ev.State; ev.Kind == ralph.EventLoopStarted && s != nil && !s.Begun() {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("progress: %w", err)
		}
	}
	f, err := OpenJSONL(name)
	if err != nil {
		return err
	}
	return cmp.Or((&JSONL{W: f}).Append(ctx, ev), f.Close())
}

// Make makes the folder, if it is not there, as Append does: for those who want to
// know before a loop starts whether that can be done.
func (d Dir) Make() error {
	if d.Path == "" {
		return errors.New("progress: Dir has no Path")
	}
	return File{Path: filepath.Join(d.Path, "x")}.folder()
}

// Resume returns a loop as it is on record, to be run again, and the Meta it was
// last started with; [Resume] tells what that means. A record is no evidence: where
// it holds a verdict that passed and not the end of the loop, the process died
// between them, and the attempt is one that was interrupted. Without a record the
// error is fs.ErrNotExist.
func (d Dir) Resume(loop string) (ralph.State, map[string]string, error) {
	log, err := file.Open("", d.File(loop))
	if err != nil {
		return ralph.State{}, nil, fmt.Errorf("progress: resume %q: %w", loop, err)
	}
	defer log.Close()
	f := fold{}
	for rec, err := range ReadJSONL(log) {
		if err != nil {
			return ralph.State{}, nil, fmt.Errorf("%w, resuming %q", err, loop)
		}
		if rec.Event.Loop == loop {
			f.apply(rec.Event)
		}
	}
	if f.unproven != nil {
		f.s = *f.unproven
	}
	if f.s.Iteration == 0 {
		return ralph.State{}, nil, fmt.Errorf("progress: resume %q: %s does not tell the loop's start", loop, d.File(loop))
	}
	return f.s, f.meta, nil
}
