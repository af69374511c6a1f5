//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// A browser is a page of the service in a headless Chromium.
type browser struct {
	*testing.T
	ctx context.Context
}

// browse opens the page, in the Chromium that RALPH_CHROMIUM names.
func (p *program) browse() *browser {
	p.Helper()
	path := os.Getenv("RALPH_CHROMIUM")
	if path == "" {
		const how = "RALPH_CHROMIUM names no headless Chromium; .ci/install-browser prints the path of one"
		if os.Getenv("RALPH_E2E") != "" {
			p.Fatal(how)
		}
		p.Skip(how)
	}
	ctx, stop := chromedp.NewExecAllocator(p.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)...)
	p.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	p.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute)
	p.Cleanup(stop)
	b := &browser{p.T, ctx}
	b.do(chromedp.Navigate(p.base + "/"))
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// see waits until an expression of the page is true.
func (b *browser) see(what string) {
	b.Helper()
	script := fmt.Sprintf(`new Promise(done => { const look = () => (%s) ? done(true) : setTimeout(look, 20); look(); })`, what)
	ctx, stop := context.WithTimeout(b.ctx, time.Minute)
	defer stop()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)); err != nil {
		body, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		b.Fatalf("never seen: %s: %v, but\n%s", what, err, body)
	}
}

// get is the value of an expression of the page.
func (b *browser) get(what string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](what))
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func click(sel chromedp.CSS) chromedp.Action[chromedp.Void] { return chromedp.Click(sel) }
func typed(sel chromedp.CSS, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(sel, text)
}

// logIn gives the page a token.
func (b *browser) logIn(token string) {
	b.Helper()
	b.do(typed("#token", token), click("#login button"))
}

// row is an expression for the row of a loop.
func row(loop string) string {
	return fmt.Sprintf(`document.querySelector('tr[data-loop="%s"]')?.innerText ?? ''`, loop)
}

// TestPage: somebody logs in on the page, starts a loop, sees it verified while they look,
// and is still logged in when they load the page again.
func TestPage(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	b := p.browse()
	b.logIn("not the token, at all")
	b.see(`said.innerText.includes('not the token') && !login.hidden && all.hidden`)
	b.logIn(secret)
	b.see(`login.hidden && !all.hidden && !none.hidden`)
	b.do(click("#new summary"),
		typed("#prompt", "Write hello.txt, <b>boldly</b>."),
		chromedp.SetValue(chromedp.CSS("#dir"), filepath.Join(w.folder, "shop")),
		chromedp.SetValue(chromedp.CSS("#agent"), "waits"), chromedp.SetValue(chromedp.CSS("#check"), "hello"),
		typed("#name", "tea"), click("#start button"))
	b.see(`title.innerText.includes('tea: Write hello.txt, <b>boldly</b>.') && stands.innerText === 'running'`)
	b.see(`events.innerText.includes('iteration 1')`)
	w.tell(t, "not yet")
	b.see(`events.innerText.includes('not claimed to be done') && events.innerText.includes('iteration 2')`)
	w.tell(t, claim)
	b.see(`stands.innerText === 'completed' && events.lastChild.innerText.includes('verified') && events.lastChild.className === 'good'`)
	b.see(`document.querySelectorAll('[data-verb]:not(:disabled)').length === 0 && guide.hidden`)
	if text := b.get(row("tea")); !strings.Contains(text, "completed") || !strings.Contains(text, "2 of 10") || !strings.Contains(text, "waits, hello") {
		t.Errorf("its row: %q", text)
	}

	b.do(chromedp.Navigate(p.base + "/"))
	b.see(row("tea") + `.includes('completed')`)
	b.do(click("#leave"))
	b.see(`!login.hidden && all.hidden && !document.querySelector('tr[data-loop]') && !sessionStorage.getItem('token')`)
}

// TestPageSteers: a loop is paused, guided, let go on, given fewer iterations, and
// cancelled by the buttons of the page; an order that is refused says why.
func TestPageSteers(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	dir := filepath.Join(w.folder, "shop")
	loop := p.loop("tea", dir, "waits", "hello", nil)
	p.listen(loop, "").until(ralph.EventIterationStarted)
	b := p.browse()
	b.logIn(secret)
	b.see(row("tea") + `.includes('running')`)
	b.do(click(`tr[data-loop="tea"] button`))
	b.see(`events.innerText.includes('iteration 1')`)
	b.do(click(`[data-verb="pause"]`))
	w.tell(t, "not yet")
	b.see(`stands.innerText === 'paused'`)
	b.do(typed("#text", "Mind the kettle."), click("#guide button"))
	b.see(`events.innerText.includes('Mind the kettle.')`)
	b.do(click(`[data-verb="continue"]`))
	b.see(`events.innerText.includes('iteration 2') && stands.innerText === 'running'`)
	b.do(chromedp.SetValue(chromedp.CSS("#most"), "7"), click("#limit button"))
	b.see(row("tea") + `.includes('2 of 7')`)

	b.do(click("#new summary"), typed("#prompt", "x"), chromedp.SetValue(chromedp.CSS("#dir"), "/"), click("#start button"))
	b.see(`said.innerText.includes('not below a folder')`)

	asked := chromedp.Events(b.ctx, cdp.JavascriptDialogOpening)
	answered := make(chan error, 1)
	go func() {
		for _, err := range asked {
			if err == nil {
				_, err = chromedp.Call(b.ctx, cdp.HandleJavaScriptDialog, cdp.HandleJavaScriptDialogParams{Accept: true})
			}
			answered <- err
			return
		}
	}()
	b.do(click(`[data-verb="cancel"]`))
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	b.see(`stands.innerText.startsWith('cancelled')`)
	if e := p.stands(loop); e.Status != progress.StatusCancelled || !strings.Contains(text(t, dir, "prompt.txt"), "Mind the kettle.") {
		t.Errorf("%s: its agent was told %s", e.Status, text(t, dir, "prompt.txt"))
	}
}

// TestPageHarmless: what an agent says, and what a loop is called, is shown as it is, runs
// nothing and turns nothing around.
func TestPageHarmless(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	loop := p.loop(`"><img src=x onerror="document.title=2">`, filepath.Join(w.folder, "shop"), "evil", "hello", doc{"title": `<script>document.title="owned"</script>`})
	b := p.browse()
	b.logIn(secret)
	b.see(`document.querySelector('tr[data-loop]')?.innerText.includes('completed')`)
	b.do(click(`tr[data-loop] button`))
	b.see(`events.innerText.includes('verified')`)
	for _, shown := range []string{`<script>document.title=\"owned\"</script><img src=x onerror=\"document.title=1\">`, `red`, `back`} {
		b.see(fmt.Sprintf(`events.innerText.includes("%s")`, shown))
	}
	b.see(`title.innerText.includes('<script>') && title.innerText.includes('<img src=x')`)
	if odd := b.get(`document.body.innerText.replace(/[^\u0000-\u0008\u000b-\u001f\u202e]/g, '')`); odd != "" {
		t.Errorf("it shows %q", odd)
	}
	if title := b.get(`document.title + document.images.length + document.querySelectorAll('main script').length`); title != "Loops00" {
		t.Errorf("it ran: %s", title)
	}
	// What would be markup by a mistake of ours runs nothing either.
	b.do(chromedp.Evaluate[chromedp.Void](`document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="document.title=3">'); undefined`))
	b.see(`document.images[0].complete`)
	if title := b.get(`document.title`); title != "Loops" {
		t.Errorf("an attribute ran: %s", title)
	}
	_ = loop
}

// TestPageRecovers: a stream and a list that failed once are made again, and what was said
// of that goes; rows that come after the log-out are not shown; what was typed for one
// loop is not there for another.
func TestPageRecovers(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	p.loop("tea", filepath.Join(w.folder, "shop"), "writer", "hello", nil)
	p.loop("cake", w.workspace(t, "other"), "writer", "hello", nil)
	b := p.browse()
	b.logIn(secret)
	b.see(row("tea") + `.includes('completed')`)
	b.see(row("cake") + `.includes('completed')`)
	script := func(text string) { b.do(chromedp.Evaluate[chromedp.Void](text + "; undefined")) }
	script(`window.real = fetch; window.failed = {}; window.fetch = (path, o) => {
		const kind = path.endsWith('/events') ? 'events' : 'list';
		return failed[kind]++ ? real(path, o) : Promise.resolve(new Response('<p>Bad gateway', {status: 502}));
	}; failed.events = failed.list = 0`)
	b.see(`said.innerText.includes('Bad gateway')`)
	b.see(`said.innerText === ''`)
	b.do(click(`tr[data-loop="tea"] button`))
	b.see(`events.innerText.includes('verified')`)
	script(`$('text').value = 'Mind the kettle.'`)
	b.do(click(`tr[data-loop="cake"] button`))
	b.see(`title.innerText.startsWith('cake') && $('text').value === '' && !$('most').checkValidity()`)
	script(`window.fetch = async (...a) => { const answer = await real(...a); await new Promise(go => { window.go = go; }); return answer; }; window.go = null`)
	b.see(`window.go`)
	b.do(click("#leave"))
	script(`window.fetch = real; window.go()`)
	script(`new Promise(done => setTimeout(done, 200))`)
	b.see(`!login.hidden && all.hidden && !document.querySelector('tr[data-loop]')`)
}
