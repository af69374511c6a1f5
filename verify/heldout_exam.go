package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
)

// listExam lists the files of an exam, by their paths in it, with slashes. An
// empty exam is an error, and so is anything that could not be laid over: an
// exam of which a part is silently missing is easier than the one that was
// meant. Names must be UTF-8, since hashes of them are kept as JSON.
func listExam(exam string) ([]string, error) {
	root, err := os.OpenRoot(exam)
	if err != nil {
		return nil, fmt.Errorf("the exam: %w", err)
	}
	defer root.Close()
	var files []string
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".git":
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !utf8.ValidString(name):
			return fmt.Errorf("the name %q is not UTF-8", name)
		}
		info, err := root.Stat(name)
		if err != nil {
			return err // a link that leads out of it, or nowhere
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file, nor a link to one", name)
		}
		if files = append(files, name); len(files) > maxGuarded {
			return fmt.Errorf("it has more than %d files", maxGuarded)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("the exam %s: %w", exam, err)
	case len(files) == 0:
		return nil, fmt.Errorf("the exam %s is empty", exam)
	}
	return files, nil
}

// hashExam returns the hashes of an exam's files, by their paths. It looks at
// ctx between files, for an exam may be large and lie on a slow disk.
func hashExam(ctx context.Context, exam string) (map[string]string, error) {
	files, err := listExam(exam)
	if err != nil {
		return nil, err
	}
	hashes := make(map[string]string, len(files))
	for _, name := range files {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if hashes[name], err = hashFile(exam, name); err != nil {
			return nil, fmt.Errorf("the exam: %w", err)
		}
	}
	return hashes, nil
}

// In [ralph.Task.Guarded] an exam is one key, a hash of where it is, and one
// value, a hash of its files' names and hashes. Neither says anything about the
// exam itself: logs hold the task, and the agent may read logs.
const examKey = "//exam/"

// keyOfExam is the key of an exam. Eight bytes of the hash are enough to tell
// the exams of one task apart.
func keyOfExam(exam string) string {
	return examKey + hashed(exam)[:16]
}

// digestOfExam is one hash for all files. Names are quoted in it, so that no
// name with a line break can stand for two files.
func digestOfExam(hashes map[string]string) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintf(all, "%s  %q\n", hashes[name], name)
	}
	return hex.EncodeToString(all.Sum(nil))
}

// agreedExam reports whether an exam is the one that the task was prepared
// with. A task that was not prepared has nothing to compare, and passes; but
// one that was prepared with another exam does not, so that pointing a resumed
// loop at an easier folder is noticed.
func agreedExam(exam string, hashes, guarded map[string]string) error {
	agreed := noted(guarded, func(key string) bool { return strings.HasPrefix(key, examKey) })
	if agreed && guarded[keyOfExam(exam)] != digestOfExam(hashes) {
		return fmt.Errorf("the exam %s is not as it was when the loop started", exam)
	}
	return nil
}

// layOver lays the exam over the workspace in the copy and returns the number
// of its files. They must be as they were when the task was prepared, if it
// was; that is compared after copying, with the hashes of what was in fact
// copied. They count as guarded in the copy, where they may stand for files
// that are guarded: the exam is meant to replace them.
func (d *duplicate) layOver(ctx context.Context, exam string, task *ralph.Task) (int, error) {
	files, err := listExam(exam)
	if err != nil {
		return 0, err
	}
	from, err := os.OpenRoot(exam)
	if err != nil {
		return 0, fmt.Errorf("the exam: %w", err)
	}
	defer from.Close()
	if d.to, err = os.OpenRoot(d.top); err != nil {
		return 0, err
	}
	defer d.to.Close()
	hashes := map[string]string{}
	for _, name := range files {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if hashes[name], err = d.lay(ctx, from, name); err != nil {
			return 0, fmt.Errorf("the exam could not be laid over the workspace: %w", err)
		}
	}
	if err := agreedExam(exam, hashes, task.Guarded); err != nil {
		return 0, err
	}
	// A task without a snapshot must not seem to have one.
	if hasSnapshot(*task) {
		maps.Copy(task.Guarded, hashes)
	}
	return len(files), nil
}

// lay lays one file of the exam over the workspace and returns its hash. Links
// in the exam are followed within it: its author may keep common files in one
// place.
func (d *duplicate) lay(ctx context.Context, from *os.Root, name string) (string, error) {
	in, err := file.OpenIn("", from, name)
	if err != nil {
		return "", err
	}
	defer in.Close() // it was only read
	to := path.Join(d.sub, name)
	if err := d.clear(to); err != nil {
		return "", err
	}
	hash := sha256.New()
	if err := d.put(ctx, to, in, hash); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
