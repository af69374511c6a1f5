package ralph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// A Turn is what a host tells of a session whose agent has come to rest: what it said
// since the last prompt, in one of three forms. Text is taken first, then Messages.
type Turn struct {
	Session string // required
	// ID is what the host calls this event, if it has a name for it: the same one twice,
	// also by two processes, is one event. "" = none; then Messages and Transcript
	// show by themselves that an answer was judged already, and Text does not.
	ID string
	// Text is the newest text of the agent since the last prompt, for a host that is told
	// just that.
	Text string
	// Messages is the conversation, oldest first, or the end of it that begins not later
	// than the last prompt.
	Messages []Message
	// Transcript is the path of a file with the conversation: a JSON array of messages,
	// or one on each line. A message is an object with role and content, which is a
	// string or a list of parts with a type and a text; these may stand in an object
	// message or payload of it. An unfinished last line is not read, and what a
	// sub-agent has said (isSidechain, parent_tool_use_id) is nobody's message.
	Transcript string
	// Usage is what the turn has used, for [Limits] of money and tokens; the zero value
	// says that nobody knows.
	Usage Usage
	// Final says that no more text will come of this turn: without any it counts as an
	// answer that says nothing, instead of [ErrNoMessage].
	Final bool
}

// A Message is one message of a conversation.
type Message struct {
	Role    string `json:"role"` // "user", "assistant"; others are never the agent's words
	Content string `json:"content"`
}

// maxTranscript is how much of a transcript is read, from its end.
const maxTranscript = 16 << 20

// read reads the transcript, if the turn is told by one.
func (t Turn) read() (Turn, error) {
	if t.Transcript == "" || t.Text != "" || t.Messages != nil {
		return t, nil
	}
	text, err := endOf(t.Transcript)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it has not been written yet
		return t, fmt.Errorf("ralph: the transcript of session %q: %w", t.Session, err)
	}
	t.Messages = append([]Message{}, transcript(text)...)
	return t, nil
}

// endOf reads the end of a file.
func endOf(path string) ([]byte, error) {
	f, err := file.Open("", path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(info.Size()-maxTranscript, 0)
	return io.ReadAll(io.NewSectionReader(f, from, maxTranscript))
}

// A transcriptLine is a message as transcripts have it, at the top or in a wrapper.
type transcriptLine struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`

	Message   *transcriptLine `json:"message"`
	Payload   *transcriptLine `json:"payload"`
	Sidechain bool            `json:"isSidechain"`
	Parent    *string         `json:"parent_tool_use_id"`
}

// transcript returns the messages of a transcript. What is none is left out.
func transcript(text []byte) (messages []Message) {
	var lines []transcriptLine
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' && json.Unmarshal(trimmed, &lines) == nil {
		for _, l := range lines {
			messages = l.append(messages)
		}
		return messages
	}
	for line := range bytes.Lines(text) {
		var l transcriptLine
		if json.Unmarshal(line, &l) == nil { // the first may be cut, and the last unfinished
			messages = l.append(messages)
		}
	}
	return messages
}

func (l transcriptLine) append(to []Message) []Message {
	if l.Sidechain || l.Parent != nil {
		return to
	}
	for _, inner := range []*transcriptLine{l.Message, l.Payload} {
		if inner != nil && l.Role == "" {
			return inner.append(to)
		}
	}
	if text := contentText(l.Content); l.Role != "" && text != "" {
		to = append(to, Message{Role: l.Role, Content: text})
	}
	return to
}

// contentText is the text of a message's content: not that of tools and of thinking.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" || p.Type == "output_text" || p.Type == "input_text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// said is what a turn says of a prompt.
type said struct {
	text     string // the newest of the agent since then
	answered bool   // there is such text
	asked    bool   // the messages hold the prompt
	told     bool   // by messages, of which seen are there
	seen     int
}

// said looks for the newest text of the agent since a prompt was injected, when the
// session had seen messages. Where that number is known, a prompt that its host has
// changed is taken to be the newest message of a user that came since.
func (t Turn) said(prompt string, seen int) said {
	if t.Text != "" || t.Messages == nil {
		return said{text: t.Text, answered: strings.TrimSpace(t.Text) != ""}
	}
	s := said{told: true, seen: len(t.Messages)}
	from := 0
	if seen <= len(t.Messages) { // else the conversation was made shorter
		from = seen
	}
	prompt = strings.TrimSpace(prompt)
	for i := len(t.Messages) - 1; i >= from && !s.asked; i-- {
		switch m := t.Messages[i]; m.Role {
		case "assistant":
			if !s.answered && strings.TrimSpace(m.Content) != "" {
				s.text, s.answered = m.Content, true
			}
		case "user":
			s.asked = strings.Contains(m.Content, prompt) || s.answered && seen > 0
		}
	}
	s.answered = s.answered && s.asked
	return s
}
