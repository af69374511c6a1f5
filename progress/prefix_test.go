package progress_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph/progress"
)

// TestPrefix: each line has its name before it, whoever writes in between.
func TestPrefix(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var lock sync.Mutex
	a := &progress.Prefix{W: &out, Text: "a | ", Lock: &lock}
	b := &progress.Prefix{W: &out, Text: "b | ", Lock: &lock}
	fmt.Fprint(a, "one\ntw")
	if !a.Open() || b.Open() {
		t.Errorf("open: a %v, b %v; want true, false", a.Open(), b.Open())
	}
	fmt.Fprint(b, "\n  \nother\n")
	fmt.Fprint(a, "o\n")
	if got, want := out.String(), "a | one\nb | other\na | two\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	fmt.Fprint(a, strings.Repeat("x", 65<<10)) // not kept for ever
	if out.Len() < 65<<10 || a.Open() {
		t.Errorf("%d bytes were written, open: %v", out.Len(), a.Open())
	}
}

// TestPrefixConcurrent: lines of several stay whole.
func TestPrefixConcurrent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var lock sync.Mutex
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		all.Go(func() {
			p := &progress.Prefix{W: &out, Text: name + " | ", Lock: &lock}
			for range 100 {
				fmt.Fprint(p, name)
				fmt.Fprint(p, name+"\n")
			}
		})
	}
	all.Wait()
	n := 0
	for line := range strings.Lines(out.String()) {
		if n++; line[:1]+" | "+line[:1]+line[:1]+"\n" != line {
			t.Errorf("got %q", line)
		}
	}
	if n != 300 {
		t.Errorf("got %d lines, want 300", n)
	}
}
