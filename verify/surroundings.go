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
	"maps"
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
// programs it runs, as far as they lie outside the workspace. In Task.Guarded the
// keys are "//config/" and the file, and "//program/" and the name.
const (
	configKey  = "//config/"
	programKey = "//program/"
)

// Prepare returns the task with what surrounds the command in [ralph.Task.Guarded],
// for Verify to compare. Drivers call it when a loop starts, see [ralph.Verifier].
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
		if path := s.program(name); path != "" {
			more[s.programKey(name)] = path + " " + fingerprint(path, nil)
		}
	}
	return agree(t, more), nil
}

// Validate reports whether this is no command that can be run as it is written, or
// the Sandbox makes no sense for it.
func (e External) Validate(t ralph.Task) error {
	_, err := e.args()
	if bad := (*sandbox.Spec)(e.Sandbox).Validate(t.Dir); err == nil && bad != nil {
		err = fmt.Errorf("verify: External: %w", bad)
	}
	_, err = hider(e.Redact).leaving(ralph.Verdict{}, err)
	return err
}

// Surroundings are what a command reads and runs outside the workspace.
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

// A configUse says who reads a file, and which of its lines do not count.
type configUse struct {
	tool string
	but  []string
	pin  string
}

func (e External) surroundings(workspace string) (*surroundings, error) {
	s := &surroundings{
		tools: map[string]toolRow{}, files: map[string]configUse{}, programs: map[string]bool{}, scripts: map[string]bool{},
	}
	for _, row := range toolRows() {
		for _, name := range row.names {
			s.tools[name] = row
		}
	}
	for _, entry := range e.Env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			s.ownPath = value
		}
	}
	dir, err := inside(workspace, e.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("verify: External: %w", err)
	}
	s.root, _ = inside(workspace, "")
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

// words are the words of the command, some of which are programs.
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

// shellWords are the words of a script: names of tools and of files. It does not
// read the shell's language, so it finds a tool also where it is only mentioned.
func shellWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-/~+", r) || r >= 0x80)
	})
}

// read finds the tools among words. direct says that the check itself names them.
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

const maxScript = 256 << 10

// script reads the tools in a script of the workspace, if the word names one, in any
// of the folders. known says that the file is one.
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

func (s *surroundings) getenv(name string) (value string) {
	for _, entry := range s.env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

func (s *surroundings) home() string {
	if home := s.getenv("HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir()
	return home
}

// locate is where a file is, "" if nothing can be there. In the home folder it
// begins with ~/.
func (s *surroundings) locate(f configFile) string {
	home := s.home()
	path := f.or
	for name := range strings.FieldsSeq(f.env) {
		path = cmp.Or(s.getenv(name), path)
	}
	if rest, ok := strings.CutPrefix(path, "CONFIG"); ok {
		switch runtime.GOOS {
		case "windows":
			path = s.getenv("AppData") + rest
		case "darwin", "ios":
			path = "~/Library/Application Support" + rest
		default:
			path = cmp.Or(s.getenv("XDG_CONFIG_HOME"), "~/.config") + rest
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

// config is a file's fingerprint, or that of all that match.
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

// program is where a program is, without links; "" if there is none, or if it is in
// the workspace, where it is the agent's to write.
func (s *surroundings) program(name string) string {
	path, err := process.LookPath(name, s.dirs[0], s.env)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil || s.root != "" && file.Within(s.root, path) {
		return ""
	}
	return path
}

// programKey is the key of a program. Where the command has a PATH of its own,
// another program may have the same name.
func (s *surroundings) programKey(name string) string {
	if s.ownPath != "" && filepath.Base(name) == name {
		return programKey + name + " in " + s.ownPath
	}
	return programKey + name
}

// changedConfig returns the files that are not as they were when the task was
// prepared, and says of each how. What was not prepared is not looked at.
func (s *surroundings) changedConfig(t ralph.Task) (files, texts []string) {
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		was, ok := t.Guarded[configKey+file]
		is := s.config(file)
		if !ok || is == was {
			continue
		}
		how := "was changed"
		switch absent {
		case was:
			how = "has appeared"
		case is:
			how = "has vanished"
		}
		files = append(files, file)
		texts = append(texts, fmt.Sprintf("%s, which %s reads, %s", file, s.files[file].tool, how))
	}
	return files, texts
}

// changedPrograms says which programs are not those that they were.
func (s *surroundings) changedPrograms(t ralph.Task) (changed []string) {
	for _, name := range slices.Sorted(maps.Keys(s.programs)) {
		was, ok := t.Guarded[s.programKey(name)]
		if !ok {
			continue
		}
		path, err := process.LookPath(name, s.dirs[0], s.env)
		if err != nil {
			continue // it cannot be run, which is found out soon
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		before := was[:max(strings.LastIndexByte(was, ' '), 0)]
		switch is := path + " " + fingerprint(path, nil); {
		case is == was:
		case path == before:
			changed = append(changed, fmt.Sprintf("%s (%s) was changed", name, path))
		default:
			changed = append(changed, fmt.Sprintf("%s was %s and is now %s", name, before, path))
		}
	}
	return changed
}

const acceptHint = "a person can accept it (AcceptConfig, --accept-config)"

// surrounded asks only if what surrounds the command is as it was when the loop
// started, or its tools can be told what that was, and looks again when it has run.
func (e External) surrounded(c ralph.Claim, verify func(External) (ralph.Verdict, error)) (ralph.Verdict, error) {
	if !prepared(c.Task) {
		return verify(e)
	}
	s, err := e.surroundings(c.Task.Dir)
	if err != nil {
		return ralph.Verdict{}, err
	}
	files, config := s.changedConfig(c.Task)
	programs := s.changedPrograms(c.Task)
	if e.AcceptConfig {
		v, err := verify(e)
		if changed := append(config, programs...); len(changed) > 0 && err == nil {
			v.Checks = few(append(slices.Clone(v.Checks), ralph.Check{Name: "configuration", Status: ralph.CheckWarning,
				Detail: oneLine("accepted as it is now: "+strings.Join(changed, "; "), 700, 150)}))
		}
		return v, err
	}
	switch {
	case slices.ContainsFunc(files, func(file string) bool { return !s.pinned(c.Task, file) }):
		return judge(configCheck(config)), nil
	case len(programs) > 0:
		return judge(ralph.Check{Name: "program", Status: ralph.CheckUnable, Detail: oneLine(fmt.Sprintf(
			"%s would not be run by what was there when the loop started: %s; %s", e.name(), strings.Join(programs, "; "), acceptHint), 700, 150)}), nil
	}
	v, err := e.withPins(s, c.Task, files, config, verify)
	if err != nil || !v.Passed {
		return v, err
	}
	if now, config := s.changedConfig(c.Task); !slices.Equal(now, files) { // the check itself has changed one
		rejected := judge(configCheck(config))
		rejected.Checks = few(append(rejected.Checks, v.Checks...))
		return rejected, nil
	}
	return v, nil
}

func configCheck(changed []string) ralph.Check {
	return ralph.Check{Name: "configuration", Status: ralph.CheckFailed, Detail: oneLine(
		"what decides how the work is checked must be as it was when the loop started: "+strings.Join(changed, "; ")+
			". Undo that; "+acceptHint, 700, 150)}
}

// prepared reports whether anything of what surrounds commands is known.
func prepared(t ralph.Task) bool {
	for key := range t.Guarded {
		if strings.HasPrefix(key, configKey) || strings.HasPrefix(key, programKey) {
			return true
		}
	}
	return false
}
