package git

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
)

// A setting is one value of git's configuration.
type setting struct {
	scope string // "system", "global", "local", "worktree" or "command"
	key   string // section and name in lower case
	value string
	bare  bool // there is no value, which git takes for true
}

type settings []setting

// settings asks git for its configuration, all files together.
func (r *Repo) settings(ctx context.Context) (all settings, err error) {
	c := r.own()
	parts := strings.Split(c.run(ctx, "config", "--list", "--includes", "--show-scope", "-z"), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		key, value, ok := strings.Cut(parts[i+1], "\n")
		all = append(all, setting{parts[i], key, value, !ok})
	}
	return all, c.err
}

// split takes a key apart; of sections without a subsection that is "".
func (s setting) split() (section, sub, name string) {
	section, rest, _ := strings.Cut(s.key, ".")
	if dot := strings.LastIndexByte(rest, '.'); dot >= 0 {
		return section, rest[:dot], rest[dot+1:]
	}
	return section, "", rest
}

// is reports whether the last value of a key is true.
func (all settings) is(key string) bool {
	is := false
	for _, s := range all {
		if s.key == key {
			is = s.bare || slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(s.value))
		}
	}
	return is
}

// A Program is a command that the workspace's own configuration names and that git
// runs when it writes commits and files.
type Program struct {
	Key     string // as git config names it: "filter.lfs.clean"
	Command string
}

// Programs are the commands of the repository's own configuration, in its order:
// filters, merge drivers and what signs. They run in [Tree.Commit], [Repo.Merge] and
// wherever files are written, so somebody has to trust them first. Those of the
// user's own configuration are not among them.
func (r *Repo) Programs() []Program {
	var all []Program
	for _, s := range r.config {
		if s.program() && s.value != "" && (s.scope == "local" || s.scope == "worktree") {
			all = append(all, Program{s.key, s.value})
		}
	}
	return all
}

func (s setting) program() bool {
	switch section, _, name := s.split(); section {
	case "filter":
		return name == "clean" || name == "smudge" || name == "process"
	case "merge":
		return name == "driver"
	case "gpg":
		return name == "program" || name == "defaultkeycommand"
	}
	return false
}

// left are the keys of the configuration that do not hold in a shadow: where files
// are is said by us; nothing runs or is cached beside what is needed.
var left = []string{
	"core.worktree", "core.bare", "core.hookspath", "core.fsmonitor", "core.splitindex", "core.untrackedcache",
	"extensions.worktreeconfig", "extensions.refstorage", "extensions.relativeworktrees", "submodule.recurse", "user.useconfigonly", "lfs.storage",
}

// text is the configuration as a file. full is without what says that only a part of
// the files is checked out.
func (all settings) text(common string, full bool) []byte {
	var b strings.Builder
	for _, s := range all {
		section, sub, name := s.split()
		switch {
		case section == "include" || section == "includeif" || slices.Contains(left, s.key):
			continue
		case full && slices.Contains([]string{"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse"}, s.key):
			continue
		}
		b.WriteString("[" + section)
		if sub != "" || strings.Count(s.key, ".") > 1 {
			b.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(sub) + `"`)
		}
		b.WriteString("]\n\t" + name)
		if !s.bare {
			b.WriteString(" = " + inQuotes(s.value))
		}
		b.WriteString("\n")
	}
	b.WriteString("[core]\n\tbare = false\n[user]\n\tuseConfigOnly = true\n[lfs]\n\tstorage = " + inQuotes(filepath.ToSlash(all.lfs(common))) + "\n")
	return []byte(b.String())
}

func inQuotes(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// lfs is where Git LFS keeps files: it would have them in a shadow, which goes.
func (all settings) lfs(common string) string {
	dir := "lfs"
	for _, s := range all {
		if s.key == "lfs.storage" && s.value != "" {
			dir = s.value
		}
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(common, dir)
}
