package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/ralph-loop/ralph"
)

const (
	maxAnswer = 4 << 20 // bytes of an answer that are read
	maxTokens = 4096    // of an answer, where the API wants to be told
)

// A model is an endpoint that answers a conversation.
type model struct {
	url      string
	header   http.Header
	question map[string]any // without the messages
}

// modelOf returns the model that the environment names.
func modelOf(getenv func(string) string) (*model, error) {
	openai, anthropic, name := getenv("OPENAI_BASE_URL"), getenv("ANTHROPIC_BASE_URL"), getenv("MODEL")
	if (openai == "") == (anthropic == "") {
		return nil, errors.New("set one of OPENAI_BASE_URL and ANTHROPIC_BASE_URL")
	}
	if name == "" {
		return nil, errors.New("set MODEL to the name of a model")
	}
	m := &model{header: http.Header{"Content-Type": {"application/json"}}, question: map[string]any{"model": name}}
	if openai != "" {
		m.url = strings.TrimSuffix(openai, "/") + "/chat/completions"
		if key := getenv("OPENAI_API_KEY"); key != "" {
			m.header.Set("Authorization", "Bearer "+key)
		}
		return m, nil
	}
	m.url = strings.TrimSuffix(anthropic, "/") + "/v1/messages"
	m.question["max_tokens"] = maxTokens
	m.header.Set("anthropic-version", "2023-06-01")
	if key := getenv("ANTHROPIC_API_KEY"); key != "" {
		m.header.Set("x-api-key", key)
	}
	return m, nil
}

// An answer is what either API answers.
type answer struct {
	Choices []struct { // OpenAI's
		Message struct{ Content string }
	}
	Content []struct{ Type, Text string } // Anthropic's
	Error   struct{ Message string }
}

func (a answer) text() string {
	var b strings.Builder
	for _, c := range a.Choices[:min(1, len(a.Choices))] {
		b.WriteString(c.Message.Content)
	}
	for _, c := range a.Content {
		if c.Type == "text" {
			b.WriteString(c.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// The keys stay with the host that was named: a redirection is an error.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// ask returns the model's answer, which is never empty.
func (m *model) ask(ctx context.Context, messages []ralph.Message) (string, error) {
	question := maps.Clone(m.question)
	question["messages"] = messages
	body, err := json.Marshal(question)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header = m.header.Clone()
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	var a answer
	malformed := json.Unmarshal(text, &a)
	switch {
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s: %.500s", resp.Status, cmp.Or(a.Error.Message, string(text)))
	case err != nil:
		return "", err
	case len(text) > maxAnswer:
		return "", fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	case malformed != nil:
		return "", fmt.Errorf("the answer: %w", malformed)
	case a.text() == "":
		return "", errors.New("the answer has no text")
	}
	return a.text(), nil
}
