package ralph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Words says where the agent's words stand in a client's transcript, a file with one
// JSON object on each line: for clients whose hooks get the path of the transcript in
// place of the text. A path is the names of members, from the outside in: ["message",
// "id"]. A zero Words finds nothing. It is a plain value and may be used concurrently.
type Words struct {
	Type     string   // of the lines that are messages of the agent, in their member "type"
	Text, ID []string // a message's text, and what tells it from others
	// Until is for clients that write their transcript late: the type of the line that
	// records the hook's own event, and Stamp is the path of the time in it, which the
	// hook is given too. Once that line is there, all before it is complete. "" = the
	// transcript is complete when the hook runs.
	Until string
	Stamp []string
}

// wordsWait is how long a late line is waited for, wordsLook how often is looked:
// clients write it within milliseconds, if at all.
const (
	wordsWait = 2 * time.Second
	wordsLook = 20 * time.Millisecond
)

// Last returns the text of the agent's last message, and its ID. The text is "" if that
// says nothing. The error is [ErrNoMessage] if there is none, or if a transcript that
// is late has not come within two seconds. The argument stamp is the time that the hook
// was given, as JSON. It blocks for these two seconds at most, or until ctx is done:
// the error is then the cause of that.
//
// Of a long transcript only the last 16 MiB are read. A transcript can be written by
// the agent: what it tells is a claim.
func (w Words) Last(ctx context.Context, transcript string, stamp json.RawMessage) (text, id string, err error) {
	for end := time.Now().Add(wordsWait); ; {
		lines, err := transcriptEnd(transcript)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", "", fmt.Errorf("ralph: the transcript: %w", err)
		}
		if text, id, whole := w.last(lines, stamp); whole && (text != "" || id != "") {
			return text, id, nil
		} else if whole || !time.Now().Before(end) || !pause(ctx, wordsLook) {
			return "", "", cmp.Or(context.Cause(ctx), ErrNoMessage)
		}
	}
}

// last reads the lines; whole = they tell of the event itself. Lines that are no JSON
// are passed over, for the last one may be half written.
func (w Words) last(lines []byte, stamp json.RawMessage) (text, id string, whole bool) {
	for line := range bytes.Lines(lines) {
		switch kind := member(line, "type"); {
		case string(kind) == `"`+w.Type+`"`:
			text, id = "", ""
			_ = json.Unmarshal(member(line, w.Text...), &text) // else it has no text
			_ = json.Unmarshal(member(line, w.ID...), &id)
		case w.Until != "" && string(kind) == `"`+w.Until+`"` && bytes.Equal(member(line, w.Stamp...), stamp):
			return text, id, true
		}
	}
	return text, id, w.Until == ""
}

// member is what stands at a path in a text of JSON; nil = nothing.
func member(text json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		var in map[string]json.RawMessage
		if json.Unmarshal(text, &in) != nil {
			return nil
		}
		text = in[name]
	}
	return text
}
