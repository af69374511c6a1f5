package progress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/redact"
)

// A Redactor hides secrets in what is written: [Redactor.Log] in a log's events,
// [Redactor.Writer] in an agent's output, banners and evidence, [Redactor.String] in
// any text. The zero value hides what looks like a secret:
//
//   - keys with a beginning of their own: of some hundred issuers, among them
//     providers of models, clouds, hosts of code, registries of packages, chats and
//     payment; JSON Web Tokens; the addresses of webhooks
//   - private keys in PEM, over many lines, also with \n for line feeds or in base64
//   - passwords in URLs: https://user:password@host, also tokens in the place of the user
//   - values that look random, assigned to a name that ends in password, token,
//     secret, api_key and the like, as the environment, JSON, YAML, XML, flags, headers
//     and URLs write it: API_TOKEN=…, "password": "…", --token …, ?sig=…
//   - credentials after Bearer, Basic and Authorization, in cookies, in netrc files and
//     after curl -u
//
// A secret is found where control sequences of terminals part it, as they come or
// escaped in JSON; of keys that have a beginning of their own also where a line end
// does. It becomes [redacted:kind]; what is redacted already stays as it is. Commit
// hashes, UUIDs, digests, encoded images, placeholders and code that names secrets
// without holding one are no secrets.
//
// It is a net and no wall. Of 146 secrets that were written by somebody who had not seen
// the rules it misses 16, or a part of them, and of 250 harmless texts it changes 1. A
// secret gets through in a format that is not known, encrypted, printed letter by letter,
// as a password of words in prose, and where no name stands before it: in a password file,
// a cell of a table, behind -p; of a private key that was cut off, a last line of less than 24 bytes.
// Name the values you know in Secrets, and do not give the agent those that it need not
// have.
type Redactor struct {
	// Secrets are values to hide wherever they stand, as they are or in
	// base64 (also as a part of what was encoded), URL-escaped or JSON-escaped.
	// White space around a value is not part of it. A value that is shorter
	// than 6 bytes is not looked for, since ordinary text is full of it;
	// [Redactor.Validate] reports it.
	Secrets []string

	// Task says that Log also redacts the texts of the task: title, prompt,
	// outcome, criteria, and its definition and Meta. A loop that is resumed from such a log is told
	// [redacted:…] where the task holds a secret. The zero value keeps the
	// task as it is, because it is what a resume starts from.
	Task bool
}

// Validate reports the values of Secrets that are too short to be looked for, by
// their number and not by their text.
func (r Redactor) Validate() error {
	var errs []error
	for i, s := range r.Secrets {
		if len(strings.TrimSpace(s)) < redact.MinSecret {
			errs = append(errs, fmt.Errorf("secret %d of %d is shorter than %d bytes and would not be hidden", i+1, len(r.Secrets), redact.MinSecret))
		}
	}
	return own(errors.Join(errs...))
}

// String returns the text without its secrets. To redact many texts with many
// Secrets, use Writer or Log, which prepare themselves once.
func (r Redactor) String(s string) string { return redact.New(r.Secrets).Text(s) }

// Writer returns a writer that passes what it is given on to w, without its
// secrets, also those that come in pieces. It holds back only what could be the
// beginning of a secret, which is a few KiB at most, or the length of the longest
// of Secrets, and passes everything else on at once. What comes out does not depend on
// how the text was cut into writes.
//
// Close passes on what is held back; it does not close w. Write and Close return
// the first error of w, and Write after Close is an error. The writer may be used
// concurrently.
func (r Redactor) Writer(w io.Writer) io.WriteCloser {
	return &redactWriter{w: w, stream: redact.New(r.Secrets).Stream()}
}

type redactWriter struct {
	w io.Writer

	mu     sync.Mutex
	stream redact.Stream
	out    []byte
	err    error
	closed bool
}

func (w *redactWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, io.ErrClosedPipe
	}
	w.pass(p, false)
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

func (w *redactWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.pass(nil, true)
	}
	return w.err
}

// begun is what is held back although it says nothing of a secret, see [redact.Stream].
// A terminal on which an agent's words lack their last letter while it thinks looks as if
// it had lost it.
func (w *redactWriter) begun() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stream.Begun()
}

// pass redacts in pieces, so that a gigantic write costs no gigantic memory.
func (w *redactWriter) pass(p []byte, end bool) {
	for {
		piece := p[:min(len(p), 64<<10)]
		p = p[len(piece):]
		w.out = w.stream.Add(w.out[:0], piece, end && len(p) == 0)
		if len(w.out) > 0 && w.err == nil {
			_, w.err = w.w.Write(w.out)
		}
		if len(p) == 0 || w.err != nil {
			return
		}
	}
}

// Log returns a log that passes events on to next, redacted. The events it is
// given are not changed.
//
// Only free text is redacted: answers, feedback, the names and details of
// checks, errors, learnings, files, guidance, reasons. Nothing that the fold
// decides by is touched: identifiers, numbers, times, usage, digests,
// promises, limits, guarded files, the folder and, without Task, the definition
// and Meta; put no secrets there. So the redacted events fold to the state that the others fold
// to, but for the words in it. The task's own texts stay too, see Task. Feedback
// and guidance do not: a loop that goes on from the log quotes them redacted.
func (r Redactor) Log(next ralph.ProgressLog) ralph.ProgressLog {
	c := eventRedactor{redact.New(r.Secrets), r.Task}
	return ralph.ProgressLogFunc(func(ctx context.Context, ev ralph.Event) error {
		return next.Append(ctx, c.event(ev))
	})
}

// An eventRedactor redacts events.
type eventRedactor struct {
	redact.Finder
	task bool
}

// Text is a text without its secrets, also without those that would stand in it
// once it is made safe to show, see [Printable].
func (c eventRedactor) Text(s string) string { return redact.Shown(c.Finder.Text, s) }

func (c eventRedactor) texts(list []string) []string {
	if len(list) == 0 {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i] = c.Text(list[i])
	}
	return list
}

func (c eventRedactor) event(ev ralph.Event) ralph.Event {
	ev.Text = c.Text(ev.Text)
	ev.Iteration.Error, ev.Iteration.Obstacle, ev.Iteration.Unseen = c.Text(ev.Iteration.Error), c.Text(ev.Iteration.Obstacle), c.Text(ev.Iteration.Unseen)
	ev.Iteration.Verdict = c.verdict(ev.Iteration.Verdict)
	ev.Iteration.Files = c.texts(ev.Iteration.Files)
	ev.Iteration.Learnings = c.texts(ev.Iteration.Learnings)
	ev.Iteration.Ended = c.texts(ev.Iteration.Ended)
	if ev.Answer != nil {
		a := *ev.Answer
		a.Output, a.Files, a.Learnings, a.Ended = c.Text(a.Output), c.texts(a.Files), c.texts(a.Learnings), c.texts(a.Ended)
		ev.Answer = &a
	}
	if ev.State != nil {
		s := *ev.State
		s.Feedback, s.Detail = c.feedback(s.Feedback), c.Text(s.Detail)
		s.Obstacle, s.Unseen, s.Blind = c.Text(s.Obstacle), c.Text(s.Unseen), c.Text(s.Blind)
		s.Guidance, s.Lessons, s.Ended = c.texts(s.Guidance), c.texts(s.Lessons), c.texts(s.Ended)
		s.Verdict, s.Files = c.verdict(s.Verdict), c.texts(s.Files)
		if c.task {
			t := &s.Task
			t.Title, t.Prompt, t.Outcome = c.Text(t.Title), c.Text(t.Prompt), c.Text(t.Outcome)
			t.Acceptance, t.Success, t.HowVerified = c.texts(t.Acceptance), c.Text(t.Success), c.Text(t.HowVerified)
			t.Spec = c.json(t.Spec)
		}
		ev.State = &s
	}
	if c.task {
		ev.Meta = maps.Clone(ev.Meta)
		for key, value := range ev.Meta {
			ev.Meta[key] = c.Text(value)
		}
	}
	return ev
}

// json is JSON whose texts are without secrets, nil if it is none.
func (c eventRedactor) json(text json.RawMessage) json.RawMessage {
	from := json.NewDecoder(bytes.NewReader(text))
	from.UseNumber()
	var value any
	if from.Decode(&value) != nil {
		return nil
	}
	redacted, _ := json.Marshal(c.value(value)) // what was decoded can be encoded
	return redacted
}

func (c eventRedactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return c.Text(v)
	case []any:
		for i := range v {
			v[i] = c.value(v[i])
		}
	case map[string]any:
		for key, value := range maps.Clone(v) {
			delete(v, key)
			v[c.Text(key)] = c.value(value)
		}
	}
	return v
}

func (c eventRedactor) verdict(v ralph.Verdict) ralph.Verdict {
	v.Feedback = c.feedback(v.Feedback)
	v.Checks = slices.Clone(v.Checks)
	for i := range v.Checks {
		v.Checks[i].Name, v.Checks[i].Detail = c.Text(v.Checks[i].Name), c.Text(v.Checks[i].Detail)
	}
	return v
}

// feedback keeps feedback within its bound of 8 KiB: what stands for a secret may
// be longer than the secret.
func (c eventRedactor) feedback(s string) string { return cut(c.Text(s), max(len(s), 8<<10)) }
