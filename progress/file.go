package progress

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// A File is a log file in a workspace, where an agent may delete it at any time. It is
// opened for each write. A file that was deleted is made again, and so is the folder
// .ralph that holds it. Lines of [JSONL] that concurrent loops or processes write stay
// whole. The comment of [OpenJSONL] says what may stand at Path, and who may read it.
// Folders that are made are for their owner alone, 0700, and a .gitignore in them says
// that they are no part of the project. A folder .ralph or logs that has no .gitignore
// gets one, too; if the folder holds files of others, that hides the log alone, or all
// session-*.log. A .gitignore that is there stays as it is: to have the logs in the
// project, leave an empty one.
//
// It is an [io.Writer], for [JSONL.W] above all. It has no state, so its methods may be
// called concurrently.
type File struct {
	Path string
}

// Write appends to the file. A torn last line is ended first, see [OpenJSONL]; so
// writing nothing makes sure that the file can be written.
func (f File) Write(p []byte) (int, error) {
	log, err := f.open()
	if err != nil {
		return 0, err
	}
	n, err := log.Write(p)
	return n, cmp.Or(err, log.Close())
}

// open opens the file for a line, and makes its folder again if the agent has removed
// it. A folder of another name is the caller's, and not made unasked.
func (f File) open() (*os.File, error) {
	if filepath.Base(filepath.Dir(f.Path)) == ".ralph" {
		if err := f.folder(); err != nil {
			return nil, err
		}
	}
	return OpenJSONL(f.Path)
}

// Replace gives the file this text, all or nothing: a reader, or a machine that loses
// power, finds the old text or the new one. Its mode stays; a new file is 0600, and its
// folder is made if it is not there. Links are not followed.
func (f File) Replace(text []byte) error {
	err := file.Folder(filepath.Dir(f.Path))
	if err == nil {
		err = file.Put("", f.Path, text)
	}
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	return nil
}

// Create makes the file, 0600, and its folder if it is not there, for a log that
// is written once, such as a session's. The error wraps [fs.ErrExist] if the file
// is there. The caller closes it.
func (f File) Create() (*os.File, error) {
	err := f.folder()
	if err != nil {
		return nil, err
	}
	log, err := file.Create("", f.Path, file.Private)
	if err != nil {
		return nil, fmt.Errorf("progress: %w", err)
	}
	return log, nil
}

// folder makes the folder, if it is not there, and hides it from git. So it does with
// a folder .ralph or logs that is there, unless something is said in it to git
// already, be it nothing.
func (f File) folder() error {
	folder := filepath.Dir(f.Path)
	made := false
	if _, err := os.Stat(folder); err != nil {
		if err := file.Folder(folder); err != nil {
			return fmt.Errorf("progress: %w", err)
		}
		made = true
	}
	if name := filepath.Base(folder); !made && name != ".ralph" && name != "logs" {
		return nil
	}
	ignore := filepath.Join(folder, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	if err := create(ignore, f.hidden()); err != nil && made && !errors.Is(err, fs.ErrExist) { // or somebody else was faster
		return fmt.Errorf("progress: %w", err)
	}
	return nil // in a folder of others it may not be possible, which is no reason to write no log
}

// create makes a file with a text, if there is none. It never writes into one that is
// there.
func create(path, text string) error {
	f, err := file.Create("", path, file.Private)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	return err
}

// hidden is what is said to git: that all in the folder is no part of the project, or,
// where others have put something there, that the file is not, and those that are named
// like it for another session. It hides its own .gitignore as well: a log should leave
// no trace in what the agent commits.
func (f File) hidden() string {
	const sessions = "session-*.log"
	own, base := "", filepath.Base(f.Path)
	if is, _ := filepath.Match(sessions, base); is {
		own = sessions
	}
	entries, err := os.ReadDir(filepath.Dir(f.Path))
	others := err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		session, _ := filepath.Match(own, e.Name())
		return e.Name() != base && !session
	})
	if !others {
		return "*\n"
	}
	return "/" + cmp.Or(own, strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(base)) + "\n/.gitignore\n"
}
