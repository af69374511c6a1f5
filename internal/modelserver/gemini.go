package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gemini is the Gemini API. Whether it streams is in the path, not the body.
type gemini struct{}

func (gemini) decode(body []byte) (Request, error) {
	type parts []struct {
		Text             string `json:"text"`
		FunctionResponse *struct {
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
	}
	var in struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts parts  `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			FunctionDeclarations []struct {
				Name                 string  `json:"name"`
				Parameters           schema  `json:"parameters"`
				ParametersJSONSchema *schema `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	q := Request{Model: FakeModel}
	for _, c := range in.Contents {
		if c.Role == "model" {
			continue
		}
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				q.Results = append(q.Results, functionResult(p.FunctionResponse.Response))
			} else {
				q.user(p.Text)
			}
		}
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			s := f.Parameters
			if f.ParametersJSONSchema != nil {
				s = *f.ParametersJSONSchema
			}
			q.offer(tool{name: f.Name, schema: s})
		}
	}
	return q, nil
}

// functionResult is what a tool returned: its output, or else all of it.
func functionResult(raw json.RawMessage) string {
	var r struct {
		Output string `json:"output"`
	}
	if json.Unmarshal(raw, &r) == nil && r.Output != "" {
		return r.Output
	}
	return string(raw)
}

func (d gemini) side(w http.ResponseWriter, r *http.Request, q Request) {
	re := reply{id: "side", model: FakeModel, text: "ok", in: 1, out: 1}
	switch {
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		writeJSON(w, http.StatusOK, json.RawMessage(`{"totalTokens":1}`))
	case q.Stream:
		stream(w, d.events(re, false))
	default:
		writeJSON(w, http.StatusOK, d.whole(re))
	}
}

func (gemini) fail(w http.ResponseWriter, status int, message string) {
	name := "INVALID_ARGUMENT"
	switch {
	case status == http.StatusUnauthorized:
		name = "UNAUTHENTICATED"
	case status == http.StatusTooManyRequests:
		name = "RESOURCE_EXHAUSTED"
	case status >= 500:
		name = "INTERNAL"
	}
	writeJSON(w, status, encode(doc{"error": doc{"code": status, "message": message, "status": name}}))
}

// geminiChunk is an answer, or a piece of one; stop "" = more follows.
func geminiChunk(r reply, parts []doc, stop string) json.RawMessage {
	c := doc{"index": 0, "content": doc{"role": "model", "parts": parts}}
	if stop != "" {
		c["finishReason"] = stop
	}
	return encode(doc{
		"candidates": []doc{c}, "modelVersion": r.model, "responseId": r.id,
		"usageMetadata": doc{"promptTokenCount": r.in, "candidatesTokenCount": r.out, "totalTokenCount": r.in + r.out},
	})
}

func (r reply) geminiCalls() []doc {
	parts := []doc{}
	for _, c := range r.calls {
		parts = append(parts, doc{"functionCall": doc{"id": c.id, "name": c.name, "args": json.RawMessage(c.arguments)}})
	}
	return parts
}

func (gemini) whole(r reply) json.RawMessage {
	parts := []doc{}
	if r.text != "" {
		parts = append(parts, doc{"text": r.text})
	}
	return geminiChunk(r, append(parts, r.geminiCalls()...), "STOP")
}

func (gemini) events(r reply, broken bool) []event {
	var list []event
	for _, p := range pieces(r.thinking) {
		list = append(list, event{data: geminiChunk(r, []doc{{"text": p, "thought": true}}, "")})
	}
	for _, p := range pieces(r.text) {
		list = append(list, event{data: geminiChunk(r, []doc{{"text": p}}, "")})
	}
	if broken {
		return list
	}
	return append(list, event{data: geminiChunk(r, r.geminiCalls(), "STOP")})
}

func (gemini) failure(message string) event {
	return event{data: encode(doc{"error": doc{"code": 500, "message": message, "status": "INTERNAL"}})}
}
