package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// anthropic is the Messages API: claude, and what calls itself compatible.
type anthropic struct{}

func (anthropic) decode(body []byte) (Request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name        string `json:"name"`
			InputSchema schema `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	q := Request{Model: in.Model, Stream: in.Stream}
	for _, m := range in.Messages {
		if m.Role != "user" {
			continue
		}
		content(m.Content, func(p part) {
			if p.Type == "tool_result" {
				q.Results = append(q.Results, texts(p.Content))
			} else {
				q.user(p.Text)
			}
		})
	}
	for _, t := range in.Tools {
		q.offer(tool{name: t.Name, schema: t.InputSchema})
	}
	return q, nil
}

func (a anthropic) side(w http.ResponseWriter, r *http.Request, q Request) {
	re := reply{id: "side", model: q.Model, text: "ok", in: 1, out: 1}
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		writeJSON(w, http.StatusOK, json.RawMessage(`{"input_tokens":1}`))
	case q.Stream:
		stream(w, a.events(re, false))
	default:
		writeJSON(w, http.StatusOK, a.whole(re))
	}
}

func (anthropic) fail(w http.ResponseWriter, status int, message string) {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status == 529:
		kind = "overloaded_error"
	case status >= 500:
		kind = "api_error"
	}
	writeJSON(w, status, encode(doc{"type": "error", "error": doc{"type": kind, "message": message}}))
}

func (anthropic) whole(r reply) json.RawMessage {
	m := anthropicMessage(r)
	blocks := []doc{}
	if r.thinking != "" {
		blocks = append(blocks, doc{"type": "thinking", "thinking": r.thinking, "signature": "c2NyaXB0ZWQ="})
	}
	if r.text != "" {
		blocks = append(blocks, doc{"type": "text", "text": r.text})
	}
	for _, c := range r.calls {
		blocks = append(blocks, doc{"type": "tool_use", "id": c.id, "name": c.name, "input": json.RawMessage(c.arguments)})
	}
	m["content"], m["stop_reason"] = blocks, r.anthropicStop()
	return encode(m)
}

func anthropicMessage(r reply) doc {
	return doc{
		"id": "msg_" + r.id, "type": "message", "role": "assistant", "model": r.model,
		"content": []doc{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": doc{"input_tokens": r.in, "output_tokens": min(r.out, 1), "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
	}
}

func (r reply) anthropicStop() string {
	if len(r.calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

func (anthropic) events(r reply, broken bool) []event {
	list := []event{named("message_start", doc{"message": anthropicMessage(r)})}
	index := 0
	block := func(start doc, open bool, deltas ...doc) {
		list = append(list, named("content_block_start", doc{"index": index, "content_block": start}))
		for _, d := range deltas {
			list = append(list, named("content_block_delta", doc{"index": index, "delta": d}))
		}
		if !open {
			list = append(list, named("content_block_stop", doc{"index": index}))
		}
		index++
	}
	if r.thinking != "" {
		deltas := deltas(r.thinking, "thinking_delta", "thinking")
		deltas = append(deltas, doc{"type": "signature_delta", "signature": "c2NyaXB0ZWQ="})
		block(doc{"type": "thinking", "thinking": "", "signature": ""}, false, deltas...)
	}
	if r.text != "" {
		block(doc{"type": "text", "text": ""}, broken, deltas(r.text, "text_delta", "text")...)
	}
	if broken {
		return list
	}
	for _, c := range r.calls {
		block(doc{"type": "tool_use", "id": c.id, "name": c.name, "input": doc{}}, false,
			deltas(c.arguments, "input_json_delta", "partial_json")...)
	}
	return append(list,
		named("message_delta", doc{
			"delta": doc{"stop_reason": r.anthropicStop(), "stop_sequence": nil},
			"usage": doc{"output_tokens": r.out},
		}),
		named("message_stop", doc{}))
}

func deltas(text, kind, field string) []doc {
	var list []doc
	for _, p := range pieces(text) {
		list = append(list, doc{"type": kind, field: p})
	}
	return list
}

func (anthropic) failure(message string) event {
	return named("error", doc{"error": doc{"type": "api_error", "message": message}})
}

// named is an event whose data repeat its name as their type.
func named(name string, data doc) event {
	data["type"] = name
	return event{name: name, data: encode(data)}
}
