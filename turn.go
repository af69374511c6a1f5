package ralph

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	// ID is the host's own name for this event, "" = it has none. An ID that comes
	// twice in a row, perhaps from two processes, is one event. Without an ID, Messages
	// and Transcript show whether an answer was judged already; Text does not, so a
	// text that comes again after it was judged is a new answer.
	ID string
	// Text is the newest text of the agent since the last prompt, for a host that is told
	// just that.
	Text string
	// Messages is the conversation, oldest first. It may be only the end of the
	// conversation, or one that was compacted; then a message must hold the last prompt
	// as it was injected.
	Messages []Message
	// Transcript is the path of a file with the conversation: a JSON array of messages,
	// or one on each line. A message is an object with role and content, which is a
	// string or a list of parts with a type and a text; these may stand in an object
	// message or payload of it. An unfinished last line is not read, and what a
	// sub-agent has said (isSidechain, parent_tool_use_id) is nobody's message. Of more
	// than 16 MiB of lines the end is read; such an array is an error. A file that does
	// not exist has no messages yet.
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

// maxTranscript is how much of a transcript is read, from its end. A session that goes
// on for weeks has transcripts of gigabytes, and only the newest answer counts.
const maxTranscript = 16 << 20

// read reads the transcript. It always returns a list that is not nil: an empty
// conversation is an answer, while nil says that nobody was asked.
func (t Turn) read() ([]Message, error) {
	text, err := transcriptEnd(t.Transcript)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it has not been written yet
		return nil, fmt.Errorf("ralph: the transcript of session %q: %w", t.Session, err)
	}
	return append([]Message{}, transcript(text)...), nil
}

// transcriptEnd reads the end of a transcript, or all of it. An array cannot be read
// from its middle, where lines can.
func transcriptEnd(path string) ([]byte, error) {
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
	if begin := make([]byte, 64); from > 0 {
		n, err := f.ReadAt(begin, 0)
		if err != nil {
			return nil, err
		}
		if isArray(begin[:n]) {
			return nil, fmt.Errorf("an array of more than %d MiB; give it as lines", maxTranscript>>20)
		}
	}
	return io.ReadAll(io.NewSectionReader(f, from, maxTranscript))
}

// A transcriptLine is a message as transcripts have it, at the top or in a wrapper.
// Clients wrap their messages in different ways; this one type reads those that are
// known, so a client with the usual names needs no code.
type transcriptLine struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`

	Message   *transcriptLine `json:"message"`
	Payload   *transcriptLine `json:"payload"`
	Sidechain bool            `json:"isSidechain"`
	Parent    *string         `json:"parent_tool_use_id"`
}

func isArray(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) }

// transcript returns the messages of a transcript. What is none is left out.
func transcript(text []byte) (messages []Message) {
	var lines []json.RawMessage
	if !isArray(text) || json.Unmarshal(text, &lines) != nil {
		lines = nil // an array that is not whole has given some
		for line := range bytes.Lines(text) {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		var l transcriptLine
		if json.Unmarshal(line, &l) == nil { // the first may be cut, and the last unfinished
			messages = l.append(messages)
		}
	}
	return messages
}

func (l transcriptLine) append(to []Message) []Message {
	if l.Sidechain || l.Parent != nil && *l.Parent != "" {
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
// What an agent thinks or a tool prints may quote the promise, and claims nothing.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var texts []string
	for _, part := range parts {
		var p struct{ Type, Text string }
		if json.Unmarshal(part, &p) == nil && (p.Type == "text" || p.Type == "output_text" || p.Type == "input_text") {
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
	told     bool   // by messages
}

// said looks for the newest text of the agent since a prompt was injected, when the
// state was x. Where the messages go on from those that were seen then, a prompt that its
// host has changed is taken to be the newest message of a user that came since. Where
// they do not, they were cut or compacted, and hold the prompt or are no answer to it; so
// is it with the first prompt, which nobody here has injected.
func (t Turn) said(prompt string, x HookState) said {
	if t.Text != "" || t.Messages == nil {
		return said{text: t.Text, answered: strings.TrimSpace(t.Text) != ""}
	}
	s := said{told: true}
	from, goesOn := x.since(t.Messages)
	prompt = fold(prompt) // hosts store line ends and blanks in their own ways
	for i := len(t.Messages) - 1; i >= from && !s.asked; i-- {
		switch m := t.Messages[i]; m.Role {
		case "assistant":
			if !s.answered && strings.TrimSpace(m.Content) != "" {
				s.text, s.answered = m.Content, true
			}
		case "user":
			s.asked = strings.Contains(fold(m.Content), prompt) || s.answered && goesOn && !x.State.first()
		}
	}
	s.answered = s.answered && s.asked
	return s
}

// over reports whether the turn has an answer, be it that it says nothing.
func (t Turn) over(s said) bool { return s.answered || t.Final && (!s.told || s.asked) }

// since is where the messages begin that were not seen before; goesOn = those that were
// are there. Else all may be new.
func (x HookState) since(messages []Message) (from int, goesOn bool) {
	if x.Seen < 0 || x.Seen > len(messages) {
		return 0, false
	}
	if _, sum := seen(messages[:x.Seen]); sum != x.SeenSum {
		return 0, false
	}
	return x.Seen, true
}

// seen says how many messages there are, and which is the last. The last message alone
// is hashed: a conversation only grows, and to hash all of it at each event would take
// longer each time.
func seen(messages []Message) (int, string) {
	var last Message
	if n := len(messages); n > 0 {
		last = messages[n-1]
	}
	sum := sha256.Sum256([]byte(last.Role + "\n" + last.Content))
	return len(messages), hex.EncodeToString(sum[:8])
}
