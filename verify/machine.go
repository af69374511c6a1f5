package verify

import (
	"path/filepath"
	"strings"
)

// OfMachine reports whether a key of [ralph.Task.Guarded] is of something that is so on
// one machine only: its programs, what tools read from its home folder, and files by an
// absolute path or one that begins with "~/". A driver whose loop goes on on another
// machine leaves those out that the verifier has prepared, and has it prepare them there;
// what lies in the workspace, and an exam, stays as it was agreed.
func OfMachine(key string) bool {
	for _, prefix := range []string{configKey, programKey, pinKey, "~/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return filepath.IsAbs(key) && !strings.HasPrefix(key, "//")
}
