package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// confined is a sandbox in which such folders may be written to, beside the workspace
// and a temporary folder; nil without --sandbox. No one may write to what is on
// record.
func (s *shared) confined(write ...string) *ralph.Sandbox {
	if s.sandbox == "" {
		return nil
	}
	box := &ralph.Sandbox{Write: write, Require: s.sandbox == "require"}
	if dir, err := progress.WorkspaceDir("."); err == nil {
		box.Protect = append(box.Protect, filepath.Dir(dir.Path))
	}
	if s.state != "" {
		box.Protect = append(box.Protect, absolute(s.state))
	}
	return box
}

// agentBox is the agent's: its client's folders, the tools' caches, and the repository
// if the workspace is a linked work tree. An exam is hidden.
func (s *shared) agentBox(c *ralph.Command, project string) *ralph.Sandbox {
	box := s.confined(slices.Concat(ralph.ClientFolders(c.Format), ralph.ToolFolders(), repository(project))...)
	if box == nil || s.dryRun {
		return box
	}
	if s.exam != "" {
		box.Hide = []string{absolute(s.exam)}
	}
	for _, dir := range box.Write { // what is not there cannot be granted, and a client's first run makes it
		if filepath.Base(dir) == ".cache" || slices.Contains(ralph.ClientFolders(c.Format), dir) && !strings.Contains(filepath.Base(dir), ".json") {
			os.MkdirAll(dir, 0o700)
		}
	}
	return box
}

// checkBox is that of checks: the tools' caches.
func (s *shared) checkBox() *ralph.Sandbox { return s.confined(ralph.ToolFolders()...) }

// repository is where the repository of a linked work tree is, which git writes to.
// The repository must know the work tree: its .git alone is the agent's to write.
func repository(project string) []string {
	own := filepath.Join(resolved(project), ".git")
	text, err := ralph.ReadFile(own, 1<<12)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok || !filepath.IsAbs(dir) || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return nil
	}
	back, err := ralph.ReadFile(filepath.Join(dir, "gitdir"), 1<<12)
	if err != nil || resolved(strings.TrimSpace(string(back))) != own {
		return nil
	}
	return []string{filepath.Dir(filepath.Dir(dir))}
}
