package main

import (
	"bufio"
	"context"
	"io"
	"iter"
	"strings"
)

// lines yields what is typed, until the input ends or ctx is done. A cancel is not kept
// waiting for what was typed before it.
func lines(ctx context.Context, stdin io.Reader, cancel func()) iter.Seq[string] {
	typed := make(chan string, 100)
	go func() {
		defer close(typed)
		in := bufio.NewScanner(stdin)
		in.Buffer(nil, 1<<20) // a longer line ends the input
		for in.Scan() {
			if line := strings.TrimSpace(in.Text()); line != "/cancel" {
				typed <- line
			} else {
				cancel()
			}
		}
	}()
	return func(yield func(string) bool) {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case line, more := <-typed:
				if !more || !yield(line) {
					return
				}
			}
		}
	}
}
