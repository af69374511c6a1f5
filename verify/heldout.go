package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// HeldOut gives the work an exam that the agent has not seen: an agent that
// reads the tests can write to the tests. It makes a copy of the workspace,
// lays the files of the exam over it, and asks Verifier about the copy, whose
// folder is the claim's Task.Dir. The exam's files win over those of the same
// names.
//
// If the exam fails, Verifier is asked a second time, about another copy that
// the exam is not laid over. Where that visible check passes and the held-out
// one fails, the record says so in those words: it is the sign of work that was
// fitted to the tests it could see. The visible check decides nothing.
//
// The copy holds what git tracks and what is new and not ignored, in the whole
// work tree if the workspace is a folder in one; what [ralph.Task.Guarded]
// names; and what Include names. Where git does not know the workspace, it
// holds all but .git and .ralph. It is not a repository. Modes and times are
// kept, since build caches go by them. Pipes and devices are left out.
//
// A link that stays inside is kept. A link that leads back into the workspace by an
// absolute path leads to the same place in the copy. A link that leads out of the
// workspace is kept, unless it leads to nothing, or to a folder that holds the
// workspace. At most 200,000 files and 4 GiB are copied. Nothing in the copy is
// linked to the workspace, so nothing that is written there reaches the workspace;
// file systems that can do so share the blocks of equal files. The copy lies in the
// folder for temporary files, open to this user only, and is removed whatever
// happens, unless this process is killed.
//
// What this cannot see: the check runs the agent's code beside the exam, and
// such code can end the check with success, or read the exam and keep it. An
// exam that prints a text which only it knows, for [External.Contains] to ask
// for, is harder to fool. A check that finds the workspace by its absolute path
// (a package that was installed in editable mode, say) looks there, and not at
// the copy.
//
// What cannot be copied or laid over makes the check unable, and so does an
// exam that is not the one which Prepare saw: never a pass, and not held
// against the work.
//
// The zero value is an error, for it has no Verifier and no exam. A HeldOut is
// safe for concurrent use if Verifier is: each call has copies of its own.
type HeldOut struct {
	// Verifier is asked about the copy. It must be set.
	Verifier ralph.Verifier
	// Exam is a folder outside the workspace, required. Its files, at most
	// 4096, are laid over the workspace by their paths in it; .git is left out.
	// A link to a file stands for that file. Choose names that nobody else
	// would: two files that define the same test do not compile, and the agent
	// may have written one.
	Exam string
	// Include names what git ignores and the check needs, such as node_modules:
	// paths in the workspace, with wildcards as in [Snapshot]. A folder is
	// copied whole. What is not there is left out, and the record says so. nil
	// = nothing.
	Include []string
	// Reveal says what the agent is told of an exam that it failed. "" = how
	// many checks failed. The more it is told, the sooner it mends its work,
	// and the sooner it knows the exam.
	Reveal Reveal
}

// Reveal says how much the agent is told of an exam that it has not seen. In
// any case it is told whether the visible check passes, which it can find out
// itself. It is never told where the exam is nor where the copy was. People are
// told everything: by the verdict's checks, and by the files in
// [ralph.Claim.Evidence] if that folder lies outside the workspace and its work
// tree, or if everything is revealed. A value that is not one of these is an
// error.
type Reveal string

const (
	RevealCounts Reveal = ""       // how many checks failed; the default
	RevealPassed Reveal = "passed" // that it failed, and no more
	RevealNames  Reveal = "names"  // how many checks failed, and their names
	RevealAll    Reveal = "all"    // what Verifier has to say
)

var _ ralph.Verifier = HeldOut{}

// examName is the name of the check that decides. It is always the same, so
// that a record can be searched for it.
const examName = "held-out exam"

// noExam is all that the agent is told of an exam that could not be run. The
// reason may name files of the exam; people find it in the checks.
const noExam = "the held-out exam could not be run, which says nothing about your work"

// Validate returns an error if something is wrong that can be known before an
// agent is paid: the exam is missing or empty, lies in the workspace or in its
// work tree, where the agent sees it, or holds what cannot be laid over; TMPDIR
// lies in either; Include or Reveal make no sense; Verifier has nothing to ask
// or is not valid itself.
func (h HeldOut) Validate(task ralph.Task) error {
	if err := h.check(); err != nil {
		return err
	}
	exam, err := h.place(task)
	if err == nil {
		_, err = listExam(exam)
	}
	if err == nil {
		_, err = tempOutside(task.Dir)
	}
	if err != nil {
		return fmt.Errorf("verify: HeldOut: %w", err)
	}
	return of("HeldOut", validate(h.Verifier, task))
}

// check reports what is wrong whatever the task is. It is asked again by
// Verify, since a caller may never have called Validate.
func (h HeldOut) check() error {
	switch {
	case h.Verifier == nil:
		return errors.New("verify: HeldOut: there is no Verifier, which runs the exam")
	case h.Exam == "":
		return errors.New("verify: HeldOut: there is no exam; set Exam to a folder outside the workspace")
	case !slices.Contains([]Reveal{RevealCounts, RevealPassed, RevealNames, RevealAll}, h.Reveal):
		return fmt.Errorf("verify: HeldOut: Reveal %q is unknown", string(h.Reveal))
	}
	for _, name := range h.Include {
		clean := path.Clean(filepath.ToSlash(name))
		switch {
		case strings.TrimSpace(name) == "" || strings.ContainsRune(name, 0):
			return fmt.Errorf("verify: HeldOut: Include: %q is no path", name)
		case !filepath.IsLocal(clean):
			return fmt.Errorf("verify: HeldOut: Include: %q is outside the workspace", name)
		case slices.Contains(strings.Split(clean, "/"), ".git"):
			return fmt.Errorf("verify: HeldOut: Include: %q: the copy is no repository", name)
		}
		for part := range strings.SplitSeq(clean, "/") {
			if _, err := path.Match(part, ""); err != nil {
				return fmt.Errorf("verify: HeldOut: Include: %q is no glob: %w", name, err)
			}
		}
	}
	return nil
}

// Prepare returns the task with a hash of the exam, so that an exam which
// changes while the loop runs is refused, and with what Verifier prepares. An
// agent with the user's rights can find the folder: it should not be able to
// write an exam of its own. In [ralph.Task.Guarded] the key is "//exam/" and a
// hash of where the exam is.
func (h HeldOut) Prepare(ctx context.Context, task ralph.Task) (ralph.Task, error) {
	if ctx.Err() != nil {
		return task, context.Cause(ctx)
	}
	if err := h.Validate(task); err != nil {
		return task, err
	}
	exam, err := h.place(task)
	if err != nil {
		return task, fmt.Errorf("verify: HeldOut: %w", err)
	}
	hashes, err := hashExam(ctx, exam)
	if ctx.Err() != nil {
		return task, context.Cause(ctx)
	}
	if err != nil {
		return task, fmt.Errorf("verify: HeldOut: %w", err)
	}
	prepared, err := prepare(ctx, h.Verifier, task)
	if err != nil {
		return task, of("HeldOut", err)
	}
	return agree(prepared, map[string]string{keyOfExam(exam): digestOfExam(hashes)}), nil
}

// Takes returns the longest time that the two checks may take, and two minutes
// for copying; negative = without bound. See [External.Takes].
func (h HeldOut) Takes(task ralph.Task) time.Duration {
	const copying = 2 * time.Minute
	once := takes(h.Verifier, task)
	switch {
	case once < 0:
		return -1
	case once > (math.MaxInt64-copying)/2:
		return math.MaxInt64
	}
	return 2*once + copying
}

// Verify implements [ralph.Verifier]. The error says that h makes no sense, or
// is context.Cause(ctx). An error of Verifier is a check that is unable, for
// its text may name what the agent is not to know. Usage is that of both
// checks. The first check of the verdict is named "held-out exam", and those of
// Verifier follow it with "held-out: " before their names.
func (h HeldOut) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	if err := h.check(); err != nil {
		return ralph.Verdict{}, err
	}
	start := time.Now()
	exam := h.sit(ctx, c, true)
	if ctx.Err() != nil {
		return ralph.Verdict{Usage: exam.verdict.Usage}, context.Cause(ctx)
	}
	check := ralph.Check{Name: examName, Status: exam.status(), Detail: exam.detail()}
	v := ralph.Verdict{Passed: check.Status == ralph.CheckPassed, Usage: exam.verdict.Usage}
	var visible []ralph.Check
	switch check.Status {
	case ralph.CheckPassed:
		if h.Reveal == RevealAll {
			v.Feedback = exam.told.Feedback
		}
	case ralph.CheckFailed:
		// The visible check costs as much as the exam, so it is made only where
		// it tells something: after a failure.
		without := h.sit(ctx, c, false)
		v.Usage = v.Usage.Add(without.verdict.Usage)
		if ctx.Err() != nil {
			return ralph.Verdict{Usage: v.Usage}, context.Cause(ctx)
		}
		beside := without.beside()
		check.Detail = strings.TrimSpace(beside + "; " + check.Detail)
		visible = append(visible, without.visible())
		visible = append(visible, without.left...)
		v.Feedback = h.feedback(exam.told, beside)
	default:
		v.Feedback = noExam
	}
	check.Duration = time.Since(start)
	check.Detail = oneLine(check.Detail, 600, 300)
	for _, part := range exam.verdict.Checks {
		part.Name = "held-out: " + part.Name
		// Verifier passed, so what it has beside that decided nothing.
		if v.Passed {
			part = advisory(part)
		}
		visible = append(visible, part)
	}
	v.Checks = few(append(append([]ralph.Check{check}, visible...), exam.left...))
	return v, nil
}

// feedback is what the agent is told of an exam that it failed. It ends with an
// advice: agents that are told only that hidden tests fail begin to guess the
// tests.
func (h HeldOut) feedback(exam ralph.Verdict, beside string) string {
	const about = "The work does not pass the held-out exam, which is made of files that you have not seen and is run in a copy of the workspace"
	failed, all := 0, 0
	var names []string
	for _, c := range exam.Checks {
		switch c.Status {
		case ralph.CheckFailed:
			failed++
			names = append(names, c.Name)
			all++
		case ralph.CheckPassed, ralph.CheckUnable, ralph.CheckTimeout:
			all++
		}
	}
	said := ""
	switch h.Reveal {
	case RevealCounts, RevealNames:
		if all > 0 {
			said = fmt.Sprintf(": %d of %d checks failed", failed, all)
		}
		if h.Reveal == RevealNames && len(names) > 0 {
			said += ", " + quoted(names)
		}
	case RevealAll:
		said = ":\n" + strings.TrimSpace(cmp.Or(exam.Feedback, details(exam.Checks, ralph.CheckFailed), "it does not say why")) + "\n\n"
		return about + said + upper(beside) + "."
	}
	return about + said + ". " + upper(beside) + ". Do what the task asks for; there is no way to do it for the exam alone."
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// A sitting is what Verifier said of one copy. It has two verdicts, because
// people are told where the exam is and the agent is not.
type sitting struct {
	verdict ralph.Verdict // for people
	told    ralph.Verdict // the same without where the exam is
	err     error         // why there is no verdict
	late    bool          // err is that time ran out
	files   int           // of the exam
	notes   []string      // for people
	left    []ralph.Check // what people should know besides
}

// status tells a failed exam from one that could not be held: only the first is
// about the work.
func (s sitting) status() ralph.CheckStatus {
	switch {
	case s.err != nil && s.late:
		return ralph.CheckTimeout
	case s.err != nil:
		return ralph.CheckUnable
	case s.verdict.Passed:
		return ralph.CheckPassed
	}
	return rejection(s.verdict)
}

// detail says for people what came of the sitting.
func (s sitting) detail() string {
	var said string
	switch status := s.status(); {
	case s.err != nil:
		said = s.err.Error()
	case status == ralph.CheckPassed:
		said = fmt.Sprintf("%d files that the agent has not seen were laid over a copy of the workspace", s.files)
	default:
		said = cmp.Or(details(s.verdict.Checks, status), oneLine(s.verdict.Feedback, 400, 400))
	}
	return strings.Join(append([]string{said}, s.notes...), "; ")
}

// beside says what the visible check found where the exam failed. It has three
// answers, for "could not be found out" must not be read as either of the
// others.
func (s sitting) beside() string {
	switch s.status() {
	case ralph.CheckPassed:
		return "the visible check passes and the held-out one fails"
	case ralph.CheckFailed:
		return "the visible check fails too"
	}
	return "whether the visible check passes could not be found out"
}

// visible is the check of a sitting without the exam, at most a warning: the
// exam alone decides.
func (s sitting) visible() ralph.Check {
	check := ralph.Check{Name: "visible check", Status: s.status()}
	if check.Status != ralph.CheckPassed {
		check.Detail = s.detail()
	}
	return advisory(check)
}
