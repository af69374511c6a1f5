package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// Base returns the commit that the work tree which holds dir is at, and before the
// first commit git's empty tree; "" = there is no work tree, or no git.
func Base(ctx context.Context, dir string) (string, error) {
	top := Root(dir)
	if top == "" {
		return "", nil
	}
	c := inTree(top)
	out, is := c.ask(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if !is {
		out = c.run(ctx, "hash-object", "-t", "tree", os.DevNull)
	}
	if errors.Is(c.err, exec.ErrNotFound) {
		return "", nil
	}
	return strings.TrimSpace(out), c.err
}

// A Change is what became of one file between a commit and now.
type Change struct {
	Path     string // from the top of the work tree, with slashes
	Old, New Version
}

// A Version is what a file was at one moment. The zero Version is of a file that is
// not there.
type Version struct {
	Mode   string // as git writes it: "100644", "100755", "120000" (a link), "160000" (a repository); "other" = none of these
	Size   int64
	Digest string // "sha256:…" of what it holds; of a repository, its commit
	Text   []byte // what it holds, or where a link points; nil if there is more than was asked for
}

// Changes calls each with what differs between base, which [Base] has returned, and
// the files that lie in the work tree that holds dir, in the order of their paths,
// and returns the names of what git ignores, which was not looked at: folders end
// with a slash. Versions have their Text if it has at most limit bytes. Paths for
// which skip answers true are left out. An error of each ends it.
//
// It goes by what the files hold. What the index says only tells which of them need
// not be read: that an entry is said to be unchanged, or not to belong here, does
// not hide it. An index that was forged to fit the file does, and so does an edit
// that kept the file, its size and its time, made in the second in which git has
// looked at it last. Repositories inside are looked into from the commit that base has of
// them, and as a whole if it has none. As with [Look], nothing runs because the
// workspace says so.
//
// It is a [NoneError] if there is no work tree any more.
func Changes(ctx context.Context, dir, base string, limit int64, skip func(path string) bool, each func(Change) error) (ignored []string, err error) {
	top := Root(dir)
	if top == "" {
		return nil, &NoneError{"there is none any more"}
	}
	if !isObject(base) {
		return nil, fmt.Errorf("git: %q is no commit", base)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 2*patience, errPatience)
	defer cancel()
	git := unfiltered(ctx, top)
	if out := git.ignores(ctx, dir); git.err != nil || out {
		return nil, cmp.Or(git.err, error(&NoneError{"its work tree ignores it"}))
	}
	v, err := (&looker{skip: skip, budget: 0}).look(ctx, top)
	if err != nil {
		return nil, err
	}
	d := differ{limit: limit, skip: skip, each: each}
	err = d.tree(ctx, v, base, "")
	return d.ignored, err
}

// isObject reports whether text can be the name of an object, and no option.
func isObject(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && (len(text) == 40 || len(text) == 64)
}

// A differ finds out what changed.
type differ struct {
	limit   int64
	skip    func(string) bool
	each    func(Change) error
	ignored []string
}

// An entry is a file in a commit.
type entry struct{ mode, object string }

// tree compares one work tree with a commit. prefix is where it is in the whole.
func (d *differ) tree(ctx context.Context, v View, base, prefix string) error {
	if v.partly {
		return errors.New("git: a repository inside the work tree cannot be looked into")
	}
	git := unfiltered(ctx, v.Top)
	if base == "" {
		base = git.line(ctx, "hash-object", "-t", "tree", os.DevNull)
	}
	was := git.entries(ctx, base)
	paths := git.suspects(ctx, v, was)
	if git.err != nil {
		return git.err
	}
	for _, p := range paths {
		inner, isTree := v.nested[strings.TrimSuffix(p, "/")]
		p = strings.TrimSuffix(p, "/")
		whole := path.Join(prefix, p)
		var err error
		switch {
		case d.skip(whole):
		case isTree:
			from := ""
			if was[p].mode == "160000" {
				from = was[p].object
			}
			err = d.tree(ctx, inner, from, whole)
		default:
			err = d.file(ctx, git, p, whole, was[p])
		}
		if err != nil {
			return err
		}
	}
	for _, p := range git.names(ctx, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z") {
		if !d.skip(path.Join(prefix, p)) {
			d.ignored = append(d.ignored, strings.TrimPrefix(prefix+"/"+p, "/"))
		}
	}
	return git.err
}

// entries are the files of a commit: all, or those at paths.
func (c *call) entries(ctx context.Context, commit string, paths ...string) map[string]entry {
	all := map[string]entry{}
	for _, line := range c.names(ctx, append([]string{"ls-tree", "-r", "-z", "--full-tree", commit, "--"}, paths...)...) {
		about, name, _ := strings.Cut(line, "\t")
		if fields := strings.Fields(about); len(fields) == 3 {
			all[name] = entry{fields[0], fields[2]}
		}
	}
	return all
}

// suspects are the paths that may have changed, sorted: those that differ from the
// commit that is checked out, those in which that one differs from the base, those
// that git is told not to look at, and the repositories inside.
func (c *call) suspects(ctx context.Context, v View, was map[string]entry) []string {
	paths := map[string]bool{}
	for p := range v.Dirty {
		paths[p] = true
	}
	for p := range v.nested {
		delete(paths, p+"/")
		paths[p] = true
	}
	now := map[string]entry{}
	if v.Head != "" {
		now = c.entries(ctx, v.Head)
	}
	for p, e := range was {
		if now[p] != e {
			paths[p] = true
		}
	}
	for p := range now {
		if _, ok := was[p]; !ok {
			paths[p] = true
		}
	}
	for _, line := range c.names(ctx, "ls-files", "-v", "-z") { // and those that git is told not to look at
		switch tag, p, _ := strings.Cut(line, " "); {
		case tag == "S": // in a sparse checkout they are not there
			if there(filepath.Join(c.dir, filepath.FromSlash(p))) {
				paths[p] = true
			}
		case tag == strings.ToLower(tag):
			paths[p] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// file compares one file.
func (d *differ) file(ctx context.Context, git *call, name, whole string, was entry) (err error) {
	c := Change{Path: whole, Old: git.version(ctx, was, d.limit)}
	if c.New, err = lying(git.dir, name, d.limit); git.err != nil || err != nil {
		return cmp.Or(git.err, err)
	}
	if was.mode == "160000" && c.New.Mode == "" || c.Old.Mode == c.New.Mode && c.Old.Digest == c.New.Digest {
		return nil // a repository that is not checked out; or the same
	}
	return d.each(c)
}

// version is what a file was in a commit.
func (c *call) version(ctx context.Context, e entry, limit int64) Version {
	v := Version{Mode: e.mode}
	switch e.mode {
	case "":
		return v
	case "160000":
		v.Digest = e.object
		return v
	}
	size, err := strconv.ParseInt(c.line(ctx, "cat-file", "-s", e.object), 10, 64)
	if v.Size = size; err != nil && c.err == nil {
		c.err = fmt.Errorf("git: the size of an object: %w", err)
	}
	if v.Size > limit {
		v.Digest = "git:" + e.object // to know it would be to read it
		return v
	}
	v.hold([]byte(c.run(ctx, "cat-file", "blob", e.object)))
	return v
}

func (v *Version) hold(text []byte) {
	sum := sha256.Sum256(text)
	v.Text, v.Size, v.Digest = text, int64(len(text)), "sha256:"+hex.EncodeToString(sum[:])
}

// lying is what a file is that lies in the work tree.
func lying(top, name string, limit int64) (Version, error) {
	name = filepath.Join(top, filepath.FromSlash(name))
	info, err := os.Lstat(name)
	switch {
	case linked(top, name), errors.Is(err, fs.ErrNotExist):
		return Version{}, nil
	case err != nil:
		return Version{}, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		v := Version{Mode: "120000"}
		v.hold([]byte(target))
		return v, err
	case info.IsDir():
		return Version{}, nil // what is in it is told by itself
	case !info.Mode().IsRegular():
		return Version{Mode: "other"}, nil
	}
	v := Version{Mode: "100644"}
	if info.Mode()&0o100 != 0 {
		v.Mode = "100755"
	}
	if info.Size() <= limit {
		text, err := file.Read("", name, int(limit))
		v.hold(text)
		return v, err
	}
	v.Size = info.Size()
	sum, err := digest(name)
	v.Digest = "sha256:" + sum
	return v, err
}

// linked reports whether one of the folders between top and a file is a link, so
// that the file lies elsewhere, or no folder any more.
func linked(top, name string) bool {
	for dir := filepath.Dir(name); dir != top && len(dir) > len(top); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return true
		}
	}
	return false
}
