// Package modelserver is a scripted model API on loopback, for tests that run
// real agents' command-line clients.
//
// A script is a list of turns: say this, call a shell tool, answer with 429,
// hang. The place in the script is kept in the server and not in a
// conversation, so that one script drives a whole loop of processes. The server
// speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and
// Gemini, and calls each client's tools by the names that the client offers.
//
// Only requests that offer tools take a turn, unless it has a [Turn.Reply]. Clients make others (titles,
// probes, token counts, lists of models); those get a fixed answer.
//
//	s, err := modelserver.Start(
//		modelserver.Turn{Write: &modelserver.File{Path: path, Content: "hello\n"}},
//		modelserver.Turn{Text: "Done.\n<promise>COMPLETE</promise>"},
//	)
//
// [Server.Env] gives the environment that makes a client use the server and
// nothing else. It names a proxy too, which refuses and records: a request that
// wants to leave this machine shows up in [Server.Escapes].
package modelserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// maxBody bounds a request's body, in bytes.
const maxBody = 64 << 20

// A Server answers from a script. Its methods may be called concurrently.
type Server struct {
	// URL is the address without a path: "http://127.0.0.1:PORT".
	URL string
	// ProxyURL is the address of the proxy that refuses every request.
	ProxyURL string

	api, proxy *http.Server
	closed     chan struct{}
	close      sync.Once
	wg         sync.WaitGroup

	mu       sync.Mutex
	script   []Turn
	at       int           // of the next turn in script
	taken    int           // turns that were taken, repeated ones included
	requests []Request     // in the order they came
	gone     []int         // turns whose clients went away while their answer hung
	changed  chan struct{} // closed and replaced when requests or gone grows
	escapes  []string
}

// Start starts a server on a free port of 127.0.0.1. [Server.Close] ends it.
func Start(script ...Turn) (*Server, error) {
	s := &Server{script: slices.Clone(script), closed: make(chan struct{}), changed: make(chan struct{})}
	var err error
	if s.api, s.URL, err = s.serve(s.answer); err != nil {
		return nil, err
	}
	if s.proxy, s.ProxyURL, err = s.serve(s.refuse); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) serve(h http.HandlerFunc) (*http.Server, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("model server: %w", err)
	}
	srv := &http.Server{Handler: h}
	s.wg.Go(func() { srv.Serve(l) }) // always http.ErrServerClosed
	return srv, "http://" + l.Addr().String(), nil
}

// Close ends the server and every answer that hangs. Closing twice is harmless.
func (s *Server) Close() error {
	s.close.Do(func() { close(s.closed) })
	err := s.api.Close()
	if s.proxy != nil {
		err = errors.Join(err, s.proxy.Close())
	}
	s.wg.Wait()
	return err
}

// Requests returns the requests that took a turn, in the order they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r Request) bool { return r.Turn == 0 })
}

// Side returns the other requests: probes, titles, lists of models.
func (s *Server) Side() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r Request) bool { return r.Turn != 0 })
}

// Left is the number of turns that have not been taken, without those that are
// repeated for ever.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.script[s.at:] {
		if !t.Repeat {
			n++
		}
	}
	return n
}

// Wait blocks until n requests, from 1, have taken a turn, and returns the nth.
// The request is recorded before it is answered. The error is ctx's cause.
func (s *Server) Wait(ctx context.Context, n int) (Request, error) {
	var q Request
	err := s.wait(ctx, func() bool {
		i := slices.IndexFunc(s.requests, func(r Request) bool { return r.Turn == n })
		if i >= 0 {
			q = s.requests[i]
		}
		return i >= 0
	})
	if err != nil {
		return Request{}, fmt.Errorf("waiting for request %d of the agent: %w", n, err)
	}
	return q, nil
}

// WaitGone blocks until the client of the nth request, from 1, has gone away while its
// answer hung ([BreakHang]). The error is ctx's cause.
func (s *Server) WaitGone(ctx context.Context, n int) error {
	if err := s.wait(ctx, func() bool { return slices.Contains(s.gone, n) }); err != nil {
		return fmt.Errorf("waiting for the end of request %d of the agent: %w", n, err)
	}
	return nil
}

// wait blocks until holds, which is called under the lock, says true.
func (s *Server) wait(ctx context.Context, holds func() bool) error {
	for {
		s.mu.Lock()
		changed, ok := s.changed, holds()
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// answer is the handler of the model API.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d := dialectOf(r)
	q, decodeErr := d.decode(body)
	q.Method, q.Path, q.Body = r.Method, r.URL.Path, body
	q.Stream = q.Stream || strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
	if decodeErr != nil || !q.turn() && !s.replies(q) {
		s.record(&q)
		d.side(w, r, q)
		return
	}
	t, ok := s.take(&q)
	if !ok {
		d.fail(w, http.StatusBadRequest, fmt.Sprintf("the script has no turn for request %d", q.Turn))
		return
	}
	s.play(w, r, d, q, t)
}

// replies reports whether the next turn is made of a request, and this is one that a
// model could answer.
func (s *Server) replies(q Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(q.User) > 0 && s.at < len(s.script) && s.script[s.at].Reply != nil
}

// take records the request and gives it its turn.
func (s *Server) take(q *Request) (Turn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken++
	q.Turn = s.taken
	s.recordLocked(q)
	if s.at == len(s.script) {
		return Turn{}, false
	}
	t := s.script[s.at]
	if !t.Repeat {
		s.at++
	}
	return t, true
}

func (s *Server) record(q *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordLocked(q)
}

func (s *Server) recordLocked(q *Request) {
	s.requests = append(s.requests, *q)
	s.tellLocked()
}

func (s *Server) leave(turn int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = append(s.gone, turn)
	s.tellLocked()
}

func (s *Server) tellLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}
