package tasks_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralph-loop/ralph/tasks"
)

var update = flag.Bool("update", false, "rewrite the tables in testdata/lists")

// TestLists parses the files of testdata/lists and compares what is found with
// the table that stands beside them.
func TestLists(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/lists/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			golden := &txtar.Archive{Comment: archive.Comment}
			var tables []txtar.File
			for _, file := range archive.Files {
				if strings.HasPrefix(file.Name, "want ") {
					continue
				}
				golden.Files = append(golden.Files, file)
				tables = append(tables, txtar.File{Name: "want " + file.Name, Data: []byte(table(t, file))})
			}
			golden.Files = append(golden.Files, tables...)
			if *update {
				if err := os.WriteFile(path, txtar.Format(golden), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(golden))); diff != "" && !*update {
				t.Error(diff)
			}
		})
	}
}

// table is what stands in a file, as a person reads it.
func table(t *testing.T, file txtar.File) string {
	t.Helper()
	var b strings.Builder
	if strings.HasSuffix(file.Name, ".json") {
		prd, err := tasks.ParsePRD(file.Data)
		if err != nil {
			return err.Error() + "\n"
		}
		fmt.Fprintf(&b, "%q on %q: %q\n", prd.Project, prd.Branch, prd.Description)
		rows(&b, "stories", prd.Items)
		return b.String()
	}
	list, err := tasks.ParseList(file.Data)
	if err != nil {
		return err.Error() + "\n"
	}
	rows(&b, "tasks", list.Items)
	for _, f := range list.Others {
		rows(&b, strings.TrimSpace(string(f.Why)+" "+f.Detail), []tasks.Item{f.Item})
	}
	for _, it := range list.All() {
		line := bytes.Split(file.Data, []byte("\n"))[it.Line-1]
		at := it.Offset - (len(bytes.Join(bytes.SplitN(file.Data, []byte("\n"), it.Line)[:it.Line-1], []byte("\n"))))
		if it.Line > 1 {
			at--
		}
		if at < 1 || at >= len(line)-1 || line[at-1] != '[' || line[at+1] != ']' {
			t.Errorf("%s: the offset of %q is not in the box of line %d", file.Name, it.Key, it.Line)
		}
	}
	return b.String()
}

func rows(b *strings.Builder, title string, items []tasks.Item) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintln(b, title)
	for _, it := range items {
		mark := " "
		if it.Done {
			mark = "x"
		}
		if it.Doing {
			mark = "-"
		}
		words := []string{fmt.Sprintf("%4d [%s]", it.Line, mark)}
		if it.ID != "" {
			words = append(words, it.ID)
		}
		if it.Key != it.ID {
			words = append(words, fmt.Sprintf("key=%q", it.Key))
		}
		if it.Parent != "" {
			words = append(words, fmt.Sprintf("part-of=%q", it.Parent))
		}
		if it.Level > 0 {
			words = append(words, fmt.Sprintf("level=%d", it.Level))
		}
		if it.Priority != 0 {
			words = append(words, fmt.Sprintf("priority=%d", it.Priority))
		}
		if it.Parallel {
			words = append(words, "[P]")
		}
		if it.Story != "" {
			words = append(words, "["+it.Story+"]")
		}
		if it.Phase != "" {
			words = append(words, "{"+it.Phase+"}")
		}
		fmt.Fprintln(b, strings.TrimRight(strings.Join(append(words, it.Text), " "), " "))
		for line := range strings.Lines(it.Details) {
			fmt.Fprintf(b, "         > %s\n", strings.TrimRight(line, "\n"))
		}
		for _, text := range it.Acceptance {
			fmt.Fprintf(b, "         = %s\n", text)
		}
	}
}
