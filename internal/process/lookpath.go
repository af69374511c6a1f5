package process

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
)

// LookPath finds a program as a shell in dir would, but never by a PATH entry
// that is not absolute. It is how [Run] finds the command's.
func LookPath(name, dir string, env []string) (string, error) {
	if filepath.Base(name) != name {
		program := name
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, name)
		}
		program, err := filepath.Abs(program)
		if err != nil {
			return "", err
		}
		if _, err := exec.LookPath(program); err != nil {
			return "", unwrapExec(err)
		}
		return program, nil
	}
	path := ""
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	denied := false
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		program, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil {
			return program, nil
		}
		denied = denied || errors.Is(err, fs.ErrPermission)
	}
	if denied {
		return "", fs.ErrPermission
	}
	return "", exec.ErrNotFound
}

func unwrapExec(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	return err
}
