package verify

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/environ"
	"github.com/ralph-loop/ralph/internal/file"
)

// environ returns the command's environment, and the names of what it does not
// get. Env comes last, and the last entry of a name counts: what a user sets
// for one check wins over what is there anyway.
func (e External) environ(dir string, more ...string) (env, dropped []string) {
	names := e.InheritEnv
	if names == nil {
		names = append(environ.Checks(), npmQuotes(dir)...)
	}
	env, dropped = environ.Keep(ralph.Environ(), names)
	return slices.Concat(env, more, e.Env), dropped
}

// DefaultInheritEnv returns what a nil [External.InheritEnv] stands for, except
// the variables that .npmrc files quote: to add names of one's own to it. The
// slice is the caller's. An entry that ends in * stands for all names that
// begin so.
func DefaultInheritEnv() []string { return environ.Checks() }

// npmQuotes returns the variables that .npmrc files quote, as ${NAME}: tokens
// of registries, mostly. Without them npm fails on its own configuration before
// it has run a test, and all of the environment is too much to let through for
// that. A quoted name may end in ?, which makes it optional.
func npmQuotes(dir string) (names []string) {
	home, _ := os.UserHomeDir()
	for _, folder := range []string{dir, cmp.Or(home, dir)} {
		text, err := file.Read(".npmrc", filepath.Join(folder, ".npmrc"), 1<<20)
		if err != nil {
			continue // npm says so, if it is run
		}
		for part := range strings.SplitSeq(string(text), "${") {
			if name, _, ok := strings.Cut(part, "}"); ok {
				names = append(names, strings.TrimSuffix(name, "?"))
			}
		}
	}
	return names
}

// limit is the time the command may take; 0 or less = any. A default stands
// here and not in the caller, so that a field that was forgotten does not make
// a check that hangs for ever.
func (e External) limit() time.Duration { return cmp.Or(e.Timeout, 5*time.Minute) }

// args returns the program to run and its arguments, or what is wrong with e.
// It is called by Validate as well, so whatever can be known about the fields
// alone is found out here, before an agent is paid.
func (e External) args() ([]string, error) {
	if err := notBlank("External", e.Contains, e.Excludes); err != nil {
		return nil, err
	}
	for _, entry := range e.Env {
		// Only the name is told. What stands behind it may be a secret, and so
		// may a long name, if the sign was forgotten.
		if name, _, ok := strings.Cut(entry, "="); !ok || name == "" || strings.Contains(entry, "\x00") {
			return nil, fmt.Errorf("verify: External: the entry %q of Env is not NAME=value", ends(name, 40, 10))
		}
	}
	args := e.Args
	switch {
	case len(e.Args) > 0 && e.Shell != "":
		return nil, errors.New("verify: External: both Args and Shell are set; one is the command")
	// By its full path: a program called sh that stands first in PATH must not
	// run the check.
	case strings.TrimSpace(e.Shell) != "":
		args = []string{"/bin/sh", "-c", e.Shell}
	case len(e.Args) == 0 || e.Args[0] == "":
		return nil, errors.New("verify: External: there is no command; set Args or Shell")
	}
	for _, arg := range args {
		if strings.Contains(arg, "\x00") {
			return nil, errors.New("verify: External: a NUL byte is in the command; none can be passed to a program")
		}
	}
	return args, nil
}

// name is the command as a person would write it, on one line and without
// secrets. It names the check, and the file of evidence, so it must not change
// from run to run.
func (e External) name() string {
	line := cmp.Or(e.title, e.Shell)
	if line == "" {
		words := make([]string, len(e.Args))
		for i, arg := range e.Args {
			words[i] = word(arg)
		}
		line = strings.Join(words, " ")
	}
	return oneLine(hider(e.Redact).text(line), 150, 50)
}

// inside returns the folder dir of the workspace as an absolute path without
// symbolic links. The agent can write into the workspace and so can replace a
// folder by a link that leads out of it, between two claims as well: the path
// is resolved each time, and compared after that. It is compared before that
// too, so that a path which is wrong as it is written is an error even where
// nothing is there.
func inside(workspace, dir string) (string, error) {
	root, err := realPath(workspace)
	if err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	if dir == "" {
		return root, nil
	}
	target := dir
	if !filepath.IsAbs(target) {
		target = filepath.Join(root, dir)
	}
	outside := fmt.Errorf("the folder %q is outside the workspace %s", dir, root)
	if abs, _ := filepath.Abs(workspace); !file.Within(root, target) && !file.Within(abs, target) {
		return "", outside
	}
	real, err := filepath.EvalSymlinks(target)
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	if !file.Within(root, real) {
		return "", outside
	}
	return real, nil
}
