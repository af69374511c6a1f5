package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"
)

// maxPrompt is more than any agent takes.
const maxPrompt = 8 << 20

// readPrompt reads a prompt file, which must be text.
func readPrompt(file string) (string, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fail(exitConfig, "prompt file %s does not exist", file)
	case err != nil:
		return "", fail(exitConfig, "prompt file: %w", err)
	case info.IsDir():
		return "", fail(exitConfig, "prompt file %s is a folder", file)
	case info.Size() > maxPrompt:
		return "", fail(exitConfig, "prompt file %s has %d bytes; agents take at most %d", file, info.Size(), maxPrompt)
	}
	data, err := os.ReadFile(file)
	switch {
	case err != nil:
		return "", fail(exitConfig, "prompt file: %w", err)
	case len(bytes.TrimSpace(data)) == 0:
		return "", fail(exitConfig, "prompt file %s is empty", file)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", fail(exitConfig, "prompt file %s is not text (it is not UTF-8, or holds a NUL byte)", file)
	}
	return strings.TrimPrefix(string(data), "\uFEFF"), nil
}
