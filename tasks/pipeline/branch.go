package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// Switch checks out Branch in the workspace, or makes it where the head is, if there is
// none. If no Branch is named, or it is checked out, it does nothing. Run and Events
// begin with it. Call it before [Pipeline.Agree], which reads the tasks from the files
// of the branch.
//
// If something is in the way, the error says what, and nothing is changed: files that
// are changed and not committed, except the source's; files that git does not have and
// the branch has; another work tree that has the branch; a file of the source that the
// branch does not have, or that names another branch there. No hook runs. If files would
// change on which the workspace's own git configuration runs programs (see
// [Agreed.Filters]), that is an error too: switch yourself if you know these programs,
// or call Run.
func (p *Pipeline) Switch(ctx context.Context) error { return p.toBranch(ctx, p.Dir, false) }

// toBranch is Switch, for a caller who trusts the programs that git's configuration
// names, as one does who has been shown them and runs the pipeline.
func (p *Pipeline) toBranch(ctx context.Context, dir string, trusted bool) error {
	if p.Branch == "" {
		return nil
	}
	if err := p.validate(); err != nil {
		return err
	}
	repo, other, err := p.elsewhere(ctx, dir)
	if err != nil {
		return err
	}
	if programs := repo.Programs(); other && len(programs) > 0 && !trusted {
		return fmt.Errorf("pipeline: the branch %s is not checked out, and %s of the repository's own git configuration would run on its files: check it out yourself (git switch %[1]s)", p.Branch, programs[0].Key)
	}
	files, err := p.files(ctx, repo)
	if err != nil {
		return err
	}
	if other {
		if err := p.remain(ctx, repo, files); err != nil {
			return err
		}
	}
	return ours(repo.Switch(ctx, p.Branch, func(name string) bool { return owned(files, name) }))
}

// files are those of the source in the work tree, as far as it can be read: else there is
// nothing to be left as it is.
func (p *Pipeline) files(ctx context.Context, repo *git.Repo) (files []string, err error) {
	defs, unread := p.definitions(ctx)
	if unread != nil {
		return nil, nil
	}
	for _, d := range defs {
		if err := p.apart(d.ID); err != nil {
			return nil, err
		}
		if file := p.listed(repo, d.ID); file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files, nil
}

// remain refuses a Branch on which a file of the source is not there, or wants another
// branch: what was asked for would be gone with the switch. A file that git does not have
// now stays where it is.
func (p *Pipeline) remain(ctx context.Context, repo *git.Repo, files []string) error {
	head, err := repo.Head(ctx)
	if err != nil {
		return ours(err)
	}
	tip, err := git.Tip(ctx, repo.Top, p.Branch)
	if err != nil {
		return ours(err)
	}
	for _, file := range files {
		if _, err := repo.Text(ctx, head, file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		text, err := repo.Text(ctx, tip, file)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("pipeline: the branch %s has no %s, so its tasks would be gone: commit it there first, or take another branch", p.Branch, file)
		} else if err != nil {
			return ours(err)
		}
		if err := p.agrees(file, text); err != nil {
			return err
		}
	}
	return nil
}

// agrees refuses a prd.json as it is on Branch, if it wants another one.
func (p *Pipeline) agrees(file string, text []byte) error {
	list, _ := p.Source.(List)
	if _, ok := list.Source.(tasks.PRDFile); !ok {
		return nil
	}
	prd, err := tasks.ParsePRD(text)
	if err != nil {
		return fmt.Errorf("pipeline: on the branch %s, %s: %w", p.Branch, file, err)
	} else if prd.Branch != "" && prd.Branch != p.Branch {
		return fmt.Errorf("pipeline: on the branch %s, %s names another branch, %s: have both name the same", p.Branch, file, prd.Branch)
	}
	for _, it := range prd.Items {
		if err := p.apart(it.Key); err != nil {
			return err
		}
	}
	return nil
}

// OnBranch returns the tasks as they will be once Branch is checked out, and changes
// nothing: for those who want to know before [Pipeline.Switch] whether there is anything
// to do. Those of a branch with other files are read from its last commit, of a prd.json
// alone, for no other list names a branch. nil = they are not known before it is checked
// out.
func (p *Pipeline) OnBranch(ctx context.Context) ([]spec.Definition, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	if p.Branch == "" {
		return p.definitions(ctx)
	}
	repo, other, err := p.elsewhere(ctx, p.Dir)
	if err != nil {
		return nil, err
	}
	l, is := p.Source.(List)
	_, prd := l.Source.(tasks.PRDFile)
	switch {
	case !other:
		return p.definitions(ctx)
	case !is || !prd:
		return nil, ctx.Err()
	}
	name := p.listed(repo, "")
	was, err := repo.Text(ctx, "HEAD", name)
	text, errBranch := repo.Text(ctx, "refs/heads/"+p.Branch, name)
	if err == nil && errBranch == nil && bytes.Equal(was, text) {
		return p.definitions(ctx) // the file stays as it is, with what is not committed of it
	}
	if errBranch != nil {
		return nil, ctx.Err() // it is told when the branch is checked out
	}
	if err := p.agrees(name, text); err != nil {
		return nil, err
	}
	stories, err := tasks.ParsePRD(text)
	if err != nil {
		return nil, err
	}
	return defineAll(stories.Items), nil
}

// elsewhere opens the repository of a workspace, and reports whether Branch is there and has other files
// than those that are checked out. A branch at the same commit changes no file, so it is
// no danger to anything.
func (p *Pipeline) elsewhere(ctx context.Context, dir string) (repo *git.Repo, other bool, err error) {
	if repo, err = git.OpenRepo(ctx, dir); err == nil {
		err = git.CheckBranch(ctx, p.Branch)
	}
	if err != nil || repo.Branch == p.Branch {
		return repo, false, ours(err)
	}
	tip, err := git.Tip(ctx, repo.Top, p.Branch)
	if err != nil || tip == "" {
		return repo, false, ours(err)
	}
	head, err := repo.Head(ctx)
	return repo, head != tip, ours(err)
}

// apart refuses a Branch beside which there can be none of a task: git keeps branches
// as files, so a name cannot be a branch and the folder of others.
func (p *Pipeline) apart(task string) error {
	if branch, _ := Branch(task); strings.HasPrefix(branch+"/", p.Branch+"/") || strings.HasPrefix(p.Branch, branch+"/") {
		return fmt.Errorf("pipeline: the branch %s cannot be worked on: %s has the branch %s", p.Branch, task, branch)
	}
	return nil
}

// branched refuses a Branch that the tasks cannot be merged into, and one whose tasks
// are not those that were read: what was agreed would be about another list.
func (a *Agreed) branched(ctx context.Context) error {
	if a.p.Branch == "" {
		return nil
	}
	for _, t := range a.Tasks {
		if err := a.p.apart(t.Definition.ID); err != nil {
			return err
		}
	}
	_, other, err := a.p.elsewhere(ctx, a.dir)
	if err == nil && other {
		err = fmt.Errorf("pipeline: the branch %s is not checked out, and has other files than what is: check it out first (git switch %[1]s), for its tasks may be others", a.p.Branch)
	}
	return err
}

// owned reports whether a changed file is one of the source's, or lies beside one while
// that is written, or after a kill. Such a change is no work of anybody.
func owned(files []string, name string) bool {
	if git.OwnFile(name) {
		return true
	}
	return slices.ContainsFunc(files, func(file string) bool {
		at := strings.LastIndexByte(file, '/') + 1
		return file != "" && (name == file || strings.HasPrefix(name, file[:at]+"."+file[at:]+"."))
	})
}
