package verify

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/term"
)

// Exhibits are what a judge is shown. They are kept apart to the end because
// they are fenced apart: the task is an order, though not to the judge; what
// the agent says is a claim; only the facts were found without it.
type exhibits struct {
	task  string // what the agent was asked for
	said  string // the agent's words, and what it says it changed
	facts string
	note  string // ours: what there is not
}

// maxShown is the default of Semantic.MaxBytes: what models of the usual size
// take with room for their answer.
const maxShown = 256 << 10

// shown gathers the exhibits. unable says why they cannot be shown as a whole.
// They are never cut: an agent that knows where the cut falls puts what should
// not be seen there, and a judge cannot know what it was not shown.
func (s Semantic) shown(ctx context.Context, c ralph.Claim) (e exhibits, unable string, err error) {
	if c.Omitted > 0 {
		return e, fmt.Sprintf("%d bytes of the answer were left out, and a part of it is not judged for the whole; a shorter one is", c.Omitted), nil
	}
	e.task = strings.TrimSpace(term.Clean(c.Task.Title + "\n\n" + c.Task.Prompt))
	e.said = strings.TrimSpace(term.Clean(c.Output))
	// Some of these names come from the agent's own stream, so they stand with
	// its words and not with the facts.
	if len(c.Files) > 0 {
		e.said += "\n\nFiles that changed, as far as it tells: " + quotedAll(hider(s.Redact).texts(c.Files))
	}
	b := builder{most: s.MaxBytes}
	if b.most == 0 {
		b.most = maxShown
	} else if b.most < 0 {
		b.most = math.MaxInt
	}
	// The task and the answer take their share of the bound first: what is left
	// is for the facts.
	b.size = len(e.task) + len(e.said)
	b.earlier(c.Checks)
	// The judge is told that there is no diff. Otherwise it may take silence
	// for "nothing was changed", or ask for one instead of judging.
	if c.Base == "" {
		e.note = "There is no diff: the work is in no git work tree, or it is not known at which commit it began."
	} else if err := b.changes(ctx, c); err != nil {
		if ctx.Err() != nil {
			return e, "", context.Cause(ctx)
		}
		return e, oneLine(fmt.Sprintf("what changed since the commit %.12s cannot be found out: %v", c.Base, err), 600, 200), nil
	}
	if s.Evidence != nil {
		var text string
		err := plugin.Call("the function", func() (err error) {
			text, err = s.Evidence(ctx, c)
			return err
		})
		if ctx.Err() != nil {
			return e, "", context.Cause(ctx)
		}
		if err != nil {
			return e, "", fmt.Errorf("verify: Semantic: evidence: %w", err)
		}
		b.add(term.Clean(strings.TrimSpace(text)) + "\n")
	}
	if b.size > b.most {
		return e, fmt.Sprintf("what is to be judged has %d bytes, and the judge is shown %d at most: a part of it is not judged for the whole. "+
			"Raise the bound (MaxBytes, max_bytes in a definition, --judge-bytes), or have the work verified in smaller steps", b.size, b.most), nil
	}
	e.facts = strings.TrimSpace(b.text.String())
	return e, "", nil
}

// A builder collects the facts as long as they fit, and goes on counting after
// that. So what does not fit takes no memory, and the error can still say how
// many bytes there are in all, from which a user can choose the bound.
type builder struct {
	text strings.Builder
	size int
	most int
}

func (b *builder) add(text string) {
	if b.size += len(text); b.size <= b.most {
		b.text.WriteString(text)
	}
}

// earlier tells what the checks before this one have found. Names and details
// are quoted, since they can hold what the agent's programs have printed: a
// line break in one would begin what looks like a line of ours.
func (b *builder) earlier(checks []ralph.Check) {
	if len(checks) == 0 {
		return
	}
	b.add("Checks that were made before:\n")
	for _, c := range checks {
		b.add(fmt.Sprintf("%s %q", c.Status, c.Name))
		if c.ExitCode != nil {
			b.add(fmt.Sprintf(", exit code %d", *c.ExitCode))
		}
		if c.Detail != "" {
			b.add(fmt.Sprintf(", which says %q", term.Line(c.Detail)))
		}
		b.add("\n")
	}
	b.add("\n")
}

// maxFile is how many bytes a file may have to be compared. A larger one is no
// text that a judge could be shown anyway.
const maxFile = 64 << 20

// changes tells what git finds. The list of all files comes before any diff: a
// judge that has read a long diff should already know what else there is. Files
// that git ignores are named, for work that is hidden in .gitignore is work
// that nobody looks at.
func (b *builder) changes(ctx context.Context, c ralph.Claim) error {
	files, added, removed := 0, 0, 0
	list, diffs := builder{most: b.most}, builder{most: b.most}
	ignored, err := git.Changes(ctx, c.Task.Dir, c.Base, maxFile, git.OwnFile, func(change git.Change) error {
		line, text, err := describe(change)
		files, added, removed = files+1, added+line.added, removed+line.removed
		list.add(line.text)
		diffs.add(text)
		return err
	})
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("Changes since the commit %.12s, at which the work began, as git finds them: %d files, %d lines added, %d removed.\n", c.Base, files, added, removed))
	b.join(&list)
	if len(ignored) > 0 {
		b.add("Ignored by git, and not looked at: " + quotedAll(ignored) + "\n")
	}
	b.add("\n")
	b.join(&diffs)
	return nil
}

// join adds what another builder holds, and counts also what that one had no
// room for.
func (b *builder) join(other *builder) {
	size := b.size + other.size
	b.add(other.text.String())
	b.size = size
}

// A summary is a changed file in one line.
type summary struct {
	text           string
	added, removed int
}

// describe returns a changed file's line, and its diff. A file whose diff is
// not shown still has its size and digest in the line: a judge that is told
// nothing about it could not know that it is there.
func describe(c git.Change) (s summary, text string, err error) {
	name := strconv.Quote(c.Path)
	what := []string{"changed"}
	switch {
	case c.Old.Mode == "":
		what = []string{"new"}
	case c.New.Mode == "":
		what = []string{"gone"}
	}
	hidden := notShown(c)
	switch {
	// A file that is too large to be compared is an error, and not one more
	// file without a diff. Otherwise padding would be a way to hide a change.
	case hidden == "" && (unread(c.Old) || unread(c.New)):
		return s, "", fmt.Errorf("%s has more than %d bytes; what is no text of the work's is for git to ignore", name, maxFile)
	case hidden == "":
		text, s.added, s.removed = unified(name, c.Old.Text, c.New.Text)
		what = append(what, fmt.Sprintf("%d lines added, %d removed", s.added, s.removed))
	}
	if c.New.Mode != "" {
		what = append(what, fmt.Sprintf("%d bytes, %s", c.New.Size, c.New.Digest))
	}
	if kind := fileKind(c.Old.Mode, c.New.Mode); kind != "" {
		what = append(what, kind)
	}
	if hidden != "" {
		what = append(what, "not shown: "+hidden)
	}
	s.text = fmt.Sprintf("%s: %s\n", name, strings.Join(what, ", "))
	return s, text, nil
}

// unread reports whether a file was too large to be read.
func unread(v git.Version) bool {
	return v.Text == nil && v.Size > maxFile
}

// fileKind says what kind of file it is, if that is worth a word.
func fileKind(before, now string) string {
	names := map[string]string{"100755": "executable", "120000": "a link", "160000": "a repository", "other": "neither a file nor a link", "100644": "a file"}
	switch {
	case now != "" && before != "" && now != before:
		return fmt.Sprintf("%s that was %s", names[now], names[before])
	case now != "" && now != "100644":
		return names[now]
	}
	return ""
}

// unified is a diff in which nothing is invisible.
func unified(name string, before, now []byte) (text string, added, removed int) {
	lines := bytes.SplitAfter(diff.Diff("", crlf(before, now), "", now), []byte("\n"))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n", name)
	for _, line := range lines[min(3, len(lines)):] { // after the names
		switch {
		case bytes.HasPrefix(line, []byte("+")):
			added++
		case bytes.HasPrefix(line, []byte("-")):
			removed++
		}
		b.WriteString(visible(line))
	}
	if added+removed == 0 {
		return "", 0, 0
	}
	return b.String(), added, removed
}

// crlf gives an old text the line ends of the new one, if those are what git
// may have made of them when it checked the file out. Otherwise every line of
// such a file would count as changed, and the real change would be lost among
// them.
func crlf(before, now []byte) []byte {
	ends := []byte("\r\n")
	if n := bytes.Count(now, ends); n > 0 && n == bytes.Count(now, ends[1:]) && !bytes.Contains(before, ends[:1]) {
		return bytes.ReplaceAll(before, ends[1:], ends)
	}
	return before
}

// visible writes out what a reader would not see: control characters, those
// that show nothing or turn the direction of text around, and bytes that are
// not UTF-8. Code that reads one way and runs another must not look harmless to
// the judge. CR before LF is left out: line ends are no change of their own.
func visible(line []byte) string {
	var b strings.Builder
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, "<%02X>", line[0])
		case r == '\r' && bytes.HasPrefix(line, []byte("\r\n")):
		case r != '\n' && r != '\t' && unicode.IsControl(r) || term.Invisible(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
		line = line[size:]
	}
	return b.String()
}

// notShown says why a file's diff is not shown; "" = it is shown. Each reason
// must hold for the file as it was before the work, or for its name. What the
// agent has just written cannot excuse itself from being looked at.
func notShown(c git.Change) string {
	switch {
	case c.Old.Mode == "160000" || c.New.Mode == "160000":
		return "a repository of its own"
	case slices.Contains(lockFiles(), path.Base(c.Path)):
		return "a lock file"
	case generated(c.Old.Text):
		return "it was generated before the work began"
	case !isText(c.New.Text) && (c.Old.Text == nil || !isText(c.Old.Text)), c.New.Mode == "" && !isText(c.Old.Text):
		return "it is no text"
	}
	return ""
}

// lockFiles are written by package managers, and long: a change of one
// dependency would fill what the judge can be shown.
func lockFiles() []string {
	return []string{
		"go.sum", "go.work.sum", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock",
		"Cargo.lock", "Gemfile.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "uv.lock", "pixi.lock", "composer.lock", "mix.lock", "pubspec.lock",
		"Podfile.lock", "Package.resolved", "Cartfile.resolved", "packages.lock.json", "paket.lock", "gradle.lockfile", "flake.lock",
		".terraform.lock.hcl", "conan.lock", "Manifest.toml", "stack.yaml.lock", "cabal.project.freeze", "MODULE.bazel.lock", "Chart.lock",
	}
}

// generated reports whether a file says of itself, in its first 2 KiB, that a
// program has written it. It is asked only about the file as it was before the
// work: in what is new, this is the agent's word.
func generated(text []byte) bool {
	head := text[:min(len(text), 2<<10)]
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		if bytes.Contains(line, []byte("@generated")) || bytes.HasPrefix(line, []byte("// Code generated ")) && bytes.HasSuffix(line, []byte(" DO NOT EDIT.")) {
			return true
		}
	}
	return false
}

// isText reports whether a person could read it: of the first 64 KiB, at most
// three in ten characters are control characters or not UTF-8. A single NUL
// makes a file binary for git; here that would be a way to hide a program.
func isText(text []byte) bool {
	odd, all := 0, 0
	for rest := text[:min(len(text), 64<<10)]; len(rest) > 0; all++ {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size <= 1 || unicode.IsControl(r) && !unicode.IsSpace(r) {
			odd++
		}
		rest = rest[size:]
	}
	return odd*10 <= all*3
}

// quotedAll lists names, as many as a person would read. They are quoted
// because an agent chooses them: one with line breaks in it could pass for a
// fact.
func quotedAll(names []string) string { return listed(names, 200, 1<<20) }
