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

const nonBlock = file.NonBlock

// fingerprint is the SHA-256 of a file, without the lines that begin with one of
// but. A file that has no other lines is as good as none: "absent". What is no file,
// or may not be read, is "unreadable", and stays what it is.
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

// readGuarded reads a file of the workspace, which must be a regular one and not
// larger than most.
func readGuarded(root, name string, most int64) ([]byte, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := r.OpenFile(name, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", name, most)
	}
	return io.ReadAll(io.LimitReader(f, most))
}
