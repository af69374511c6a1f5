package file

import (
	"cmp"
	"path/filepath"
)

// Within reports whether path is root or lies in it, by their names alone: both are
// without links, or neither is.
func Within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// Real is the absolute path without links of something that may not be there: the
// longest part that exists is resolved, and the rest is added.
func Real(path string) string {
	abs, _ := filepath.Abs(path) // without a current folder it stays as it is
	path = cmp.Or(abs, filepath.Clean(path))
	real, err := filepath.EvalSymlinks(path)
	switch parent := filepath.Dir(path); {
	case err == nil:
		return real
	case parent == path:
		return path
	default:
		return filepath.Join(Real(parent), filepath.Base(path))
	}
}
