package ralph

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/plugin"
)

// What a Runner and a Verifier may have beside their one method. These are not part of
// the interfaces, so that a function can still be one, and so that wrappers which know
// nothing of them still work.
type (
	validator interface{ Validate(Task) error }
	preparer  interface {
		Prepare(ctx context.Context, t Task) (Task, error)
	}
)

// Prepare makes a loop ready for its first attempt: of a loop that has not run yet
// it notes the commit it begins at ([State.Base]) and has the verifier prepare the
// task, and of every loop it asks the verifier and
// the runner whether they can work on it at all, see [Verifier]. Run does this
// before it records that the loop starts; other drivers do it in its place, and
// record the state that is returned. With an error that is s. A state that is done
// is returned as it is.
func (l *Local) Prepare(ctx context.Context, s State) (State, error) {
	if err := l.validate(); err != nil || s.Done() {
		return s, err
	}
	if err := l.accept(s); err != nil {
		return s, err
	}
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	return l.prepare(ctx, s)
}

// prepare is Prepare of a state that was accepted. The order matters: that the
// task lacks what a verifier needs is no mistake if the verifier adds it.
//
// The verifier gets a copy of the task and its answer is compared, since a Prepare that
// changed the promise or the limits would change what the caller has agreed to.
func (l *Local) prepare(ctx context.Context, s State) (State, error) {
	ready := s
	begun := s.Prepared || s.Begun()
	if !begun && s.Base == "" {
		var err error
		if ready.Base, err = git.Base(ctx, s.Task.Dir); ctx.Err() != nil {
			return s, context.Cause(ctx)
		} else if err != nil {
			ready.Base = "" // not known: what is wrong with git is said by who needs it
		}
	}
	if p, ok := l.Verifier.(preparer); ok && !begun {
		var t Task
		err := plugin.Call("Verifier", func() (err error) { t, err = p.Prepare(ctx, s.Task.clone()); return })
		if err != nil {
			if ctx.Err() != nil {
				return s, context.Cause(ctx)
			}
			return s, &partError{"verifier", err}
		}
		if err := onlyGuarded(s.Task, t); err != nil {
			return s, err
		}
		guarded := maps.Clone(t.Guarded)
		if guarded == nil {
			guarded = s.Task.Guarded
		}
		maps.Copy(guarded, s.Task.Guarded) // what the caller has agreed stays agreed
		ready.Task.Guarded, ready.Prepared = guarded, true
	}
	if err := l.ableTo(ready.Task); err != nil {
		return s, err
	}
	return ready, nil
}

// onlyGuarded refuses a prepared task that differs in more than what is guarded: the
// caller has agreed to the rest. It goes over the fields by reflection: a field that is
// added to Task later is guarded without anybody thinking of it.
func onlyGuarded(before, after Task) error {
	was, is := reflect.ValueOf(before), reflect.ValueOf(after)
	for i, field := range reflect.VisibleFields(was.Type()) {
		if field.Name != "Guarded" && !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			return fmt.Errorf("ralph: verifier: Prepare has changed the task's %s; it may change Guarded alone", field.Name)
		}
	}
	return nil
}

// ableTo asks the verifier and the runner whether they can work on the task. The
// verifier comes first: it is what makes a run of the agent worth anything.
func (l *Local) ableTo(t Task) error {
	if err := able("verifier", l.Verifier, t); err != nil {
		return err
	}
	return able("runner", l.Runner, t)
}

// able asks a part, which is a Runner or a Verifier; one without Validate is able. A
// part that panics is not able.
func able(name string, part any, t Task) error {
	v, ok := part.(validator)
	if !ok {
		return nil
	}
	if err := plugin.Call("Validate", func() error { return v.Validate(t) }); err != nil {
		return &partError{name, err}
	}
	return nil
}
