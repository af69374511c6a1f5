package english

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write model.txt")

// TestModel: model.txt is what english.txt makes.
func TestModel(t *testing.T) {
	text, err := os.ReadFile("english.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Train(string(text))
	if err != nil {
		t.Fatal("english.txt: ", err)
	}
	if *update {
		if err := os.WriteFile("model.txt", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile("model.txt"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("model.txt is not what english.txt makes (%v): run go generate ./internal/english", err)
	}
}
