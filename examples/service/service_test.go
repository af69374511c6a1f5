//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestLoop: a loop is started, watched until it is verified, and stands on record; who has
// seen a part of its events is told the rest.
func TestLoop(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	dir := filepath.Join(w.folder, "shop")
	loop := p.loop("", dir, "writer", "hello", nil)
	l := p.listen(loop, "")
	var kinds []ralph.EventKind
	var ids []string
	for {
		ev, ok := l.next()
		if !ok {
			t.Fatal("the stream has ended")
		}
		if ev.Kind != ralph.EventRunning {
			kinds, ids = append(kinds, ev.Kind), append(ids, l.id)
		}
		if ev.Kind == ralph.EventLoopStopped {
			break
		}
	}
	want := []ralph.EventKind{ralph.EventLoopStarted, ralph.EventLoopStarted, ralph.EventIterationStarted, ralph.EventAnswered, ralph.EventIterationEnded, ralph.EventLoopStopped}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if ev := p.listen(loop, ids[3]).until(ralph.EventIterationEnded); !ev.Iteration.Verdict.Passed {
		t.Errorf("the attempt: %+v", ev.Iteration)
	}
	if ev, ok := p.listen(loop, ids[4]).next(); !ok || ev.Kind != ralph.EventLoopStopped {
		t.Errorf("after the last but one: %s", ev.Kind)
	}

	e := p.stands(loop)
	if e.Status != progress.StatusCompleted || e.State.Stop != ralph.StopVerified || e.State.Task.Dir != dir || !strings.Contains(text(t, dir, "prompt.txt"), "test -e hello.txt") {
		t.Errorf("it stands: %+v", e)
	}
	var all struct {
		Loops                   []progress.Standing
		Idle                    map[string]string
		Agents, Checks, Folders []string
	}
	p.call("GET", "/loops", nil, &all)
	if len(all.Loops) != 1 || all.Loops[0].Loop != loop || len(all.Idle) != 0 {
		t.Errorf("the list: %+v", all)
	}
	if diff := cmp.Diff([][]string{{"claude", "evil", "loud", "nosy", "waits", "writer"}, {"hello", "never"}, {w.folder}}, [][]string{all.Agents, all.Checks, all.Folders}); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
}

// TestSteer: a loop is paused, guided, let go on, given more iterations, stopped and
// cancelled, and its agent hears of it.
func TestSteer(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	dir := filepath.Join(w.folder, "shop")
	loop := p.loop("tea", dir, "waits", "hello", doc{"limits": doc{"iterations": 2}})
	l := p.listen(loop, "")
	l.until(ralph.EventIterationStarted)
	if e := p.steer(loop, "pause", nil); !e.State.Paused {
		t.Errorf("paused: %+v", e)
	}
	p.steer(loop, "guide", doc{"text": "Mind the kettle."})
	w.tell(t, "not yet")
	l.until(ralph.EventIterationEnded)
	p.steer(loop, "continue", nil)
	l.until(ralph.EventIterationStarted)
	w.tell(t, "not yet")
	if ev := l.until(ralph.EventLoopStopped); ev.State.Stop != ralph.StopIterations || !strings.Contains(text(t, dir, "prompt.txt"), "Mind the kettle.") {
		t.Errorf("it stopped: %+v after %s", ev.State, text(t, dir, "prompt.txt"))
	}
	if answer := p.send("POST", "/loops/tea/continue", nil); answer.StatusCode != http.StatusConflict {
		t.Errorf("a loop goes on beyond its limit: %s", answer.Status)
	}
	p.steer(loop, "limit", doc{"limits": doc{"iterations": 9}})
	l.until(ralph.EventIterationStarted)
	p.steer(loop, "stop", nil)
	w.tell(t, "not yet")
	l.until(ralph.EventLoopStopped)
	p.steer(loop, "limit", doc{"limits": doc{"iterations": 9}})
	l.until(ralph.EventIterationStarted)
	if e := p.steer(loop, "cancel", doc{"reason": "tea is over"}); e.State.Stop != ralph.StopCancelled {
		t.Errorf("cancelled: %+v", e)
	}
	if ev := l.until(ralph.EventLoopStopped); ev.State.Stop != ralph.StopCancelled || ev.State.Detail != "tea is over" {
		t.Errorf("it stopped: %+v", ev.State)
	}
	if answer := p.send("POST", "/loops/tea/continue", nil); answer.StatusCode != http.StatusConflict {
		t.Errorf("a cancelled loop goes on: %s", answer.Status)
	}
}

// TestRefused: what may not be, or makes no sense, is refused, with a reason, and leaves
// nothing on record.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	dir, outside := filepath.Join(w.folder, "shop"), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(w.folder, "link")); err != nil {
		t.Fatal(err)
	}
	p.loop("taken", dir, "waits", "hello", nil)
	p.listen("taken", "").until(ralph.EventIterationStarted)
	free := w.workspace(t, "free")
	order := func(change doc) doc {
		body := doc{"prompt": "x", "dir": free, "agent": "writer", "check": "hello"}
		maps.Copy(body, change)
		return body
	}
	for _, test := range []struct {
		what, method, path string
		body               any
		status             int
		says               string
	}{
		{"no prompt", "POST", "/loops", order(doc{"prompt": ""}), 400, "nothing to tell the agent"},
		{"another agent", "POST", "/loops", order(doc{"agent": "sh"}), 400, "no agent"},
		{"another check", "POST", "/loops", order(doc{"check": "true"}), 400, "no check"},
		{"a command", "POST", "/loops", order(doc{"command": "rm -rf /"}), 400, "unknown field"},
		{"a folder outside", "POST", "/loops", order(doc{"dir": outside}), 400, "not below a folder"},
		{"a link to it", "POST", "/loops", order(doc{"dir": filepath.Join(w.folder, "link")}), 400, "not below a folder"},
		{"a way out", "POST", "/loops", order(doc{"dir": w.folder + "/.."}), 400, "not below a folder"},
		{"the records", "POST", "/loops", order(doc{"dir": w.state}), 400, "not below a folder"},
		{"a file", "POST", "/loops", order(doc{"dir": filepath.Join(free, ".git", "HEAD")}), 400, "not a directory"},
		{"git's own", "POST", "/loops", order(doc{"dir": filepath.Join(free, ".git")}), 400, "not below a folder"},
		{"no folder", "POST", "/loops", order(doc{"dir": filepath.Join(w.folder, "gone")}), 400, "no such file"},
		{"a workspace that is held", "POST", "/loops", order(doc{"dir": dir}), 409, "held by"},
		{"a name that is taken", "POST", "/loops", order(doc{"name": "taken"}), 409, "exist"},
		{"limits that make no sense", "POST", "/loops", order(doc{"limits": doc{"iterations": -1}}), 400, "unlimited"},
		{"no JSON", "POST", "/loops", "x", 400, "cannot unmarshal"},
		{"too much", "POST", "/loops", order(doc{"prompt": strings.Repeat("x", 2<<20)}), 400, "too large"},
		{"an unknown loop", "GET", "/loops/gone", nil, 404, "not exist"},
		{"its events", "GET", "/loops/gone/events", nil, 404, "not exist"},
		{"its cancel", "POST", "/loops/gone/cancel", nil, 404, "not exist"},
		{"an unknown verb", "POST", "/loops/taken/explode", nil, 404, "not exist"},
		{"blank guidance", "POST", "/loops/taken/guide", doc{"text": " "}, 400, "blank"},
		{"no limits", "POST", "/loops/taken/limit", doc{"limits": doc{"iterations": -1}}, 400, "unlimited"},
	} {
		answer := p.send(test.method, test.path, test.body)
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		var says struct{ Error string }
		if err := json.Unmarshal(text, &says); answer.StatusCode != test.status || err != nil || !strings.Contains(says.Error, test.says) {
			t.Errorf("%s: %s: %s", test.what, answer.Status, text)
		}
	}
	var all struct{ Loops []progress.Standing }
	if p.call("GET", "/loops", nil, &all); len(all.Loops) != 1 {
		t.Errorf("on record: %+v", all.Loops)
	}
}

// TestAccess: nothing but the page is for those who have no token, who come by another
// name, or from another page.
func TestAccess(t *testing.T) {
	w := newWorld(t)
	p := w.startWith(t, append([]string{"-host", "Loops.Example.com"}, w.args()...), "RALPH_SERVICE_TOKEN="+secret)
	port := p.base[strings.LastIndex(p.base, ":"):]
	for _, test := range []struct {
		what, method, path string
		change             func(*http.Request)
		status             int
	}{
		{"the page", "GET", "/", func(r *http.Request) { r.Header.Del("Authorization") }, 200},
		{"its script", "GET", "/page.js", func(r *http.Request) { r.Header.Del("Authorization") }, 200},
		{"a source file", "GET", "/main.go", func(*http.Request) {}, 404},
		{"the token", "GET", "/loops", func(*http.Request) {}, 200},
		{"no token", "GET", "/loops", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"a wrong one", "GET", "/loops", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret+"x") }, 401},
		{"a part of it", "GET", "/loops", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret[:8]) }, 401},
		{"an empty one", "GET", "/loops", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401},
		{"another scheme", "GET", "/loops", func(r *http.Request) { r.Header.Set("Authorization", secret) }, 401},
		{"one in the address", "GET", "/loops?token=" + secret, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"one in a cookie", "GET", "/loops", func(r *http.Request) {
			r.Header.Del("Authorization")
			r.AddCookie(&http.Cookie{Name: "token", Value: secret})
		}, 401},
		{"events without", "GET", "/loops/x/events", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"localhost", "GET", "/loops", func(r *http.Request) { r.Host = "localhost" + port }, 200},
		{"the proxy's name", "GET", "/loops", func(r *http.Request) { r.Host = "loops.EXAMPLE.com" }, 200},
		{"IPv6 without a port", "GET", "/loops", func(r *http.Request) { r.Host = "[::1]" }, 200},
		{"IPv6", "GET", "/loops", func(r *http.Request) { r.Host = "[::1]" + port }, 200},
		{"a stranger's name", "GET", "/loops", func(r *http.Request) { r.Host = "evil.example" + port }, 421},
		{"the page by that", "GET", "/", func(r *http.Request) { r.Host = "evil.example" }, 421},
		{"a name like ours", "GET", "/loops", func(r *http.Request) { r.Host = "localhost.evil.example" + port }, 421},
		{"a stranger's page", "POST", "/loops", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		{"another port's page", "POST", "/loops", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, p.base+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		test.change(r)
		answer := p.do(r)
		answer.Body.Close()
		if answer.StatusCode != test.status || answer.StatusCode == 200 && !strings.HasPrefix(answer.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self';") {
			t.Errorf("%s: %s %v", test.what, answer.Status, answer.Header)
		}
	}
}

// TestToken: the service makes a token if there is none, tells it once and keeps it to
// itself; one that is given does not reach the agents; one that can be guessed is refused.
func TestToken(t *testing.T) {
	w := newWorld(t)
	p := w.startWith(t, w.args(), "RALPH_SERVICE_TOKEN=")
	_, after, _ := strings.Cut(p.said.String(), "token=")
	fields := strings.Fields(after)
	if len(fields) < 2 || len(fields[0]) < 26 {
		t.Fatalf("it said %s", p.said)
	}
	_, path, _ := strings.Cut(fields[1], "file=")
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 || text(t, path) != fields[0] {
		t.Errorf("it keeps it in %s: %v %v", path, info, err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), "GET", p.base+"/loops", nil)
	r.Header.Set("Authorization", "Bearer "+fields[0])
	if answer := p.do(r); answer.StatusCode != http.StatusOK {
		t.Error(answer.Status)
	}
	p.Process.Signal(syscall.SIGTERM)
	p.end()
	again := w.startWith(t, w.args(), "RALPH_SERVICE_TOKEN=")
	r, _ = http.NewRequestWithContext(t.Context(), "GET", again.base+"/loops", nil)
	r.Header.Set("Authorization", "Bearer "+fields[0])
	if answer := again.do(r); answer.StatusCode != http.StatusOK || strings.Contains(again.said.String(), fields[0]) {
		t.Error(answer.Status, again.said)
	}
	again.Process.Kill()
	again.end()

	p = w.start(t)
	p.listen(p.loop("", filepath.Join(w.folder, "shop"), "nosy", "hello", nil), "").until(ralph.EventLoopStopped)
	if env := text(t, w.folder, "shop", "env.txt"); strings.Contains(env, secret) {
		t.Errorf("the agent has the token: %s", env)
	}
	p.Process.Kill()
	p.end()

	for what, start := range map[string]func() *program{
		"can be guessed":    func() *program { return w.startWith(t, w.args(), "RALPH_SERVICE_TOKEN=1234") },
		"their own records": func() *program { return w.startWith(t, append(w.args(), filepath.Dir(w.state))) },
		"clade":             func() *program { return w.startWith(t, append([]string{"-agent", "clade"}, w.args()...)) },
		"nothing":           func() *program { return w.startWith(t, append([]string{"-check", "nothing"}, w.args()...)) },
		"-help tells more":  func() *program { return w.startWith(t, w.args()[:4]) },
		"no such file":      func() *program { return w.startWith(t, append(w.args(), "/nonexistent")) },
	} {
		if p := start(); p.end() == 0 || !strings.Contains(p.said.String(), what) || p.base != "" {
			t.Errorf("%s: it said %s", what, p.said)
		}
	}
}

// TestSlowReader: who follows a loop and takes nothing holds nobody up.
func TestSlowReader(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	loop := p.loop("", filepath.Join(w.folder, "shop"), "loud", "hello", doc{"limits": doc{"iterations": 60, "stalls": 0}})
	for range 8 {
		p.listen(loop, "") // 6 MB, which no buffer on the way holds
	}
	l := p.listen(loop, "")
	answers := 0
	for ev, ok := l.next(); ok && ev.Kind != ralph.EventLoopStopped; ev, ok = l.next() {
		if ev.Kind == ralph.EventAnswered && len(ev.Answer.Output) > 50_000 {
			answers++
		}
	}
	if e := p.stands(loop); answers != 60 || e.State.Stop != ralph.StopIterations {
		t.Errorf("%d answers: %s %s", answers, e.State.Stop, e.State.Detail)
	}
}

// TestPrintable: what an agent says reaches no terminal as a command.
func TestPrintable(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	loop := p.loop("", filepath.Join(w.folder, "shop"), "evil", "hello", doc{"title": "a\x1b[2Jtitle\u202e"})
	p.listen(loop, "").until(ralph.EventLoopStopped)
	for _, path := range []string{"/loops", "/loops/" + loop} {
		answer := p.send("GET", path, nil)
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !bytes.Contains(text, []byte("title")) || bytes.ContainsAny(text, "\x1b\x07\u202e") {
			t.Errorf("%s: %q %v", path, text, err)
		}
	}
	l := p.listen(loop, "")
	for l.lines.Scan() {
		if line := l.lines.Text(); strings.ContainsAny(line, "\x1b\x07\u202e") {
			t.Errorf("%q", line)
		} else if strings.Contains(line, string(ralph.EventLoopStopped)) {
			break
		}
	}
	p.Process.Signal(syscall.SIGTERM)
	p.end()
	if said := p.said.String(); strings.ContainsAny(said, "\x1b\x07\u202e") {
		t.Errorf("the log: %q", said)
	}
}
