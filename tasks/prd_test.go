package tasks_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

func TestParsePRDErrors(t *testing.T) {
	t.Parallel()
	one := func(member string) string {
		return "{\n  \"userStories\": [\n    {\"id\": \"A\", \"title\": \"a\", " + member + "}\n  ]\n}"
	}
	tests := map[string]struct{ text, want string }{
		"empty":              {"", "line 1, column 1: bad JSON: unexpected end of JSON input"},
		"bad JSON":           {"{\n  \"a\": é\n}", "line 2, column 8: bad JSON: invalid character 'Ã' looking for beginning of value"},
		"trailing comma":     {"{\"userStories\": [\n  {\"id\": \"A\", \"title\": \"a\"},\n]}", "line 3, column 1: bad JSON: invalid character ']' looking for beginning of value"},
		"not UTF-8":          {"{\n\"a\": \"\xe9\"}", "line 2: not UTF-8"},
		"a number":           {" 3", "line 1, column 2: the file: want an object with userStories, found a number"},
		"no stories":         {"{\"tasks\": []}", "line 1, column 1: there is no list of stories: the key is \"userStories\""},
		"wrong case":         {"{\"userstories\": []}", "line 1, column 1: there is no list of stories: the key is \"userStories\""},
		"stories twice":      {"{\"userStories\": [],\n \"userStories\": []}", "line 2, column 2: a second \"userStories\""},
		"an object":          {"{\"userStories\": {}}", "line 1, column 17: userStories: want a list of stories, found an object"},
		"no story":           {"[3]", "line 1, column 2: userStories: want a story, which is an object, found a number"},
		"blank id":           {"[{\"id\": \" \", \"title\": \"a\"}]", "line 1, column 2: a story without an id"},
		"empty story":        {"[{}]", "line 1, column 2: a story without an id, a title and a description"},
		"no title":           {"[\n{\"id\": \"A\"}]", "line 2, column 1: the story \"A\" has no title"},
		"repeated id":        {"[{\"id\": \"A\", \"title\": \"a\"},\n {\"id\": \"A\", \"title\": \"b\"}]", "line 2, column 2: the story \"A\" stands in line 1 already: each needs an id of its own"},
		"id of another":      {"[{\"id\": \"1\", \"title\": \"a\"}, {\"id\": 1, \"title\": \"b\"}]", "line 1, column 29: the story \"1\" stands in line 1 already: each needs an id of its own"},
		"id true":            {"[{\"id\": true}]", "line 1, column 9: id: want a text, found true or false"},
		"title list":         {"[{\"id\": \"A\", \"title\": []}]", "line 1, column 23: title: want a text, found a list"},
		"description":        {one(`"description": 1`), "line 3, column 46: description: want a text, found a number"},
		"passes text":        {one(`"passes": "true"`), "line 3, column 41: passes: want true or false, found a text"},
		"passes number":      {one(`"passes": 0`), "line 3, column 41: passes: want true or false, found a number"},
		"passes twice":       {one(`"passes": true, "passes": false`), "line 3, column 47: a second \"passes\" in one story"},
		"priority":           {one(`"priority": []`), "line 3, column 43: priority: want a number, found a list"},
		"priority huge":      {one(`"priority": 1e999`), "line 3, column 43: priority: the number is too big"},
		"criteria number":    {one(`"acceptanceCriteria": 1`), "line 3, column 53: acceptanceCriteria: want a list of texts, found a number"},
		"criteria entry":     {one(`"acceptanceCriteria": ["a", 1]`), "line 3, column 59: acceptanceCriteria: want a text, found a number"},
		"criterion, no text": {one(`"acceptanceCriteria": [{"id": "x"}]`), "line 3, column 54: acceptanceCriteria: want a text, or an object with a \"text\", found an object"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prd, err := tasks.ParsePRD([]byte(tt.text))
			if err == nil {
				t.Fatalf("no error, but %+v", prd)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTickPRD(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"false":           {`[{"id":"A","title":"a","passes":false,"x":{"passes":false}}]`, `[{"id":"A","title":"a","passes":true,"x":{"passes":false}}]`},
		"null":            {`[{"id":"A","title":"a","passes" : null }]`, `[{"id":"A","title":"a","passes" : true }]`},
		"true":            {`[{"id":"A","title":"a","passes":true}]`, `[{"id":"A","title":"a","passes":true}]`},
		"missing":         {`[{"id":"A","title":"a"}]`, `[{"id":"A","title":"a","passes":true}]`},
		"missing, spaced": {"[\n  {\n    \"id\": \"A\",\n    \"title\": \"a\"\n  }\n]", "[\n  {\n    \"id\": \"A\",\n    \"title\": \"a\",\n    \"passes\": true\n  }\n]"},
		"in another":      {`[{"title":"a","x":{"passes":false},"id":"A"}]`, `[{"title":"a","x":{"passes":false},"id":"A","passes":true}]`},
		"order, BOM, CRLF": {"\ufeff{\"z\": 1.50,\r\n\t\"userStories\": [{\"title\":\"a\",\"passes\":false,\"id\":\"A\",\"n\":1e2}]}\r\n",
			"\ufeff{\"z\": 1.50,\r\n\t\"userStories\": [{\"title\":\"a\",\"passes\":true,\"id\":\"A\",\"n\":1e2}]}\r\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prd, err := tasks.ParsePRD([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := tasks.TickPRD([]byte(tt.text), prd.Items[0])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTickPRDRefusesAnotherText(t *testing.T) {
	t.Parallel()
	prd, err := tasks.ParsePRD([]byte(`[{"id":"A","title":"a","passes":false}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, now := range []string{
		` [{"id":"A","title":"a","passes":false}]`,
		`[{"id":"B","title":"a","passes":false}]`,
		`[{"id":"A","title":"a"}]`,
		`[]`,
		``,
	} {
		if got, err := tasks.TickPRD([]byte(now), prd.Items[0]); err == nil || got != nil {
			t.Errorf("%s: got %s, %v; want an error", now, got, err)
		}
	}
}

// FuzzParsePRD: to tick a story changes its "passes" and nothing else.
func FuzzParsePRD(f *testing.F) {
	addLists(f, ".json")
	f.Fuzz(func(t *testing.T, text []byte) {
		prd, err := tasks.ParsePRD(text)
		if err != nil {
			return
		}
		for i, it := range prd.Items[:min(len(prd.Items), 10)] {
			ticked, err := tasks.TickPRD(text, it)
			if err != nil {
				t.Fatal(err)
			}
			if it.Done != bytes.Equal(text, ticked) {
				t.Fatalf("done %t, and the text is now %q", it.Done, ticked)
			}
			got, err := tasks.ParsePRD(ticked)
			if err != nil {
				t.Fatalf("%v in %q", err, ticked)
			}
			want := tasks.PRD{Project: prd.Project, Branch: prd.Branch, Description: prd.Description}
			want.Items = append(want.Items, prd.Items...)
			want.Items[i].Done = true
			for j := range want.Items {
				want.Items[j].Offset, got.Items[j].Offset = 0, 0
			}
			// A member that is added may take a line of its own.
			if bytes.Count(ticked, []byte("\n")) != bytes.Count(text, []byte("\n")) {
				for j := range want.Items {
					want.Items[j].Line, got.Items[j].Line = 0, 0
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
			checkRest(t, text, ticked)
		}
	})
}

// checkRest checks that two texts differ in one place, and that what stands there
// is the value or the member that was to be written.
func checkRest(t *testing.T, text, ticked []byte) {
	t.Helper()
	from := 0
	for from < len(text) && from < len(ticked) && text[from] == ticked[from] {
		from++
	}
	tail := 0
	for tail < len(text)-from && tail < len(ticked)-from && text[len(text)-1-tail] == ticked[len(ticked)-1-tail] {
		tail++
	}
	was, is := string(text[from:len(text)-tail]), string(ticked[from:len(ticked)-tail])
	switch {
	case was == is, was == "fals" && is == "tru", was == "null" && is == "true":
	case was == "" && json.Valid(ticked) && len(is) < 4096:
	default:
		t.Fatalf("%q became %q", was, is)
	}
}
