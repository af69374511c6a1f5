package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestPagesNames checks what our pages name: commands that are known, and flags that
// those take. All pages below docs are in the index.
func TestPagesNames(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range ourPages(t) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text, below := string(data), filepath.Dir(page) == "docs"
		if name := filepath.Base(page); below && name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
		if n := strings.Count(text, "\n"); below && (n > 150 || !strings.HasPrefix(text, "# ")) {
			t.Errorf("%s has %d lines, and begins with %.20q", page, n, text)
		}
		heading, fenced := "", false
		for n, line := range strings.Split(text, "\n") {
			switch {
			case strings.HasPrefix(line, "```"):
				fenced = !fenced
			case strings.HasPrefix(line, "#") && !fenced:
				heading = line
			}
			if fenced {
				continue // it is run, or a file
			}
			for _, fault := range misnamed(line, heading == "## Old and new") {
				if page == "SESSIONS.md" && strings.HasPrefix(fault, "no command takes") {
					continue // it tells of the clients' flags
				}
				t.Errorf("%s:%d: %s", page, n+1, fault)
			}
		}
	}
}

// ourPages are README.md and the pages beside and below it that tell of this program.
func ourPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md"}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(more), err)
		}
		pages = append(pages, more...)
	}
	return pages
}

// TestLinks checks the links of these pages, of those beside them, and of README.md.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range ourPages(t) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := regexp.MustCompile("(?ms)^```.*?^```").ReplaceAll(data, nil) // code has brackets of its own
		for _, link := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(prose), -1) {
			if !strings.Contains(link[1], "://") && !leads(page, link[1]) {
				t.Errorf("%s: nothing is at %s", page, link[1])
			}
		}
	}
}

// leads reports whether a link of a page leads to a file or folder, and to a heading
// in it if it names one.
func leads(page, link string) bool {
	path, heading, within := strings.Cut(link, "#")
	if path = filepath.Join(filepath.Dir(page), path); strings.HasPrefix(link, "#") {
		path = page
	}
	if !within {
		_, err := os.Stat(path)
		return err == nil
	}
	data, err := os.ReadFile(path)
	return err == nil && slices.Contains(headings(string(data)), heading)
}

// headings are the anchors of a text's headings.
func headings(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
			title = regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(title, "")
			all = append(all, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return all
}

// misnamed returns what is wrong with the commands and flags that a line names as code: a
// command line anywhere in it, as in "`cd shop && ralph run FILE --max 3`", those that
// follow one, as in "`ralph pause`, `stop` and `guide`", and flags, which one command must
// take, all of them. Where a table compares, only its last column is ours: the others
// hold other programs' flags.
func misnamed(line string, compares bool) []string {
	var wrong []string
	cells := strings.Split(strings.ReplaceAll(line, `\|`, "|"), " | ")
	if compares {
		cells = cells[len(cells)-1:]
	}
	for _, cell := range cells {
		listed := false // a list of commands goes on
		parts := strings.Split(cell, "`")
		for i := 1; i < len(parts); i += 2 {
			code := parts[i]
			if fault := unattended(code); fault != "" {
				wrong = append(wrong, "`"+code+"`: "+fault)
			}
			listed = listed && slices.Contains([]string{", ", " and ", " or "}, parts[i-1])
			switch at := strings.Index(" "+code, " ralph "); {
			case at >= 0:
				listed = at == 0
				if fault := unknown(code[at+len("ralph "):]); fault != "" {
					wrong = append(wrong, "`"+code+"`: "+fault)
				}
			case strings.HasPrefix(code, "--") && !strings.HasPrefix(code, "-- ") && code != "--":
				if flags := flagsIn(lineWords(code)); !slices.ContainsFunc(commands(), func(c command) bool { return takesAll(c, flags) }) {
					wrong = append(wrong, "no command takes "+strings.Join(flags, " "))
				}
			case listed && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") == "":
				if fault := unknown(code); fault != "" {
					wrong = append(wrong, "`"+code+"`: "+fault)
				}
			default:
				listed = false
			}
		}
	}
	return wrong
}

// unattended says what a client that is started behind -- with nobody to ask lacks: the
// flag with which it asks for no permission, without which its agent may write nothing.
func unattended(code string) string {
	_, client, ok := strings.Cut(" "+code, " -- ")
	words := strings.Fields(client)
	if !ok || len(words) < 2 {
		return ""
	}
	cmd, err := ralph.Preset(words[0])
	if err != nil || words[1] != cmd.Args[1] {
		return ""
	}
	for _, arg := range cmd.Args {
		if strings.HasPrefix(arg, "--dangerously") && !slices.Contains(words, arg) {
			return "without " + arg + " it may write nothing"
		}
	}
	return ""
}

// unknown says what of command lines, the first one's behind "ralph", no command knows, or
// nothing.
func unknown(code string) string {
	all := commands()
	for line := range strings.SplitSeq(code, " && ") {
		words := lineWords(strings.TrimPrefix(line, "ralph "))
		if len(words) == 0 || words[0] == "…" || words[0] == "--version" || slices.Equal(words, []string{group}) {
			continue
		}
		if words[0] == "help" {
			if words = words[1:]; len(words) == 0 || words[0] == "COMMAND" || words[0] == group {
				continue
			}
		}
		name, before := words[0], ""
		if name == group {
			name, before = words[1], group+" "
		}
		for name := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '|' || r == '/' }) { // one of several
			i := slices.IndexFunc(all, func(c command) bool { return c.name == before+name })
			if i < 0 {
				return "there is no command " + before + name
			}
			if flags := flagsIn(words); !takesAll(all[i], flags) {
				return all[i].name + " does not take " + strings.Join(flags, " ")
			}
		}
	}
	return ""
}

// lineWords are the words of a line as a shell has them, where that can be told.
func lineWords(line string) []string {
	if words, err := splitWords(line); err == nil {
		return words
	}
	return strings.Fields(line)
}

// flagsIn are the flags among words, but for those behind --.
func flagsIn(words []string) (flags []string) {
	for _, word := range words {
		if word == "--" {
			break
		}
		if strings.HasPrefix(word, "--") && !strings.Contains(word, " ") {
			flags = append(flags, word)
		}
	}
	return flags
}

// takesAll reports whether a command takes flags, all of them.
func takesAll(c command, flags []string) bool {
	names := append(newFlags(c).names(), "help")
	return !slices.ContainsFunc(flags, func(flag string) bool { return !slices.Contains(names, flagName(flag)) })
}

// flagName is the name of a flag, without its dashes and its value.
func flagName(word string) string {
	name, _, _ := strings.Cut(strings.Trim(word, "[],.;:"), "=")
	return strings.TrimPrefix(name, "--")
}

func TestMisnamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line     string
		compares bool
		wrong    int
	}{
		{"`ralph run FILE --max 3` and `ralph task check FILE`.", false, 0},
		{"`ralph run FILE --maximum 3`", false, 1},
		{"`ralph walk`", false, 1},
		{"`0 2 * * * cd ~/shop && ralph run FILE --maximum 3`", false, 1},
		{"`ralph pause ID && ralph walk ID`", false, 1},
		{"`ralph start P -- claude -p`, or `-- codex exec`", false, 2},
		{"`ralph start P -- claude -p --dangerously-skip-permissions`", false, 0},
		{"`ralph pause|stop ID` and `ralph task create/list`", false, 0},
		{"`ralph pause|walk ID` and `ralph task create/walk`", false, 2},
		{"`ralph pause`, `stop` and `guide`; `walk`", false, 0},
		{"`ralph pause`, `walk` and `guide`", false, 1},
		{"`ralph start P --verify 'x --theirs' -- claude --mine`", false, 0},
		{"| `tool --theirs` | `--max 3`, `--verify='x'` |", true, 0},
		{"| `--theirs` | `--theirs` |", true, 1},
		{"| `--theirs` | `--max 3` |", false, 1},
		{"| `ralph walk` of another tool | `ralph run` |", true, 0},
		{"with `--slots 4 --worktrees`, in prose", false, 0},
		{"with `--slots 4 --worktree`, in prose", false, 1},
		{"with `--slots 4 --session ID`, which no command has both", false, 1},
	} {
		if got := misnamed(tt.line, tt.compares); len(got) != tt.wrong {
			t.Errorf("%s: %q, want %d", tt.line, got, tt.wrong)
		}
	}
}
