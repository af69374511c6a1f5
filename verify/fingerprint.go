package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
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
	sum, size, err := "", int64(0), error(nil)
	// A file that counts as a whole may be a program and have no lines, so it
	// is not read by lines.
	if len(but) == 0 {
		sum, size, err = hashOf(file.Open("", path))
	} else {
		var counted []string
		counted, _, err = configLines(path, but)
		sum, size = hashed(strings.Join(append(counted, ""), "\n")), int64(len(counted))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && size == 0:
		return absent
	case err != nil:
		return "unreadable"
	}
	return sum
}

// hashOf returns the SHA-256 of a file that was opened, or could not be, in
// hexadecimal, and its size, and closes it.
func hashOf(f *os.File, err error) (sum string, size int64, _ error) {
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// hashed is the SHA-256 of a text. States and logs hold it in place of the
// text, which may be long, or hold secrets.
func hashed[T string | []byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
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
