package modelserver

import (
	"net/http"
	"slices"
)

// refuse is the handler of the proxy: it records where a client wanted to go
// and sends it nowhere.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.escapes = append(s.escapes, r.Method+" "+r.Host)
	s.mu.Unlock()
	http.Error(w, "this proxy lets nothing through", http.StatusForbidden)
}

// Escapes returns the requests that wanted to leave the machine and asked the
// proxy for it, as "METHOD HOST:PORT". See [Server.Env] for who asks.
func (s *Server) Escapes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.escapes)
}
