package modelserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A dialect is one model API.
type dialect interface {
	// decode reads a request. An error, or a request without tools, makes it
	// a side request.
	decode(body []byte) (Request, error)
	// side answers a request that takes no turn.
	side(w http.ResponseWriter, r *http.Request, q Request)
	// fail answers with an HTTP error as the API writes it.
	fail(w http.ResponseWriter, status int, message string)
	// whole is the answer as one JSON value.
	whole(r reply) json.RawMessage
	// events is the answer as a stream; it ends where the text does if the
	// reply is broken.
	events(r reply, broken bool) []event
	// failure is an error event for the middle of a stream.
	failure(message string) event
}

// An event is one server-sent event. Clients of some APIs go by the name,
// others have none.
type event struct {
	name string
	data json.RawMessage
}

func dialectOf(r *http.Request) dialect {
	switch p := r.URL.Path; {
	case strings.Contains(p, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(p, "/responses"):
		return responses{}
	case strings.Contains(p, "/messages"):
		return anthropic{}
	case strings.Contains(p, "/v1beta"):
		return gemini{}
	}
	return other{}
}

// play answers a request with its turn.
func (s *Server) play(w http.ResponseWriter, r *http.Request, d dialect, q Request, t Turn) {
	if t.Status != 0 {
		if t.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(t.RetryAfter/time.Second)))
		}
		for name, value := range t.Header {
			w.Header().Set(name, value)
		}
		if t.Body != "" {
			writeJSON(w, t.Status, json.RawMessage(t.Body))
			return
		}
		d.fail(w, t.Status, http.StatusText(t.Status)+" (scripted)")
		return
	}
	re, err := t.reply(strconv.Itoa(q.Turn), q)
	if err != nil {
		d.fail(w, http.StatusBadRequest, "the script does not fit the client: "+err.Error())
		return
	}
	switch {
	case t.Break == BreakHang && t.Text == "":
		s.hang(w, r, q)
	case t.Break != "" && !q.Stream && t.Break == BreakError:
		d.fail(w, http.StatusInternalServerError, "broken (scripted)")
	case t.Break != "" && !q.Stream:
		s.breakOff(w, r, d, q, t.Break)
	case t.Break != "":
		re.text, re.calls = firstHalf(re.text), nil
		stream(w, d.events(re, true))
		s.breakOff(w, r, d, q, t.Break)
	case q.Stream:
		stream(w, d.events(re, false))
	default:
		writeJSON(w, http.StatusOK, d.whole(re))
	}
}

// breakOff ends, or does not end, an answer that was begun.
func (s *Server) breakOff(w http.ResponseWriter, r *http.Request, d dialect, q Request, b Break) {
	switch b {
	case BreakError:
		stream(w, []event{d.failure("broken (scripted)")})
	case BreakHang:
		s.hang(w, r, q)
	case BreakDrop:
		drop(w)
	}
}

// hang returns when the client has gone away or the server is closed.
func (s *Server) hang(w http.ResponseWriter, r *http.Request, q Request) {
	select {
	case <-r.Context().Done():
		s.leave(q.Turn)
	case <-s.closed:
		drop(w)
	}
}

// drop cuts the connection, without an end of the answer.
func drop(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

// stream writes events. A client that went away is no error of the script.
func stream(w http.ResponseWriter, events []event) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	rc := http.NewResponseController(w)
	for _, e := range events {
		var b bytes.Buffer
		if e.name != "" {
			fmt.Fprintf(&b, "event: %s\n", e.name)
		}
		fmt.Fprintf(&b, "data: %s\n\n", e.data)
		if _, err := w.Write(b.Bytes()); err != nil {
			return
		}
		if rc.Flush() != nil {
			return
		}
	}
}

func writeJSON(w http.ResponseWriter, status int, body json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

// A doc is a JSON object in the making.
type doc = map[string]any

// encode returns v as JSON without HTML escapes. What is encoded here is made
// of strings, numbers, lists and docs, which cannot fail.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(b.Bytes())
}

// other answers what belongs to no model API: a probe, telemetry, settings.
type other struct{}

func (other) decode([]byte) (Request, error) { return Request{}, nil }

func (other) side(w http.ResponseWriter, r *http.Request, _ Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		model := doc{"id": FakeModel, "object": "model", "type": "model", "owned_by": "nobody", "created": 0, "display_name": FakeModel}
		// One answer for two APIs: a "data" list, and codex's "models".
		writeJSON(w, http.StatusOK, encode(doc{"object": "list", "data": []doc{model}, "models": []doc{}, "has_more": false}))
		return
	}
	writeJSON(w, http.StatusOK, json.RawMessage("{}"))
}

func (other) fail(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, encode(doc{"error": doc{"message": message}}))
}

func (other) whole(reply) json.RawMessage { return json.RawMessage("{}") }
func (other) events(reply, bool) []event  { return nil }
func (other) failure(string) event        { return event{} }
