package progress_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// TestDisplay: what people see, by the scripts in testdata/display. Each command is a
// line: its name, then fields, of which the last may hold blanks.
func TestDisplay(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/display/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil || len(archive.Files) != 2 {
				t.Fatal("not a script and what it shows", err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = newPlay(t).run(string(archive.Files[0].Data)) })
			want := &archive.Files[1].Data
			if *updateMarkdown && got != string(*want) {
				*want = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(*want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A play is one script as it runs.
type play struct {
	*testing.T
	d      *progress.Display
	screen *screen // nil = a pipe
	pipe   bytes.Buffer
	voices map[string]io.Writer
	shown  strings.Builder
	begun  bool
}

func newPlay(t *testing.T) *play {
	p := &play{T: t, d: &progress.Display{Zone: time.UTC}, voices: map[string]io.Writer{}}
	p.d.W = &p.pipe
	return p
}

func (p *play) run(script string) string {
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			name, rest, _ := strings.Cut(line, " ")
			p.do(name, rest)
			synctest.Wait()
		}
	}
	if err := p.d.Close(); err != nil {
		p.Error(err)
	}
	if p.screen != nil && len(p.screen.unknown) > 0 {
		p.Errorf("control sequences %q", p.screen.unknown)
	}
	return p.shown.String()
}

func (p *play) do(name, rest string) {
	if set, ok := map[string]func(){
		"colours": func() { p.d.Colours = true }, "terse": func() { p.d.Terse = true }, "named": func() { p.d.Named = true },
		"agent":     func() { p.d.Agent = p.unquote(rest) },
		"place":     func() { p.d.Place = func(ralph.Event) string { return rest } },
		"verifying": func() { p.d.Verifying = func(ralph.Task) string { return rest } },
		"redact":    func() { p.d.Redact = progress.Redactor{Secrets: []string{rest}}.Writer },
	}[name]; ok {
		set()
		return
	}
	first, more, _ := strings.Cut(rest, " ")
	switch name {
	case "terminal", "resize":
		c, r := p.numbers(rest)
		if p.screen == nil {
			p.screen = newScreen(c, r)
			p.d.W, p.d.Terminal = p.screen, true
			p.d.Size = p.screen.size
		}
		p.screen.resize(c, r)
	case "start":
		task := ralph.Task{Title: "A title", Prompt: "Do it."}
		p.decode(more, &task)
		task.ID, task.Agent, _ = strings.Cut(first, ".")
		s := ralph.Start(task)
		p.append(first, ralph.Event{Kind: ralph.EventLoopStarted, State: &s})
	case "event":
		kind, more, _ := strings.Cut(more, " ")
		ev := ralph.Event{Kind: ralph.EventKind(kind)}
		p.decode(more, &ev)
		p.append(first, ev)
	case "begin": // an attempt, whose output is said then
		number, attempt := p.numbers(more)
		p.append(first, ralph.Event{Kind: ralph.EventIterationStarted, Iteration: ralph.Iteration{Number: number, Attempt: attempt}})
		req := ralph.Request{Loop: first, Iteration: number, Attempt: attempt}
		req.Task, req.Agent, _ = strings.Cut(first, ".")
		p.voices[first] = p.d.Output(req)
	case "say":
		fmt.Fprint(p.voices[first], p.unquote(more))
	case "live":
		var u ralph.Usage
		p.decode(more, &u)
		p.d.Live(ralph.Request{Loop: first}, u)
	case "write":
		fmt.Fprint(p.d, p.unquote(rest))
	case "sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			p.Fatal(err)
		}
		time.Sleep(d)
	case "look", "bytes", "close":
		p.look(name, rest)
	default:
		p.Fatalf("there is no command %s", name)
	}
}

func (p *play) append(loop string, ev ralph.Event) {
	ev.Loop, ev.Time = loop, time.Now().UTC()
	ev.Task, ev.Agent, _ = strings.Cut(loop, ".")
	if ev.Kind == ralph.EventIterationEnded {
		ev.Iteration.End = ev.Time
	}
	if err := p.d.Append(context.Background(), ev); err != nil {
		p.Error(err)
	}
	if !p.begun { // what is drawn each second is drawn between the commands, not with them
		p.begun = true
		time.Sleep(time.Second / 2)
	}
}

// look takes down what is seen, or all that was written.
func (p *play) look(how, why string) {
	if how == "close" {
		if err := p.d.Close(); err != nil {
			p.Error(err)
		}
	}
	time.Sleep(61 * time.Millisecond) // it is drawn by then
	synctest.Wait()
	fmt.Fprintf(&p.shown, "%s\n", strings.TrimSpace("=== "+time.Now().UTC().Format(time.TimeOnly)+" "+why))
	written := &p.pipe
	switch {
	case how == "bytes":
		if p.screen != nil {
			_, _, text := p.screen.drawn()
			written = bytes.NewBufferString(text)
		}
		for line := range strings.Lines(written.String()) {
			fmt.Fprintf(&p.shown, "%s\n", strconv.QuoteToGraphic(line))
		}
	case p.screen != nil:
		p.shown.WriteString(p.screen.text())
	default:
		p.shown.Write(p.pipe.Bytes())
	}
}

func (p *play) numbers(text string) (a, b int) {
	if _, err := fmt.Sscan(text, &a, &b); err != nil {
		p.Fatal(text, err)
	}
	return a, b
}

func (p *play) unquote(text string) string {
	s, err := strconv.Unquote(text)
	if err != nil {
		p.Fatal(text, err)
	}
	return s
}

func (p *play) decode(text string, v any) {
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		p.Fatal(text, err)
	}
}
