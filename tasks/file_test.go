package tasks_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       tasks.Kind // "" = an error
	}{
		{"tasks.md", "", tasks.KindList},
		{"TASKS.MD", "", tasks.KindList},
		{"todo.txt", "", tasks.KindList},
		{"TODO", "", tasks.KindList},
		{"tasks.yaml", "", tasks.KindDefinitions},
		{"tasks.yml", "", tasks.KindDefinitions},
		{"prd.json", `{"userStories":[]}`, tasks.KindPRD},
		{"bom.json", "\ufeff{\"userStories\":[]}", tasks.KindPRD},
		{"case.json", `{"userstories":[]}`, tasks.KindPRD},
		{"bare.json", `[{"id":"US-1","title":"Login","passes":false}]`, tasks.KindPRD},
		{"other.json", `{}`, tasks.KindPRD},
		{"one.json", `{"id":"T1"}`, tasks.KindDefinitions},
		{"task.json", `{"task":{}}`, tasks.KindDefinitions},
		{"list.json", `[{"id":"T1"}]`, tasks.KindDefinitions},
		{"broken.json", `{"userStories":[`, tasks.KindDefinitions},
		{"a.docx", "", ""},
	} {
		path := filepath.Join(t.TempDir(), tt.name)
		if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := tasks.KindOf(path); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
	if _, err := tasks.KindOf(filepath.Join(t.TempDir(), "no.md")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestKindOddFiles: what KindOf calls a file is what OpenSource opens, however
// odd the file is.
func TestKindOddFiles(t *testing.T) {
	t.Parallel()
	const (
		list    = "- [ ] T001 a\n"
		stories = `[{"id":"US-1","title":"Login","passes":false}]`
		defs    = `[{"id":"T1","title":"One"}]`
	)
	for _, tt := range []struct {
		name, text string
		want       tasks.Kind
		refused    string // by OpenSource; "" = it opens the file
	}{
		{"empty.md", "", tasks.KindList, "is empty"},
		{"empty.json", "", tasks.KindDefinitions, "holds definitions"},
		{"empty.yaml", "", tasks.KindDefinitions, "holds definitions"},
		{"empty", "", tasks.KindList, "is empty"},
		{"bom.md", "\ufeff" + list, tasks.KindList, ""},
		{"bom.json", "\ufeff" + stories, tasks.KindPRD, ""},
		{"bom", "\ufeff \n" + `{"userStories":` + stories + `}`, tasks.KindPRD, ""},
		{"stories.json", stories, tasks.KindPRD, ""},
		{"stories.txt", stories, tasks.KindPRD, ""},
		{"stories", stories, tasks.KindPRD, ""},
		{"STORIES.JSON", stories, tasks.KindPRD, ""},
		{"definitions.json", defs, tasks.KindDefinitions, "holds definitions"},
		{"definitions", defs, tasks.KindDefinitions, "holds definitions"},
		{"tasks.json", `{"tasks":` + defs + `}`, tasks.KindDefinitions, "holds definitions"},
		{"none.json", `{"project":"shop"}`, tasks.KindPRD, `the key is "userStories"`},
		{"null.json", "null", tasks.KindPRD, "want an object with userStories"},
		{"broken.json", `{"userStories":[`, tasks.KindDefinitions, "holds definitions"},
		{"front.md", "---\nid: T1\ntasks: []\n---\n" + list, tasks.KindList, ""},
		{"brace.md", "{draft}\n" + list, tasks.KindList, ""},
		{"link", "[a](b)\n" + list, tasks.KindList, ""},
		{"LIST.MD", list, tasks.KindList, ""},
		{"list.Markdown", list, tasks.KindList, ""},
		{"tasks.YML", "tasks: []\n", tasks.KindDefinitions, "holds definitions"},
		{"list.yaml", list, tasks.KindDefinitions, "holds definitions"},
		{"binary.md", "\x7fELF\x00\xff", tasks.KindList, "not UTF-8"},
		{"binary", "\x7fELF\x00\xff", tasks.KindList, "not UTF-8"},
		{"list.docx", list, "", "is not known by its name"},
	} {
		path := write(t, tt.name, tt.text)
		kind, err := tasks.KindOf(path)
		if kind != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v; want %q", tt.name, kind, err, tt.want)
		}
		var want tasks.Source
		if tt.refused == "" {
			want = map[tasks.Kind]tasks.Source{tasks.KindList: tasks.ListFile{Path: path, OnlyIDs: true}, tasks.KindPRD: tasks.PRDFile{Path: path}}[tt.want]
		}
		src, err := tasks.OpenSource(path)
		if diff := cmp.Diff(want, src); diff != "" || (err == nil) != (tt.refused == "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
			t.Errorf("%s: %v, %s", tt.name, err, diff)
		}
	}
	for path, want := range map[string]string{t.TempDir(): "is a directory", "": "no path"} {
		_, kindErr := tasks.KindOf(path)
		_, openErr := tasks.OpenSource(path)
		if kindErr == nil || !strings.Contains(kindErr.Error(), want) || openErr == nil || openErr.Error() != kindErr.Error() {
			t.Errorf("%q: %v and %v, want %s", path, kindErr, openErr, want)
		}
	}
}

// TestFind: the first that is there is found; if there is none, one reads what
// was looked for. A folder of such a name is none.
// TestErrorPrefix: an error begins with the package, once; one about a place in
// a file begins with the file, and one about a place in a text with the line.
func TestErrorPrefix(t *testing.T) {
	t.Parallel()
	latin, list := write(t, "latin.md", "- [ ] T001 caf\xe9\n"), write(t, "tasks.md", "- [ ] T001 a\n")
	bad, prd := write(t, "bad.json", "{"), write(t, "prd.json", `[{"id":"A","title":"a","passes":false}]`)
	second := func(_ any, err error) error { return err }
	agent := &worker{t: t}
	for want, err := range map[string]error{
		"tasks: task list no.md: file does not":                second(tasks.ListFile{Path: "no.md"}.Items(t.Context())),
		"tasks: task file no.md: file does not":                second(tasks.KindOf("no.md")),
		"tasks: task file no.json: file does not":              second(tasks.OpenSource("no.json")),
		"tasks: task list no.md: file":                         tasks.ListFile{Path: "no.md"}.Tick("T001"),
		"tasks: task list " + list + ": there is no item":      tasks.ListFile{Path: list}.Tick("T002"),
		"tasks: prd.json no.json: file does not":               second(tasks.PRDFile{Path: "no.json"}.Read()),
		"tasks: " + prd + ": there is no story":                tasks.PRDFile{Path: prd}.Tick("B"),
		"tasks: there is no task file":                         second(tasks.Find(t.Context(), t.TempDir())),
		"tasks: the box of":                                    second(tasks.Tick(nil, tasks.Item{Key: "T001"})),
		"tasks: the story":                                     second(tasks.TickPRD([]byte("[]"), tasks.Item{ID: "A"})),
		"tasks: Session has no Source":                         second((&tasks.Session{}).Run(t.Context())),
		"tasks: Session has no Runner":                         second((&tasks.Session{Source: tasks.ListFile{Path: list}}).Run(t.Context())),
		"tasks: prompt: template, line 1":                      second((&tasks.Session{Source: tasks.ListFile{Path: list}, Runner: agent, Template: "{{X}}"}).Run(t.Context())),
		"task list " + latin + ": line 1: not UTF-8":           second(tasks.ListFile{Path: latin}.Items(t.Context())),
		bad + ": line 1, column 2: bad JSON":                   second(tasks.PRDFile{Path: bad}.Items(t.Context())),
		"line 1: not UTF-8":                                    second(tasks.ParseList([]byte("\xff"))),
		"line 1, column 1: there is no list of stories: the k": second(tasks.ParsePRD([]byte("{}"))),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "tasks: ") > 1 {
			t.Errorf("%v, want %s…", err, want)
		}
	}
}
