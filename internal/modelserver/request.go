package modelserver

import (
	"encoding/json"
	"strings"
)

// A Request is what a client asked, decoded.
type Request struct {
	Method, Path string

	// Turn is the number of the turn it took, from 1. 0 = it took none.
	Turn   int
	Model  string
	Stream bool
	// User holds the texts of the user's messages, oldest first. The prompt is
	// among them; so are reminders that clients add.
	User []string
	// Results holds what tools returned, oldest first.
	Results []string
	// Tools holds the names of the tools that the client offers.
	Tools []string
	// Body is the request as it came.
	Body json.RawMessage

	tools []tool
}

// Holds reports whether one of the user's messages holds text.
func (q Request) Holds(text string) bool {
	for _, u := range q.User {
		if strings.Contains(u, text) {
			return true
		}
	}
	return false
}

// LastUser is the last user's message with text, or "".
func (q Request) LastUser() string {
	if len(q.User) == 0 {
		return ""
	}
	return q.User[len(q.User)-1]
}

// turn reports whether the request takes a turn of the script.
func (q Request) turn() bool { return len(q.tools) > 0 }

func (q *Request) offer(t tool) {
	q.tools = append(q.tools, t)
	q.Tools = append(q.Tools, t.name)
}

func (q *Request) user(text string) {
	if text != "" {
		q.User = append(q.User, text)
	}
}

// content decodes what the APIs write as a string or as a list of parts, and
// hands the parts to each. A string is a part of type "text".
func content(raw json.RawMessage, each func(part)) {
	if len(raw) == 0 {
		return
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		each(part{Type: "text", Text: text})
		return
	}
	var parts []part
	if json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			each(p)
		}
	}
}

// A part is a piece of a message, in any of the APIs.
type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // of a tool_result
}

// texts joins the texts of a content.
func texts(raw json.RawMessage) string {
	var b strings.Builder
	content(raw, func(p part) { b.WriteString(p.Text) })
	return b.String()
}
