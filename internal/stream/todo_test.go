package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTodosInSQL: what Copilot does to its table of todos is shown as the list; any other
// query is what it is described as.
func TestTodosInSQL(t *testing.T) {
	t.Parallel()
	const two = "INSERT INTO todos (id, title, status) VALUES ('a', 'Write it', 'in_progress'), ('b', 'It''s to be tested', 'pending')"
	for _, tt := range []struct {
		name    string
		queries []string
		want    string
	}{
		{"rows", []string{two}, "→ sql 0 of 2 done\n  [~] Write it\n  [ ] It's to be tested\n"},
		{"all", []string{two, "UPDATE todos SET status = 'done'"}, "→ sql 2 of 2 done\n  [x] Write it\n  [x] It's to be tested\n"},
		{"one", []string{two, "update todos set updated_at = now(), status='done' where id='a';"}, "→ sql 1 of 2 done\n  [x] Write it\n  [ ] It's to be tested\n"},
		{"some", []string{two, "UPDATE todos SET status = 'blocked' WHERE id IN ('a', 'b')"}, "→ sql 0 of 2 done\n  [-] Write it\n  [-] It's to be tested\n"},
		{"two statements", []string{two + ";\nUPDATE todos SET status = 'done' WHERE id = 'b'"}, "→ sql 1 of 2 done\n  [~] Write it\n  [x] It's to be tested\n"},
		{"again", []string{two, "INSERT OR REPLACE INTO todos (id, title) VALUES ('a', 'Write them')"}, "→ sql 0 of 2 done\n  [ ] Write them\n  [ ] It's to be tested\n"},
		{"another column first", []string{"INSERT INTO todos (title, description, id) VALUES ('Write it', 'x, (y); z', 'a')"}, "→ sql 0 of 1 done\n  [ ] Write it\n"},
		{"a condition that is not understood", []string{two, "UPDATE todos SET status = 'done' WHERE title LIKE 'a'"}, "→ sql as told\n"},
		{"nobody's id", []string{"UPDATE todos SET status = 'done' WHERE id = 'c'"}, "→ sql as told\n"},
		{"a question", []string{"SELECT * FROM todos"}, "→ sql as told\n"},
		{"another table", []string{"INSERT INTO todo_deps (todo_id, depends_on) VALUES ('b', 'a')"}, "→ sql as told\n"},
		{"no columns", []string{"INSERT INTO todos VALUES ('a', 'b', 'c')"}, "→ sql as told\n"},
		{"cut", []string{"INSERT INTO todos (id, title) VALUES ('a', 'Write"}, "→ sql 0 of 1 done\n  [ ] Write\n"},
	} {
		var stream strings.Builder
		for _, q := range tt.queries {
			text, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&stream, `{"type":"tool.execution_start","data":{"toolName":"sql","arguments":{"description":"as told","query":%s}}}`+"\n", text)
		}
		all := display(t, "copilot", []byte(stream.String()), 0, false)
		got := all[strings.LastIndex(all, "→"):]
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestTasksInChanges: Claude Code's list is told in changes, and shown whole.
func TestTasksInChanges(t *testing.T) {
	t.Parallel()
	use := func(name, input string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"tool_use","name":%q,"input":%s}]}}`, name, input)
	}
	data := lines(use("TaskUpdate", `{"taskId":"7","status":"completed"}`),
		use("TaskCreate", `{"subject":"One","description":"the first"}`), use("TaskCreate", `{"subject":"Two"}`),
		use("TaskUpdate", `{"taskId":"1","status":"completed"}`), use("TaskUpdate", `{"taskId":"2","status":"deleted","subject":"Two and a half"}`))
	want := "→ TaskUpdate taskId=7 status=completed\n→ TaskCreate One\n→ TaskCreate Two\n" +
		"→ TaskUpdate 1 of 2 done\n  [x] One\n  [ ] Two\n→ TaskUpdate 1 of 2 done\n  [x] One\n  [-] Two and a half\n"
	if diff := cmp.Diff(want, display(t, "claude", data, 0, false)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestClineSentUsage: what a sub-agent of Cline's has used counts, once.
func TestClineSentUsage(t *testing.T) {
	t.Parallel()
	for aggregate, want := range map[string]int64{`{"inputTokens":300}`: 500, `{"inputTokens":510}`: 510} {
		data := lines(
			`{"type":"agent_event","event":{"type":"content_start","contentType":"tool","toolName":"spawn_agent","toolCallId":"1"}}`,
			`{"type":"agent_event","event":{"type":"iteration_start"}}`,
			`{"type":"agent_event","event":{"type":"usage","totalInputTokens":200}}`,
			`{"type":"agent_event","event":{"type":"content_end","contentType":"tool","toolName":"spawn_agent","toolCallId":"1","output":{"usage":{"inputTokens":200}}}}`,
			`{"type":"agent_event","event":{"type":"usage","totalInputTokens":300}}`,
			`{"type":"run_result","finishReason":"completed","text":"Done.","usage":{"inputTokens":300},"aggregateUsage":`+aggregate+`}`)
		if got := decode(t, "cline", data, 0, Options{}).Usage; got.InputTokens != want || got.Requests != 2 {
			t.Errorf("in all %s: %+v, want %d", aggregate, got, want)
		}
	}
}
