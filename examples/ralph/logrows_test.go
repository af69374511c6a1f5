package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A pieces keeps what it is given, each write by itself.
type pieces []string

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, string(b))
	return len(b), nil
}

// TestLogRows: the rows of a log line up by the columns of a terminal, each is written in
// one piece, and no colour is one that cannot be read on a light ground.
func TestLogRows(t *testing.T) {
	t.Parallel()
	row := func(task, outcome string) string {
		return `{"task_id":"` + task + `","ralph_iteration":1,"outcome":"` + outcome + `","kind":"iteration_ended"}` + "\n"
	}
	log := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(log, []byte(row("T1", "success")+row("日本語", "skipped")+row("🚀 é", "interrupted")), 0o600); err != nil {
		t.Fatal(err)
	}
	var out pieces
	e := env{ctx: t.Context(), stdout: &outlet{Writer: &out, colours: true}}
	if err := (&logFlags{as: "table"}).run(e, []string{log}); err != nil {
		t.Fatal(err)
	}
	want := pieces{
		"TASK    ITERATION  OUTCOME      DURATION  COST  REASON\n",
		"\x1b[32mT1      1          success      0s        -     no promise\x1b[0m\n",
		"\x1b[35m日本語  1          skipped      0s        -     no promise\x1b[0m\n",
		"\x1b[35m🚀 é    1          interrupted  0s        -     no promise\x1b[0m\n",
		"3 attempts\n",
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff, strings.Join(out, ""))
	}
}
