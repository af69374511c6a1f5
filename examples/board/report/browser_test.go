package report_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/ledongthuc/pdf"
)

// A browser shows one page, and notes what should not happen.
type browser struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	requests []string
	bad      []string
}

// open shows a page in a headless Chromium, whose path is in RALPH_CHROMIUM. In the end it
// reports what the page asked for and what went wrong in it.
func open(t *testing.T, html string) *browser {
	t.Helper()
	chromium := os.Getenv("RALPH_CHROMIUM")
	if chromium == "" {
		t.Skip("RALPH_CHROMIUM names no browser; .ci/install-browser prints one")
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, html)
	}))
	t.Cleanup(srv.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	})
	b := &browser{Context: ctx, t: t}
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	b.screen(1280, 900)
	b.do(chromedp.Navigate(srv.URL))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if diff := cmp.Diff([]string{srv.URL + "/"}, b.requests); diff != "" {
			t.Errorf("requests: %s", diff)
		}
		for _, bad := range b.bad {
			t.Error(bad)
		}
	})
	return b
}

// note takes down requests, errors and what the policy has refused.
func (b *browser) note(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, ev.Request.URL)
	case *log.EventEntryAdded:
		b.bad = append(b.bad, fmt.Sprintf("log: %s: %s %s", ev.Entry.Level, ev.Entry.Text, ev.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		b.bad = append(b.bad, fmt.Sprintf("console: %s", ev.Type))
	case *runtime.EventExceptionThrown:
		b.bad = append(b.bad, "exception: "+ev.ExceptionDetails.Text)
	}
}

// do does something in the page.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// get is what an action gives.
func get[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, time.Minute)
	defer cancel()
	got, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// call gives a command to the browser.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	got, err := chromedp.Call(b, command, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// screen sets the size of the screen; a narrow one is that of a telephone.
func (b *browser) screen(width, height int64) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500})
}

// value is what an expression of JavaScript gives.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](expression))
}

// firsts are the first cells of the rows of a table, and what its heads say of the order.
const firsts = `(() => { const t = document.querySelector("%s"); return [
	[...t.tBodies[0].rows].map((r) => r.cells[0].dataset.v).join(" "),
	[...t.tHead.rows[0].cells].map((c) => c.getAttribute("aria-sort")).filter((s) => s !== "none" && s !== null).join(" ")]; })()`

// TestSort: by click and by keyboard, numbers as numbers, up and then down.
func TestSort(t *testing.T) {
	b := open(t, page(t, shopReport(t)))
	order := func(table string) []string { return value[[]string](b, fmt.Sprintf(firsts, table)) }
	is := func(what string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	is("as it is", order(".tasks"), "CART LOGIN PAY LEGACY", "")
	b.do(chromedp.Click(`//th/button[.="Took"]`))
	is("by a click", order(".tasks"), "LEGACY PAY CART LOGIN", "ascending")
	b.do(chromedp.Click(`//th/button[.="Took"]`))
	is("by another", order(".tasks"), "LOGIN CART PAY LEGACY", "descending")
	b.do(chromedp.Click(`//th/button[.="Cost"]`))
	is("by cost, unknown is the least but for nothing", order(".tasks"), "LEGACY LOGIN CART PAY", "ascending")

	b.do(chromedp.Focus(`//th/button[.="Task"]`), chromedp.KeyEvent(kb.Enter))
	is("by Enter", order(".tasks"), "CART LEGACY LOGIN PAY", "ascending")
	b.do(chromedp.KeyEvent(" "))
	is("by the space bar", order(".tasks"), "PAY LOGIN LEGACY CART", "descending")
	if got := value[string](b, `document.getElementById("sorted").textContent`); got != "sorted by Task, descending" {
		t.Errorf("told to who cannot see it: %q", got)
	}
	b.do(chromedp.Click("#unfold"), chromedp.Click(`#t3 th:nth-child(5) button`), chromedp.Click(`#t3 th:nth-child(5) button`))
	is("attempts", order("#t3 table"), "3001 2001 1001", "descending")
}

// TestKeyboard: the first thing that the Tab key leads to skips to the report; whatever it
// leads to is seen to have the focus; Enter unfolds a task.
func TestKeyboard(t *testing.T) {
	b := open(t, page(t, shopReport(t)))
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := value[string](b, `document.activeElement.textContent`); got != "Skip to the report" {
		t.Errorf("first: %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	if got := value[string](b, `document.activeElement.id`); got != "main" {
		t.Errorf("after the skip: %q", got)
	}
	var reached []string
	for range 100 {
		b.do(chromedp.KeyEvent(kb.Tab))
		got := value[string](b, `(() => { const e = document.activeElement, s = getComputedStyle(e); return e === document.body ? "" : e.tagName + " " + s.outlineStyle + " " + (e.getClientRects().length > 0); })()`)
		if got == "" {
			break
		}
		if reached = append(reached, strings.Fields(got)[0]); !strings.HasSuffix(got, " solid true") {
			t.Errorf("%s has the focus, and is not seen to", got)
		}
		if got := value[bool](b, `document.activeElement.matches("#t3 > summary") && !document.getElementById("t3").open`); got {
			b.do(chromedp.KeyEvent(kb.Enter))
			if !value[bool](b, `document.getElementById("t3").open`) {
				t.Error("Enter does not unfold a task")
			}
		}
	}
	for _, tag := range []string{"BUTTON", "A", "SUMMARY", "DIV"} {
		if !slices.Contains(reached, tag) {
			t.Errorf("no %s is reached by Tab: %v", tag, reached)
		}
	}
}

// TestLinks: a bar of the timeline leads to its attempt, which is unfolded.
func TestLinks(t *testing.T) {
	b := open(t, page(t, shopReport(t)))
	b.do(chromedp.Click(`.bars a[href="#t3-1-2"] rect`))
	// It is unfolded first, and then scrolled to: only both are the end.
	get(b, chromedp.Poll[bool](`(() => { const r = document.getElementById("t3-1-2").getBoundingClientRect(); return document.getElementById("t3").open && r.top >= 0 && r.bottom <= innerHeight && document.querySelector("#t3-1-2 details").open; })()`))
}

// pages are those that are looked at.
func pages(t *testing.T) map[string]string {
	return map[string]string{"shop": page(t, shopReport(t)), "tasks": page(t, manyTasks(t)), "loop": page(t, longLoop(500, "a word "))}
}

// TestPaper: all that is folded on the screen is on paper, without what is to be pressed,
// with and without the script.
func TestPaper(t *testing.T) {
	html := page(t, shopReport(t))
	for _, scripts := range []bool{true, false} {
		b := open(t, html)
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts})
		b.do(chromedp.Reload())
		b.mu.Lock()
		b.requests = b.requests[:1]
		b.mu.Unlock()
		text := printed(b, fmt.Sprintf("shop-script-%t.pdf", scripts))
		for want, times := range map[string]int{
			"Prices of more than one item are not added up.": 5, // of PAY three times and why it failed, of CART once
			"the connection was closed":                      1,
			"go test ./... failed (exit 1) in 1.2s":          4,
			"cart_test.go":                                   3,
			"unknown":                                        4,
		} {
			if got := strings.Count(text, strings.ReplaceAll(want, " ", "")); got < times {
				t.Errorf("with scripts %t, on paper %q is %d times, want %d", scripts, want, got, times)
			}
		}
		for _, bad := range []string{"Unfoldall", "Skiptothereport", "↕"} {
			if strings.Contains(text, bad) {
				t.Errorf("%q is on paper", bad)
			}
		}
	}
}

// printed is the text of the page on paper, without blanks.
func printed(b *browser, name string) string {
	b.t.Helper()
	paper := get(b, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize()))
	keep(b.t, name, paper)
	doc, err := pdf.NewReader(bytes.NewReader(paper), int64(len(paper)))
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := doc.GetPlainText()
	if err != nil {
		b.t.Fatal(err)
	}
	var all bytes.Buffer
	if _, err := all.ReadFrom(text); err != nil {
		b.t.Fatal(err)
	}
	return strings.Join(strings.Fields(all.String()), "")
}

// keep keeps a file for people to look at: go test -artifacts -outputdir FOLDER.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLook: pictures at two widths, light and dark, folded and unfolded, and of what comes
// on paper. Letters must differ from what is behind them by 4.5 to 1, as WCAG 2.1 wants it,
// and nothing is wider than the screen.
func TestLook(t *testing.T) {
	for name, html := range pages(t) {
		b := open(t, html)
		b.screen(680, 900) // A4 without its margins
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		b.picture(name + "-paper.png")
		for _, width := range []int64{1280, 400} {
			for _, scheme := range []string{"light", "dark"} {
				b.screen(width, 900)
				call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
				b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach((d) => { d.open = false; })`))
				b.picture(fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
				b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("#t1, #t1 .attempts tr:first-child details, #t3").forEach((d) => { d.open = true; })`))
				b.picture(fmt.Sprintf("%s-%d-%s-open.png", name, width, scheme))
				for _, bad := range value[[]string](b, contrast) {
					t.Errorf("%s at %d, %s: %s", name, width, scheme, bad)
				}
			}
			if got := value[int64](b, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("%s is %d pixels wide on %d", name, got, width)
			}
		}
	}
}

// picture keeps one of the whole page, if somebody wants to look at it.
func (b *browser) picture(name string) {
	if f := flag.Lookup("test.artifacts"); f == nil || f.Value.String() != "true" {
		return
	}
	value[int](b, `document.documentElement.scrollHeight`) // now it is laid out
	keep(b.t, name, get(b, chromedp.FullScreenshot(100)))
}

// contrast are the elements whose letters do not differ enough from what is behind them.
const contrast = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const light = (colour) => {
		canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
		const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== "rgba(0, 0, 0, 0)") return c; } return "white"; };
	const bad = new Set();
	for (const e of document.querySelectorAll("body *")) {
		if (!e.checkVisibility({ contentVisibilityAuto: true }) || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
		const s = getComputedStyle(e), a = light(e.ownerSVGElement ? s.fill : s.color), b = light(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) bad.add(e.tagName + "." + e.className + " " + ratio.toFixed(2));
	}
	return [...bad];
})()`
