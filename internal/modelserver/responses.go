package modelserver

import (
	"encoding/json"
	"net/http"
)

// responses is the OpenAI Responses API: codex.
type responses struct{}

func (responses) decode(body []byte) (Request, error) {
	var in struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Input  json.RawMessage `json:"input"`
		Tools  []struct {
			Name       string `json:"name"`
			Parameters schema `json:"parameters"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	q := Request{Model: in.Model, Stream: in.Stream}
	var prompt string
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Output  json.RawMessage `json:"output"`
	}
	if json.Unmarshal(in.Input, &prompt) == nil {
		q.user(prompt)
	} else if err := json.Unmarshal(in.Input, &items); err != nil {
		return Request{}, err
	}
	for _, item := range items {
		switch {
		case item.Role == "user":
			content(item.Content, func(p part) { q.user(p.Text) })
		case len(item.Output) > 0:
			q.Results = append(q.Results, texts(item.Output))
		}
	}
	for _, t := range in.Tools {
		q.offer(tool{name: t.Name, schema: t.Parameters})
	}
	return q, nil
}

func (d responses) side(w http.ResponseWriter, _ *http.Request, q Request) {
	re := reply{id: "side", model: q.Model, text: "ok", in: 1, out: 1}
	if q.Stream {
		stream(w, d.events(re, false))
		return
	}
	writeJSON(w, http.StatusOK, d.whole(re))
}

func (responses) fail(w http.ResponseWriter, status int, message string) {
	failOpenAI(w, status, message)
}

// failOpenAI writes an error as both of that house's APIs do.
func failOpenAI(w http.ResponseWriter, status int, message string) {
	kind, code := "invalid_request_error", "invalid_request"
	switch {
	case status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case status >= 500:
		kind, code = "server_error", "server_error"
	}
	writeJSON(w, status, encode(doc{"error": doc{"message": message, "type": kind, "param": nil, "code": code}}))
}

func (r reply) response(status string, output []doc) doc {
	return doc{
		"id": "resp_" + r.id, "object": "response", "created_at": 0, "status": status, "model": r.model,
		"output": output, "error": nil,
		"usage": doc{
			"input_tokens": r.in, "input_tokens_details": doc{"cached_tokens": 0},
			"output_tokens": r.out, "output_tokens_details": doc{"reasoning_tokens": 0},
			"total_tokens": r.in + r.out,
		},
	}
}

// items are the output items of a reply, as they are when complete.
func (r reply) items() []doc {
	items := []doc{}
	if r.thinking != "" {
		items = append(items, doc{"type": "reasoning", "id": "rs_" + r.id,
			"summary": []doc{{"type": "summary_text", "text": r.thinking}}})
	}
	if r.text != "" {
		items = append(items, doc{"type": "message", "id": "msg_" + r.id, "role": "assistant", "status": "completed",
			"content": []doc{{"type": "output_text", "text": r.text, "annotations": []doc{}}}})
	}
	for _, c := range r.calls {
		items = append(items, doc{"type": "function_call", "id": "fc_" + c.id, "call_id": c.id, "name": c.name,
			"arguments": c.arguments, "status": "completed"})
	}
	return items
}

func (responses) whole(r reply) json.RawMessage { return encode(r.response("completed", r.items())) }

func (responses) events(r reply, broken bool) []event {
	list := []event{named("response.created", doc{"response": r.response("in_progress", []doc{})})}
	items := r.items()
	for i, item := range items {
		list = append(list, named("response.output_item.added", doc{"output_index": i, "item": begun(item)}))
		switch item["type"] {
		case "reasoning":
			for _, p := range pieces(r.thinking) {
				list = append(list, named("response.reasoning_summary_text.delta",
					doc{"item_id": item["id"], "output_index": i, "summary_index": 0, "delta": p}))
			}
		case "message":
			for _, p := range pieces(r.text) {
				list = append(list, named("response.output_text.delta",
					doc{"item_id": item["id"], "output_index": i, "content_index": 0, "delta": p}))
			}
			if broken {
				return list
			}
		}
		list = append(list, named("response.output_item.done", doc{"output_index": i, "item": item}))
	}
	if broken {
		return list
	}
	return append(list, named("response.completed", doc{"response": r.response("completed", items)}))
}

// begun is an item as it is announced: without what will be streamed.
func begun(item doc) doc {
	b := doc{}
	for k, v := range item {
		switch k {
		case "content", "summary":
			b[k] = []doc{}
		case "arguments":
			b[k] = ""
		case "status":
			b[k] = "in_progress"
		default:
			b[k] = v
		}
	}
	return b
}

func (responses) failure(message string) event {
	return named("response.failed", doc{"response": doc{"id": "resp_failed", "object": "response", "status": "failed",
		"error": doc{"code": "server_error", "message": message}}})
}
