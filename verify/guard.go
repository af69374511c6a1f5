package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Guard rejects a claim after a file that [Snapshot] guards was changed, has
// vanished or has appeared, and names it: an agent may not edit its own exam.
// It goes by content, so a file whose old content was restored is accepted. If
// nothing has changed, Verifier decides. The files are compared again when it
// has passed, since it runs what the agent wrote.
//
// Guard tells what was done and undoes nothing. To put files back would hide
// what happened from the record, and could destroy work. A file that is changed
// and restored while Verifier runs is not noticed; [HeldOut] is for that.
//
// The zero value takes any snapshot that the task has, and is an error if there
// is none. A Guard is safe for concurrent use if Verifier is.
type Guard struct {
	// Verifier decides when nothing has changed, and is not asked otherwise.
	// Nil = String{}: the promise is enough.
	Verifier ralph.Verifier
	// Globs are what is guarded, see [Snapshot]. The snapshot is taken when the
	// loop starts, unless it was taken of them before. Empty = the snapshot that
	// the task has already; a task without one is an error.
	Globs []string
}

var _ ralph.Verifier = Guard{}

// Validate returns an error if the guard, or its Verifier, cannot work on the
// task: a glob cannot be read, or there is nothing to guard.
func (g Guard) Validate(t ralph.Task) error {
	for _, glob := range g.Globs {
		if _, err := cleanGlob(glob); err != nil {
			return fmt.Errorf("verify: Guard: %w", err)
		}
	}
	if len(g.Globs) == 0 && !hasSnapshot(t) {
		return errNoSnapshot
	}
	return validate(g.Verifier, t)
}

// Prepare takes the snapshot of Globs, if there are some, and has Verifier prepare
// the task. Drivers call it when a loop starts, see [ralph.Verifier].
func (g Guard) Prepare(ctx context.Context, t ralph.Task) (ralph.Task, error) {
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	prepared := t
	if len(g.Globs) > 0 {
		var err error
		if prepared, err = Snapshot(t, g.Globs...); err != nil {
			return t, err
		}
	}
	prepared, err := prepare(ctx, g.Verifier, prepared)
	if err != nil {
		return t, err
	}
	return prepared, nil
}

var errNoSnapshot = errors.New("verify: Guard: there is nothing to guard: name files in Globs, or call verify.Snapshot before the loop starts")

// hasSnapshot reports whether the task guards any file. Keys of other verifiers
// do not count, since they are there without anybody having named a file.
func hasSnapshot(t ralph.Task) bool {
	for key := range t.Guarded {
		if own(key) {
			return true
		}
	}
	return false
}

// Verify implements [ralph.Verifier]. The errors are context.Cause(ctx), those
// of Verifier, and that there is no snapshot, or none of Globs: an exam that
// nobody guards must not look like one that was left alone. The first check of
// the verdict is named "guarded files".
func (g Guard) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if ctx.Err() != nil {
		return ralph.Verdict{}, context.Cause(ctx)
	}
	if !hasSnapshot(c.Task) {
		return ralph.Verdict{}, errNoSnapshot
	}
	for _, glob := range g.Globs {
		// A glob of a folder was noted with ** behind it.
		name := path.Clean(filepath.ToSlash(glob))
		_, named := c.Task.Guarded[name]
		_, folder := c.Task.Guarded[path.Join(name, "**")]
		if !named && !folder {
			return ralph.Verdict{}, fmt.Errorf("verify: Guard: the snapshot was not taken of %q; it is taken when a loop starts, or by verify.Snapshot before", glob)
		}
	}
	check, err := guarded(ctx, c.Task)
	if err != nil {
		return ralph.Verdict{}, err
	}
	if check.Status != ralph.CheckPassed {
		return judge(check), nil
	}
	verifier := g.Verifier
	if verifier == nil {
		verifier = String{}
	}
	v, err := ask(ctx, verifier, c)
	// The verdict may be one that a [Cache] hands to others as well, and it is
	// written to below.
	v = clone(v)
	v.Passed = v.Passed && err == nil
	if v.Passed {
		// Only a pass needs this: what was rejected stays so, whatever was done
		// to the files.
		again, err := guarded(ctx, c.Task)
		if err != nil {
			return ralph.Verdict{Usage: v.Usage}, err
		}
		if again.Status != ralph.CheckPassed {
			again.Detail = "while the claim was verified: " + again.Detail
			rejected := judge(again)
			rejected.Checks = few(append(rejected.Checks, v.Checks...))
			rejected.Usage = v.Usage
			return rejected, nil
		}
	}
	v.Checks = few(append([]ralph.Check{check}, v.Checks...))
	return v, err
}

// guarded compares the files with their snapshot. All that is wrong is listed,
// in order, so that the agent can undo it in one go. The digest is of what the
// files are now, for the record.
func guarded(ctx context.Context, task ralph.Task) (ralph.Check, error) {
	check := ralph.Check{Name: "guarded files", Status: ralph.CheckPassed}
	var wrong []string
	all := sha256.New()
	files := 0
	for _, name := range slices.Sorted(maps.Keys(task.Guarded)) {
		if ctx.Err() != nil {
			return check, context.Cause(ctx)
		}
		switch was := task.Guarded[name]; {
		case !own(name):
		case was == "":
			wrong = append(wrong, appeared(task, name)...)
		default:
			files++
			is, err := hashFile(task.Dir, name)
			fmt.Fprintf(all, "%s  %s\n", is, name)
			if how := changed(was, is, err); how != "" {
				wrong = append(wrong, name+" "+how)
			}
		}
	}
	slices.Sort(wrong) // several globs may see the same
	wrong = slices.Compact(wrong)
	check.Digest = "sha256:" + hex.EncodeToString(all.Sum(nil))
	check.Detail = fmt.Sprintf("%d files are as they were before the loop started", files)
	if len(wrong) > 0 {
		check.Status = ralph.CheckFailed
		check.Detail = oneLine("the files that decide whether the task is done must be as they were before the loop started, and "+
			strings.Join(wrong, ", ")+"; undo that", 700, 150)
	}
	return check, nil
}

// appeared says what matches a glob and did not when the snapshot was taken.
// That a glob cannot be looked at, because of a link that leads out, say,
// counts as wrong too: an agent could have made it so.
func appeared(task ralph.Task, pattern string) (wrong []string) {
	found, err := glob(task.Dir, pattern)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	for _, file := range found {
		if task.Guarded[file] == "" {
			wrong = append(wrong, file+" has appeared")
		}
	}
	return wrong
}

// changed says what has become of a file whose hash was taken; "" = nothing. is
// is its hash now, or err why there is none. A file that cannot be read counts
// as changed, for it was read at the start.
func changed(was, is string, err error) string {
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case was == absent && missing, err == nil && is == was:
		return ""
	case was == absent:
		return "has appeared"
	case missing:
		return "has vanished"
	case err != nil:
		return fmt.Sprintf("cannot be read any more (%v)", err)
	}
	return "was changed"
}
