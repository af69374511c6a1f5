package ralph

import (
	"os"

	"github.com/ralph-loop/ralph/internal/file"
)

// OpenFile opens a file for reading that an agent or a stranger could have put
// something else in the place of: a prompt, a log, a configuration. It must be a
// regular file, which may be reached through links; opening it never waits, as
// opening a named pipe does. The error says what is there instead, and what to do. How
// much is read is for the caller to bound.
func OpenFile(path string) (*os.File, error) {
	f, err := file.Open("", path)
	return f, prefixed(err)
}

// ReadFile reads all of a file that [OpenFile] opens. It is an error if that is more than
// most, in bytes.
func ReadFile(path string, most int) ([]byte, error) {
	text, err := file.Read("", path, most)
	return text, prefixed(err)
}
