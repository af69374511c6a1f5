package modelserver

import (
	"encoding/json"
	"net/http"
)

// chat is the OpenAI Chat Completions API: opencode, copilot, cline.
type chat struct{}

func (chat) decode(body []byte) (Request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string `json:"name"`
				Parameters schema `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	q := Request{Model: in.Model, Stream: in.Stream}
	for _, m := range in.Messages {
		switch m.Role {
		case "user":
			content(m.Content, func(p part) { q.user(p.Text) })
		case "tool":
			q.Results = append(q.Results, texts(m.Content))
		}
	}
	for _, t := range in.Tools {
		q.offer(tool{name: t.Function.Name, schema: t.Function.Parameters})
	}
	return q, nil
}

func (d chat) side(w http.ResponseWriter, _ *http.Request, q Request) {
	re := reply{id: "side", model: q.Model, text: "ok", in: 1, out: 1}
	if q.Stream {
		stream(w, d.events(re, false))
		return
	}
	writeJSON(w, http.StatusOK, d.whole(re))
}

func (chat) fail(w http.ResponseWriter, status int, message string) { failOpenAI(w, status, message) }

func (r reply) chatUsage() doc {
	return doc{"prompt_tokens": r.in, "completion_tokens": r.out, "total_tokens": r.in + r.out}
}

func (r reply) chatCalls() []doc {
	var calls []doc
	for i, c := range r.calls {
		calls = append(calls, doc{"index": i, "id": c.id, "type": "function",
			"function": doc{"name": c.name, "arguments": c.arguments}})
	}
	return calls
}

func (r reply) chatStop() string {
	if len(r.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (chat) whole(r reply) json.RawMessage {
	m := doc{"role": "assistant", "content": r.text}
	if r.thinking != "" {
		m["reasoning_content"] = r.thinking
	}
	if calls := r.chatCalls(); calls != nil {
		m["tool_calls"] = calls
	}
	return encode(doc{
		"id": "chatcmpl-" + r.id, "object": "chat.completion", "created": 0, "model": r.model, "usage": r.chatUsage(),
		"choices": []doc{{"index": 0, "message": m, "finish_reason": r.chatStop()}},
	})
}

func (chat) events(r reply, broken bool) []event {
	chunk := func(delta doc, stop any) event {
		return event{data: encode(doc{
			"id": "chatcmpl-" + r.id, "object": "chat.completion.chunk", "created": 0, "model": r.model,
			"choices": []doc{{"index": 0, "delta": delta, "finish_reason": stop}},
		})}
	}
	list := []event{chunk(doc{"role": "assistant", "content": ""}, nil)}
	for _, p := range pieces(r.thinking) {
		list = append(list, chunk(doc{"reasoning_content": p}, nil))
	}
	for _, p := range pieces(r.text) {
		list = append(list, chunk(doc{"content": p}, nil))
	}
	if broken {
		return list
	}
	if calls := r.chatCalls(); calls != nil {
		list = append(list, chunk(doc{"tool_calls": calls}, nil))
	}
	usage := event{data: encode(doc{
		"id": "chatcmpl-" + r.id, "object": "chat.completion.chunk", "created": 0, "model": r.model,
		"choices": []doc{}, "usage": r.chatUsage(),
	})}
	return append(list, chunk(doc{}, r.chatStop()), usage, event{data: json.RawMessage("[DONE]")})
}

func (chat) failure(message string) event {
	return event{data: encode(doc{"error": doc{"message": message, "type": "server_error", "code": "server_error"}})}
}
