package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
)

// Snapshot returns the task with the hashes of the files that its agent must not
// change, in [ralph.Task.Guarded], for [Guard] to compare. Call it before the
// loop starts, with the files that decide whether the work is done: tests, the
// task file, the script that a verifier runs. The hashes are part of the task,
// and so of every state: they survive a crash, and a resume does not take new
// ones.
//
// A glob is a path in the workspace with the wildcards of [path.Match] in its
// parts, and ** for any number of folders: "**/*_test.go". It guards what matches
// it, and that nothing else comes to match it; .git and .ralph are not looked
// into. A path without wildcards must exist; if it is a folder, everything in it
// is guarded. An absolute path may lie outside of the workspace, a relative one
// may not, nor may a link in the workspace lead out of it. At most 4096 files can
// be guarded. What was guarded before stays guarded.
func Snapshot(task ralph.Task, globs ...string) (ralph.Task, error) {
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
			if guarded[name] != "" {
				continue
			}
			if !utf8.ValidString(name) {
				return task, fmt.Errorf("verify: snapshot: the name %q is not UTF-8; a task that is saved cannot hold it", name)
			}
			if guarded[name], err = hashFile(task.Dir, name); err != nil {
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

const maxGuarded = 4096

// Guard rejects a claim after a file was changed, has vanished or has appeared
// that [Snapshot] guards, and names it: an agent may not edit its own exam. Files
// whose old content was restored are accepted. Else Verifier decides, and what
// it may have done to the files is looked at again when it has passed, since it
// runs what the agent wrote.
type Guard struct {
	// Verifier is asked when nothing has changed. Nil = String{}: the promise is
	// enough.
	Verifier ralph.Verifier
	// Globs must be among those that the snapshot was taken of. They are for
	// making sure that it was taken. Empty = any snapshot will do.
	Globs []string
}

var _ ralph.Verifier = Guard{}

// Verify implements [ralph.Verifier]. It is an error if there is no snapshot.
func (g Guard) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	if len(c.Task.Guarded) == 0 {
		return ralph.Verdict{}, errors.New("verify: Guard: the task has no snapshot; call verify.Snapshot before the loop starts")
	}
	for _, glob := range g.Globs {
		name := path.Clean(filepath.ToSlash(glob))
		_, named := c.Task.Guarded[name]
		_, folder := c.Task.Guarded[path.Join(name, "**")]
		if !named && !folder {
			return ralph.Verdict{}, fmt.Errorf("verify: Guard: the snapshot was not taken of %q; call verify.Snapshot with it before the loop starts", glob)
		}
	}
	check, err := guarded(ctx, c.Task)
	if err != nil {
		return ralph.Verdict{}, err
	}
	if check.Status != ralph.CheckPassed {
		return judge(check), nil
	}
	verifier := g.Verifier
	if verifier == nil {
		verifier = String{}
	}
	v, err := ask(ctx, verifier, c)
	v = clone(v)
	v.Passed = v.Passed && err == nil
	if v.Passed {
		again, err := guarded(ctx, c.Task)
		if err != nil {
			return ralph.Verdict{}, err
		}
		if again.Status != ralph.CheckPassed {
			again.Detail = "while the claim was verified: " + again.Detail
			rejected := judge(again)
			rejected.Checks = few(append(rejected.Checks, v.Checks...))
			return rejected, nil
		}
	}
	v.Checks = few(append([]ralph.Check{check}, v.Checks...))
	return v, err
}

// guarded compares the files with their snapshot.
func guarded(ctx context.Context, task ralph.Task) (ralph.Check, error) {
	check := ralph.Check{Name: "guarded files", Status: ralph.CheckPassed}
	var wrong []string
	all := sha256.New()
	files := 0
	for _, name := range slices.Sorted(maps.Keys(task.Guarded)) {
		if ctx.Err() != nil {
			return check, context.Cause(ctx)
		}
		was := task.Guarded[name]
		if was == "" {
			found, err := glob(task.Dir, name)
			if err != nil {
				wrong = append(wrong, err.Error())
			}
			for _, file := range found {
				if task.Guarded[file] == "" && !slices.Contains(wrong, file+" has appeared") {
					wrong = append(wrong, file+" has appeared")
				}
			}
			continue
		}
		files++
		is, err := hashFile(task.Dir, name)
		fmt.Fprintf(all, "%s  %s\n", is, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			wrong = append(wrong, name+" has vanished")
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s cannot be read any more (%v)", name, err))
		case is != was:
			wrong = append(wrong, name+" was changed")
		}
	}
	check.Digest = "sha256:" + hex.EncodeToString(all.Sum(nil))
	check.Detail = fmt.Sprintf("%d files are as they were before the loop started", files)
	if len(wrong) > 0 {
		check.Status = ralph.CheckFailed
		check.Detail = oneLine("the files that decide whether the task is done must be as they were before the loop started, and "+
			strings.Join(wrong, ", ")+"; undo that", 700, 150)
	}
	return check, nil
}

// expand returns what a glob guards: the pattern to watch for more, if it is
// one, and the files there are.
func expand(dir, text string) (pattern string, found []string, err error) {
	name := path.Clean(filepath.ToSlash(text))
	switch {
	case strings.TrimSpace(text) == "" || strings.ContainsRune(text, 0):
		return "", nil, fmt.Errorf("%q is no path", text)
	case filepath.IsAbs(text):
		if info, err := os.Stat(name); err != nil {
			return "", nil, err
		} else if !info.Mode().IsRegular() {
			return "", nil, fmt.Errorf("%s is not a file; an absolute path must be one", name)
		}
		return "", []string{name}, nil
	case !filepath.IsLocal(name):
		return "", nil, fmt.Errorf("%q is outside the workspace", text)
	}
	for part := range strings.SplitSeq(name, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return "", nil, fmt.Errorf("%q is no glob: %w", text, err)
		}
	}
	root, err := os.OpenRoot(workspace(dir))
	if err != nil {
		return "", nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
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

func workspace(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// glob lists the files in the workspace that match a pattern, sorted.
func glob(dir, pattern string) ([]string, error) {
	root, err := os.OpenRoot(workspace(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	parts := strings.Split(pattern, "/")
	fixed := 0
	for fixed < len(parts)-1 && !strings.ContainsAny(parts[fixed], `*?[\`) {
		fixed++
	}
	from := path.Join(append([]string{"."}, parts[:fixed]...)...)
	var found []string
	err = fs.WalkDir(root.FS(), from, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it went while we looked
		case err != nil:
			return err
		case d.IsDir() && name != from && (d.Name() == ".git" || d.Name() == ".ralph"):
			return fs.SkipDir
		case d.IsDir() || !matches(parts, strings.Split(name, "/")):
			return nil
		}
		if len(found) > maxGuarded {
			return fmt.Errorf("%q matches more than %d files; guard fewer", pattern, maxGuarded)
		}
		if info, err := root.Stat(name); err == nil && info.IsDir() {
			return nil // a link to a folder
		}
		found = append(found, name)
		return nil
	})
	return found, err
}

// matches matches the parts of a path with those of a pattern.
func matches(pattern, name []string) bool {
	for len(pattern) > 0 && pattern[0] != "**" {
		if len(name) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], name[0]); !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	if len(pattern) == 0 {
		return len(name) == 0
	}
	for i := range len(name) + 1 {
		if matches(pattern[1:], name[i:]) {
			return true
		}
	}
	return false
}

// hashFile returns the SHA-256 of a file, in hexadecimal.
func hashFile(dir, name string) (string, error) {
	var f fs.File
	var err error
	if filepath.IsAbs(name) {
		f, err = os.OpenFile(name, os.O_RDONLY|nonBlock, 0)
	} else {
		root, rootErr := os.OpenRoot(workspace(dir))
		if rootErr != nil {
			return "", rootErr
		}
		defer root.Close()
		f, err = root.OpenFile(name, os.O_RDONLY|nonBlock, 0)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file", name)
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
