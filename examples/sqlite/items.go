package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/tasks"
	"github.com/ralph-loop/ralph/tasks/pipeline"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// Items gives tasks of a database to a [tasks.Session], and is its log:
//
//	items := &sqlite.Items{Source: &sqlite.Source{DB: db}, List: ".ralph/done.md"}
//	n, err := items.Take(ctx, 0)
//	defer items.Close()
//	s := tasks.Session{Source: items, Log: items, Pending: items.Pending(), Runner: …, Verifier: …}
//
// A session takes its tasks before it begins, since it works them off without asking for
// each; several sessions on one database so share its tasks.
//
// An agent says that a task is done in a list of its own in the workspace, for the database
// is not for agents to write to. The task is done in the database when the loop of its item
// has ended verified: that is written in the same transaction as the loop's end.
//
// A session uses it from one goroutine at a time.
type Items struct {
	Source *Source // required
	// List is the path of the list in the workspace in which the agent ticks what it has
	// done; required. It need not exist.
	List string

	order []spec.Definition           // as they were read, by priority
	taken map[string]bool             // for this session
	lost  map[string]bool             // were changed by somebody else
	fails map[string]pipeline.Failure // why loops ended without being verified

	unwritten error // the tasks that were verified and could not be set to done
}

var (
	_ tasks.Source      = (*Items)(nil)
	_ ralph.ProgressLog = (*Items)(nil)
)

// Take reads the database and takes up to most tasks, 0 = all that can be had, in the order of
// their priorities: those that are open, and wait only for what is done or was taken here
// too. It returns how many were taken. It is called once.
func (i *Items) Take(ctx context.Context, most int) (n int, err error) {
	if i.order, err = i.Source.Read(ctx); err != nil {
		return 0, err
	}
	slices.SortStableFunc(i.order, spec.ByPriority)
	i.taken, i.lost, i.fails, i.unwritten = map[string]bool{}, map[string]bool{}, map[string]pipeline.Failure{}, nil
	can := map[string]bool{} // what others need not wait for
	for _, d := range i.order {
		can[d.ID] = d.Status.Effective() == spec.StatusDone
	}
	asked := map[string]bool{}
	for again := true; again; { // what waits may stand before what it waits for
		again = false
		for _, d := range i.order {
			waits := slices.ContainsFunc(d.Dependencies, func(id string) bool { return !can[id] })
			if can[d.ID] || asked[d.ID] || waits || most > 0 && n == most {
				continue
			}
			asked[d.ID] = true
			mine, err := i.Source.Take(ctx, d.ID)
			if err != nil {
				return n, err
			}
			if mine {
				i.taken[d.ID], can[d.ID], again = true, true, true
				n++
			}
		}
	}
	return n, nil
}

// Items implements [tasks.Source]: the tasks that were taken, as they were then, and those
// that were done before. A task that somebody else has changed since is left out: what the
// session knows of it is about another one.
func (i *Items) Items(ctx context.Context) (all []tasks.Item, err error) {
	ticked, err := i.ticked(ctx)
	if err != nil {
		return nil, err
	}
	altered, _, err := i.Source.Changes(ctx)
	if err != nil {
		return nil, err
	}
	for id := range altered {
		i.lost[id] = true
	}
	for _, d := range i.order {
		before := d.Status.Effective() == spec.StatusDone
		if !before && (!i.taken[d.ID] || i.lost[d.ID]) {
			continue
		}
		it := tasks.Item{
			ID: d.ID, Key: d.ID, Text: d.Title, Details: d.Description, Phase: d.SpecID, After: d.Dependencies,
			Priority: d.Priority, Done: before || ticked[d.ID],
		}
		if d.Completion != nil {
			it.Acceptance = d.Completion.Acceptance
		}
		all = append(all, it)
	}
	return all, nil
}

// ticked are the IDs in the boxes that an agent has ticked. The list is in the agent's hands:
// it says what is claimed, and no more.
func (i *Items) ticked(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	boxes, err := tasks.ListFile{Path: i.List}.Check(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	for _, box := range boxes {
		if it := box.Item; it.Done {
			all[it.Key], all[it.ID], all[it.Text] = true, true, true
		}
	}
	return all, err
}

// Filename is the list that the agent is told of.
func (i *Items) Filename() string { return i.List }

// HowDone says how the agent marks a task as done.
func (i *Items) HowDone(it tasks.Item) string {
	return fmt.Sprintf("add the line `- [x] %s` to %s, which you make if it is not there", it.ID, i.List)
}

// Pending are the tasks that were taken, for [tasks.Session.Pending]: that a box is ticked
// when the session begins proves nothing.
func (i *Items) Pending() map[string]string {
	all := map[string]string{}
	for id := range i.taken {
		all[id] = ""
	}
	return all
}

// Append implements [ralph.ProgressLog], see [DB.Append]. A task whose loop has ended
// verified is done. That is what the event says, which comes from the loop itself: the
// database is not asked, since an agent may have written there. Of a task that somebody else
// has changed what happened is recorded all the same, and Close says that it is not done.
func (i *Items) Append(ctx context.Context, ev ralph.Event) error {
	s := i.Source
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ended := ev.Task, ev.State
	if ev.Kind != ralph.EventLoopStopped || ended == nil || !i.taken[id] || i.lost[id] {
		return s.DB.Append(ctx, ev)
	}
	if ended.Stop != ralph.StopVerified {
		i.fails[id] = pipeline.Failure{IterationsUsed: ended.Completed(), Reason: string(ended.Stop) + ": " + ended.Detail}
		return s.DB.Append(ctx, ev)
	}
	var done spec.Definition
	var altered *pipeline.AlteredError
	err := s.DB.append(ctx, ev, func(ctx context.Context, tx *sql.Tx, l Layout) (err error) {
		done, err = s.setIn(ctx, tx, l, id, pipeline.Update{Status: spec.StatusDone, Iteration: ended.Completed(), Time: ev.Time}, func(now spec.Definition, owner string) string {
			if owner != s.owner || now.Status != s.was[id].Status {
				return "set to " + string(now.Status)
			}
			return ""
		})
		if altered, _ = errors.AsType[*pipeline.AlteredError](err); altered != nil {
			return nil // what happened is on record all the same
		}
		return err
	})
	switch {
	case err != nil:
	case altered != nil:
		i.lost[id], i.unwritten = true, errors.Join(i.unwritten, altered)
	default:
		s.was[id] = done
	}
	return err
}

// Close gives back the tasks that are not done, to be done by whoever takes them next, and
// says in their metadata why they are not. The error has an [*pipeline.AlteredError] for
// each task that was verified and is not done, since somebody else has changed it.
func (i *Items) Close() (err error) {
	for id := range i.taken {
		if s := i.Source.status(id); s != spec.StatusRunning || i.lost[id] {
			continue
		}
		u := pipeline.Update{Status: spec.StatusTodo}
		if f, failed := i.fails[id]; failed {
			u.Failure = &f
		}
		wrote := i.Source.Write(context.Background(), id, u)
		if _, altered := errors.AsType[*pipeline.AlteredError](wrote); wrote != nil && !altered {
			err = wrote // as it would be with the others: they stay running, and can be taken
			break
		}
	}
	return errors.Join(i.unwritten, err, i.Source.Close())
}

// status is that of a task as this run has left it.
func (s *Source) status(id string) spec.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.was[id].Status
}
