package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEvidenceCannotBeWritten: the disk is full in the middle of an output. All
// but the file goes on.
func TestEvidenceCannotBeWritten(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := newOutput([]string{"passed"}, nil, nil)
	whole := newOutput(nil, nil, nil)
	o.folder, o.name = t.TempDir(), "x"
	var err error
	if o.file, err = os.Open(name); err != nil { // it can be read only
		t.Fatal(err)
	}
	for _, s := range []string{"1 pas", "sed\n"} {
		if n, err := o.stream().Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		whole.stream().Write([]byte(s))
	}
	if got := o.end(); !strings.HasPrefix(got, "the full output could not be kept: ") {
		t.Errorf("%q", got)
	}
	if o.digest() != whole.digest() || o.excerpt() != "1 passed\n" {
		t.Errorf("%s, %q", o.digest(), o.excerpt())
	}
}
