package progress_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestDirFollow: who follows a loop is told all of it once, in order, while it is
// written, when its last line has only begun, when it begins anew, and until it is removed.
func TestDirFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := &progress.Dir{Path: t.TempDir()}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, err := range dir.Follow(ctx, "T", "") {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("of a loop that is not there: %v", err)
			}
		}
		started(t, dir)
		var got []string
		var last error
		go func() {
			for r, err := range dir.Follow(ctx, "T", "") {
				if last = err; err == nil {
					got = append(got, fmt.Sprint(r.Line, " ", r.Kind, " ", r.Iteration))
				}
			}
		}()
		see := func(what string, want ...string) {
			t.Helper()
			time.Sleep(time.Second) // of the bubble's clock: it looks twice in that
			synctest.Wait()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
			got = nil
		}
		see("the start", "1 loop_started 0")

		f, err := os.OpenFile(dir.File("T"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"kind":"paused","event":{"v":1,"ki`); err != nil {
			t.Fatal(err)
		}
		see("a line that has begun")
		if _, err := f.WriteString("nd\":\"paused\",\"loop\":\"T\"}}\n"); errors.Join(err, f.Close()) != nil {
			t.Fatal(err)
		}
		see("its end", "2 paused 0")

		dir.Close()
		if _, err := dir.Pause("T", false); err != nil {
			t.Fatal(err)
		}
		j := open(t, dir, "T")
		runLoop(t, j, answers(done))
		see("the run", "3 requested 0", "4 loop_started 0", "5 iteration_started 0", "6 answered 0", "7 iteration_ended 1", "8 loop_stopped 0")

		runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "again"})), answers(done))
		see("a loop of the same name", "1 loop_started 0", "2 iteration_started 0", "3 answered 0", "4 iteration_ended 1", "5 loop_stopped 0")

		if _, err := dir.Remove("T"); err != nil {
			t.Fatal(err)
		}
		see("nothing")
		if !errors.Is(last, fs.ErrNotExist) || strings.Count(last.Error(), "progress: ") != 1 {
			t.Errorf("of a loop that was removed: %v", last)
		}
	})
}

// TestDirFollowAfter: a reader that broke off goes on after what it has seen, and one that
// has seen a loop of this name before is told all of the new one.
func TestDirFollowAfter(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	since := func(after string) (all []progress.Record) {
		t.Helper()
		for r, err := range dir.Follow(t.Context(), "T", after) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
			if r.Kind == ralph.EventLoopStopped {
				break
			}
		}
		return all
	}
	runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "Do it."})), answers("not yet", done))
	first := since("")
	for i, r := range first[:len(first)-1] {
		if diff := cmp.Diff(first[i+1:], since(r.ID)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", r.ID, diff)
		}
	}
	runLoop(t, create(t, dir, ralph.Start(ralph.Task{ID: "T", Prompt: "again"})), answers(done))
	for _, after := range []string{"", first[2].ID, "nonsense", "9223372036854775808-1"} {
		if got := since(after); len(got) != 5 || got[0].Line != 1 {
			t.Errorf("after %q: %d records", after, len(got))
		}
	}
}

// TestDirFollowEnds: the sequence ends with its reader, and with the cause of the context.
func TestDirFollowEnds(t *testing.T) {
	t.Parallel()
	dir := &progress.Dir{Path: t.TempDir()}
	started(t, dir)
	for range dir.Follow(t.Context(), "T", "") {
		break
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	records := 0
	for r, err := range dir.Follow(ctx, "T", "") {
		if r.Kind == ralph.EventLoopStarted {
			records++
			cancel(enough)
		} else if !errors.Is(err, enough) {
			t.Error(err)
		}
	}
	if records != 1 {
		t.Errorf("%d records", records)
	}
}

// TestDirFollowCorrupt: what is no journal of the loop is told, with its place, and ends
// the sequence.
func TestDirFollowCorrupt(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":             "{\"kind\":\"paused\"\n",
		"an execution log":    `{"task_id":"T","kind":"paused","event":{"kind":"paused"}}` + "\n",
		"another loop's":      `{"kind":"loop_started","journal":{"v":1,"kind":"loop","loop":"U"},"event":{"v":1,"kind":"loop_started","loop":"U"}}` + "\n",
		"of a newer version":  `{"kind":"loop_started","journal":{"v":1,"kind":"loop","loop":"T"},"event":{"v":99,"kind":"loop_started","loop":"T"}}` + "\n",
		"without a beginning": `{"kind":"paused","event":{"v":1,"kind":"paused","loop":"T"}}` + "\n",
	} {
		dir := &progress.Dir{Path: t.TempDir()}
		if err := os.WriteFile(dir.File("T"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		for r, err := range dir.Follow(t.Context(), "T", "") {
			bad, is := errors.AsType[*progress.CorruptError](err)
			if n++; !is || bad.Line != 1 || r.Kind != "" {
				t.Errorf("%s: %v %v", name, r.Kind, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d pairs", name, n)
		}
	}
}

// TestFollowEvery: who must be heard of hears that nothing has come, and what comes then
// once.
func TestFollowEvery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c, _ := newPool(t, t.TempDir(), 1, "A")
		startIn(t, p, "A")
		c.began()
		var ids []string
		beats := 0
		for r, err := range p.Dir.FollowEvery(t.Context(), "A", "", time.Minute) {
			if err != nil {
				t.Fatal(err)
			}
			if r.ID != "" {
				if ids = append(ids, r.ID); r.Event.Kind == ralph.EventLoopStopped {
					break
				}
				continue
			}
			if beats++; beats == 3 {
				c.tell["A"] <- done
			}
		}
		var want []string
		for r, err := range p.Dir.Follow(t.Context(), "A", "") {
			if err != nil {
				t.Fatal(err)
			}
			if want = append(want, r.ID); r.Event.Kind == ralph.EventLoopStopped {
				break
			}
		}
		alike(t, "records", want, ids)
		if beats != 3 {
			t.Errorf("%d times nothing came", beats)
		}
	})
}
