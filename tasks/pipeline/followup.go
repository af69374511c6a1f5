package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// FollowupFile is the path, in a workspace, of the file in which an agent may propose
// tasks that follow the one it works on.
const FollowupFile = ".ralph/followup.yaml"

// Bounds of a proposal: its size in bytes, and how many tasks it has. An agent that
// repeats itself must not fill a person's list.
const (
	maxProposal  = 64 << 10
	maxFollowups = 20
)

// ReadFollowups reads the tasks that are proposed in a file of at most 64 KiB, nil =
// there is none. They are definitions as in any task file, 20 at most. Each has an
// outcome and at least one acceptance criterion, and its dependencies are tasks of f,
// which must have been read, or other proposed ones. What is wrong is an error that
// names the file and the line.
//
// What is returned comes from an agent: a command in it is a stranger's. Nothing here
// runs it.
func (f *File) ReadFollowups(ctx context.Context, path string) ([]spec.Definition, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	text, err := file.Read("follow-ups", path, maxProposal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ours(err)
	}
	proposed, err := spec.Parse(path, text)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.look()
	if err != nil {
		return nil, err
	}
	proposed.Methods = f.Methods
	if err := proposed.ValidateAdditions(now.Definitions()); err != nil {
		return nil, err
	}
	defs := proposed.Definitions()
	switch n := len(proposed.Fragments()); {
	case n > 0:
		return nil, fmt.Errorf("pipeline: follow-ups %s: there is more in it than tasks; each has an id and a title", path)
	case len(defs) > maxFollowups:
		return nil, fmt.Errorf("pipeline: follow-ups %s: %d tasks are proposed; at most %d are taken", path, len(defs), maxFollowups)
	}
	return defs, nil
}

// AddFollowups adds tasks that follow a task of the file, and returns them as they were
// added: to be done, as of now, dependent on the parent, and with its ID as "parent" in
// their metadata. One whose ID is taken gets another: the parent's with -F1, -F2 and so
// on. All are added or none. They are not somebody else's: [File.Changes] does not name
// them.
//
// The error is the one of a write, see [File.Write], or says which task does not fit.
func (f *File) AddFollowups(ctx context.Context, parent string, defs []spec.Definition) (added []spec.Definition, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.edit(ctx, func(now *spec.File) error {
		there := now.Definitions()
		if !has(there, parent) {
			return fmt.Errorf("pipeline: there is no task %q in %s that others could follow", parent, f.Path)
		}
		// This may be called again, on what somebody else has written meanwhile.
		added = nil
		for _, d := range defs {
			for _, id := range d.Dependencies {
				if !has(there, id) && !has(defs, id) {
					return fmt.Errorf("pipeline: %s depends on %q, which is no task of %s", d.ID, id, f.Path)
				}
			}
			d, err := followup(parent, d, defs, slices.Concat(there, added))
			if err == nil {
				err = now.Add(d)
			}
			if err != nil {
				return err
			}
			added = append(added, d)
		}
		return now.Validate()
	})
	if err != nil {
		return nil, err
	}
	for _, d := range added {
		f.was, f.shows[d.ID] = append(f.was, d), d.Status
	}
	return added, nil
}

func has(in []spec.Definition, id string) bool {
	return slices.ContainsFunc(in, func(d spec.Definition) bool { return d.ID == id })
}

// followup is one of those proposed as it is added; taken are those that are there. The
// status, the iteration and what runs write into metadata are not the agent's to say:
// with them a task could pass for one that was worked on.
func followup(parent string, d spec.Definition, proposed, taken []spec.Definition) (spec.Definition, error) {
	if d.Completion == nil || d.Completion.Outcome == "" || len(d.Completion.Acceptance) == 0 {
		return d, fmt.Errorf("pipeline: %s: a task that follows another needs an outcome and at least one acceptance criterion", d.ID)
	}
	if !slices.Contains(d.Dependencies, parent) {
		d.Dependencies = append(slices.Clip(d.Dependencies), parent)
	}
	for n, own := 1, d.ID; d.ID == "" || has(taken, d.ID) || d.ID != own && has(proposed, d.ID); n++ {
		d.ID = fmt.Sprintf("%s-F%d", parent, n)
	}
	d.Status, d.Iteration = spec.StatusTodo, 0
	d.CreatedAt = time.Now().UTC().Truncate(time.Second)
	d.UpdatedAt = d.CreatedAt
	follows, _ := json.Marshal(parent)
	d.Metadata = with(d.Metadata, metaParent, follows)
	delete(d.Metadata, metaRunning)
	delete(d.Metadata, metaFailure)
	return d, nil
}
