package ralph

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A view is what is known of a workspace at one moment.
type view struct {
	digest string   // "" = unknown
	files  []string // as Local.Workspace told
	root   string   // of git's work tree, "" = not git's
	git    git.View
}

// look looks at the workspace with Local.Workspace, or with git.
func (l *Local) look(ctx context.Context, dir string) (view, error) {
	if l.Workspace == nil {
		v, err := git.Look(ctx, dir, git.OwnFile)
		return view{digest: v.Digest(), root: v.Top, git: v}, err
	}
	var v view
	err := plugin.Call("Local.Workspace", func() (err error) { v.digest, v.files, err = l.Workspace(ctx, dir); return })
	if err != nil {
		return view{}, err
	}
	return v, nil
}

// changedSince returns the files that changed between two views.
func (v view) changedSince(ctx context.Context, before view) []string {
	if v.root == "" || v.root != before.root {
		return v.files
	}
	return slices.DeleteFunc(v.git.ChangedSince(ctx, before.git), git.OwnFile)
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
