package git

import (
	"path"
	"strings"
)

// OwnFile reports whether loops write the file themselves, so it never counts as
// a change.
func OwnFile(p string) bool {
	if strings.HasPrefix(p, ".ralph/") || strings.Contains(p, "/.ralph/") || path.Base(p) == "progress.txt" ||
		path.Base(p) == "ralph-loop-state.json" || strings.HasPrefix(path.Base(p), ".ralph-loop-state.json.") { // or what a kill has left of one
		return true
	}
	session, _ := path.Match("session-*.log", path.Base(p))
	return session && path.Base(path.Dir(p)) == "logs"
}

// ownIgnored names the same files as .gitignore does.
const ownIgnored = "\n.ralph/\nprogress.txt\nralph-loop-state.json\n.ralph-loop-state.json.*\n**/logs/session-*.log\n.ralph-copy\n"
