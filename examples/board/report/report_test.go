package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/examples/board/report"
)

var update = flag.Bool("update", false, "write the golden files")

// page is what a report writes.
func page(t *testing.T, rep report.Report) string {
	t.Helper()
	var b strings.Builder
	if err := rep.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGolden: the page of a small pipeline, without its style and script.
func TestGolden(t *testing.T) {
	t.Parallel()
	got := page(t, shopReport(t))
	wellFormed(t, "shop", got)
	for _, name := range []string{"style.css", "script.js"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got, ">"+string(source)+"<") {
			t.Errorf("%s is not in the page as it is", name)
		}
		got = strings.Replace(got, string(source), name, 1)
		sum := sha256.Sum256(source)
		got = strings.Replace(got, strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;"), "the digest of "+name, 1)
	}
	const path = "testdata/shop.html.golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
