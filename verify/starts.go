package verify

import (
	"strings"

	"github.com/ralph-loop/ralph"
)

// Starts returns the command that Verify runs, as one line for people, so that
// a program can show what somebody else's task file would start before it does
// so. Verifiers that start something have this method, and those that wrap
// others hand it on. It runs nothing and can be called before Validate. The
// line may hold secrets of Env: it is what will be run, and is not redacted.
func (e External) Starts(ralph.Task) []string {
	var words []string
	for _, entry := range e.Env {
		name, value, _ := strings.Cut(entry, "=")
		words = append(words, name+"="+shellWord(value))
	}
	for _, arg := range e.Args {
		words = append(words, shellWord(arg))
	}
	if e.Shell != "" {
		words = append(words, e.Shell)
	}
	line := strings.Join(words, " ")
	if e.Dir != "" {
		line = "cd " + shellWord(e.Dir) + " && " + line
	}
	return []string{line}
}

// shellWord is a word as a shell would read it. The line can be pasted into
// one, and a word that holds a command is seen to be only a word.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || strings.ContainsRune("-_./:=@%+,", r) || r >= 0x80
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Starts returns the command that the template stands for, nil if there is no
// such template or it starts nothing; see [External.Starts].
func (t Template) Starts(task ralph.Task) []string {
	v, err := t.verifier()
	if err != nil {
		return nil
	}
	return starts(v, task)
}

// Starts returns the judge's command, if the judge is a client that can tell it
// ([ralph.Command] can), and what Fallback starts; see [External.Starts]. A
// judge that the program itself has implemented is not listed.
func (s Semantic) Starts(t ralph.Task) []string {
	var all []string
	if judge, ok := s.Judge.(interface{ CommandLine() ([]string, error) }); ok {
		if args, err := judge.CommandLine(); err == nil {
			all = External{Args: args}.Starts(t)
		}
	}
	return append(all, starts(s.Fallback, t)...)
}

// Starts returns what the stages start, see [External.Starts].
func (m MultiStage) Starts(t ralph.Task) (all []string) {
	for _, s := range m.Stages {
		all = append(all, starts(s.Verifier, t)...)
	}
	return all
}

// Starts returns what the guarded verifier starts, see [External.Starts].
func (g Guard) Starts(t ralph.Task) []string { return starts(g.Verifier, t) }

// Starts returns what Verifier starts in the copy, see [External.Starts].
func (h HeldOut) Starts(t ralph.Task) []string { return starts(h.Verifier, t) }

// Starts implements the method that [External.Starts] describes.
func (k *cache) Starts(t ralph.Task) []string { return starts(k.verifier, t) }

// starts is what a verifier starts, as far as it says; nil = nothing, or it
// does not say.
func starts(v ralph.Verifier, t ralph.Task) []string {
	if s, ok := v.(interface{ Starts(ralph.Task) []string }); ok {
		return s.Starts(t)
	}
	return nil
}
