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

// defaults are the values that a row gives its keys, the first to the first and so on, as
// code. What it says in words ("none", "the workspace") is no value. A number that is not
// code is one that another package, or a sentence, knows.
func (r pageRow) defaults(t *testing.T, keys, cell int) map[string]string {
	t.Helper()
	elsewhere := []string{"max_rounds", "timeout", "max_bytes"} // TestPageAgents, and TestPageDefaults of package verify
	all, given := map[string]string{}, strings.Split(r[cell], ", ")
	for i, key := range r.code(keys) {
		value := given[min(i, len(given)-1)]
		if code := strings.Trim(value, "`"); len(code)+2 == len(value) {
			all[key] = code
		} else if strings.Trim(value, "0123456789") == "" && !slices.Contains(elsewhere, key) {
			t.Errorf("%s: %s is not written as code, so nobody compares it", key, value)
		}
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
			for key, value := range row.defaults(t, 0, 1) {
				isDefault(t, key, value, fields)
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
		for key, value := range row.defaults(t, 1, 2) {
			isDefault(t, key, value, func(r *reader) (any, []field) {
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

// TestPageNumbers: what pages say of agents, statuses and priorities in sentences is what
// the code has.
func TestPageNumbers(t *testing.T) {
	t.Parallel()
	var each, promises, loops []string
	for _, d := range agentDefaults() {
		each, promises = append(each, fmt.Sprint(d.agent, " ", d.iterations)), append(promises, d.promise)
		loops = append(loops, fmt.Sprintf("%s `%s` in %d", d.agent, d.promise, d.iterations))
	}
	loops[0] += " iterations"
	others, err := Definition{ID: "T1", Title: "T"}.Criteria("others")
	if err != nil {
		t.Fatal(err)
	}
	order := map[bool]string{true: "lower", false: "higher"}[ByPriority(Definition{Priority: 1}, Definition{Priority: 2}) < 0]
	none := map[bool]string{true: "last", false: "first"}[ByPriority(Definition{}, Definition{Priority: 9}) > 0]
	var statuses, meant []string
	for _, s := range known() {
		statuses = append(statuses, string(s))
	}
	for _, word := range []Status{"completed", "in review", "cancelled"} {
		meant = append(meant, fmt.Sprintf("`%s` as %s", word, word.Effective()))
	}
	for _, tt := range []struct{ page, want string }{
		{"docs/specflow.md", fmt.Sprintf("| the same: %d; %s |", others.MaxIterations, strings.Join(each, ", "))},
		{"docs/specflow.md", fmt.Sprintf("| the same; %s if nothing is said |", strings.Join(promises, ", "))},
		{"PIPELINES.md", strings.Join(loops, ", ") + "."},
		{"PIPELINES.md", fmt.Sprintf("at most `max_rounds` (%d) times", defaultRounds)},
		{"docs/configuration.md", fmt.Sprintf("| %s comes first; 0 is none, and comes %s |", order, none)},
		{"docs/configuration.md", fmt.Sprintf("| `status` | `%s` | %s. What other programs write counts as one of these (%s), any word that is not known (`finshed`) as %s;",
			Status("").Effective(), strings.Join(statuses, ", "), strings.Join(meant, ", "), Status("finshed").Effective())},
	} {
		text, err := os.ReadFile("../../examples/ralph/" + tt.page)
		if err != nil || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s does not say %q (%v)", tt.page, tt.want, err)
		}
	}
}

// TestPageReveal: the values of reveal that pages list are those that are taken.
func TestPageReveal(t *testing.T) {
	t.Parallel()
	for page, begin := range map[string]string{"exam.md": "`reveal` changes that: ", "configuration.md": "| what the agent is told: "} {
		text, err := os.ReadFile("../../examples/ralph/docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		_, list, found := strings.Cut(string(text), begin)
		list, _, _ = strings.Cut(list, " |\n")
		list, _, _ = strings.Cut(list, ". ")
		var values []string
		for word := range strings.FieldsSeq(regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(list, "")) {
			if word = strings.Trim(word, "`,"); word != "" && word != "or" {
				values = append(values, word)
			}
		}
		if !found || len(values) != 4 {
			t.Errorf("%s lists %q", page, values)
		}
		for _, value := range values {
			d, err := doc.Parse("page", []byte("reveal: "+value))
			if err != nil {
				t.Fatal(err)
			}
			r := reader{doc: d}
			r.reveal(d.Roots[0].Get("reveal"), "reveal")
			if err := r.problems(); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
