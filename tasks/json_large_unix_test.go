//go:build linux || darwin

package tasks_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/file/filetest"
	"github.com/ralph-loop/ralph/tasks"
)

// TestJSONLarge: what programs write in one line, or again and again, is read in the time
// that its size takes.
func TestJSONLarge(t *testing.T) {
	t.Parallel()
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	long := strings.Repeat("x", 2<<20)
	for name, text := range map[string]string{
		"in one line":        `[{"title":"` + long + `"},` + many(25_000, `{"id":"S%d","title":"t","passes":false},`) + "]",
		"one unknown status": "[" + many(25_000, `{"id":"S%d","title":"t","status":"`+strings.Repeat("z", 90)+`"},`) + "]",
		"many predecessors":  `[{"id":"A","title":"t","passes":false,"dependencies":[` + many(180_000, "1%d,") + "]}]",
		"many tags":          "{" + many(45_000, `"`+strings.Repeat("t", 60)+`%06d":{"tasks":[]},`) + `,"master":{"tasks":[{"id":1,"title":"a"}]}}`,
	} {
		err := filetest.Within(t, func() error {
			if strings.Contains(name, "tags") {
				_, err := (tasks.TaskmasterFile{Tag: "master"}).Mark("1", []byte(text))
				return err
			}
			var all error
			for range 3 {
				_, err := tasks.ParsePRD([]byte(text))
				all = errors.Join(all, err)
			}
			return all
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
