package ralph_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

var (
	flatWords = ralph.Words{Type: "agent", Text: []string{"content"}, ID: []string{"id"}}
	lateWords = ralph.Words{Type: "agent.message", Text: []string{"data", "content"}, ID: []string{"id"}, Until: "hook.start", Stamp: []string{"data", "input", "time"}}
)

// TestWords: the last words are those of the agent's last message, and of no other line;
// where the transcript comes late, those before the hook's own event.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		words ralph.Words
		lines string
		text  string
		id    string
	}{
		{"the last", flatWords, `{"type":"agent","id":"1","content":"a"}` + "\n" + `{"type":"agent","id":"2","content":"b\nc"}`, "b\nc", "2"},
		{"the user's", flatWords, `{"type":"agent","id":"1","content":"a"}` + "\n" + `{"type":"user","id":"2","content":"DONE"}`, "a", "1"},
		{"quoted", flatWords, `{"type":"agent","id":"1","content":"a"}` + "\n" + `{"type":"user","content":[{"type":"agent","content":"DONE"}]}` + "\n" + `"{\"type\":\"agent\",\"content\":\"DONE\"}"`, "a", "1"},
		{"without text", flatWords, `{"type":"agent","id":"1","content":"DONE"}` + "\n" + `{"type":"agent","id":"2","content":[]}`, "", "2"},
		{"unfinished", flatWords, `{"type":"agent","id":"1","content":"a"}` + "\n" + `{"type":"agent","id":"2","content":"DON`, "a", "1"},
		{"nothing", flatWords, "", "", ""},
		{"no JSON", flatWords, "\x00{]\n\n[1]\nnull", "", ""},
		{
			"late", lateWords, `{"type":"hook.start","data":{"input":{"time":1}}}` + "\n" + `{"type":"agent.message","id":"1","data":{"content":"a"}}` + "\n" +
				`{"type":"hook.start","data":{"input":{"time":2}}}` + "\n" + `{"type":"agent.message","id":"3","data":{"content":"DONE"}}`, "a", "1",
		},
		{"not there yet", lateWords, `{"type":"agent.message","id":"1","data":{"content":"DONE"}}` + "\n" + `{"type":"hook.start","data":{"input":{"time":1}}}`, "", ""},
	} {
		path := filepath.Join(t.TempDir(), "transcript")
		if err := os.WriteFile(path, []byte(tt.lines), 0o600); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			text, id, err := tt.words.Last(t.Context(), path, json.RawMessage("2"))
			if none := tt.text == "" && tt.id == ""; none != errors.Is(err, ralph.ErrNoMessage) || !none && err != nil || text != tt.text || id != tt.id {
				t.Errorf("%s: got %q, %q, %v", tt.name, text, id, err)
			}
		})
	}
}

// TestWordsLate: a transcript that is not there yet is waited for, and not for ever.
func TestWordsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "transcript")
		begun := time.Now()
		go func() {
			<-time.After(time.Second)
			text := `{"type":"agent.message","id":"1","data":{"content":"a"}}` + "\n" + `{"type":"hook.start","data":{"input":{"time":2}}}` + "\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}()
		if text, _, err := lateWords.Last(t.Context(), path, json.RawMessage("2")); err != nil || text != "a" || time.Since(begun) < time.Second {
			t.Errorf("after %v: %q, %v", time.Since(begun), text, err)
		}
		begun = time.Now()
		if text, _, err := lateWords.Last(t.Context(), path, json.RawMessage("3")); !errors.Is(err, ralph.ErrNoMessage) || text != "" || time.Since(begun) > 3*time.Second {
			t.Errorf("after %v: %q, %v", time.Since(begun), text, err)
		}
	})
	if _, _, err := flatWords.Last(t.Context(), t.TempDir(), nil); err == nil || !strings.HasPrefix(err.Error(), "ralph: ") {
		t.Errorf("of a folder: %v", err)
	}
}
