package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
)

// A shadow is a call of git with a folder of git's own that lasts as long as it: with
// the configuration, attributes and excludes of the start, the objects of the
// repository, an index that is nobody else's, and no refs. What an agent has written
// into the repository's folder means nothing there.
type shadow struct {
	call
	folder string
	index  string
}

// shadowName begins the name of a shadow's folder.
const shadowName = "ralph-git-"

// shadow makes a shadow for the files in workTree. Only in the user's own work tree
// can a part of the files be missing because it was asked for.
func (r *Repo) shadow(workTree string, excludes ...string) *shadow {
	folder, err := os.MkdirTemp("", shadowName)
	s := &shadow{folder: folder, index: filepath.Join(folder, "index")}
	s.call = call{dir: workTree, bound: long, alone: true, env: []string{
		"GIT_DIR=" + folder, "GIT_OBJECT_DIRECTORY=" + filepath.Join(r.Common, "objects"), "GIT_INDEX_FILE=" + s.index, "GIT_WORK_TREE=" + workTree,
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
	}}
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(folder, "refs"), 0o700), os.Mkdir(filepath.Join(folder, "info"), 0o700), r.lend(folder))
	}
	texts := map[string][]byte{
		"HEAD":         []byte("ref: refs/heads/none\n"),
		"config":       r.config.text(r.Common, workTree != r.Top),
		"info/exclude": slices.Concat(r.info["exclude"], []byte(ownIgnored), []byte(strings.Join(excludes, "\n"))),
	}
	for _, name := range []string{"attributes", "sparse-checkout"} {
		if text, ok := r.info[name]; ok && (name == "attributes" || workTree == r.Top) {
			texts["info/"+name] = text
		}
	}
	s.err = ours(err)
	for name, text := range texts {
		s.hold(name, text)
	}
	return s
}

// lend gives a shadow what lies in the repository's folder and is not git's own, so
// that a filter finds its keys and its files, and what git needs to read objects.
func (r *Repo) lend(folder string) error {
	entries, err := os.ReadDir(r.Common)
	if err != nil {
		return err
	}
	own := []string{"HEAD", "config", "description", "index", "refs", "packed-refs", "objects", "info", "hooks", "logs", "worktrees", "modules", "branches", "remotes", "lfs", "gc.pid", "commondir", "gitdir"}
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == "shallow":
			text, err := file.Read("", filepath.Join(r.Common, name), 64<<20)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, name), text, 0o600)
			}
			if err != nil {
				return err
			}
		case slices.Contains(own, name) || !e.IsDir() || strings.HasPrefix(name, "ralph-") || strings.HasPrefix(name, "rebase-"):
		default: // where there are no links, a filter does without
			_ = os.Symlink(filepath.Join(r.Common, name), filepath.Join(folder, name))
		}
	}
	return nil
}

// sweepShadows removes what runs that were killed have left. No shadow is used for a
// day.
func sweepShadows() {
	all, _ := os.ReadDir(os.TempDir())
	for _, e := range all {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), shadowName) && e.IsDir() && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(filepath.Join(os.TempDir(), e.Name()))
		}
	}
}

// hold writes a file of the shadow's folder.
func (s *shadow) hold(name string, text []byte) {
	if s.err == nil {
		s.err = ours(os.WriteFile(filepath.Join(s.folder, filepath.FromSlash(name)), text, 0o600))
	}
}

func (s *shadow) remove() { os.RemoveAll(s.folder) }

// borrow takes a copy of the index of a work tree, with what it shares.
func (s *shadow) borrow(dir string) {
	shared, _ := filepath.Glob(filepath.Join(strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`).Replace(dir), "sharedindex.*"))
	for _, name := range append(shared, filepath.Join(dir, "index")) {
		text, err := file.Read("", name, 1<<30)
		if errors.Is(err, fs.ErrNotExist) || s.err != nil {
			continue
		}
		to := filepath.Join(s.folder, filepath.Base(name))
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if info, missing := os.Stat(name); err == nil && missing == nil { // files that are as old as it are read: they may have changed since
			err = os.Chtimes(to, time.Time{}, info.ModTime())
		}
		if err != nil {
			s.err = fmt.Errorf("git: the index: %w", err)
		}
	}
}

// lay puts the shadow's index in the place of that of a work tree, at once.
func (s *shadow) lay(dir string) {
	if s.err != nil {
		return
	}
	name := filepath.Join(dir, "index")
	text, err := os.ReadFile(s.index)
	info, missing := os.Stat(s.index)
	if s.err = ours(cmp.Or(err, missing)); s.err == nil {
		s.err = place(name, text)
	}
	if s.err == nil { // as in borrow
		s.err = os.Chtimes(name, time.Time{}, info.ModTime())
	}
}

// place writes a file of git's folder as a whole.
func place(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "ralph-"+filepath.Base(name)+"-")
	if err != nil {
		return fmt.Errorf("git: %w", err)
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Lstat(name); err == nil {
		mode = info.Mode().Perm()
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("git: %w", err)
	}
	return nil
}

// feed is [call.run] of a command that reads something.
func (c *call) feed(ctx context.Context, input string, args ...string) string {
	c.input = input
	defer func() { c.input = "" }()
	return c.run(ctx, args...)
}

// refresh looks at the files that the index has.
func (s *shadow) refresh(ctx context.Context) {
	s.yes(ctx, "update-index", "-q", "--really-refresh") // no: they are not all as it says
}

// tree reads a commit into the index, without a look at the files.
func (s *shadow) tree(ctx context.Context, commit string) { s.run(ctx, "read-tree", commit) }

// put writes entries into the index: "<mode> <object>\t<path>", mode 0 to have none.
func (s *shadow) put(ctx context.Context, entries []string) {
	if len(entries) > 0 {
		s.feed(ctx, strings.Join(entries, "\x00")+"\x00", "update-index", "-z", "--index-info")
	}
}

// line is an entry for [shadow.put].
func (e entry) line(path string, size int) string {
	if e.mode == "" {
		return "0 " + strings.Repeat("0", size) + "\t" + path
	}
	return e.mode + " " + e.object + "\t" + path
}

// commitTree makes a commit, signed if the user has his signed. Whoever signs cannot
// ask anything, and has a minute.
func (r *Repo) commitTree(ctx context.Context, s *shadow, tree, message string, parents ...string) string {
	if message == "" {
		s.err = cmp.Or(s.err, errors.New("git: a commit needs a message"))
	}
	args := []string{"commit-tree", tree, "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	signs := r.config.is("commit.gpgsign")
	if signs {
		args = append(args, "-S")
	}
	failed := s.err
	s.bound = patience
	commit := strings.TrimSpace(s.feed(ctx, message, args...))
	if s.bound = long; s.err != nil && failed == nil && signs {
		s.err = fmt.Errorf("git: the commit cannot be signed without asking (commit.gpgSign): %w", s.err)
	}
	return commit
}
