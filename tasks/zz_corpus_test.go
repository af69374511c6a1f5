package tasks_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/tasks"
)

type full interface {
	tasks.Source
	ticker
}

func TestZZCorpus(t *testing.T) {
	filepath.WalkDir("/tmp/corpus18/json", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		kind, err := tasks.KindOf(path)
		if err != nil {
			fmt.Println("KIND-ERR", path, err)
			return nil
		}
		src := kind.Source(path)
		if src == nil {
			fmt.Println("DEFS", path)
			return nil
		}
		items, err := src.Items(t.Context())
		if err != nil {
			fmt.Println("ERR", kind, path, err)
			return nil
		}
		open, parts, after := 0, 0, 0
		for _, it := range items {
			if !it.Done {
				open++
			}
			if it.Parent != "" {
				parts++
			}
			after += len(it.After)
		}
		check, err := src.(interface{ Check(ctx context.Context) ([]tasks.Finding, error) }).Check(t.Context())
		whys := map[tasks.Why]int{}
		for _, f := range check {
			whys[f.Why]++
			if f.Detail != "" && f.Why != tasks.WhyWaits {
				fmt.Println("   ", f.Item.Line, f.Item.Key, f.Why, f.Detail)
			}
		}
		fmt.Println("OK", kind, strings.TrimPrefix(path, "/tmp/corpus18/"), "items", len(items), "open", open, "parts", parts, "after", after, "check", len(check), whys, err)
		text, _ := os.ReadFile(path)
		for _, it := range items {
			now, err := src.(interface{ Mark(string, []byte) ([]byte, error) }).Mark(it.Key, text)
			if err != nil {
				fmt.Println("MARK-ERR", path, it.Key, err)
				continue
			}
			if it.Done != (string(now) == string(text)) {
				fmt.Println("MARK-DIFF", path, it.Key)
			}
		}
		return nil
	})
}

func TestZZBacklog(t *testing.T) {
	dirs, _ := filepath.Glob("/tmp/corpus18/backlog/*/*")
	more, _ := filepath.Glob("/tmp/corpus18/backlog/*/.backlog")
	deep, _ := filepath.Glob("/tmp/corpus18/backlog/*/*/backlog")
	for _, dir := range append(append(dirs, more...), deep...) {
		kind, err := tasks.KindOf(dir)
		if err != nil {
			fmt.Println("KIND-ERR", dir, err)
			continue
		}
		src := tasks.Backlog{Path: dir}
		items, err := src.Items(t.Context())
		if err != nil {
			fmt.Println("ERR", kind, dir, err)
			continue
		}
		open, parts, after := 0, 0, 0
		for _, it := range items {
			if !it.Done {
				open++
			}
			if it.Parent != "" {
				parts++
			}
			after += len(it.After)
		}
		check, err := src.Check(t.Context())
		whys := map[tasks.Why]int{}
		crit := 0
		for _, f := range check {
			whys[f.Why]++
			crit += len(f.Item.Acceptance)
			if strings.Contains(f.Detail, ";") || f.Why != "" && f.Why != tasks.WhyWaits {
				fmt.Println("   ", f.Item.Line, f.Item.Key, f.Why, f.Detail)
			}
		}
		r, _ := src.Resolve(t.Context())
		fmt.Println("OK", kind, dir, "items", len(items), "open", open, "parts", parts, "after", after, "crit", crit, whys, err, r.Done)
		files, _ := filepath.Glob(dir + "/tasks/*.md")
		for _, file := range files {
			text, _ := os.ReadFile(file)
			for _, it := range items {
				now, err := src.Mark(it.Key, text)
				if err != nil {
					continue
				}
				if it.Done != (string(now) == string(text)) {
					fmt.Println("MARK-DIFF", file, it.Key)
				}
				a, b := strings.Split(string(text), "\n"), strings.Split(string(now), "\n")
				n := 0
				for i := range a {
					if len(a) != len(b) || a[i] != b[i] {
						n++
					}
				}
				if !it.Done && n != 1 {
					fmt.Println("MARK-LINES", n, file)
				}
			}
		}
	}
}
