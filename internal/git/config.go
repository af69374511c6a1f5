package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// unfiltered returns a call of git on the work tree with this top, and no other,
// for which every filter that is configured is off, by its name.
func unfiltered(ctx context.Context, top string) *call {
	c := inTree(top)
	if hasNoFilters(top) {
		c.env = append(c.env, "GIT_CONFIG_SYSTEM="+systemConfig)
		return c
	}
	out, _ := c.ask(ctx, "config", "-z", "--name-only", "--get-regexp", `^filter\.`)
	seen := map[string]bool{}
	for key := range strings.SplitSeq(out, "\x00") {
		dot := strings.LastIndexByte(key, '.')
		if dot < len("filter.") || seen[key[:dot]] {
			continue
		}
		filter := key[:dot]
		if strings.Contains(filter, "=") { // git -c takes the first = for the one before the value
			c.err = fmt.Errorf("git: the filter %q cannot be switched off, because of its name", strings.TrimPrefix(filter, "filter."))
			return c
		}
		seen[filter] = true
		c.options = append(c.options, "-c", filter+".clean=", "-c", filter+".smudge=", "-c", filter+".process=", "-c", filter+".required=false")
	}
	return c
}

// inTree is a call of git on the work tree with this top: one that does not like
// what is in .git looks no further up, and no configuration puts the files elsewhere.
func inTree(top string) *call {
	return &call{dir: top, env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(top), "GIT_WORK_TREE=" + top}}
}

// systemConfig is where the git of a Linux distribution has the configuration of
// the system.
const systemConfig = "/etc/gitconfig"

// hasNoFilters reports whether it is plain that no filter is configured, so that
// git, which takes as long for that as for all the rest, need not be asked: none
// of the files that it reads has the word in it, nor includes another. It is
// looked at anew each time, for an agent writes such files. It holds for a git that
// is told systemConfig.
func hasNoFilters(top string) bool {
	program, err := exec.LookPath("git")
	if runtime.GOOS != "linux" || err != nil || program != "/usr/bin/git" && program != "/bin/git" {
		return false // where its configuration is is not known
	}
	if slices.ContainsFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "GIT_CONFIG") }) {
		return false
	}
	home, xdg, dir := os.Getenv("HOME"), os.Getenv("XDG_CONFIG_HOME"), filepath.Join(top, ".git")
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || xdg != "" && !filepath.IsAbs(xdg) || home != "" && !filepath.IsAbs(home) {
		return false
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); !errors.Is(err, fs.ErrNotExist) {
		return false // the configuration is elsewhere
	}
	files := []string{systemConfig, filepath.Join(dir, "config"), filepath.Join(dir, "config.worktree")}
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config"))
	}
	if xdg != "" {
		files = append(files, filepath.Join(xdg, "git", "config"))
	}
	for _, name := range files {
		text, err := file.Read("", name, 1<<20)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		text = bytes.ToLower(text)
		if err != nil || bytes.Contains(text, []byte("filter")) || bytes.Contains(text, []byte("include")) {
			return false
		}
	}
	return true
}

// submodules returns the paths that the index has as submodules. Git tells of
// none that has the right commit, whatever else changed in it.
func (c *call) submodules(ctx context.Context) (paths []string) {
	if !mayHaveSubmodules(c.dir) {
		return nil
	}
	for _, entry := range c.names(ctx, "ls-files", "--stage", "-z") {
		if about, path, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(about, "160000 ") {
			paths = append(paths, path)
		}
	}
	return paths
}

// mayHaveSubmodules reports whether a submodule's mode is anywhere in the index,
// which is less than to ask git. By chance it is in one without any.
func mayHaveSubmodules(top string) bool {
	dir := filepath.Join(top, ".git")
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return true // the index is elsewhere
	}
	if shared, _ := filepath.Glob(filepath.Join(dir, "sharedindex.*")); len(shared) > 0 {
		return true
	}
	f, err := file.Open("", filepath.Join(dir, "index"))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	mode := []byte{0x00, 0x00, 0xe0, 0x00} // octal 160000
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		piece, err := r.Peek(r.Size())
		if bytes.Contains(piece, mode) {
			return true
		}
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
		r.Discard(len(piece) - len(mode) + 1)
	}
}
