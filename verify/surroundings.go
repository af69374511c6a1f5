package verify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// What surrounds a command: what its tools read from the home folder, and the
// programs it runs, as far as they lie outside the workspace. In Task.Guarded
// the keys are "//config/" and the file, and "//program/" and the name. What
// lies inside the workspace is the work itself, or for [Guard].
const (
	configKey  = "//config/"
	programKey = "//program/"
)

// Prepare returns the task with what surrounds the command in
// [ralph.Task.Guarded], for Verify to compare. Drivers call it when a loop
// starts, see [ralph.Verifier]. It reads scripts of the workspace and files of
// the home folder, and runs nothing. What was noted before stays as it was.
func (e External) Prepare(ctx context.Context, t ralph.Task) (ralph.Task, error) {
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	s, err := e.surroundings(t.Dir)
	if err != nil {
		_, err = hider(e.Redact).leaving(ralph.Verdict{}, err)
		return t, err
	}
	more := map[string]string{}
	for file := range s.files {
		more[configKey+file] = s.config(file)
		if text, ok := s.pin(file); ok && s.files[file].pin != "" {
			more[pinKey+file] = text
		}
	}
	for name := range s.programs {
		// What is in the workspace is the agent's to write.
		if path := s.program(name); path != "" && (s.root == "" || !file.Within(s.root, path)) {
			more[s.programKey(name)] = path + " " + fingerprint(path, nil)
		}
	}
	return agree(t, more), nil
}

// Validate returns an error if the command cannot be run as it is written, or
// if the Sandbox makes no sense for the task's folder. It does not ask whether
// the program exists, which may be the agent's to build.
func (e External) Validate(t ralph.Task) error {
	_, err := e.args()
	if bad := (*sandbox.Spec)(e.Sandbox).Validate(t.Dir); err == nil && bad != nil {
		err = fmt.Errorf("verify: External: %w", bad)
	}
	_, err = hider(e.Redact).leaving(ralph.Verdict{}, err)
	return err
}

// Surroundings are what a command reads and runs outside the workspace. They
// are found out anew at each claim, with the command's own environment: HOME,
// PATH and XDG_CONFIG_HOME decide where its tools look, and a check can set
// them.
type surroundings struct {
	env      []string
	ownPath  string             // the command's own PATH; "" = this process's
	root     string             // the workspace, without links; "" = it is not there
	dirs     []string           // where the command runs, and folders that it names
	tools    map[string]toolRow // by name
	files    map[string]configUse
	programs map[string]bool
	scripts  map[string]bool // that were read
}

// A configUse says who reads a file, and which of its lines do not count. The
// reader is named to people, who wonder why a check of theirs should care about
// such a file.
type configUse struct {
	tool string
	but  []string
	pin  string
}

// surroundings finds out what surrounds the command, by its words. To trace the
// files that it opens would be exact, but is another thing on every system, and
// the check would have to be run first.
func (e External) surroundings(workspace string) (*surroundings, error) {
	s := &surroundings{
		tools: map[string]toolRow{}, files: map[string]configUse{}, programs: map[string]bool{}, scripts: map[string]bool{},
		ownPath: lastOf(e.Env, "PATH"),
	}
	for _, row := range toolRows() {
		for _, name := range row.names {
			s.tools[name] = row
		}
	}
	dir, err := inside(workspace, e.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("verify: External: %w", err)
	}
	s.root, _ = inside(workspace, "")
	// A folder that is missing is reported by Verify, as a check that is
	// unable.
	s.dirs = []string{cmp.Or(dir, s.root)}
	s.env, _ = e.environ(s.dirs[0])
	words := e.words()
	for _, word := range words {
		s.programs[word] = true // those that are none are not found
		if s.root == "" || word == "" {
			continue
		}
		if dir, err := inside(s.dirs[0], word); err == nil && isFolder(dir) {
			s.dirs = append(s.dirs, dir)
		}
	}
	s.read(words, true)
	return s, nil
}

// words are the words of the command, some of which are programs. A script that
// is an argument of a shell is taken apart too, because tools are named in it.
func (e External) words() []string {
	switch {
	case e.Shell != "":
		return shellWords(e.Shell)
	case len(e.Args) > 0 && slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, filepath.Base(e.Args[0])):
		return slices.Concat(e.Args, shellWords(strings.Join(e.Args[1:], " ")))
	}
	return e.Args
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// shellWords are the words of a script: names of tools and of files. It does
// not read the shell's language, so it finds a tool also where it is only
// mentioned. A file too many that is watched does little harm; one too few is a
// way around the check.
func shellWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-/~+", r) || r >= 0x80)
	})
}

// read finds the tools among words. direct says that the check itself names
// them, and not a script that it runs: a Makefile that asks git for the version
// should not make git's configuration part of the exam.
func (s *surroundings) read(words []string, direct bool) {
	for _, word := range words {
		name := word
		if filepath.IsAbs(word) || strings.HasPrefix(word, "./") {
			name = filepath.Base(word)
		}
		row, ok := s.tools[name]
		if !ok { // python3.12
			row, ok = s.tools[strings.TrimRight(name, "0123456789.")]
		}
		if !ok || row.direct && !direct || !row.isRead(words) {
			s.script(word, false)
			continue
		}
		s.programs[word] = true
		for _, more := range row.runs {
			s.programs[more] = true
		}
		for _, f := range row.files {
			if file := s.locate(f); file != "" {
				s.files[file] = configUse{name, f.but, f.pin}
			}
		}
		for _, file := range row.scripts {
			s.script(file, true)
		}
	}
}

// maxScript bounds a script that is read, in bytes. Larger ones are programs or
// data.
const maxScript = 256 << 10

// script reads the tools in a script of the workspace, if the word names one,
// in any of the folders. known says that the file is one, as a Makefile is;
// others must look like one by their name or first line. At most about a
// hundred are read, each once, so that scripts which run each other come to an
// end.
func (s *surroundings) script(word string, known bool) {
	for _, dir := range s.dirs {
		if s.root == "" || word == "" || filepath.IsAbs(word) || len(s.scripts) > 100 {
			return
		}
		found, err := filepath.EvalSymlinks(filepath.Join(dir, word))
		if err != nil || !file.Within(s.root, found) || s.scripts[found] {
			continue
		}
		rel, err := filepath.Rel(s.root, found)
		if err != nil {
			continue
		}
		text, err := readGuarded(s.root, rel, maxScript)
		named := slices.Contains([]string{".sh", ".bash", ".mk"}, filepath.Ext(found))
		if err != nil || !known && !named && !bytes.HasPrefix(text, []byte("#!")) {
			continue
		}
		s.scripts[found] = true
		s.read(shellWords(string(text)), false)
	}
}

// lastOf is a variable as a command sees it: the last entry of a name counts.
func lastOf(env []string, name string) (value string) {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

func (s *surroundings) home() string {
	home, _ := os.UserHomeDir()
	return cmp.Or(lastOf(s.env, "HOME"), home)
}

// locate is where a file is, "" if nothing can be there. In the home folder it
// begins with ~/, so that the key in the task does not hold the user's name,
// and people know it at once.
func (s *surroundings) locate(f configFile) string {
	home := s.home()
	path := f.or
	for name := range strings.FieldsSeq(f.env) {
		path = cmp.Or(lastOf(s.env, name), path)
	}
	if rest, ok := strings.CutPrefix(path, "CONFIG"); ok {
		switch runtime.GOOS {
		case "windows":
			path = lastOf(s.env, "AppData") + rest
		case "darwin", "ios":
			path = "~/Library/Application Support" + rest
		default:
			path = cmp.Or(lastOf(s.env, "XDG_CONFIG_HOME"), "~/.config") + rest
		}
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		path = home + rest
	}
	path = filepath.Clean(path + f.rest)
	if !filepath.IsAbs(path) {
		return ""
	}
	if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// path is where a file is that locate has found.
func (s *surroundings) path(file string) string {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		return filepath.Join(s.home(), rest)
	}
	return file
}

// config is a file's fingerprint, or that of all that match if it has
// wildcards: with their names, so that a file which is added counts.
func (s *surroundings) config(file string) string {
	path := s.path(file)
	if !strings.ContainsAny(path, "*?") {
		return fingerprint(path, s.files[file].but)
	}
	all := sha256.New()
	found, _ := filepath.Glob(path) // sorted
	for _, name := range found {
		fmt.Fprintf(all, "%s  %s\n", fingerprint(name, nil), name)
	}
	if len(found) == 0 {
		return absent
	}
	return hex.EncodeToString(all.Sum(nil))
}

// program is where a program is, without links; "" if there is none. Links are
// resolved, so that a package manager's link to the same program is no change.
func (s *surroundings) program(name string) string {
	path, err := process.LookPath(name, s.dirs[0], s.env)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return ""
	}
	return path
}

// programKey is the key of a program. Where the command has a PATH of its own,
// another program may have the same name: two stages of one task can each have
// their own python.
func (s *surroundings) programKey(name string) string {
	if s.ownPath != "" && filepath.Base(name) == name {
		return programKey + name + " in " + s.ownPath
	}
	return programKey + name
}
