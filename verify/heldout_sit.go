package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/process"
)

const heldOutPart = "held-out" // of the evidence

// sit makes a copy, lays the exam over it if withExam is set, asks the verifier
// about it, and removes it. The two sittings have a copy each: what the first
// check has built or written must not help the second. Whatever goes wrong is
// the sitting's error, so that it reaches people in a check and never the
// agent.
func (h HeldOut) sit(ctx context.Context, c ralph.Claim, withExam bool) (s sitting) {
	exam, err := h.place(c.Task)
	if err != nil {
		return sitting{err: err}
	}
	workspace, err := realPath(c.Task.Dir)
	if err != nil {
		return sitting{err: fmt.Errorf("the workspace: %w", err)}
	}
	folder, err := tempOutside(workspace)
	if err != nil {
		return sitting{err: err}
	}
	temp, err := process.NewTempDir(folder)
	if err != nil {
		return sitting{err: err}
	}
	defer func() {
		if err := temp.Remove(); err != nil {
			s.left = append(s.left, ralph.Check{Name: "held-out copy", Status: ralph.CheckWarning, Detail: "it could not be removed: " + err.Error()})
		}
	}()
	at, err := copyWorkspace(ctx, temp.Path, workspace, h.Include, guardedFiles(c.Task))
	if err != nil {
		return sitting{err: fmt.Errorf("the workspace could not be copied: %w", err)}
	}
	if len(at.missing) > 0 {
		s.notes = append(s.notes, "nothing there is named "+quoted(at.missing))
	}
	// The exam is noted in it as agreed, for this copy only.
	c.Task.Guarded = maps.Clone(c.Task.Guarded)
	part := "visible"
	if withExam {
		part = heldOutPart
		err = layOver(&c.Task, at.dir, func() (err error) {
			s.files, err = at.layOver(ctx, exam, &c.Task)
			return err
		})
		if err != nil {
			return sitting{err: err}
		}
	}
	// A judge that compared the copy with a commit would find a work tree that
	// has lost everything.
	c.Task.Dir, c.Base = at.dir, "" // the copy is in no repository
	if c.Evidence, err = h.evidence(c.Evidence, at.workspaceTop, part); err != nil {
		s.notes = append(s.notes, err.Error())
	}
	s.verdict, s.err = ask(ctx, h.Verifier, c)
	s.late = s.err != nil && errorStatus(ctx, s.err) == ralph.CheckTimeout
	// The folders have names that are new each time; without this, no two
	// verdicts would be alike, and an agent would be told of files that are
	// gone.
	hide := []string{at.top, at.workspaceTop, temp.Path, "the temporary folder"}
	s.told = replaced(s.verdict, append(hide, exam, "the exam", h.Exam, "the exam"))
	s.verdict = replaced(s.verdict, hide)
	return s
}

// replaced is a verdict in which the first of each two texts is replaced by the
// second.
func replaced(v ralph.Verdict, texts []string) ralph.Verdict {
	in := strings.NewReplacer(texts...)
	v = clone(v)
	v.Feedback = in.Replace(v.Feedback)
	for i, check := range v.Checks {
		v.Checks[i].Name, v.Checks[i].Detail = in.Replace(check.Name), in.Replace(check.Detail)
	}
	return v
}

// evidence is where the full outputs of a sitting go, or why they go nowhere.
// The agent reads what lies in the workspace and in the rest of its work tree,
// top, so outputs of the exam are not written there unless everything is
// revealed anyway. The visible check's are no secret.
func (h HeldOut) evidence(folder, top, part string) (string, error) {
	if folder == "" {
		return "", nil
	}
	if file.Within(top, file.Real(folder)) && h.Reveal != RevealAll && part == heldOutPart {
		return "", errors.New("full outputs are not kept, for the folder for them is in the workspace or its work tree, where the agent reads them")
	}
	return filepath.Join(folder, part), nil
}

// place is where the exam is: a folder outside the workspace and outside its
// work tree. Paths are compared without links, since a link into the workspace
// is as visible as a folder in it.
func (h HeldOut) place(task ralph.Task) (string, error) {
	exam, err := realPath(h.Exam)
	if err != nil {
		return "", fmt.Errorf("the exam: %w", err)
	}
	workspace := file.Real(task.Dir)
	switch top := git.Root(workspace); {
	case !isFolder(exam):
		return "", fmt.Errorf("the exam %s is not a folder", exam)
	case file.Within(workspace, exam):
		return "", fmt.Errorf("the exam %s is inside the workspace %s, where the agent reads it and can change it; keep it elsewhere", exam, workspace)
	case file.Within(exam, workspace):
		return "", fmt.Errorf("the exam %s holds the workspace %s; name a folder of its own", exam, workspace)
	case top != "" && file.Within(top, exam):
		return "", fmt.Errorf("the exam %s is inside %s, the work tree that the workspace belongs to, where the agent reads it; keep it elsewhere", exam, top)
	}
	return exam, nil
}

// realPath is an absolute path without links, of something that is there.
func realPath(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// tempOutside is the folder for copies, which must not lie in what is copied:
// each copy would then hold the ones before it, and the agent could read the
// exam in it.
func tempOutside(workspace string) (string, error) {
	folder, err := realPath(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("the folder for temporary files: %w", err)
	}
	workspace = file.Real(workspace) // which may be made only after its loop was validated
	top := git.Root(workspace)
	if file.Within(workspace, folder) || top != "" && file.Within(top, folder) {
		return "", fmt.Errorf("the folder for temporary files, %s, is inside the workspace; set TMPDIR to one that is not", folder)
	}
	return folder, nil
}

// guardedFiles are the files in the workspace that the task guards. A verifier
// that compares them needs them in the copy, whether git ignores them or not,
// or they would seem to have vanished.
func guardedFiles(task ralph.Task) []string {
	var names []string
	for name, hash := range task.Guarded {
		if own(name) && hash != "" && filepath.IsLocal(name) {
			names = append(names, name)
		}
	}
	return names
}
