package spec

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/doc"
)

// A pageRow is a row of a table on the page of the configuration.
type pageRow []string

var inCode = regexp.MustCompile("`([^`]*)`")

// code is what is written as code in a cell.
func (r pageRow) code(cell int) (all []string) {
	for _, m := range inCode.FindAllStringSubmatch(r[cell], -1) {
		all = append(all, m[1])
	}
	return all
}

// pageTables are the tables of the page, by the first cell of their heads.
func pageTables(t *testing.T) map[string][]pageRow {
	t.Helper()
	text, err := os.ReadFile("../../examples/ralph/docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	tables, head := map[string][]pageRow{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		inner, ok := strings.CutPrefix(line, "|")
		switch row := strings.Split(strings.TrimSuffix(inner, "|"), "|"); {
		case !ok:
			head = ""
		case strings.HasPrefix(line, "|---"):
		default:
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			if head == "" {
				head = row[0]
			} else {
				tables[head] = append(tables[head], row)
			}
		}
	}
	return tables
}

// pageFields are the tables of keys that the page has a table for. make returns a new
// value, its fields, and what is compared to tell whether a default changes something.
func pageFields() map[string]func(*reader) (value any, fields []field) {
	return map[string]func(*reader) (any, []field){
		"key below ralph":   func(r *reader) (any, []field) { c := new(Config); return c, c.fields(r) },
		"key of an agent":   func(r *reader) (any, []field) { a := new(AgentConfig); return a, a.fields(r) },
		"key of a task":     func(r *reader) (any, []field) { d := new(Definition); return d, d.fields(r) },
		"key of completion": func(r *reader) (any, []field) { c := new(Completion); return c, c.fields(r) },
		"key of criteria":   func(r *reader) (any, []field) { c := new(Criteria); return c, c.fields(r) },
	}
}

// TestPageKeys: the page of the configuration has each key that is read and no other,
// and a default that it gives as a value is one: to write it down changes nothing.
func TestPageKeys(t *testing.T) {
	t.Parallel()
	tables := pageTables(t)
	for head, fields := range pageFields() {
		var got []string
		for _, row := range tables[head] {
			keys := row.code(0)
			got = append(got, keys...)
			for _, value := range row.code(1) {
				isDefault(t, keys[0], value, fields)
			}
		}
		_, all := fields(&reader{})
		want := names(all)
		slices.Sort(want)
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-code +page)\n%s", head, diff)
		}
	}
}

// TestPageMethods is TestPageKeys for the methods and what they are configured with.
func TestPageMethods(t *testing.T) {
	t.Parallel()
	want, got := map[string][]string{}, map[string][]string{}
	for _, b := range builtins() {
		want[b.name] = names(b.make().fields(&reader{}))
		slices.Sort(want[b.name])
	}
	method := ""
	for _, row := range pageTables(t)["method"] {
		method = cmp.Or(strings.Trim(row[0], "`"), method)
		keys := row.code(1)
		got[method] = append(got[method], keys...)
		slices.Sort(got[method])
		for _, value := range row.code(2) {
			isDefault(t, keys[0], value, func(r *reader) (any, []field) {
				s := findBuiltin(method)
				if s == nil {
					t.Fatalf("there is no method %q", method)
				}
				return s, s.fields(r)
			})
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-code +page)\n%s", diff)
	}
}

// isDefault fails unless a key with a value makes what a mapping without it makes.
func isDefault(t *testing.T, key, value string, fields func(*reader) (any, []field)) {
	t.Helper()
	d, err := doc.Parse("page", fmt.Appendf(nil, "%s: %s\n", key, value))
	if err != nil {
		t.Errorf("%s: %v", key, err)
		return
	}
	r := reader{doc: d, anyMethod: true}
	got, known := fields(&r)
	without, _ := fields(&reader{})
	r.mapping(d.Roots[0], "", known, nil)
	if err := r.problems(); err != nil {
		t.Errorf("%s: %v", key, err)
	}
	if d, ok := got.(*Definition); ok && d.Status != "" { // it keeps the word, and goes by its meaning
		if d.Status.Effective() == d.Status && d.Status == Status("").Effective() {
			d.Status = ""
		}
	}
	if !reflect.DeepEqual(got, without) {
		t.Errorf("%s: %s is not the default: with it the result is %+v", key, value, got)
	}
}

// TestPageAgents: what the page says of each agent is what is built in.
func TestPageAgents(t *testing.T) {
	t.Parallel()
	var want, got [][]string
	for _, agent := range append(knownAgents(), "others") {
		c, err := Definition{ID: "T1", Title: "T"}.Criteria(agent)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, []string{agent, strconv.Itoa(c.MaxIterations), c.Promise, cmp.Or(defaultsOf(agent).method, "none")})
	}
	for _, row := range pageTables(t)["agent"] {
		got = append(got, []string{row[0], row[1], strings.Trim(row[2], "`"), strings.Trim(row[3], "`")})
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-code +page)\n%s", diff)
	}
	rounds := strconv.Itoa(defaultRounds) + ", with on_reject"
	for _, row := range pageTables(t)["key of an agent"] {
		if row[0] == "`max_rounds`" && row[1] != rounds {
			t.Errorf("max_rounds: the page says %q, the code %q", row[1], rounds)
		}
	}
}
