package report_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/examples/board/report"
	"github.com/ralph-loop/ralph/progress"
)

// TestRead: a run is found by its name, and a loop of it by its name or its task; what
// cannot be read is told, and what is not there.
func TestRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := record(t, shopTasks, shop())
		read := func(name string) (report.Report, string) {
			rep, err := report.Read(t.Context(), dir, name)
			if several, is := errors.AsType[*report.SeveralError](err); is {
				return rep, "several: " + strings.Join(several.Loops, " ")
			}
			if _, is := errors.AsType[*progress.CorruptError](err); is {
				return rep, "corrupt"
			}
			if errors.Is(err, fs.ErrNotExist) {
				return rep, "none"
			} else if err != nil {
				t.Fatal(err)
			}
			return rep, rep.Run.Loop
		}
		for name, want := range map[string]string{
			"shop": "shop", "shop/CART.coder": "shop/CART.coder", "PAY": "shop/PAY.coder", "LEGACY": "none", "nothing": "none",
			"CART": "several: shop/CART.coder shop/CART.reviewer",
		} {
			if _, got := read(name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		rep, _ := read("PAY")
		if got := len(rep.Histories["shop/PAY.coder"].Attempts); got != 3 || len(rep.Run.Cards) != 1 {
			t.Errorf("%d attempts", got)
		}

		if err := os.WriteFile(dir.File("shop/PAY.coder"), []byte("{}\nthis is no journal\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, got := read("shop/PAY.coder"); got != "corrupt" {
			t.Errorf("a journal that cannot be read: %s", got)
		}
		rep, _ = read("shop")
		var unread []string
		for _, u := range rep.Unread {
			unread = append(unread, u.Name)
		}
		if diff := cmp.Diff(1, len(unread)); diff != "" || !strings.Contains(page(t, rep), "These journals cannot be read") {
			t.Errorf("%v %s", unread, diff)
		}
	})
}
