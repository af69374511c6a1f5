package ralph

import (
	"fmt"
	"os"

	"github.com/ralph-loop/ralph/internal/file"
)

// OpenFile opens a file for reading where an agent or a stranger could have put
// something else: a prompt, a log, a configuration. It must be a regular file, which
// may be reached through links. OpenFile never blocks, as opening a named pipe would.
// The error says what is there instead, and what to do. The caller bounds how much it
// reads, and closes the file.
func OpenFile(path string) (*os.File, error) {
	f, err := file.Open("", path)
	if err != nil {
		return nil, fmt.Errorf("ralph: %w", err)
	}
	return f, nil
}

// ReadFile returns the content of a file, which it opens as [OpenFile] does. A file of
// more than most bytes is an error, and nothing of it is returned: whoever can write the
// file must not be able to fill the memory.
func ReadFile(path string, most int) ([]byte, error) {
	text, err := file.Read("", path, most)
	if err != nil {
		return nil, fmt.Errorf("ralph: %w", err)
	}
	return text, nil
}
