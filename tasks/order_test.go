package tasks_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/tasks"
)

// graph reads items of a short form: "1.2<1 >3,4 x" is the part 1.2 of 1, which comes
// after 3 and 4 and is done.
func graph(t testing.TB, text string) (items []tasks.Item) {
	t.Helper()
	for one := range strings.SplitSeq(text, ";") {
		var it tasks.Item
		for i, f := range strings.Fields(one) {
			switch {
			case i == 0:
				it.ID, it.Parent, _ = strings.Cut(f, "<")
				it.Key = it.ID
			case f == "x":
				it.Done = true
			case f == "-":
				it.Doing = true
			default:
				it.After = strings.Split(strings.TrimPrefix(f, ">"), ",")
			}
		}
		items = append(items, it)
	}
	return items
}

func keysOf(items []tasks.Item) string {
	var all []string
	for _, it := range items {
		all = append(all, it.Key)
	}
	return strings.Join(all, " ")
}

func TestInOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, items, want, waits string }{
		{"nothing", "1; 2; 3", "1 2 3", ""},
		{"parts", "1; 1.1<1; 1.2<1; 2", "1.1 1.2 1 2", "1: 1.1 1.2"},
		{"parts of parts", "1; 1.1<1; 1.1.1<1.1; 1.1.2<1.1; 1.2<1; 2", "1.1.1 1.1.2 1.1 1.2 1 2", "1: 1.1 1.2\n1.1: 1.1.1 1.1.2"},
		{"parts elsewhere", "1; 2; 1.1<1; 3; 1.2<1; 4", "2 1.1 3 1.2 1 4", "1: 1.1 1.2"},
		{"the whole behind its parts", "1.1<1; 1; 2", "1.1 1 2", "1: 1.1"},
		{"parts that are done", "1; 1.1<1 x; 1.2<1 x; 2", "1.1 1.2 1 2", ""},
		{"a whole that is done", "1 x; 1.1<1; 2", "1.1 1 2", ""},
		{"a part of what is not there", "1<0; 2", "1 2", ""},
		{"after", "1 >3; 2; 3", "2 3 1", "1: 3"},
		{"after several", "1 >4,3,4; 2; 3 x; 4", "2 3 4 1", "1: 4"},
		{"after what is not there", "1 >9; 2", "1 2", ""},
		{"a part of what comes after", "1 >2; 1.1<1; 2", "2 1.1 1", "1: 1.1 2\n1.1: 2"},
		{"after its own part", "1 >1.2; 1.1<1; 1.2<1", "1.1 1.2 1", "1: 1.1 1.2"},
		{"after itself", "1 >1; 2", "1 2", ""},
		{"circle", "1 >2; 2 >1; 3", "1 2 3", "2: 1"},
		{"circle of three", "1 >3; 2 >1; 3 >2", "1 2 3", "2: 1\n3: 2"},
		{"what waits for a circle", "1 >2; 2 >3; 3 >2; 4", "2 1 3 4", "1: 2\n3: 2"},
		{"circle that waits", "1 >2,4; 2 >1; 3; 4 >3", "3 4 1 2", "1: 4\n2: 1\n4: 3"},
		{"circle of wholes", "1<3; 2<1; 3<2", "2 1 3", "1: 2\n3: 1"},
		{"whole of itself", "1<1; 2", "1 2", ""},
		{"parts of parts after", "1 >3; 1.1<1 >4; 1.1.1<1.1; 1.2<1; 3; 4", "3 1.2 4 1.1.1 1.1 1", "1: 1.1 1.2 3\n1.1: 1.1.1 4\n1.1.1: 3 4\n1.2: 3"},
		{"part after the whole", "1; 1.1<1 >1; 2", "1.1 1 2", "1: 1.1"},
		{"circle through a part", "1; 1.1<1; 1.2<1 >2; 2 >1", "1.1 1.2 1 2", "1: 1.1 1.2\n2: 1"},
	} {
		items := graph(t, test.items)
		sorted := tasks.InOrder(items)
		if got := keysOf(sorted); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if got := keysOf(tasks.InOrder(sorted)); got != test.want {
			t.Errorf("%s: sorted again it is %q", test.name, got)
		}
		var got []string
		waiting := tasks.Waiting(items)
		for _, it := range items {
			waits := tasks.Waits(items, it)
			if len(waits) > 0 && !it.Done {
				got = append(got, it.Key+": "+keysOf(waits))
			}
			if diff := cmp.Diff(keysOf(waits), keysOf(waiting[it.Key])); diff != "" && !it.Done {
				t.Errorf("%s: Waiting of %s differs (-Waits +Waiting):\n%s", test.name, it.Key, diff)
			}
		}
		if diff := cmp.Diff(test.want != "" && test.waits == "", len(got) == 0); diff != "" || strings.Join(got, "\n") != test.waits {
			t.Errorf("%s: waits %q, want %q", test.name, strings.Join(got, "\n"), test.waits)
		}
	}
	if items := graph(t, "1; 2"); &tasks.InOrder(items)[0] != &items[0] {
		t.Error("items that wait for nothing were copied")
	}
}

// Whatever waits for whatever, no item is lost, something can always be worked on, and
// what an item waits for comes before it.
func TestInOrderAny(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		items := make([]tasks.Item, 1+random.IntN(9))
		one := func() string { return fmt.Sprint(random.IntN(len(items) + 1)) }
		for i := range items {
			items[i] = tasks.Item{Key: fmt.Sprint(i), Done: random.IntN(4) == 0}
			if random.IntN(3) == 0 {
				items[i].Parent = one()
			}
			for range random.IntN(3) {
				items[i].After = append(items[i].After, one())
			}
		}
		sorted := tasks.InOrder(items)
		if again := tasks.InOrder(sorted); keysOf(again) != keysOf(sorted) {
			t.Fatalf("%v\n%s, sorted again %s", items, keysOf(sorted), keysOf(again))
		}
		place := map[string]int{}
		for n, it := range sorted {
			place[it.Key] = n
		}
		if len(place) != len(items) {
			t.Fatalf("%v\nitems are lost: %s", items, keysOf(sorted))
		}
		open, free := 0, 0
		waiting := tasks.Waiting(items)
		for _, it := range items {
			for _, on := range waiting[it.Key] {
				if place[on.Key] >= place[it.Key] || on.Done {
					t.Fatalf("%v\n%s waits for %s: %s", items, it.Key, on.Key, keysOf(sorted))
				}
			}
			if !it.Done {
				open++
				if len(waiting[it.Key]) == 0 {
					free++
				}
			}
		}
		if open > 0 && free == 0 {
			t.Fatalf("%v\nnothing can be worked on", items)
		}
	}
}

// What a whole comes after is not noted for each of its parts and theirs: the work would
// grow with the square of the items, and with a chain of wholes with their cube.
func TestInOrderSteps(t *testing.T) {
	t.Parallel()
	const n = 2000
	for name, parent := range map[string]func(i int) string{
		"parts": func(int) string { return "0" },
		"chain": func(i int) string { return fmt.Sprint(i - 1) },
	} {
		items := []tasks.Item{{Key: "0"}}
		for i := 1; i <= n; i++ {
			items[0].After = append(items[0].After, fmt.Sprint("d", i))
			items = append(items, tasks.Item{Key: fmt.Sprint(i), Parent: parent(i)}, tasks.Item{Key: fmt.Sprint("d", i)})
		}
		if edges := tasks.Edges(items); edges > 6*n {
			t.Errorf("%s: %d edges for %d items", name, edges, len(items))
		}
		sorted := tasks.InOrder(items)
		if first, last := sorted[0].Key, sorted[len(sorted)-1].Key; first != "d1" || last != "0" {
			t.Errorf("%s: %s comes first, %s last", name, first, last)
		}
		if waiting := tasks.Waiting(items); len(waiting) != n+1 || len(waiting[fmt.Sprint(n)]) != n {
			t.Errorf("%s: %d wait, the last for %d", name, len(waiting), len(waiting[fmt.Sprint(n)]))
		}
	}
}

// An item that waits for itself by way of others is told of.
func TestInCircles(t *testing.T) {
	t.Parallel()
	const first = ": the first of them does not wait"
	for items, want := range map[string]map[string]string{
		"1 >2; 2":              {},
		"1 >2; 2 >1; 3 >1":     {"1": "waits for itself by way of 2" + first, "2": "waits for itself by way of 1" + first},
		"1 >2; 2 >1 x; 3 >1":   {},
		"1 >1; 2":              {"1": "waits for itself: ignored"},
		"1 >3; 2 >1; 3 >2; 4":  {"1": "waits for itself by way of 2, 3" + first, "2": "waits for itself by way of 1, 3" + first, "3": "waits for itself by way of 1, 2" + first},
		"1 >2; 1.1<1; 2 >1.1":  {"1.1": "waits for itself by way of 2" + first, "2": "waits for itself by way of 1.1" + first},
		"1; 1.1<1; 1.2<1 >1.1": {},
	} {
		if diff := cmp.Diff(want, tasks.InCircles(graph(t, items))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", items, diff)
		}
	}
	var many []tasks.Item
	for i := range 30 {
		many = append(many, tasks.Item{Key: fmt.Sprint(i), After: []string{fmt.Sprint((i + 1) % 30)}})
	}
	if got := tasks.InCircles(many)["2"]; !strings.Contains(got, "by way of 0, 1, 3, ") || !strings.Contains(got, "20 and 9 more") {
		t.Error(got)
	}
}

func TestDescribeIn(t *testing.T) {
	t.Parallel()
	items := []tasks.Item{
		{ID: "1", Key: "1", Text: "Log in", Phase: "Auth", Details: "with care"},
		{ID: "1.1", Key: "1.1", Text: "Form", Parent: "1", Done: true},
		{Key: "Mail", Text: "Mail", Parent: "1", Doing: true},
		{ID: "2", Key: "2", Text: "Log out"},
		{ID: "1.3", Key: "1.3", Text: "Test", Parent: "1"},
	}
	const about = "1 Log in (in \"Auth\")\n\nwith care\n\nIts parts are tasks of their own, and "
	open := about + "come before it: leave their boxes alone.\n\n- [x] 1.1 Form\n- [-] Mail\n- [ ] 1.3 Test"
	if diff := cmp.Diff(open, items[0].DescribeIn(items)); diff != "" {
		t.Errorf("a whole (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("1.1 Form\n\nIt is a part of 1 Log in, which comes when all its parts are done.", items[1].DescribeIn(items)); diff != "" {
		t.Errorf("a part (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("2 Log out", items[3].DescribeIn(items)); diff != "" {
		t.Errorf("neither (-want +got):\n%s", diff)
	}
	many := items[:1]
	for i := range 103 {
		many = append(many, tasks.Item{ID: fmt.Sprint("1.", i), Parent: "1", Done: true})
	}
	if got := many[0].DescribeIn(many); !strings.HasPrefix(got, about+"are done") || !strings.HasSuffix(got, "\n- [x] 1.99\n- and 3 more") {
		t.Errorf("many: %s", got)
	}
}

func BenchmarkInOrder(b *testing.B) {
	for _, name := range []string{"none", "parts", "after"} {
		items := make([]tasks.Item, 1_000_000)
		for i := range items {
			items[i].Key = fmt.Sprint(i)
			switch {
			case name == "parts" && i%10 != 0:
				items[i].Parent = fmt.Sprint(i - i%10)
			case name == "after" && i > 0:
				items[i].After = []string{fmt.Sprint(i - 1)}
			}
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				tasks.InOrder(items)
			}
		})
	}
}
