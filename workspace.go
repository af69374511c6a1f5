package ralph

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// A view is what is known of a workspace at one moment.
//
// Two views are compared to see what an attempt changed. Where git knows the folder it
// is git's view, without a copy of the files and in one call.
type view struct {
	digest string   // "" = unknown
	files  []string // as Local.Workspace told
	root   string   // of git's work tree, "" = not git's
	git    git.View
}

// look looks at the workspace with Local.Workspace, or with git. What loops write
// themselves is left out: a log that grows in the workspace would make every iteration
// look like progress.
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

// changedSince returns the files that changed between two views. Without git on both
// sides there is nothing to compare, and the caller's Workspace has said itself what
// changed.
func (v view) changedSince(ctx context.Context, before view) []string {
	if v.root == "" || v.root != before.root {
		return v.files
	}
	return slices.DeleteFunc(v.git.ChangedSince(ctx, before.git), git.OwnFile)
}

// relativeTo names files by their path from dir, where they are below it: agents name
// them in full, git from the top of the work tree (root, "" = unknown). Names below dir
// are what a verifier and a prompt can use; what lies elsewhere keeps its full name.
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
