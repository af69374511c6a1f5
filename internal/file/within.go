package file

import "path/filepath"

// Within reports whether path is root or lies in it, by their names alone: both are
// without links, or neither is.
func Within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}
