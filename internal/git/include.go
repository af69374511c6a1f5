package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// Include copies files into the work tree that git does not have and that the work
// needs: those of the user's work tree that its .worktreeinclude names, as it is in
// the user's branch's work tree at the start, or globs, both as .gitignore names
// files. What is there already stays. [Tree.Commit] does not commit them,
// and it is an error there if the agent has. The files of loops, and repositories
// within, are not copied.
func (t *Tree) Include(ctx context.Context, globs []string) error {
	r := t.repo
	patterns := string(r.include) + "\n" + strings.Join(globs, "\n")
	if strings.TrimSpace(patterns) == "" {
		return nil
	}
	s := r.shadow(r.Top)
	defer s.remove()
	s.borrow(r.dir)
	list := filepath.Join(s.folder, "include")
	if s.err == nil {
		s.err = ours(os.WriteFile(list, []byte(patterns+"\n"), 0o600))
	}
	paths := s.names(ctx, "ls-files", "--others", "--ignored", "--exclude-from="+list, "-z")
	if s.err != nil {
		return s.err
	}
	t.extra, t.copied = nil, nil
	for _, p := range paths {
		if OwnFile(p) || strings.HasSuffix(p, "/") {
			continue
		}
		t.copied = append(t.copied, p)
		t.extra = append(t.extra, "/"+strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `).Replace(p))
		from, to := filepath.Join(r.Top, filepath.FromSlash(p)), filepath.Join(t.Dir, filepath.FromSlash(p))
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if there(to) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return fmt.Errorf("git: %w", err)
		}
		if info, err := os.Lstat(from); err == nil && (!info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 || linked(r.Top, from) || linked(t.Dir, to)) {
			continue
		}
		if err := gone(bring(from, to)); err != nil {
			return err
		}
	}
	return nil
}

// bring copies a file as a whole, or not at all.
func bring(from, to string) error {
	temp := filepath.Join(filepath.Dir(to), ".ralph-copy")
	os.Remove(temp)
	err := duplicate(from, temp)
	if err == nil {
		err = os.Rename(temp, to)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// included reads the file that names what work trees need.
func (r *Repo) included() (err error) {
	r.include, err = file.Read("", filepath.Join(r.Top, ".worktreeinclude"), 1<<20)
	return gone(err)
}
