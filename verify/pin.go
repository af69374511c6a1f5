package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/redact"
)

// A tool that can be told which file to read is told to read what the file said
// when the loop started. Then it does not matter that it has changed, and an
// agent that was asked to set up a registry is not turned away. In Task.Guarded
// the key is "//pin/" and the file, and the value is what the file said.
//
// The task is written to logs and states, so what looks like a secret is not
// kept, nor what is longer than maxPin bytes: such a file must stay as it is.
const (
	pinKey = "//pin/"
	maxPin = 4 << 10
)

// pin returns what is kept of a file: the lines that count. A file that is not
// there says nothing, and that is kept too; for go, whose env file seldom
// exists, it is the usual case. Text that is not UTF-8 is not kept, since JSON
// would change it.
func (s *surroundings) pin(name string) (text string, ok bool) {
	counted, _, err := configLines(s.path(name), s.files[name].but)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	text = strings.Join(counted, "\n")
	ok = err == nil && len(text) <= maxPin && utf8.ValidString(text) && redact.New(nil).Text(text) == text
	return text, ok
}

// configLines are the lines of a file that count, and the others, without blank
// ones. The others begin as but says and are those that tools write by themselves,
// such as a login: they are taken as they are now, because a token of yesterday may
// have expired.
func configLines(path string, but []string) (counted, others []string, err error) {
	text, err := file.Read("", path, 16<<20)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case slices.ContainsFunc(but, func(start string) bool { return strings.HasPrefix(line, start) }):
			others = append(others, line)
		default:
			counted = append(counted, line)
		}
	}
	return counted, others, err
}

// pinned reports whether a tool can be told what a file said.
func (s *surroundings) pinned(t ralph.Task, name string) bool {
	_, ok := t.Guarded[pinKey+name]
	return ok && s.files[name].pin != ""
}

// withPins has the command read what files said when the loop started, with
// those lines of now that do not count, and asks. The files are written to a
// folder for this call and named by the tool's own variable. The user's file is
// not touched: the check must not undo what a person may have meant. The agent
// is told of it if the check fails, for that may be why.
func (e External) withPins(s *surroundings, t ralph.Task, files, texts []string, verify func(External) (ralph.Verdict, error)) (ralph.Verdict, error) {
	if len(files) == 0 {
		return verify(e)
	}
	folder, err := process.NewTempDir("")
	if err != nil {
		return ralph.Verdict{}, fmt.Errorf("verify: External: %w", err)
	}
	defer folder.Remove()
	e.Env = slices.Clone(e.Env)
	for i, name := range files {
		_, others, _ := configLines(s.path(name), s.files[name].but)
		text := strings.Join(append([]string{t.Guarded[pinKey+name]}, others...), "\n") + "\n"
		path := filepath.Join(folder.Path, fmt.Sprintf("%d-%s", i, filepath.Base(name)))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return ralph.Verdict{}, fmt.Errorf("verify: External: %w", err)
		}
		e.Env = append(e.Env, s.files[name].pin+"="+path)
	}
	v, err := verify(e)
	if err != nil {
		return v, err
	}
	note := "the check read what it said when the loop started: " + strings.Join(texts, "; ") + "; " + acceptHint
	v.Checks = few(append(slices.Clone(v.Checks), ralph.Check{Name: "configuration", Status: ralph.CheckWarning, Detail: oneLine(note, 700, 150)}))
	if !v.Passed {
		v.Feedback += "\n" + note
	}
	return v, nil
}
