package verify

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// Snapshot returns the task with the hashes of the files that its agent must
// not change, in [ralph.Task.Guarded], for [Guard] to compare. A [Guard] with
// Globs takes the snapshot itself when the loop starts. A caller that takes its
// own does so before that, of the files that decide whether the work is done:
// tests, the task file, the script that a verifier runs. The hashes are part of
// the task, and so of every state that is saved: they survive a crash, and a
// loop that is resumed does not take new ones, which would accept what the
// agent has done to the files.
//
// A glob is a path in the workspace with the wildcards of [path.Match] in its
// parts, and ** for any number of folders: "**/*_test.go". It guards what
// matches it, and that nothing else comes to match it. A path without wildcards
// must exist. A file guards itself alone; a folder guards everything in it, and
// that nothing is added. .git folders and the workspace's own .ralph are looked
// into only where they are named (".git/hooks", "**/.git/config"). Linked
// folders are followed; one that leads out of the workspace is an error.
//
// A path that is absolute, or begins with ~/ for the home folder, names one
// file outside the workspace. It may be missing, and must then stay so.
//
// At most 4096 files can be guarded. What was guarded before stays guarded.
// Files are compared by content alone, so neither times nor modes count. The
// task that was passed is not changed; on an error it is returned as it is.
// Snapshot may be called concurrently.
//
// In Guarded the key is the path, or the glob, and the value is a file's
// SHA-256, "" for a glob, or "absent" for a file that must not be there. Keys
// that begin with // belong to other verifiers, see [External] and [Template].
func Snapshot(task ralph.Task, globs ...string) (ralph.Task, error) {
	// An empty list would guard nothing and look as if it did.
	if len(globs) == 0 {
		return task, errors.New("verify: snapshot: no file is named")
	}
	guarded := maps.Clone(task.Guarded)
	if guarded == nil {
		guarded = map[string]string{}
	}
	for _, glob := range globs {
		pattern, found, err := expand(task.Dir, glob)
		if err != nil {
			return task, fmt.Errorf("verify: snapshot: %w", err)
		}
		if pattern != "" {
			guarded[pattern] = ""
		}
		for _, name := range found {
			// A hash that is there was taken earlier, before the agent had a
			// chance.
			if guarded[name] != "" {
				continue
			}
			// JSON would replace the bytes that are not UTF-8, and the file
			// would seem to have vanished after a crash.
			if !utf8.ValidString(name) {
				return task, fmt.Errorf("verify: snapshot: the name %q is not UTF-8; a task that is saved cannot hold it", name)
			}
			guarded[name], err = hashFile(task.Dir, name)
			if errors.Is(err, fs.ErrNotExist) && outside(name) {
				guarded[name], err = absent, nil
			}
			if err != nil {
				return task, fmt.Errorf("verify: snapshot: %w", err)
			}
		}
		if len(guarded) > maxGuarded {
			return task, fmt.Errorf("verify: snapshot: %q makes it more than %d files; guard fewer", glob, maxGuarded)
		}
	}
	task.Guarded = guarded
	return task, nil
}

// maxGuarded bounds the files of one task. Their hashes are in every state and
// event that is saved, so a whole node_modules would make each of them
// megabytes long.
const maxGuarded = 4096

// absent is the value of a file that must not be there. The empty value is
// taken, by globs.
const absent = "absent"

// own reports whether a key of Task.Guarded is a snapshot's, and not of
// something that another verifier watches. No path that was cleaned begins with
// two slashes.
func own(key string) bool { return !strings.HasPrefix(key, "//") }

// outside reports whether a name is not one in the workspace.
func outside(name string) bool { return filepath.IsAbs(name) || strings.HasPrefix(name, "~/") }

// cleanGlob is the name that a glob has in Task.Guarded. A relative path that
// leads out of the workspace is refused, though an absolute one is not: the
// first is a mistake more often than not, and means something else as soon as
// the workspace moves.
func cleanGlob(text string) (string, error) {
	name := path.Clean(filepath.ToSlash(text))
	switch {
	case strings.TrimSpace(text) == "" || strings.ContainsRune(text, 0):
		return "", fmt.Errorf("%q is no path", text)
	case outside(name):
		return name, nil
	case !filepath.IsLocal(name):
		return name, fmt.Errorf("%q is outside the workspace; a file there is named by its absolute path, or from ~/ on", text)
	}
	for part := range strings.SplitSeq(name, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return "", fmt.Errorf("%q is no glob: %w", text, err)
		}
	}
	return name, nil
}

// expand returns what a glob guards: the pattern to watch for more, if it is
// one, and the files there are. A path that exists is taken by its name even if
// it has signs of wildcards in it ("app/[id]/page.ts"), as a user who names it
// means it.
func expand(dir, text string) (pattern string, found []string, err error) {
	name, err := cleanGlob(text)
	if err != nil {
		return "", nil, err
	}
	if outside(name) {
		return "", []string{name}, oneFile(dir, name)
	}
	root, err := os.OpenRoot(workspace(dir))
	if err != nil {
		return "", nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if real, ok := unlinked(root, name); err != nil && ok { // through a link that is absolute
		info, err = root.Stat(real)
	}
	switch {
	case err == nil && info.IsDir():
		name = path.Join(name, "**")
	case err == nil:
		return "", []string{name}, nil
	case !strings.ContainsAny(name, `*?[\`):
		return "", nil, err
	}
	found, err = glob(dir, name)
	return name, found, err
}

// oneFile refuses what is not a regular file. One that is missing may come to
// be, but not in the workspace: there, a path without wildcards that names
// nothing is a slip of the pen, and would guard nothing.
func oneFile(dir, name string) error {
	full, err := fromHome(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if root, rootErr := filepath.Abs(workspace(dir)); rootErr == nil && !file.Within(root, full) {
			return nil
		}
		return err
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file; a path outside the workspace must be one", name)
	}
	return nil
}

// fromHome replaces ~/ by the home folder. The hashes are kept under the name
// with ~, which says the same on a machine where the home folder has another
// path.
func fromHome(name string) (string, error) {
	rest, ok := strings.CutPrefix(name, "~/")
	if !ok {
		return name, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, rest), nil
}

func workspace(dir string) string { return cmp.Or(dir, ".") }

// hashFile returns the SHA-256 of a file, in hexadecimal. Inside the workspace
// no link may lead out of it; outside, links are followed, for people do link
// their configuration. What is not a regular file is an error, and a pipe in a
// file's place is not waited for.
func hashFile(dir, name string) (string, error) {
	var f *os.File
	var err error
	if outside(name) {
		if name, err = fromHome(name); err != nil {
			return "", err
		}
		f, err = file.Open("", name)
	} else {
		root, rootErr := os.OpenRoot(workspace(dir))
		if rootErr != nil {
			return "", rootErr
		}
		defer root.Close()
		f, err = file.OpenIn("", root, name)
		if real, ok := unlinked(root, name); err != nil && ok { // through a link that is absolute
			f, err = file.OpenIn("", root, real)
		}
	}
	sum, _, err := hashOf(f, err)
	return sum, err
}
