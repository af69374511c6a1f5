package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesNames checks what the pages below docs name: commands that are known, and
// flags that those take. All pages are in the index.
func TestPagesNames(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
		if n := strings.Count(text, "\n"); n > 150 || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s has %d lines, and begins with %.20q", page, n, text)
		}
		for n, line := range strings.Split(text, "\n") {
			for _, fault := range misnamed(line) {
				t.Errorf("%s:%d: %s", page, n+1, fault)
			}
		}
	}
}

// TestLinks checks the links of these pages, of those beside them, and of README.md.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages := []string{"../../README.md"}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(more), err)
		}
		pages = append(pages, more...)
	}
	for _, page := range pages {
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

// misnamed returns what is wrong with the commands and flags that a line names as code,
// as in "`ralph run FILE --max 3`". A flag without its command counts if the line is
// of a table, in the last column: the others hold other programs' flags.
func misnamed(line string) []string {
	var wrong []string
	table := strings.Split(strings.ReplaceAll(line, `\|`, "/"), " | ")
	for i, cell := range table {
		for j, code := range strings.Split(cell, "`") {
			words := strings.Fields(code)
			if j%2 == 0 || len(words) == 0 {
				continue
			}
			switch {
			case words[0] == "ralph" && len(words) > 1 && words[1] != "version" && words[1] != "help" && i == len(table)-1:
				if fault := unknown(words[1:]); fault != "" {
					wrong = append(wrong, "`"+code+"`: "+fault)
				}
			case strings.HasPrefix(words[0], "--") && words[0] != "--" && i > 0 && i == len(table)-1:
				if !slices.ContainsFunc(commands(), func(c command) bool { return slices.Contains(newFlags(c).names(), flagName(words[0])) }) {
					wrong = append(wrong, "no command takes "+words[0])
				}
			}
		}
	}
	return wrong
}

// unknown says what of a command line after "ralph" no command knows, or nothing.
func unknown(words []string) string {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool {
		name := strings.Fields(c.name)
		return len(words) >= len(name) && slices.Equal(name, words[:len(name)])
	})
	if i < 0 {
		return "no such command"
	}
	for _, word := range words {
		switch {
		case word == "--":
			return ""
		case strings.HasPrefix(word, "--") && !slices.Contains(newFlags(all[i]).names(), flagName(word)):
			return all[i].name + " takes no " + word
		}
	}
	return ""
}

// flagName is the name of a flag, without its dashes and its value.
func flagName(word string) string {
	name, _, _ := strings.Cut(strings.Trim(word, "[],.;:"), "=")
	return strings.TrimPrefix(name, "--")
}

func TestMisnamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line  string
		wrong int
	}{
		{"`ralph run FILE --max 3` and `ralph task check FILE`.", 0},
		{"`ralph run FILE --maximum 3`", 1},
		{"`ralph walk`", 1},
		{"`ralph start P -- claude --mine`", 0},
		{"| `tool --theirs` | `--max 3`, `--verify='x'` |", 0},
		{"| `tool --theirs` | `--theirs` |", 1},
		{"| `ralph walk` of another tool | `ralph run` |", 0},
		{"with `--theirs`, in prose", 0},
	} {
		if got := misnamed(tt.line); len(got) != tt.wrong {
			t.Errorf("%s: %q, want %d", tt.line, got, tt.wrong)
		}
	}
}
