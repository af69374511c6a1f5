package progress_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestHookNames: a session is called by any text, and has a journal that nobody else has.
func TestHookNames(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir()}
	names := []string{"../../x", "/etc/passwd", "a\x00b", strings.Repeat("x", 1000), strings.Repeat("x", 999) + "y", " ", "é\u2028\x1b[31m\n", "s", "S", "s.last", "con"}
	for n, name := range names {
		x := someState(name)
		x.Seen = n
		put(t, d, name, x)
	}
	found := 0
	for x, err := range d.All(t.Context()) {
		if err != nil || names[x.Seen] != x.Session {
			t.Errorf("%+v, %v", x, err)
		}
		found++
	}
	if found != len(names) {
		t.Errorf("%d of %d", found, len(names))
	}
	for n, name := range names {
		if x := state(t, d, name); x.Seen != n || x.Session != name {
			t.Errorf("%q: %+v", name, x)
		}
		if filepath.Dir(d.File(name)) != d.Path {
			t.Errorf("%q: %s", name, d.File(name))
		}
	}
	one := func(x ralph.HookState) (ralph.HookState, error) { return someState("x"), nil }
	if err := d.Update(t.Context(), "", one); !errors.Is(err, ralph.ErrNoSession) {
		t.Error(err)
	}
	if err := d.Update(t.Context(), "\xff", one); err == nil {
		t.Error("what is no text is a name")
	}
	if err := (&progress.Dir{}).Update(t.Context(), "s", one); err == nil {
		t.Error("a Dir without a folder has one")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := d.Update(ctx, "s", one); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestHookStrangeJournals: a journal of another kind, or that cannot be read, is an error,
// and in nobody else's way.
func TestHookStrangeJournals(t *testing.T) {
	t.Parallel()
	d := &progress.Dir{Path: t.TempDir()}
	runLoop(t, create(t, d, ralph.Start(ralph.Task{ID: "build", Prompt: "Do it."})), answers(done))
	text := read(t, d.File("build"))
	one := func(x ralph.HookState) (ralph.HookState, error) { return someState("x"), nil }
	if err := d.Update(t.Context(), "build", one); err == nil || !strings.Contains(err.Error(), `"build"`) || read(t, d.File("build")) != text {
		t.Error(err)
	}
	for _, name := range []string{"a", "bad", "moved", "z"} {
		put(t, d, name, someState(name))
	}
	for name, text := range map[string]string{"bad": "{}\n", "moved": read(t, d.File("a"))} {
		if err := os.WriteFile(d.File(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := d.Update(t.Context(), name, one)
		if corrupt, is := errors.AsType[*progress.CorruptError](err); !is || corrupt.Path != d.File(name) || read(t, d.File(name)) != text {
			t.Errorf("%s: %v", name, err)
		}
	}
	var names []string
	var bad []error
	for x, err := range d.All(t.Context()) {
		if err != nil {
			bad = append(bad, err)
		} else {
			names = append(names, x.Session)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"a", "z"}) || len(bad) != 2 {
		t.Error(names, bad)
	}
	for _, err := range bad {
		if _, is := errors.AsType[*progress.CorruptError](err); !is {
			t.Error(err)
		}
	}
	put(t, d, "z", ralph.HookState{})
	if _, _, err := d.SetAside("bad"); err != nil {
		t.Error(err)
	}
	put(t, d, "bad", someState("bad"))
	if x := state(t, d, "bad"); !x.Active() {
		t.Errorf("%+v", x)
	}
}
