package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

// line is an item as a person reads it.
func line(it tasks.Item) string {
	mark := " "
	switch {
	case it.Done:
		mark = "x"
	case it.Doing:
		mark = "-"
	}
	words := []string{"[" + mark + "]", it.Key}
	if it.Text != it.Key {
		words = append(words, "| "+it.Text)
	}
	if it.Parent != "" {
		words = append(words, "of "+it.Parent)
	}
	if len(it.After) > 0 {
		words = append(words, "after "+strings.Join(it.After, ", "))
	}
	return strings.Join(words, " ")
}

func lines(items []tasks.Item) (all []string) {
	for _, it := range items {
		all = append(all, line(it))
	}
	return all
}

// said is what a finding says.
func said(all []tasks.Finding) (lines []string) {
	for _, f := range all {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%d %s %s: %s", f.Item.Line, f.Item.Key, f.Why, f.Detail), ": "))
	}
	return lines
}

// TestPRDDialects: the forms of prd.json that people have. Ticked is the text with the
// first open item done: one value is another one.
func TestPRDDialects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, ticked string
		want         []string
	}{
		"a list of features without ids": {
			`[{"category":"ui","description":"New chat  button\nworks","steps":["Open","Click"],"passes":true},{"category":"ui","description":"Old","passes":false}]`,
			`[{"category":"ui","description":"New chat  button\nworks","steps":["Open","Click"],"passes":true},{"category":"ui","description":"Old","passes":true}]`,
			[]string{"[x] New chat button works", "[ ] Old"},
		},
		"the same text twice": {
			`[{"description":"a","passes":true},{"description":"a","passes":false},{"id":"a#2","title":"b","passes":true},{"description":"a","passes":true}]`,
			`[{"description":"a","passes":true},{"description":"a","passes":true},{"id":"a#2","title":"b","passes":true},{"description":"a","passes":true}]`,
			[]string{"[x] a", "[ ] a#3 | a", "[x] a#2 | b", "[x] a#4 | a"},
		},
		"features": {`{"features":[{"id":1,"name":"Login","passed":false}]}`, `{"features":[{"id":1,"name":"Login","passed":true}]}`, []string{"[ ] 1 | Login"}},
		"stories":  {`{"stories":[{"id":"A","title":"a","done":false}]}`, `{"stories":[{"id":"A","title":"a","done":true}]}`, []string{"[ ] A | a"}},
		"tasks":    {`{"tasks":[{"id":"A","title":"a","completed":false}]}`, `{"tasks":[{"id":"A","title":"a","completed":true}]}`, []string{"[ ] A | a"}},
		"snake_case": {`{"user_stories":[{"id":"A","title":"a","depends_on":["B"],"passes":false},{"ID":"B","Title":"b","Passes":true}]}`,
			`{"user_stories":[{"id":"A","title":"a","depends_on":["B"],"passes":true},{"ID":"B","Title":"b","Passes":true}]}`,
			[]string{"[x] B | b", "[ ] A | a after B"}},
		"no stories, but features": {`{"userStories":[],"features":[{"title":"a","passes":false}]}`, `{"userStories":[],"features":[{"title":"a","passes":true}]}`, []string{"[ ] a"}},
		"a status, as the file writes it": {
			`[{"id":"A","title":"a","status":"in-progress"},{"id":"B","title":"b","status":"Completed"}]`,
			`[{"id":"A","title":"a","status":"Completed"},{"id":"B","title":"b","status":"Completed"}]`,
			[]string{"[-] A | a", "[x] B | b"},
		},
		"a status, nothing is done": {`[{"id":"A","title":"a","status":"finshed"}]`, `[{"id":"A","title":"a","status":"done"}]`, []string{"[ ] A | a"}},
		"a state":                   {`[{"id":"A","title":"a","state":"not_started"},{"id":"B","title":"b","state":"passing"}]`, `[{"id":"A","title":"a","state":"passing"},{"id":"B","title":"b","state":"passing"}]`, []string{"[ ] A | a", "[x] B | b"}},
		"missing, others have it":   {`[{"id":"A","title":"a"},{"id":"B","title":"b","done":true}]`, `[{"id":"A","title":"a","done":true},{"id":"B","title":"b","done":true}]`, []string{"[ ] A | a", "[x] B | b"}},
		"missing, others a status":  {`[{"id":"A","title":"a"},{"id":"B","title":"b","status":"closed"}]`, `[{"id":"A","title":"a","status":"closed"},{"id":"B","title":"b","status":"closed"}]`, []string{"[ ] A | a", "[x] B | b"}},
		"passes goes before status": {
			`[{"id":"A","title":"a","status":"pending","passes":false},{"id":"B","title":"b","status":"partial","passes":true}]`,
			`[{"id":"A","title":"a","status":"pending","passes":true},{"id":"B","title":"b","status":"partial","passes":true}]`,
			[]string{"[ ] A | a", "[x] B | b"},
		},
		"null says nothing":  {`[{"id":"A","title":"a","passes":null,"status":"todo"}]`, `[{"id":"A","title":"a","passes":null,"status":"done"}]`, []string{"[ ] A | a"}},
		"completed is a day": {`[{"id":"A","title":"a","passes":false,"completed":"2026-01-02","done":"yes"}]`, `[{"id":"A","title":"a","passes":true,"completed":"2026-01-02","done":"yes"}]`, []string{"[ ] A | a"}},
		"two flags agree":    {`[{"id":"A","title":"a","passes":false,"done":false}]`, `[{"id":"A","title":"a","passes":true,"done":true}]`, []string{"[ ] A | a"}},
		"what it depends on": {
			`[{"id":3,"title":"c","dependsOn":["1","2"],"passes":false},{"id":2,"title":"b","blockedBy":"1, none","passes":false},{"id":1,"title":"a","dependencies":[{"id":9},null],"passes":false}]`,
			`[{"id":3,"title":"c","dependsOn":["1","2"],"passes":false},{"id":2,"title":"b","blockedBy":"1, none","passes":false},{"id":1,"title":"a","dependencies":[{"id":9},null],"passes":true}]`,
			[]string{"[ ] 1 | a after 9", "[ ] 2 | b after 1", "[ ] 3 | c after 1, 2"},
		},
		"phases": {
			`{"phases":[{"name":"Build","tasks":[{"id":"A","title":"a","passes":false}]},{"title":"Later"},{"id":3,"stories":[{"id":"B","title":"b","passes":true,"dependencies":["A"]}]}]}`,
			`{"phases":[{"name":"Build","tasks":[{"id":"A","title":"a","passes":true}]},{"title":"Later"},{"id":3,"stories":[{"id":"B","title":"b","passes":true,"dependencies":["A"]}]}]}`,
			[]string{"[ ] A | a", "[x] B | b after A"},
		},
		"phases beside stories": {
			`{"phases":[{"name":"Build"}],"features":[{"id":"A","title":"a","passes":false}]}`,
			`{"phases":[{"name":"Build"}],"features":[{"id":"A","title":"a","passes":true}]}`,
			[]string{"[ ] A | a"},
		},
		"parts": {
			`{"features":[{"id":"F1","name":"Shop","stories":[{"id":"S1","title":"Pay","passes":false},{"id":2,"title":"Ship","dependencies":["S1"]}],"passes":false},{"id":"F2","name":"b","tasks":[{"file":"x"}],"passes":true}]}`,
			`{"features":[{"id":"F1","name":"Shop","stories":[{"id":"S1","title":"Pay","passes":true},{"id":2,"title":"Ship","dependencies":["S1"]}],"passes":false},{"id":"F2","name":"b","tasks":[{"file":"x"}],"passes":true}]}`,
			[]string{"[ ] S1 | Pay of F1", "[ ] F1.2 | Ship of F1 after S1", "[ ] F1 | Shop", "[x] F2 | b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prd, err := tasks.ParsePRD([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, lines(prd.Items)); diff != "" {
				t.Error(diff)
			}
			for _, it := range prd.Items {
				if it.Done {
					continue
				}
				ticked, err := tasks.TickPRD([]byte(tt.text), it)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.ticked, string(ticked)); diff != "" {
					t.Error(diff)
				}
				break
			}
		})
	}
}

// TestPRDDetails: what is told of a story, by whatever key.
func TestPRDDetails(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]tasks.Item{
		`{"title":"a","description":"b","acceptance_criteria":["c",{"criterion":"d"}],"passes":false}`: {Text: "a", Details: "b", Acceptance: []string{"c", "d"}},
		`{"name":"a","acceptance":"c","steps":["d"],"passes":false}`:                                   {Text: "a", Details: "Steps:\n- d", Acceptance: []string{"c"}},
		`{"feature":"a","description":"b","criteria":null,"steps":["d"],"passes":false}`:               {Text: "a", Details: "b", Acceptance: []string{"d"}},
		`{"description":"a\nb","steps":7,"passes":false}`:                                              {Text: "a b"},
		`{"title":"a","criteria":[{"given":"x","when":"y","then":"z"}],"passes":false}`:                {Text: "a", Acceptance: []string{"given x, when y, then z"}},
		`{"title":"a","priority":"must","passes":false}`:                                               {Text: "a", Priority: 2},
	} {
		prd, err := tasks.ParsePRD([]byte("[" + text + "]"))
		if err != nil || len(prd.Items) != 1 {
			t.Errorf("%s: %v, %v", text, prd.Items, err)
			continue
		}
		got := prd.Items[0]
		if diff := cmp.Diff(want, tasks.Item{Text: got.Text, Details: got.Details, Acceptance: got.Acceptance, Priority: got.Priority}); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestCirclesTold: what waits for itself is told, whatever the source.
func TestCirclesTold(t *testing.T) {
	t.Parallel()
	const stories = `[{"id":"A","title":"a","status":"todo","dependencies":["B"]},{"id":"B","title":"b","status":"todo","dependencies":["A"]}]`
	for _, src := range []interface {
		Check(context.Context) ([]tasks.Finding, error)
	}{
		tasks.PRDFile{Path: write(t, "prd.json", stories)},
		tasks.TaskmasterFile{Path: write(t, "tasks.json", `{"tasks":`+stories+`}`)},
		tasks.Backlog{Path: putBacklog(t, "", map[string]string{
			"A.md": front("id: A", "title: a", "status: To Do", "dependencies: [B]"),
			"B.md": front("id: B", "title: b", "status: To Do", "dependencies: [A]"),
		})},
	} {
		all, err := src.Check(t.Context())
		if err != nil || len(all) != 2 || !strings.Contains(all[0].Detail, "waits for itself by way of B") || !strings.Contains(all[1].Detail, "waits for itself by way of A") {
			t.Errorf("%T: %v, %v", src, said(all), err)
		}
	}
}

// TestPRDPhases: a story bears the name of its phase.
func TestPRDPhases(t *testing.T) {
	t.Parallel()
	prd, err := tasks.ParsePRD([]byte(`{"userStories":[],"phases":[{"id":1,"name":" Build\n it","tasks":[{"title":"a","subtasks":[{"id":"b","title":"b","passes":false}]}]},{"id":2,"tasks":[{"title":"c"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range prd.Items {
		got = append(got, it.Key+": "+it.Phase)
	}
	if diff := cmp.Diff([]string{"b: Build it", "a: Build it", "c: 2"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPRDContradictions: a story that says two things is not worked on before a person
// has said which is meant.
func TestPRDContradictions(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		`"passes":false,"status":"done"`: `line 2, column 47: the story "A" contradicts itself: "passes" is false, and "status" is "done": make them say the same`,
		`"passes":true,"done":false`:     `line 2, column 44: the story "A" contradicts itself: "passes" is true, and "done" is false: make them say the same`,
		`"done":true,"passes":false`:     `line 2, column 30: the story "A" contradicts itself: "passes" is false, and "done" is true: make them say the same`,
		`"status":"open","state":"done"`: `line 2, column 47: the story "A" contradicts itself: "status" is "open", and "state" is "done": make them say the same`,
		`"done":"yes"`:                   `line 2, column 30: done: want true or false, found a text`,
		`"status":1`:                     `line 2, column 32: status: want a text, found a number`,
		`"accepted":1,"acceptanceCriteria":[],"acceptance_criteria":[]`: `line 2, column 60: a second "acceptance_criteria" in one story`,
	} {
		_, err := tasks.ParsePRD([]byte("[\n{\"id\":\"A\",\"title\":\"a\"," + members + "}]"))
		if err == nil {
			t.Errorf("%s: no error", members)
		} else if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestPRDCheck: for each story one reads why it is a task or none.
func TestPRDCheck(t *testing.T) {
	t.Parallel()
	path := write(t, "prd.json", `{"branch": "feat/x", "projectName": "shop", "stories": [
{"id": "A", "title": "a", "status": "cancelled", "subtasks": [{"id": 1, "title": "p", "status": "todo"}]},
{"id": "B", "title": "b", "status": "finshed", "dependencies": ["A", "Z", "C"]},
{"id": "C", "title": "c", "status": "blocked"},
{"id": "D", "title": "d", "status": "deferred", "passes": true},
{"id": "E", "title": "e", "status": "done", "subtasks": [{"id": "E.1", "title": "p", "status": "todo"}, {"id": "E.2", "title": "p", "status": "done"}]}
]}`)
	src := tasks.PRDFile{Path: path}
	all, err := src.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`2 A skipped: "status" is "cancelled"`,
		`2 A.1 skipped: it is a part of A: "status" is "cancelled"`,
		`3 B waits: its status "finshed" is not known, and taken for open; is "finished" meant?; for C; it comes after "A", which is no task: not waited for; it comes after "Z", which is not there: not waited for`,
		`4 C : its status is "blocked", and it is open`,
		`5 D : "passes" is true, and so it is done, although "status" is "deferred"`,
		`6 E`,
		`6 E.1 skipped: it is a part of E, which is done`,
		`6 E.2`,
	}
	if diff := cmp.Diff(want, said(all)); diff != "" {
		t.Error(diff)
	}
	prd, err := src.Read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"[ ] C | c", "[ ] B | b after A, Z, C", "[x] D | d", "[x] E.2 | p of E", "[x] E | e"}, lines(prd.Items)); diff != "" {
		t.Error(diff)
	}
	if prd.Branch != "feat/x" || prd.Project != "shop" || len(prd.Others) != 3 {
		t.Errorf("%q, %v", prd.Branch, said(prd.Others))
	}
}

// TestPRDFileNames: what a session and a pipeline ask of a file.
func TestPRDFileNames(t *testing.T) {
	t.Parallel()
	path := write(t, "prd.json", `{"stories":[{"id":"A","title":"a","status":"open"},{"id":"B","title":"b","done":false}]}`)
	src := tasks.PRDFile{Path: path}
	for key, want := range map[string]string{
		"A": `set "status" of the story "A" to "done" in ` + path,
		"B": `set "done" of the story "B" to true in ` + path,
		"C": `set "passes" of the story "C" to true in ` + path,
	} {
		if got := src.HowDone(tasks.Item{ID: key, Key: key}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := src.Filename(); got != path || (tasks.PRDFile{}).Filename() != "" {
		t.Error(got)
	}
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if got, err := (tasks.PRDFile{Path: link}).Resolve(t.Context()); err != nil || got != src {
		t.Error(got, err)
	}
	_, err := src.Mark("C", []byte(`[]`))
	none, ok := errors.AsType[*tasks.NoItemError](err)
	if !ok || none.Path != path || none.Key != "C" {
		t.Error(err)
	}
	if got, err := src.Mark("A", []byte(` [{"id":"A","title":"moved"}]`)); err != nil || string(got) != ` [{"id":"A","title":"moved","passes":true}]` {
		t.Errorf("%s, %v", got, err)
	}
}
