package main

import (
	"bytes"
	"flag"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func runCommand(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("%q: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// TestHelp walks the help of all commands: it fits a terminal of 80 columns, is
// the same by each way to it, and shows the command's own flags, all of them and
// no others.
func TestHelp(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"": runCommand(t, "help"), group: runCommand(t, "help", group)}
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		words := strings.Fields(c.name)
		text := runCommand(t, append([]string{"help"}, words...)...)
		texts[c.name] = text
		for _, args := range [][]string{append(words, "--help"), append(words, "-h"), append([]string{"--help"}, words...)} {
			if got := runCommand(t, args...); got != text {
				t.Errorf("%q tells something else than help %s:\n%s", args, c.name, got)
			}
		}
		var shown []string
		for line := range strings.Lines(text) {
			if flag, ok := strings.CutPrefix(line, "  --"); ok {
				name, _, _ := strings.Cut(strings.TrimSpace(flag), " ")
				shown = append(shown, name)
			}
		}
		if want := newFlags(c).names(); !slices.Equal(shown, want) {
			t.Errorf("help %s shows %q, want %q", c.name, shown, want)
		}
		for _, list := range []string{texts[""], texts[group]} {
			if begins := strings.Contains(list, "\n  "+c.name+" "); !begins && (list == texts[""] || words[0] == group) {
				t.Errorf("%s is not listed:\n%s", c.name, list)
			}
		}
	}
	for name, text := range texts {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("help %s has a line of %d columns: %s", name, n, line)
			}
		}
	}
}

// TestHandles: each row of the table is some command's, no command takes two rows
// of a name, and whether a flag takes a value does not depend on the command,
// since flags may stand before it.
func TestHandles(t *testing.T) {
	t.Parallel()
	var all []string
	valued := map[string]bool{}
	for _, c := range commands() {
		all = append(all, c.name)
		newFlags(c).VisitAll(func(f *flag.Flag) {
			if was, ok := valued[f.Name]; ok && was != takesValue(f) {
				t.Errorf("--%s of %s takes a value here and none there", f.Name, c.name)
			}
			valued[f.Name] = takesValue(f)
		})
	}
	var s shared
	taken := map[string]bool{}
	for _, h := range s.handles() {
		for _, name := range h.on {
			if !slices.Contains(all, name) {
				t.Errorf("--%s: there is no command %q", h.name, name)
			}
			if taken[name+" --"+h.name] {
				t.Errorf("%s has two flags --%s", name, h.name)
			}
			taken[name+" --"+h.name] = true
		}
	}
	for _, name := range []string{"agent-cmd", "max", "max-cost", "max-tokens", "max-duration", "timeout", "idle-timeout", "verify-timeout", "prices", "stalls", "log"} {
		for _, c := range []string{"plan", "build", "prompt", "run", "demo"} { // all that run loops
			if !taken[c+" --"+name] {
				t.Errorf("%s has no --%s", c, name)
			}
		}
	}
}

// TestPublicAPI: the programs that stand as examples import nothing that a
// program outside could not.
func TestPublicAPI(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if strings.Contains(spec.Path.Value+"/", "/internal/") {
				t.Errorf("%s imports %s", path, spec.Path.Value)
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestExamples: each command has two examples, and each of them is a command line that
// the command takes.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		examples := strings.Split(c.examples, "\n\n")
		if !c.hidden && len(examples) != 2 {
			t.Errorf("%s has %d examples, want two", c.name, len(examples))
		}
		for _, example := range examples {
			if c.hidden {
				continue
			}
			text := strings.NewReplacer("\\\n", " ", "source <(", "", ")", "").Replace(example)
			text, _, _ = strings.Cut(text, " | ")
			text, _, _ = strings.Cut(text, " > ")
			args, err := splitWords(text)
			if err != nil || args[0] != "ralph" {
				t.Errorf("%s: %q is no command line of ours: %v", c.name, example, err)
				continue
			}
			name, _ := commandFirst(args[1:])
			if name = strings.TrimPrefix(name, "--"); name != c.name {
				t.Errorf("%s: %q is an example of %s", c.name, example, name)
				continue
			}
			if err := taken(text); err != nil {
				t.Errorf("%s: %q: %v", c.name, example, err)
			}
		}
	}
}

var updatePages = flag.Bool("update-pages", false, "write FLAGS.md anew")

// TestFlagsPage: FLAGS.md shows which command takes which flag, with the words of its help.
func TestFlagsPage(t *testing.T) {
	t.Parallel()
	doors := []string{"plan", "build", "prompt", "run", "start", "demo", "verify"}
	type row struct {
		on    []string            // the commands
		helps []string            // of the commands, each once
		of    map[string][]string // the commands by their help
	}
	rows := map[string]*row{}
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		newFlags(c).VisitAll(func(f *flag.Flag) {
			if f.Usage == "" || strings.HasPrefix(c.name, "task ") && c.name != "task list" && c.name != "task check" {
				return
			}
			_, help := flag.UnquoteUsage(f)
			r := rows[f.Name]
			if r == nil {
				r = &row{of: map[string][]string{}}
				rows[f.Name] = r
			}
			if r.on = append(r.on, c.name); r.of[help] == nil {
				r.helps = append(r.helps, help)
			}
			r.of[help] = append(r.of[help], c.name)
		})
	}
	var page strings.Builder
	page.WriteString("# The flags of every command\n\nWhich command takes which flag. Where a flag is not the same for all of them, the commands stand in front of what it is. `task create` and `task followup` have flags of their own. Why not every way into a loop has all of them stands below.\n\n")
	page.WriteString("| flag | " + strings.Join(doors, " | ") + " | others | what it is |\n|" + strings.Repeat(" --- |", len(doors)+3) + "\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		r := rows[name]
		page.WriteString("| `--" + name + "` |")
		for _, door := range doors {
			mark := " "
			if slices.Contains(r.on, door) {
				mark = " x "
			}
			page.WriteString(mark + "|")
		}
		others := slices.DeleteFunc(slices.Clone(r.on), func(c string) bool { return slices.Contains(doors, c) })
		what := r.helps[0]
		if len(r.helps) > 1 {
			var all []string
			for _, help := range r.helps {
				all = append(all, strings.Join(r.of[help], ", ")+": "+help)
			}
			what = strings.Join(all, "<br>")
		}
		page.WriteString(" " + strings.Join(others, ", ") + " | " + strings.NewReplacer("|", "\\|", "*", "\\*").Replace(what) + " |\n")
	}
	page.WriteString(differences())
	if *updatePages {
		if err := os.WriteFile("FLAGS.md", []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("FLAGS.md")
	if diff := cmp.Diff(page.String(), string(text)); err != nil || diff != "" {
		t.Errorf("FLAGS.md is not what the commands take (go test -run TestFlagsPage -update-pages writes it): %v\n%s", err, diff)
	}
}

// TestCommitOf: a tagged version says by itself what it was built from, one of no tag has
// the commit in its name.
func TestCommitOf(t *testing.T) {
	t.Parallel()
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	for _, tt := range []struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"v1.2.3", nil, ""}, {"v1.2.3-rc.1", nil, ""}, {"(devel)", nil, "commit unknown; "}, {"unknown", nil, "commit unknown; "},
		{"v0.0.0-20260102030405-0123456789ab", nil, "commit 0123456789ab; "}, {"v1.2.4-0.20260102030405-0123456789ab", nil, "commit 0123456789ab; "},
		{"v1.2.4-0.20260102030405-0123456789ab+dirty", vcs, "commit abc, modified; "},
	} {
		if got := commitOf(&debug.BuildInfo{Main: debug.Module{Version: tt.version}, Settings: tt.settings}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.version, got, tt.want)
		}
	}
}
