package verify

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// What in the workspace redirects a template's check: makes the tool run something
// else than the tests, or other tests. It is compared with what it was when the loop
// started. That tests or dependencies are added is no redirection, nor is what goes
// away: then the tool does what it does by itself.

// A watch is what one template watches. What differs between tools stands in
// its functions; comparing, naming and warning are the same for all of them.
type watch struct {
	name string
	// redirects finds what redirects the check, and returns whether the check is set
	// up at all: what is not, the agent may set up.
	redirects func(w *tree) (set bool)
	// isTest reports whether a file holds tests; nil = there are none.
	isTest func(name string) bool
	// skip are folders with what others have written, or the tool itself.
	skip []string
}

// Keys in Task.Guarded: "//template/" and the template's name says that it was
// prepared; with what redirects it behind that, the value is a hash. "//test/"
// and a file are the tests that there were. The names are readable, not hashed,
// because they tell the agent what it has to undo.
const (
	templateKey = "//template/"
	testKey     = "//test/"
	maxTests    = 1000 // are watched; with more there is no warning
)

// A tree is the workspace, or a folder above it, with the names of its files
// read once: several rules look for several names each.
type tree struct {
	root  string
	shown string   // what stands before a name for people
	files []string // no folders, and not what others have put there

	found  map[string]string // what redirects a check, by a name that people understand
	hidden []string          // folders that the tool does not come to any more
}

// readTree lists the files of the workspace. Hidden folders, node_modules and
// those in skip are left out, for the tools leave them out as well, and because
// they can hold more files than all the rest. .cargo is hidden and decides what
// cargo runs.
func readTree(dir string, skip []string) (*tree, error) {
	root, err := os.OpenRoot(workspace(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w := &tree{root: workspace(dir), found: map[string]string{}}
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

// text is what is in a file; nil if it is not there, cannot be read, or is
// larger than 4 MiB, which no configuration is.
func (w *tree) text(name string) []byte {
	text, _ := readGuarded(w.root, name, 4<<20)
	return text
}

// matching are the files whose base name matches one of the patterns.
func (w *tree) matching(patterns ...string) []string {
	return slices.DeleteFunc(slices.Clone(w.files), func(name string) bool { return !matchesAny(path.Base(name), patterns) })
}

func matchesAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// prepare notes what is watched. If the check is not set up yet it notes
// nothing: a task may well be to set the project up, and all that the agent
// writes then would count as a redirection. With more than maxTests files of
// tests, none of them is noted, since the task is part of every state that is
// saved; what redirects the check is noted in any case.
func (a *watch) prepare(dir string) (map[string]string, error) {
	w, err := readTree(dir, a.skip)
	if err != nil {
		return nil, fmt.Errorf("verify: Template: %w", err)
	}
	if !a.redirects(w) {
		return nil, nil
	}
	noted := map[string]string{templateKey + a.name: ""}
	for what, hash := range w.found {
		noted[templateKey+a.name+"/"+what] = hash
	}
	tests := slices.DeleteFunc(slices.Clone(w.files), func(name string) bool { return !a.tests(name) || w.hides(name) })
	if len(tests) <= maxTests {
		for _, name := range tests {
			if hash, err := hashFile(w.root, name); err == nil {
				noted[testKey+name] = hash
			}
		}
	}
	return noted, nil
}

// tests is isTest, for a watch without it as well.
func (a *watch) tests(name string) bool { return a.isTest != nil && a.isTest(name) }

// hides reports whether the tool does not come to a file any more.
func (w *tree) hides(name string) bool {
	return slices.ContainsFunc(w.hidden, func(folder string) bool { return strings.HasPrefix(name, folder+"/") })
}

// changed says what redirects the check now and did not when the task was
// prepared. What was there and is gone is no redirection: without the line, the
// tool does what it does by itself. Tests that would not be run any more are
// named here too, though their files are untouched, for to the tool they are as
// good as deleted.
func (a *watch) changed(t ralph.Task) (changed []string, err error) {
	key := templateKey + a.name
	if _, ok := t.Guarded[key]; !ok {
		return nil, nil
	}
	w, err := readTree(t.Dir, a.skip)
	if err != nil {
		return nil, fmt.Errorf("verify: Template: %w", err)
	}
	a.redirects(w)
	for _, what := range slices.Sorted(maps.Keys(w.found)) {
		switch was, ok := t.Guarded[key+"/"+what]; {
		case !ok:
			changed = append(changed, what+" is new")
		case was != w.found[what]:
			changed = append(changed, what+" was changed")
		}
	}
	for _, name := range watchedTests(t) {
		if a.tests(name) && w.hides(name) {
			changed = append(changed, name+" would not be run any more")
		}
	}
	return changed, nil
}

// watchedTests are the tests that there were, sorted. They belong to no one
// template: a file can be a test of two.
func watchedTests(t ralph.Task) (names []string) {
	for key := range t.Guarded {
		if name, ok := strings.CutPrefix(key, testKey); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// changedTests warns of tests that are not what they were. A warning and no
// rejection: to change tests is part of many tasks, and whether it was right is
// for a person, a judge or [Guard] to say.
func (a *watch) changedTests(t ralph.Task) (check ralph.Check, wrong bool) {
	var changed, gone []string
	for _, name := range watchedTests(t) {
		if !a.tests(name) {
			continue
		}
		switch is, err := hashFile(t.Dir, name); {
		case err != nil:
			gone = append(gone, name)
		case is != t.Guarded[testKey+name]:
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
// section and key with a dot between them, without quotes and blanks. It is no
// parser of either language. It takes what follows a key, up to the next one,
// for its value: at worst it names a change that does not matter. What it does
// not see are names of keys with escapes in them. A real parser would refuse a
// file that has one mistake in it, and the tool may be more lenient.
func config(name string, text []byte) map[string]string {
	values := map[string]string{}
	section, key := "", ""
	toml, ini := path.Ext(name) == ".toml", path.Ext(name) == ".ini" || path.Ext(name) == ".cfg"
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		indented := strings.TrimLeft(line, " \t") != line
		header, isHeader := sectionOf(trimmed)
		next, value, isEntry := entryOf(trimmed, toml)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case key != "" && ini && indented: // in INI that continues a value
			values[key] += trimmed + "\n"
		case isHeader:
			section, key = header+".", ""
		case isEntry:
			key = strings.TrimPrefix(section+next, ".")
			values[key] += value + "\n"
		case key != "":
			values[key] += trimmed + "\n"
		}
	}
	return values
}

// bareName is the name of a section or key without quotes and blanks, which say
// nothing and could make the same key look like another one.
func bareName(text string) string {
	return strings.NewReplacer(`"`, "", "'", "", " ", "", "\t", "").Replace(text)
}

// sectionOf is the name of the section that begins with a line. A remark behind
// it is left out.
func sectionOf(line string) (name string, ok bool) {
	if !strings.HasPrefix(line, "[") {
		return "", false
	}
	line = strings.TrimSpace(line[:strings.IndexAny(line+"#", "#;")])
	return bareName(strings.Trim(line, "[]")), strings.HasSuffix(line, "]")
}

// entryOf is the key and the value of a line that has some. What a list or a text of
// several lines holds, such as "--flag=value", is none.
func entryOf(line string, toml bool) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, "=")
	if before, after, colon := strings.Cut(line, ":"); colon && !toml && len(before) < len(key) {
		key, value, ok = before, after, true
	}
	if !ok || strings.Count(key, `"`)%2+strings.Count(key, "'")%2 > 0 {
		return "", "", false
	}
	key = strings.TrimSuffix(bareName(key), "[]")
	ok = key != "" && key[0] != '-' && !strings.ContainsAny(key, "[](){},")
	return key, strings.TrimSpace(value), ok
}

// keys adds those of a file's keys that redirect. Keys are compared one by one,
// since files like pyproject.toml hold the settings of many tools, and most
// tasks change some of them.
func (w *tree) keys(name string, redirects func(key string) bool) {
	for key, value := range config(name, w.text(name)) {
		if redirects(key) {
			w.found[key+" in "+w.shown+name] = hashed(value)
		}
	}
}

// whole adds files at the top of the tree, as far as they are there. It is for
// files that hold nothing but settings of the tool, often as code, in which no
// key can be told from another.
func (w *tree) whole(patterns ...string) {
	for _, name := range w.files {
		if matchesAny(name, patterns) {
			w.found[w.shown+name] = hashed(w.text(name))
		}
	}
}

// above are the folders above the workspace, each with those of the files that
// are there: the tools look for them there too, and an agent may be able to
// write there. Folders without any are listed as well and add nothing.
func (w *tree) above(names ...string) (folders []*tree) {
	dir, err := filepath.Abs(w.root)
	if err != nil {
		return nil
	}
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		folder := &tree{root: up, found: w.found, shown: strings.TrimSuffix(filepath.ToSlash(up), "/") + "/"}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(up, name)); err == nil {
				folder.files = append(folder.files, name)
			}
		}
		folders = append(folders, folder)
	}
	return folders
}

// redirected is the check of a template that something redirects; ok if nothing
// does. It ends with what a person can do, since the change may be right: a
// task can be to move a project to another runner.
func (a *watch) redirected(t ralph.Task) (check ralph.Check, ok bool, err error) {
	changed, err := a.changed(t)
	if err != nil || len(changed) == 0 {
		return check, err == nil, err
	}
	return ralph.Check{Name: "configuration", Status: ralph.CheckFailed, Detail: oneLine(a.name+
		" would not run what it ran when the loop started: "+strings.Join(changed, "; ")+". Undo that; "+acceptHint, 700, 150)}, false, nil
}

// layOver has files laid over a folder, and agrees to what they redirect and to
// the tests that they replace: who lays them over is not the agent. Only what
// differs before and after is agreed to. What the agent has redirected before
// that, and the exam leaves alone, stays a redirection.
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

// redirectsOf is what redirects the templates that a task was prepared for, and
// the tests it watches, as they are in a folder. Templates for which nothing
// was noted are not asked: their files would cost time and change nothing.
func redirectsOf(t ralph.Task, dir string) map[string]string {
	all := map[string]string{}
	for _, a := range watches() {
		if _, ok := t.Guarded[templateKey+a.name]; !ok {
			continue
		}
		w, err := readTree(dir, a.skip)
		if err != nil {
			continue // which the check will say
		}
		a.redirects(w)
		for what, hash := range w.found {
			all[templateKey+a.name+"/"+what] = hash
		}
	}
	for _, name := range watchedTests(t) {
		if hash, err := hashFile(dir, name); err == nil {
			all[testKey+name] = hash
		}
	}
	return all
}
