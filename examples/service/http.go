package main

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

const patience = 30 * time.Second // with clients that give or take nothing

//go:embed index.html page.js page.css
var page embed.FS

// handler is all that the service answers. Everybody may have the page, in which nothing is.
func (s *service) handler(token string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(page))
	mux.Handle("GET /loops", authorized(token, s.list))
	mux.Handle("POST /loops", authorized(token, s.start))
	mux.Handle("GET /loops/{loop}", authorized(token, s.steer))
	mux.Handle("POST /loops/{loop}/{verb}", authorized(token, s.steer))
	mux.Handle("GET /loops/{loop}/events", authorized(token, s.events))
	return s.careful(http.NewCrossOriginProtection().Handler(mux))
}

// A body is the JSON of a request, which has some of it or none.
type body struct {
	// Of a start, and, the last two, of guidance and of a cancel. A Name is good for one
	// loop, so a start that may have got lost can be made again; "" = one is made. Agent and
	// Check are names of the operator's.
	Name, Title, Prompt, Dir, Agent, Check, Text, Reason string

	Limits ralph.Limits // all of them: what is left out has its default
}

// careful answers to our own names alone: a page of a stranger's may have a name of his
// lead to this address, but no number. And the page loads and runs what is ours.
func (s *service) careful(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		name := strings.ToLower((&url.URL{Host: r.Host}).Hostname()) // without a port
		if net.ParseIP(name) == nil && name != "localhost" && name != strings.ToLower(s.host) {
			http.Error(w, "this service has another name, see -host", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authorized asks for the token, in a header alone: addresses stand in logs and histories,
// and a cookie is sent to whatever listens on this machine, also to a server that an agent
// has started, for cookies know no ports. A nil result was written by next.
func authorized(token string, next func(http.ResponseWriter, *http.Request, body) (any, error)) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + token)) // of one length, so that comparing it tells nothing
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, b := sha256.Sum256([]byte(r.Header.Get("Authorization"))), body{}
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("Connection", "close") // nothing more of a stranger's is waited for
			http.Error(w, "the header Authorization must be Bearer and the service's token", http.StatusUnauthorized)
			return
		}
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		d.DisallowUnknownFields()
		w.Header().Set("Content-Type", "application/json")
		result, err := any(nil), d.Decode(&b)
		if err == nil || errors.Is(err, io.EOF) { // no body is an empty one
			result, err = next(w, r, b)
		}
		if err != nil {
			w.WriteHeader(status(err))
			result = map[string]string{"error": err.Error()}
		}
		if text, _ := json.Marshal(result); result != nil {
			w.Write(append(progress.PrintableJSON(text), '\n')) // a terminal may show it
		}
	})
}

// status is what an error is to HTTP.
func status(err error) int {
	switch {
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(*progress.CorruptError)):
		return http.StatusInternalServerError
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	case errors.Is(err, fs.ErrExist), errors.Is(err, progress.ErrOver), errors.As(err, new(*progress.HeldError)), errors.As(err, new(*ralph.StopError)):
		return http.StatusConflict
	}
	return http.StatusBadRequest
}

// list tells where all loops stand, in the order in which they began, why some do not
// run, and what can be chosen. Records that cannot be read are told when the service
// starts, and left out.
func (s *service) list(_ http.ResponseWriter, r *http.Request, _ body) (any, error) {
	loops, _ := s.pool.Dir.Standings(r.Context())
	return map[string]any{
		"loops": loops, "idle": s.pool.Idle(), "folders": s.folders, "agents": slices.Sorted(maps.Keys(s.agents)), "checks": slices.Sorted(maps.Keys(s.checks)),
	}, nil
}

// start puts a loop on record and has it run.
func (s *service) start(_ http.ResponseWriter, r *http.Request, b body) (any, error) {
	dir, err := s.workspace(b.Dir)
	if err != nil {
		return nil, err
	}
	loop := ralph.Start(ralph.Task{Title: b.Title, Prompt: b.Prompt, Dir: dir, Limits: b.Limits, HowVerified: s.checks[b.Check]})
	loop.Loop = b.Name
	return s.pool.Start(r.Context(), loop, map[string]string{"agent": b.Agent, "check": b.Check})
}

// steer does to a loop what the address says, and tells where it stands then.
func (s *service) steer(_ http.ResponseWriter, r *http.Request, b body) (any, error) {
	dir, loop := s.pool.Dir, r.PathValue("loop")
	does := map[string]func() (progress.Entry, error){
		"":         func() (progress.Entry, error) { return dir.Look(loop) },
		"cancel":   func() (progress.Entry, error) { return dir.Cancel(loop, cmp.Or(b.Reason, "cancelled over HTTP")) },
		"pause":    func() (progress.Entry, error) { return dir.Pause(loop, true) },
		"continue": func() (progress.Entry, error) { return s.pool.Continue(loop) },
		"stop":     func() (progress.Entry, error) { return dir.Stop(loop) }, // after this iteration
		"guide":    func() (progress.Entry, error) { return dir.Guide(loop, b.Text) },
		"limit":    func() (progress.Entry, error) { return s.pool.Limit(loop, b.Limits) },
	}
	if do := does[r.PathValue("verb")]; do != nil {
		return do()
	}
	return nil, fmt.Errorf("%q: %w", r.URL.Path, fs.ErrNotExist)
}

// events streams what happens in a loop, from its start, or after the event that the header
// Last-Event-ID names, until the client goes: server-sent events whose data is a
// [ralph.Event]. It reads the record, so no loop waits for it; a client that takes nothing
// is let go, and can come back for the rest.
func (s *service) events(w http.ResponseWriter, r *http.Request, _ body) (any, error) {
	loop := r.PathValue("loop")
	if _, err := s.pool.Dir.Look(loop); err != nil {
		return nil, err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	stream := http.NewResponseController(w)
	stream.Flush()
	for rec, err := range s.pool.Dir.FollowEvery(r.Context(), loop, r.Header.Get("Last-Event-ID"), patience/2) {
		text := ":\n\n" // nothing has come
		if rec.ID != "" {
			event, _ := json.Marshal(rec.Event)
			text = fmt.Sprintf("id: %s\ndata: %s\n\n", rec.ID, progress.PrintableJSON(event))
		}
		stream.SetWriteDeadline(time.Now().Add(patience))
		if _, unsent := io.WriteString(w, text); err != nil || unsent != nil || stream.Flush() != nil {
			break
		}
	}
	return nil, nil
}
