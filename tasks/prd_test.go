package tasks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
		"too large":          {strings.Repeat(" ", 4<<20) + "[]", "the file has more than 4194304 bytes, which is the most that is read"},
		"epics":              {"{\"a\": 1,\n \"epics\": [{}]}", "line 1, column 1: there is no list of stories: the key is \"userStories\", \"stories\" or \"features\"; what \"epics\" in line 2 holds is not known"},
		"not UTF-8":          {"{\n\"a\": \"\xe9\"}", "line 2: not UTF-8"},
		"a number":           {" 3", "line 1, column 2: the file: want an object with userStories, found a number"},
		"a list elsewhere":   {"{\"prd\": {\"x\": [1],\n \"requirements\": {\"functional\": [{}]}}}", "line 1, column 1: there is no list of stories: the key is \"userStories\", \"stories\" or \"features\"; what \"prd.requirements.functional\" in line 2 holds is not known"},
		"a second list":      {"{\"features\": [{\"name\": \"a\"}],\n \"userStories\": [{\"title\": \"a\"}]}", "line 1, column 2: a second list of stories, \"features\", beside \"userStories\" in line 2: put all stories into one, or give this one another name"},
		"a list and phases":  {"{\"features\": [{\"name\": \"a\"}],\n \"phases\": [{\"tasks\": [{\"name\": \"b\"}]}]}", "line 2, column 2: a second list of stories, in \"phases\", beside \"features\" in line 1: put all stories into one"},
		"phases twice":       {"{\"phases\": [{}],\n \"phases\": [{\"tasks\": [{\"name\": \"b\"}]}]}", "line 2, column 2: a second \"phases\""},
		"a phase is a text":  {"{\"phases\": [{\"tasks\": [{\"name\": \"b\"}]},\n \"b\"]}", "line 2, column 2: phases: want a phase, which is an object, found a text"},
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

// FuzzParsePRD: to tick a story changes what says that it passes and nothing else.
func FuzzParsePRD(f *testing.F) {
	addLists(f, ".json")
	f.Add([]byte(`{"features":[{"id":1,"name":"a","stories":[{"id":2,"title":"b","status":"wip","dependencies":[3]},{"title":"c"}],"status":"Done"}]}`))
	f.Add([]byte(`[{"description":"a","steps":["b"],"passes":false,"done":null},{"description":"a","state":"cancelled"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		prd, err := tasks.ParsePRD(text)
		if err != nil {
			return
		}
		for _, it := range prd.Items[:min(len(prd.Items), 10)] {
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
			want := slices.Clone(prd.Items)
			for i := range want {
				if want[i].Key == it.Key {
					want[i].Done, want[i].Doing = true, false
				}
			}
			if diff := cmp.Diff(states(want, it.Key), states(got.Items, it.Key)); diff != "" {
				t.Fatalf("%s in %q", diff, ticked)
			}
			checkRest(t, text, ticked)
		}
	})
}

// states are items without where they stand, and without the parts of one: they are not
// to be worked on once that is done.
func states(items []tasks.Item, whole string) (all []tasks.Item) {
	without := map[string]bool{whole: true}
	for range items {
		for _, it := range items {
			without[it.Key] = without[it.Key] || without[it.Parent]
		}
	}
	for _, it := range items {
		if it.Key == whole || !without[it.Key] {
			it.Offset, it.Line = 0, 0
			all = append(all, it)
		}
	}
	return all
}

// checkRest checks that two texts differ in one value at most, or in flags alone.
func checkRest(t *testing.T, text, ticked []byte) {
	t.Helper()
	var was, is any
	for _, one := range []struct {
		text []byte
		into *any
	}{{text, &was}, {ticked, &is}} {
		dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(one.text, []byte("\ufeff"))))
		dec.UseNumber()
		if err := dec.Decode(one.into); err != nil {
			t.Fatalf("%v in %q", err, one.text)
		}
	}
	changed := changes(was, is)
	if flags := !slices.ContainsFunc(changed, func(c string) bool { return c != "false true" && c != "<nil> true" }); len(changed) > 1 && !flags {
		t.Fatalf("%q in %q", changed, ticked)
	}
}

// changes are the values that differ.
func changes(was, is any) (all []string) {
	switch a := was.(type) {
	case map[string]any:
		if b, ok := is.(map[string]any); ok {
			for key := range b {
				all = append(all, changes(a[key], b[key])...)
			}
			return all
		}
	case []any:
		if b, ok := is.([]any); ok && len(a) == len(b) {
			for i := range a {
				all = append(all, changes(a[i], b[i])...)
			}
			return all
		}
	}
	if !reflect.DeepEqual(was, is) {
		all = append(all, fmt.Sprint(was, " ", is))
	}
	return all
}
