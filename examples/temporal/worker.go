package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// A Worker makes attempts on its machine. Give the worker that it is registered with a
// WorkerStopTimeout: when it is told to stop, its agents are ended, and say so within it.
type Worker struct {
	// Local has the runner and the verifier. What a loop differs by is in its task: a
	// verifier for all is spec.Verifier. Log, Control and Pending are not used.
	Local *ralph.Local
	// Host names the machine, or container: what a verifier has prepared of home files and
	// programs holds for it. "" = its host name.
	Host string
	// Redactor hides secrets in what goes into histories. The task goes there as it is.
	Redactor progress.Redactor
}

// Register has a worker run loops.
func Register(w worker.Registry, l *ralph.Local) error { return (&Worker{Local: l}).Register(w) }

// Register ends what workers that were killed have left on this machine, and registers
// the workflows and the activities.
func (w *Worker) Register(r worker.Registry) (err error) {
	own := *w
	if own.Host == "" {
		own.Host, err = os.Hostname()
	}
	if err == nil {
		_, err = progress.EndAttempts(context.Background())
	}
	if err != nil {
		return fmt.Errorf("temporal: worker: %w", err)
	}
	r.RegisterWorkflowWithOptions(loop, workflow.RegisterOptions{Name: loopType})
	r.RegisterActivityWithOptions(own.Iterate, activity.RegisterOptions{Name: attemptType})
	return nil
}

// An outcome is what came of an attempt.
type outcome struct {
	Host      string            `json:"host"`
	Prepared  *ralph.State      `json:"prepared,omitempty"` // on this machine; then there was no attempt
	Here      map[string]string `json:"here,omitzero"`      // of what was prepared, what is so here alone
	Learned   *ralph.Event      `json:"learned,omitempty"`
	Iteration ralph.Iteration   `json:"iteration,omitzero"`
	Answer    string            `json:"answer,omitempty"` // of a stage: the end of the agent's words
}

// A beat is what a worker tells of an attempt while it runs. The first one is on record
// before the agent starts, and one with the answer before that is verified.
type beat struct {
	Host     string        `json:"host"`
	Mark     string        `json:"mark"`
	Usage    ralph.Usage   `json:"usage,omitzero"`
	Elapsed  time.Duration `json:"elapsed,omitempty"`
	Answered *ralph.Event  `json:"answered,omitempty"`
}

// event is the beat as an event of the attempt that runs.
func (b beat) event(s ralph.State) ralph.Event {
	return ralph.Event{Kind: ralph.EventRunning, Iteration: ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt, Usage: b.Usage, Elapsed: b.Elapsed}}
}

// Iterate is the activity: it makes one attempt, as Local.Iterate does.
func (w *Worker) Iterate(ctx context.Context, in run) (out outcome, err error) {
	l, s := *w.Local, in.State
	out.Host = w.Host
	p := &pulse{every: activity.GetInfo(ctx).HeartbeatTimeout / 6, beat: beat{Host: w.Host, Mark: ralph.NewMark()}}
	ctx, stop, err := p.start(ctx)
	if err != nil {
		return out, err
	}
	defer stop()
	here, known := in.Hosts[w.Host]
	if !known {
		return w.prepare(ctx, &l, s, in.Hosts == nil)
	}
	maps.Copy(here, s.Task.Guarded)
	s.Task.Guarded = here
	held, err := progress.HoldAttempt(p.beat.Mark)
	if err != nil {
		return out, err
	}
	defer held.Close()
	l.Live = p.live
	s = s.Apply(ralph.Event{Kind: ralph.EventIterationStarted, Meta: map[string]string{"mark": p.beat.Mark},
		Iteration: ralph.Iteration{Number: s.Iteration, Attempt: s.Attempt, Start: time.Now()}})
	if in.Pending == nil {
		ev, err := l.Attempt(ctx, s)
		if ev.Kind == "" {
			return out, w.refused(ctx, err)
		}
		if err != nil {
			activity.GetLogger(ctx).Error("the attempt counts, but", "error", err)
		}
		in.Pending = &ev
		if ev.Iteration.Claimed || s.Task.Always {
			_ = p.tell(ctx, func(b *beat) { b.Answered = new(w.redact(ev)) }) // or the attempt is made again if this worker is lost
		}
	}
	it, err := l.Judge(ctx, s, *in.Pending)
	if err != nil {
		return out, w.refused(ctx, err)
	}
	out.Iteration = w.redact(ralph.Event{Kind: ralph.EventIterationEnded, Iteration: it}).Iteration
	return out, nil
}

// prepare makes a loop ready on this machine. On all but the first that is only what is so
// here alone: what the workspace is by now, the agent has made.
func (w *Worker) prepare(ctx context.Context, l *ralph.Local, s ralph.State, first bool) (out outcome, err error) {
	if first && s.Prepared { // by a driver on another machine
		s.Task.Guarded = maps.Clone(s.Task.Guarded)
		maps.DeleteFunc(s.Task.Guarded, func(key, _ string) bool { return verify.OfMachine(key) })
	}
	out = outcome{Host: w.Host, Prepared: &s, Here: map[string]string{}}
	fresh := s
	fresh.Prepared, fresh.Running, fresh.Iteration, fresh.Attempt = false, false, 1, 1
	ready, err := l.Prepare(ctx, fresh)
	if err != nil {
		return out, w.refused(ctx, err)
	}
	for key, sum := range ready.Task.Guarded {
		if _, agreed := s.Task.Guarded[key]; !agreed && verify.OfMachine(key) {
			out.Here[key] = sum
		}
	}
	if !first || s.Prepared || s.Begun() {
		return out, nil
	}
	maps.DeleteFunc(ready.Task.Guarded, func(key, _ string) bool { _, is := out.Here[key]; return is })
	if out.Prepared = &ready; l.Learn == nil {
		return out, nil
	}
	lesson, err := l.Learn(ctx, ready)
	if err != nil {
		return out, w.refused(ctx, err)
	}
	if lesson.Why != "" {
		out.Learned = new(w.redact(lesson.Event(ready)))
	}
	return out, nil
}

// refused is an error that no other worker is asked about: who reads it must mend it. But
// what was ended is.
func (w *Worker) refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return temporal.NewNonRetryableApplicationError(w.Redactor.String(err.Error()), refusedType, nil)
}

// redact returns an event without secrets.
func (w *Worker) redact(ev ralph.Event) ralph.Event {
	_ = w.Redactor.Log(ralph.ProgressLogFunc(func(_ context.Context, redacted ralph.Event) error { ev = redacted; return nil })).Append(context.Background(), ev)
	return ev
}

// A pulse tells the service that an attempt runs, and ends it when it is not this
// worker's any more: when it was cancelled, the worker stops, or the service cannot be
// told for two thirds of the heartbeat time-out, for then it is given to another.
type pulse struct {
	every time.Duration
	mu    sync.Mutex
	beat  beat
}

// live is Local.Live.
func (p *pulse) live(_ ralph.Request, u ralph.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beat.Usage = u
}

// tell sends a beat, at once.
func (p *pulse) tell(ctx context.Context, change func(*beat)) error {
	p.mu.Lock()
	change(&p.beat)
	b := p.beat
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(p.every, time.Second))
	defer cancel()
	return activity.GetClient(ctx).RecordActivityHeartbeat(ctx, activity.GetInfo(ctx).TaskToken, b)
}

// start returns a context that is done when the attempt is to end.
func (p *pulse) start(ctx context.Context) (context.Context, func(), error) {
	began := time.Now()
	if err := p.tell(ctx, func(*beat) {}); err != nil {
		return ctx, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		stops := activity.GetWorkerStopChannel(ctx)
		for heard, tick := began, time.NewTicker(p.every); ; {
			select {
			case <-tick.C:
			case <-stops:
				cancel(errors.New("the worker stops"))
				stops = nil // its agent's end may take longer than a heartbeat
			case <-over:
				tick.Stop()
				return
			}
			sent := time.Now()
			err := p.tell(ctx, func(b *beat) { b.Elapsed = sent.Sub(began) })
			var lost *serviceerror.NotFound
			switch {
			case err == nil:
				heard = sent
			case temporal.IsCanceledError(err):
				cancel(errors.New("the loop was ended"))
			case errors.As(err, &lost), errors.Is(err, activity.ErrActivityPaused), errors.Is(err, activity.ErrActivityReset), time.Since(heard) > 4*p.every-p.every/2:
				cancel(fmt.Errorf("the attempt is not this worker's any more: %w", err))
			}
		}
	}()
	return ctx, func() { close(over); <-ended; cancel(nil) }, nil
}
