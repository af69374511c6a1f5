//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// asProgram is set where this test's program is to be the service.
const asProgram = "RALPH_SERVICE_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Unsetenv(asProgram)
		main()
		return
	}
	os.Exit(m.Run())
}

const secret = "a-token-for-the-tests"

// A program is the service, as a process.
type program struct {
	*testing.T
	*exec.Cmd
	base string // its address
	said *bytes.Buffer
	read chan struct{} // closed when all that it said has been read
}

// A world is what a service works in, also after it was killed.
type world struct {
	state, folder string // of the records; below which loops work
	gate          string // a pipe: the agent "waits" says what is written to it
}

func newWorld(t *testing.T) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{filepath.Join(dir, "state"), filepath.Join(dir, "src"), filepath.Join(dir, "gate")}
	if err := syscall.Mkfifo(w.gate, 0o600); err != nil {
		t.Fatal(err)
	}
	w.workspace(t, "shop")
	return w
}

// workspace makes a git repository below the folder.
func (w world) workspace(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(w.folder, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	git := exec.Command("git", "init", "-q")
	git.Dir = dir
	if text, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return dir
}

// tell lets the agent "waits" end its answer with these words. It blocks until that asks.
func (w world) tell(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(w.gate, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

const claim = "<promise>COMPLETE</promise>"

// args are the agents and checks of a world's service.
func (w world) args() []string {
	return []string{
		"-addr", "127.0.0.1:0",
		"-agent", `writer=cat >prompt.txt; echo hello >hello.txt; echo ` + "'" + claim + "'",
		"-agent", `waits=cat >>prompt.txt; echo $$ >pid; read -r line <` + w.gate + `; echo hello >hello.txt; echo "$line"`,
		"-agent", `loud=cat >/dev/null; head -c 100000 /dev/zero | tr '\0' x; echo; date +%N >>dates`,
		"-agent", `evil=cat >/dev/null; echo hello >hello.txt; printf '<script>document.title="owned"</script><img src=x onerror="document.title=1">\033[31mred\033]0;owned\007 \342\200\256back\n'; echo '` + claim + `'`,
		"-agent", `nosy=cat >/dev/null; env >env.txt; echo hello >hello.txt; echo '` + claim + `'`,
		"-agent", "claude",
		"-check", "hello=test -e hello.txt",
		"-check", "never=echo it is not there; false",
		w.folder,
	}
}

// start starts the service; with no env it has the secret as its token.
func (w world) start(t *testing.T, env ...string) *program {
	t.Helper()
	return w.startWith(t, w.args(), append(env, "RALPH_SERVICE_TOKEN="+secret)...)
}

func (w world) startWith(t *testing.T, args []string, env ...string) *program {
	t.Helper()
	p := &program{T: t, Cmd: exec.Command(os.Args[0], args...), said: &bytes.Buffer{}, read: make(chan struct{})}
	p.Env = append(append(os.Environ(), asProgram+"=1", "XDG_STATE_HOME="+w.state), env...)
	stderr, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	serving := make(chan string, 1)
	go func() {
		defer close(p.read)
		defer close(serving)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			fmt.Fprintln(p.said, lines.Text())
			if _, after, found := strings.Cut(lines.Text(), " serving url="); found {
				serving <- strings.Fields(after)[0]
			}
		}
	}()
	t.Cleanup(func() {
		p.Process.Kill()
		p.end()
		if t.Failed() {
			t.Log(p.said)
		}
	})
	p.base = <-serving
	return p
}

// end waits until the program has ended, and returns its exit code.
func (p *program) end() int {
	<-p.read
	p.Wait()
	return p.ProcessState.ExitCode()
}

// send sends a request with the token.
func (p *program) send(method, path string, body any) *http.Response {
	p.Helper()
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	r, err := http.NewRequestWithContext(p.Context(), method, p.base+path, bytes.NewReader(text))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	return p.do(r)
}

func (p *program) do(r *http.Request) *http.Response {
	p.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	return answer
}

// call is a request that is met.
func (p *program) call(method, path string, body, into any) {
	p.Helper()
	answer := p.send(method, path, body)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode == http.StatusOK {
		err = json.Unmarshal(text, into)
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		p.Fatalf("%s %s: %s %s %v", method, path, answer.Status, text, err)
	}
}

type doc = map[string]any

// loop starts a loop and returns its name.
func (p *program) loop(name, dir, agent, check string, more doc) string {
	p.Helper()
	body := doc{"name": name, "prompt": "Write hello.txt.", "dir": dir, "agent": agent, "check": check}
	maps.Copy(body, more)
	var e progress.Entry
	p.call("POST", "/loops", body, &e)
	return e.Loop
}

func (p *program) stands(loop string) (e progress.Entry) {
	p.Helper()
	p.call("GET", "/loops/"+loop, nil, &e)
	return e
}

func (p *program) steer(loop, verb string, body any) (e progress.Entry) {
	p.Helper()
	p.call("POST", "/loops/"+loop+"/"+verb, body, &e)
	return e
}

// A listener follows the events of a loop.
type listener struct {
	*program
	body  io.ReadCloser
	lines *bufio.Scanner
	id    string // of the last event
}

// listen follows a loop after the event with this id.
func (p *program) listen(loop, after string) *listener {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), "GET", p.base+"/loops/"+loop+"/events", nil)
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Last-Event-ID", after)
	answer := p.do(r)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		p.Fatal(answer.Status, answer.Header)
	}
	l := &listener{p, answer.Body, bufio.NewScanner(answer.Body), after}
	l.lines.Buffer(nil, 8<<20)
	p.Cleanup(func() { answer.Body.Close() })
	return l
}

// next is the next event, and false if the stream has ended.
func (l *listener) next() (ev ralph.Event, ok bool) {
	l.Helper()
	for l.lines.Scan() {
		if id, is := strings.CutPrefix(l.lines.Text(), "id: "); is {
			l.id = id
		}
		if data, is := strings.CutPrefix(l.lines.Text(), "data: "); is {
			if err := json.Unmarshal([]byte(data), &ev); err != nil {
				l.Fatal(err)
			}
			return ev, true
		}
	}
	return ev, false
}

// until reads on to the next event of a kind.
func (l *listener) until(kind ralph.EventKind) ralph.Event {
	l.Helper()
	for {
		ev, ok := l.next()
		if !ok {
			l.Fatalf("the stream has ended before %s", kind)
		}
		if ev.Kind == kind {
			return ev
		}
	}
}

// waitFor makes a request again and again until it has the answer that is wanted; the
// service looks twice a second, so most of that time is spent there.
func (p *program) waitFor(loop string, status progress.Status) {
	p.Helper()
	l := p.listen(loop, "")
	for {
		if e := p.stands(loop); e.Status == status {
			return
		}
		if _, ok := l.next(); !ok {
			p.Fatalf("%s is never %s", loop, status)
		}
	}
}

// text is the content of a file.
func text(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// lines is how many lines of Go the service has that are neither blank nor comments.
func lines(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for line := range strings.Lines(text(t, name)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				n++
			}
		}
	}
	return n
}

// TestSize: what is to be copied is short.
func TestSize(t *testing.T) {
	if n := lines(t); n == 0 || n >= 300 {
		t.Errorf("the service has %d lines of Go", n)
	}
}
