package stream

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestCorpus decodes the promise corpus's streams. Whether the promise is found
// is for others to test; here it is enough that the answer's last line is the
// tag exactly where it should be.
func TestCorpus(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/promise.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		var row struct {
			ID, Format, Text, Promise, Why string
			Expect                         bool
			Strict                         *bool
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		n++
		want := row.Expect
		if row.Strict != nil {
			want = *row.Strict
		}
		format, _, _ := strings.Cut(row.Format, "-")
		for _, size := range []int{0, 1, 13} {
			got := decode(t, format, []byte(row.Text), size, Options{})
			if lastLine(got.Text) == "<promise>"+row.Promise+"</promise>" != want {
				t.Errorf("%s, in pieces of %d: want a promise %v: %s\ntext %q", row.ID, size, want, row.Why, got.Text)
			}
		}
	}
	if n != 54 {
		t.Errorf("%d rows", n)
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
