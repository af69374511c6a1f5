//go:build unix

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeCommands follows the README's commands, but for the installation, in a
// repository with a test that fails and with a client that claims too early.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	line := 1
	for i, part := range strings.Split(string(text), "```") {
		if script, ok := strings.CutPrefix(part, "sh\n"); ok && i%2 == 1 {
			script = installs.ReplaceAllString(script, "")
			blocks = append(blocks, block{info: "sh", line: line, text: script})
		}
		line += strings.Count(part, "\n")
	}
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	want := "…\n…iteration 1/20: claims to be done, rejected…\n…\nverified by go test ./...…\n2 iterations in …\n…\n"
	blocks[1].want = &want
	newReader(t, "README.md").follow(t, blocks)
}

var installs = regexp.MustCompile(`(?m)^go install .*$`)
