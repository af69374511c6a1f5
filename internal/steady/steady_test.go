package steady_test

import (
	"testing"

	"github.com/ralph-loop/ralph/internal/steady"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ a, b string }{
		{"ok shop 0.53s", "ok shop 1m2.5s"},
		{"took 1.2 seconds", "took 17 seconds"},
		{"at 12:30:05 it failed", "at 09:01:59 it failed"},
		{"panic at 0xc000012345", "panic at 0xc0deadbeef"},
	} {
		if a, b := steady.Text(test.a), steady.Text(test.b); a != b {
			t.Errorf("%q and %q differ: %q, %q", test.a, test.b, a, b)
		}
	}
	for _, test := range []struct{ a, b string }{
		{"3 tests failed", "17 tests failed"},
		{"TestA failed", "TestB failed"},
		{"exit code 1", "exit code 2"},
	} {
		if a, b := steady.Text(test.a), steady.Text(test.b); a == b {
			t.Errorf("%q and %q are the same: %q", test.a, test.b, a)
		}
	}
}
