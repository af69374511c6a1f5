package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// openRepo opens the repository that tasks are merged into, and refuses one in which
// that could cost the user something: with changes that are not committed, a merge
// would mix them with the agents' work or overwrite them.
func (r *run) openRepo(ctx context.Context) (err error) {
	if !r.p.Rules.Merge {
		return nil
	}
	if r.p.Branch != "" { // it is that which is checked out, or has the same files, or is not there yet
		if err := r.branched(ctx); err != nil {
			return err
		}
		if err := r.p.toBranch(ctx, r.dir, true); err != nil {
			return err
		}
	}
	r.trees = &Worktrees{Dir: r.dir, Include: r.p.Include}
	if err := r.trees.Open(ctx); err != nil {
		return err
	}
	r.repo = r.trees.repo
	for _, t := range r.Tasks {
		if name := r.p.listed(r.repo, t.Definition.ID); name != "" && !slices.Contains(r.files, name) {
			r.files = append(r.files, name)
		}
	}
	if err := r.finishMerge(ctx); err != nil { // what it has changed is no change of the user's
		return err
	}
	dirty, err := r.repo.Dirty(ctx, r.own)
	switch {
	case err != nil:
		return ours(err)
	case len(dirty) > 0:
		return fmt.Errorf("pipeline: %s has changes that are not committed, and tasks are to be merged into it: commit or stash them: %s", r.dir, some(dirty))
	}
	if r.lies, err = r.lying(ctx); err != nil {
		return ours(err)
	}
	return r.tidy(ctx)
}

// tidy takes away the worktrees of tasks that are done, which a run that was killed has
// left, and makes room for those of tasks that begin anew. What lies there is kept as a
// branch: nobody knows here whether somebody still wants it.
func (r *run) tidy(ctx context.Context) error {
	branches, err := r.repo.Branches(ctx)
	if err != nil {
		return ours(err)
	}
	for part, t := range r.Tasks {
		id := t.Definition.ID
		path, branch := r.trees.path(id)
		_, wrong := os.Lstat(path)
		tree, err := r.repo.Tree(path, branch)
		if err != nil {
			return ours(err)
		}
		if branches[branch] == "" && wrong != nil && !tree.Known() {
			continue
		}
		switch {
		case r.s.Stands[part].Phase == PhaseDone:
			if err := tree.Remove(ctx); err != nil {
				r.later = append(r.later, id+" is done, and its worktree stays: "+err.Error())
			}
		case r.fresh[part]:
			kept, err := r.repo.SetAside(ctx, path, branch, id+": what was left of it", r.p.Include)
			if err != nil {
				return fmt.Errorf("pipeline: %s begins anew, and what lies in %s cannot be set aside: %w", id, path, err)
			}
			if kept != "" {
				r.later = append(r.later, fmt.Sprintf("%s begins anew; what was there of it is kept as the branch %s", id, kept))
			}
		}
	}
	return nil
}

// some names the first of many: a message is read by people.
func some(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// own reports whether a changed file is one that the run itself writes. Such a change
// is no work of anybody.
func (r *run) own(name string) bool { return owned(r.files, name) }

// listed is the path in the repository of the source's file that has a task, "" = it is
// not in the repository. Links are followed to the folder and not to the file, as the
// file itself is written through none.
func (p *Pipeline) listed(repo *git.Repo, id string) string {
	name := ""
	switch src := p.Source.(type) {
	case interface{ FilenameOf(id string) string }:
		name = src.FilenameOf(id)
	case interface{ Filename() string }:
		name = src.Filename()
	}
	if name == "" {
		return ""
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		name = filepath.Join(dir, filepath.Base(name))
	}
	rel, err := filepath.Rel(repo.Top, name)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// folder is the name of a task as a part of the names of files and branches. IDs are
// strangers' texts and may hold slashes, dots and anything else; one that had to be
// changed or cut gets a hash, so that no two tasks share a folder.
func folder(id string) string {
	plain := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, cut(id, 80))
	if plain != id {
		h := sha256.Sum256([]byte(id))
		plain += "-" + hex.EncodeToString(h[:3])
	}
	return plain
}

// tree is a task's worktree, if it has one by now.
func (r *run) tree(part int) *git.Tree {
	if r.repo == nil {
		return nil
	}
	return r.trees.tree(r.agreed(part).Definition.ID)
}

// worktree is the worktree of a task; it is made where the main branch is now, if it is
// not there. One that somebody has removed is told of, since work that was not
// committed went with it.
func (r *run) worktree(ctx context.Context, part int) (*git.Tree, error) {
	id := r.agreed(part).Definition.ID
	if t := r.tree(part); t != nil && t.Gone() {
		r.say(ctx, id, "somebody else has removed the worktree "+t.Dir+"; it has what is on its branch again")
	}
	t, _, err := r.trees.begin(ctx, id)
	return t, err
}

// place is where the agent of a stage works. For an agent that is to mend a conflict
// the merge is begun there; not for one that goes on, since its worktree is as it has
// left it.
func (r *run) place(ctx context.Context, step Step) (Place, error) {
	p := Place{Task: step.Task, Agent: step.Agent, Dir: r.dir, Client: r.p.Config.Client(step.Agent)}
	if r.repo == nil {
		return p, nil
	}
	t, err := r.worktree(ctx, step.Part)
	if err != nil {
		return p, err
	}
	p.Dir, p.Write = t.Dir, t.Writable()
	if from, _ := r.state().rejection(step, r.sent(step.Task)); from == fromMerge && !r.hasBegun(step) {
		head, err := r.repo.Head(ctx)
		if err == nil {
			_, err = t.StartMerge(ctx, head)
		}
		return p, err
	}
	return p, nil
}

// hasBegun reports whether the loop of a step has begun in an earlier run.
func (r *run) hasBegun(step Step) bool {
	if !step.GoOn || r.loops == nil {
		return false
	}
	_, err := r.loops.Look(r.p.loopName(step.Loop))
	return err == nil
}

// keep commits what an agent has left in the worktree of a task. It does so also when
// ctx is done, for uncommitted work is lost with its folder.
func (r *run) keep(ctx context.Context, part int, agent string) (commit, tree string, err error) {
	t := r.tree(part)
	if t == nil {
		return "", "", nil
	}
	commit, tree, err = t.Commit(context.WithoutCancel(ctx), stageMessage(r.agreed(part).Definition, agent))
	if err == nil {
		r.mu.Lock()
		r.tips[part] = commit
		r.mu.Unlock()
	}
	return commit, tree, err
}

// stageMessage is that of the commit of what an agent has left. The agent's own words
// are not in it: they may claim anything.
func stageMessage(d spec.Definition, agent string) string {
	return fmt.Sprintf("%s: %s\n\nStage: %s", d.ID, oneLine(d.Title), agent)
}

// filters are the programs that the workspace's own configuration has git run. They run
// on the user's machine, outside of any sandbox, when files are committed and checked
// out.
func (a *Agreed) filters(ctx context.Context) (all []string, err error) {
	repo, err := git.OpenRepo(ctx, a.dir)
	if err != nil {
		return nil, ours(err)
	}
	for _, p := range repo.Programs() {
		all = append(all, p.Key+" = "+p.Command)
	}
	return all, nil
}

// remove takes away the worktree of a task that was merged, or says why it stays.
func (r *run) remove(ctx context.Context, part int) {
	id := r.agreed(part).Definition.ID
	if err := r.trees.remove(context.WithoutCancel(ctx), id); err != nil {
		r.say(ctx, id, "its worktree stays: "+err.Error())
	}
}

// errNotOnRecord is of a run without a record, or one whose record was removed.
var errNotOnRecord = errors.New("what was answered is not on record")
