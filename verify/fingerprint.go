package verify

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// fingerprint is the SHA-256 of a file; where but names the beginnings of lines
// that do not count, of its other lines, without blank ones. A file in which
// nothing counts is as good as none: "absent". Tools make such files when they
// are merely run, and nothing is decided by that. What is no file, or may not
// be read, is "unreadable" and no error: it is compared like any other value,
// so it is noticed if the file becomes readable, and a home folder with an odd
// file in it does not keep a loop from starting.
func fingerprint(path string, but []string) string {
	f, err := file.Open("", path)
	if errors.Is(err, fs.ErrNotExist) {
		return absent
	}
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	h := sha256.New()
	var n int64
	// A file that counts as a whole may be a program and have no lines, so it
	// is not read by lines.
	if len(but) == 0 {
		n, err = io.Copy(h, f)
	} else {
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := strings.TrimSpace(lines.Text())
			if line != "" && !slices.ContainsFunc(but, func(start string) bool { return strings.HasPrefix(line, start) }) {
				fmt.Fprintln(h, line)
				n++
			}
		}
		err = lines.Err()
	}
	switch {
	case err != nil:
		return "unreadable"
	case n == 0:
		return absent
	}
	return hex.EncodeToString(h.Sum(nil))
}

// readGuarded reads a file of the workspace, which must be a regular one and
// not larger than most bytes. The agent can put anything in its place: a link
// that leads out is refused by the root.
func readGuarded(root, name string, most int) ([]byte, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := file.OpenIn("", r, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return file.Rest("", f, most)
}
