package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// What in the workspace redirects a template's check: makes the tool run something
// else than the tests, or other tests. It is compared with what it was when the loop
// started. That tests or dependencies are added is no redirection, nor is what goes
// away: then the tool does what it does by itself.

// A watch is what a template watches.
type watch struct {
	name string
	// redirects returns what redirects the check, by a name that people understand,
	// and whether the check is set up at all: what is not, the agent may set up.
	redirects func(w *tree) (found map[string]string, set bool)
	// isTest reports whether a file holds tests.
	isTest func(name string) bool
	// skip are folders with what others have written, or the tool itself.
	skip []string
}

// Keys in Task.Guarded: "//template/" and the template's name says that it was
// prepared; with what redirects it behind that, the value is a hash. "//test/" and a
// file are the tests that there were.
const (
	templateKey = "//template/"
	testKey     = "//test/"
	maxTests    = 1000 // are watched; with more there is no warning
)

// A tree is the workspace, read.
type tree struct {
	root  string
	files []string // regular files, without what others have put there
}

func readTree(dir string, skip []string) (*tree, error) {
	root, err := os.OpenRoot(workspace(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w := &tree{root: workspace(dir)}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil // what we may not read, the tool may not either
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".cargo" || d.Name() == "node_modules" || slices.Contains(skip, d.Name())):
			return fs.SkipDir
		case !d.IsDir():
			w.files = append(w.files, name)
		}
		return nil
	})
	return w, err
}

// text is what is in a file; nil if it is not there or cannot be read.
func (w *tree) text(name string) []byte {
	text, err := readGuarded(w.root, name, 4<<20)
	if err != nil {
		return nil
	}
	return text
}

// matching are the files whose base name matches one of the patterns.
func (w *tree) matching(patterns ...string) (found []string) {
	for _, name := range w.files {
		for _, p := range patterns {
			if ok, _ := path.Match(p, path.Base(name)); ok {
				found = append(found, name)
				break
			}
		}
	}
	return found
}

func hashed[T string | []byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// prepare notes what is watched.
func (a *watch) prepare(dir string) (map[string]string, error) {
	w, err := readTree(dir, a.skip)
	if err != nil {
		return nil, fmt.Errorf("verify: Template: %w", err)
	}
	found, set := a.redirects(w)
	if !set {
		return nil, nil
	}
	noted := map[string]string{templateKey + a.name: ""}
	for what, hash := range found {
		noted[templateKey+a.name+"/"+what] = hash
	}
	tests := slices.DeleteFunc(slices.Clone(w.files), func(name string) bool { return !a.isTest(name) })
	if len(tests) <= maxTests {
		for _, name := range tests {
			if hash, err := hashFile(w.root, name); err == nil {
				noted[testKey+name] = hash
			}
		}
	}
	return noted, nil
}

// changed says what redirects the check now and did not when the task was prepared.
func (a *watch) changed(t ralph.Task) (changed []string, err error) {
	key := templateKey + a.name
	if _, ok := t.Guarded[key]; !ok {
		return nil, nil
	}
	w, err := readTree(t.Dir, a.skip)
	if err != nil {
		return nil, fmt.Errorf("verify: Template: %w", err)
	}
	found, _ := a.redirects(w)
	for _, what := range slices.Sorted(maps.Keys(found)) {
		switch was, ok := t.Guarded[key+"/"+what]; {
		case !ok:
			changed = append(changed, what+" is new")
		case was != found[what]:
			changed = append(changed, what+" was changed")
		}
	}
	return changed, nil
}

// tests warns of tests that are not what they were.
func (a *watch) tests(t ralph.Task) (check ralph.Check, wrong bool) {
	var changed, gone []string
	for _, key := range slices.Sorted(maps.Keys(t.Guarded)) {
		name, ok := strings.CutPrefix(key, testKey)
		if !ok || !a.isTest(name) {
			continue
		}
		switch is, err := hashFile(t.Dir, name); {
		case err != nil:
			gone = append(gone, name)
		case is != t.Guarded[key]:
			changed = append(changed, name)
		}
	}
	if len(changed)+len(gone) == 0 {
		return ralph.Check{}, false
	}
	says := "tests that were there before the loop started"
	if len(changed) > 0 {
		says += "; changed: " + strings.Join(changed, ", ")
	}
	if len(gone) > 0 {
		says += "; deleted: " + strings.Join(gone, ", ")
	}
	return ralph.Check{Name: "existing tests", Status: ralph.CheckWarning, Detail: oneLine(says, 600, 150)}, true
}

// config is what a file in INI's or TOML's way says: the values of its keys, by
// section and key with a dot between them. It takes what follows a key, up to the
// next one, for its value.
func config(name string, text []byte) map[string]string {
	values := map[string]string{}
	section, key := "", ""
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		if path.Ext(name) == ".toml" { // which may be indented; in INI that continues a value
			line = trimmed
		}
		header, entry := sectionLine.FindStringSubmatch(line), keyLine.FindStringSubmatch(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case header != nil:
			section, key = header[1]+".", ""
		case entry != nil:
			key = strings.TrimPrefix(section+strings.ReplaceAll(entry[1], `"`, ""), ".")
			values[key] += strings.TrimSpace(entry[2]) + "\n"
		case key != "":
			values[key] += trimmed + "\n"
		}
	}
	return values
}

var (
	sectionLine = regexp.MustCompile(`^\[+\s*([^\[\]]*?)\s*\]+\s*(?:[#;].*)?$`)
	keyLine     = regexp.MustCompile(`^([\w".-]+)\s*[=:]\s*(.*)`)
)

// keys adds those of a file's keys that redirect.
func (w *tree) keys(found map[string]string, name string, redirects *regexp.Regexp) {
	text := w.text(name)
	if text == nil {
		return
	}
	for key, value := range config(name, text) {
		if redirects.MatchString(key) {
			found[key+" in "+name] = hashed(value)
		}
	}
}

// whole adds files at the top of the workspace, as far as they are there.
func (w *tree) whole(found map[string]string, patterns ...string) {
	for _, name := range w.files {
		for _, p := range patterns {
			if ok, _ := path.Match(p, name); ok {
				found[name] = hashed(w.text(name))
			}
		}
	}
}

// above adds the file of this name in the next folder above the workspace that has
// one: the tools look there too.
func (w *tree) above(found map[string]string, names ...string) {
	dir, err := filepath.Abs(w.root)
	if err != nil {
		return
	}
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		for _, name := range names {
			file := filepath.Join(up, name)
			if hash := fingerprint(file, nil); hash != absent {
				found[filepath.ToSlash(file)] = hash
			}
		}
	}
}

// redirected is the check of a template that something redirects; ok if nothing does.
func (a *watch) redirected(t ralph.Task) (check ralph.Check, ok bool, err error) {
	changed, err := a.changed(t)
	if err != nil || len(changed) == 0 {
		return check, err == nil, err
	}
	return ralph.Check{Name: "configuration", Status: ralph.CheckFailed, Detail: oneLine(a.name+
		" would not run what it ran when the loop started: "+strings.Join(changed, "; ")+". Undo that; "+acceptHint, 700, 150)}, false, nil
}

// layOver has files laid over a folder, and agrees to what they redirect and to the
// tests that they replace: who lays them over is not the agent.
func layOver(t *ralph.Task, dir string, lay func() error) error {
	before := redirectsOf(*t, dir)
	if err := lay(); err != nil {
		return err
	}
	for key, hash := range redirectsOf(*t, dir) {
		if before[key] != hash {
			t.Guarded[key] = hash
		}
	}
	return nil
}

// redirectsOf is what redirects the templates that a task was prepared for, and the
// tests it watches, as they are in a folder.
func redirectsOf(t ralph.Task, dir string) map[string]string {
	all := map[string]string{}
	for _, a := range []*watch{goWatch(), npmWatch(), pytestWatch(), cargoWatch()} {
		if _, ok := t.Guarded[templateKey+a.name]; !ok {
			continue
		}
		w, err := readTree(dir, a.skip)
		if err != nil {
			continue // which the check will say
		}
		found, _ := a.redirects(w)
		for what, hash := range found {
			all[templateKey+a.name+"/"+what] = hash
		}
	}
	for key := range t.Guarded {
		if name, ok := strings.CutPrefix(key, testKey); ok {
			if hash, err := hashFile(dir, name); err == nil {
				all[key] = hash
			}
		}
	}
	return all
}
