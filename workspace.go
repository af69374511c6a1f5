package ralph

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	gitcmd "github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A view is what is known of a workspace at one moment.
type view struct {
	digest string   // "" = unknown
	files  []string // as Local.Workspace told
	root   string   // of git's work tree, "" = not git's
	head   string
	dirty  map[string]string // path → what it holds
}

// look looks at the workspace with Local.Workspace, or with git.
func (l *Local) look(ctx context.Context, dir string) (view, error) {
	if l.Workspace == nil {
		return gitView(ctx, dir)
	}
	var v view
	err := plugin.Call("Local.Workspace", func() (err error) { v.digest, v.files, err = l.Workspace(ctx, dir); return })
	if err != nil {
		return view{}, err
	}
	return v, nil
}

// changedSince returns the files that changed between two views.
func (v view) changedSince(before view) []string {
	if v.root == "" || v.root != before.root {
		return v.files
	}
	changed := map[string]bool{}
	for p, now := range v.dirty {
		changed[p] = before.dirty[p] != now
	}
	for p := range before.dirty {
		if _, still := v.dirty[p]; !still {
			changed[p] = true
		}
	}
	if v.head != before.head {
		for _, p := range v.committedSince(before.head) {
			changed[p] = true
		}
	}
	maps.DeleteFunc(changed, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(changed))
}

// relativeTo names files by their path from dir, where they are below it: agents
// name them in full, git from the top of the work tree (root, "" = unknown).
func relativeTo(dir, root string, files []string) []string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return files
	}
	named := make([]string, 0, len(files))
	for _, f := range files {
		full := f
		if !filepath.IsAbs(full) && root != "" {
			full = filepath.Join(root, filepath.FromSlash(f))
		}
		if rel, err := filepath.Rel(dir, full); err == nil && filepath.IsAbs(full) && filepath.IsLocal(rel) {
			f = filepath.ToSlash(rel)
		}
		named = append(named, f)
	}
	return named
}

// emptyTree is git's name for a tree without files.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

func (v view) committedSince(head string) []string {
	if head == "" {
		head = emptyTree
	}
	out, err := git(context.Background(), v.root, "diff", "--name-only", "--no-renames", "-z", head, v.head)
	if err != nil {
		return nil // the old commit is gone: rewritten history
	}
	var paths []string
	for p := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if p != "" && !ownFile(p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// gitView asks git for the commit and the files that differ from it, and hashes
// those, so that a second change of the same file is seen too. Without a work
// tree, or without git, nothing is known.
func gitView(ctx context.Context, dir string) (view, error) {
	root := workTree(dir)
	if root == "" {
		return view{}, nil
	}
	out, err := git(ctx, root, "status", "--porcelain=v2", "--branch", "--untracked-files=all", "--no-renames", "-z")
	if errors.Is(err, exec.ErrNotFound) {
		return view{}, nil
	}
	if err != nil {
		return view{}, err
	}
	v := view{root: root, dirty: map[string]string{}}
	nested := false
	budget := int64(64 << 20) // bytes to read; beyond it, size and time must do
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if oid, ok := strings.CutPrefix(entry, "# branch.oid "); ok && oid != "(initial)" {
			v.head = oid
		}
		p := statusPath(entry)
		if p == "" || ownFile(p) {
			continue
		}
		state, _, _ := strings.Cut(entry, " "+p)
		name := filepath.Join(root, filepath.FromSlash(p))
		v.dirty[p] = state + " " + contentOf(name, &budget)
		if info, err := os.Lstat(name); err == nil && info.IsDir() {
			nested = true
		}
	}
	if nested {
		return v, nil // a repository in this one has changed, and git does not say how: no digest
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", v.head)
	for _, p := range slices.Sorted(maps.Keys(v.dirty)) {
		fmt.Fprintf(h, "%q %s\n", p, v.dirty[p])
	}
	v.digest = "git:" + hex.EncodeToString(h.Sum(nil)[:16])
	return v, nil
}

// statusPath is the path of an entry of porcelain v2, "" for headers.
func statusPath(entry string) string {
	fields := map[byte]int{'1': 9, 'u': 11, '?': 2}
	if entry == "" || fields[entry[0]] == 0 {
		return ""
	}
	parts := strings.SplitN(entry, " ", fields[entry[0]])
	if len(parts) < fields[entry[0]] {
		return ""
	}
	return parts[len(parts)-1]
}

// ownFile reports whether loops write the file themselves: it says nothing about
// the agent's work.
func ownFile(p string) bool {
	if strings.HasPrefix(p, ".ralph/") || strings.Contains(p, "/.ralph/") || path.Base(p) == "progress.txt" {
		return true
	}
	session, _ := path.Match("session-*.log", path.Base(p))
	return session && path.Base(path.Dir(p)) == "logs"
}

func contentOf(name string, budget *int64) string {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return "gone"
	case info.Mode()&os.ModeSymlink != 0:
		target, _ := os.Readlink(name)
		return "link " + target
	case !info.Mode().IsRegular():
		return info.Mode().Type().String()
	case info.Size() > *budget:
		return fmt.Sprintf("%d %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
	}
	*budget -= info.Size()
	f, err := os.Open(name)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "unreadable"
	}
	return info.Mode().Perm().String() + " " + hex.EncodeToString(h.Sum(nil))
}

// workTree finds the top of the git work tree that holds dir by looking for
// .git, so that other folders cost no process.
func workTree(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// git runs git without taking locks or asking anybody anything.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := gitcmd.Command(ctx, dir, append([]string{"-c", "core.quotePath=false", "-c", "core.fsmonitor=false"}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(errOut.String()), "\n")
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, first)
	}
	return out.Bytes(), nil
}
