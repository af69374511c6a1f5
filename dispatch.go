package ralph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/plugin"
)

// A Dispatch is a loop whose attempts are made by workers, on any machine, which may be
// lost with what they do: its [State], and what its driver must keep beside that. It is
// for drivers of a queue or a workflow engine, which record it. It is a plain value as
// State is, and its methods are pure: they change no receiver and may be called
// concurrently.
//
// Such a driver does, in turns, until the state is done: it waits as [Sleep] does, applies
// what people ask for, calls Begin, and hands the Dispatch to a worker, which calls
// [Local.Serve]. It keeps the last [Beat] that the worker tells, and calls Told with its
// [Report], or Missed if nothing is heard of it any more. A worker that was lost is not
// waited for: it must end its own attempt when it cannot tell its beats, before another
// one begins.
type Dispatch struct {
	State State `json:"state"`
	// Hosts holds, by the machine's name, the part of [Task.Guarded] that is true on
	// that machine alone, see [OfMachine]: the compiler there, say. What is true on all
	// machines is in the task, as the first one found it. Nil = no machine has prepared
	// the loop yet.
	Hosts map[string]map[string]string `json:"hosts,omitempty"`
	// Known is what other loops have found on these machines before, in the form of
	// Hosts: it takes precedence over what is found now, for an agent may have changed
	// that since. Nil = nothing.
	Known map[string]map[string]string `json:"known,omitempty"`
	// Pending is an answer whose worker was lost before it was verified. It is judged by
	// the next one, and no agent runs for it. Nil = there is none.
	Pending *Event `json:"pending,omitempty"`
	// Lost is how many workers in a row were lost with an attempt.
	Lost int `json:"lost,omitempty"`
}

// A Beat is what a worker tells of an attempt while it makes it: its machine, the
// attempt's mark, and what it has used in all so far. If the worker is lost, this is
// all that is known of the attempt.
type Beat struct {
	Host     string        `json:"host"`
	Mark     string        `json:"mark"` // see [Request]
	Usage    Usage         `json:"usage,omitzero"`
	Elapsed  time.Duration `json:"elapsed,omitempty"`
	Answered *Event        `json:"answered,omitempty"` // what is being verified; nil = the agent runs
}

// A Report is what a worker did with a Dispatch: it made an attempt, or, the first time
// on each machine, prepared the loop there, and then no agent has run.
type Report struct {
	Host      string            `json:"host"`
	Prepared  *State            `json:"prepared,omitempty"` // as it goes on; nil = there was an attempt
	Here      map[string]string `json:"here,omitempty"`     // what was prepared and holds on this machine alone
	Learned   *Event            `json:"learned,omitempty"`  // see [Local.Learn]
	Iteration Iteration         `json:"iteration,omitzero"`
}

// ErrGone is what the tell function of [Pulse] returns when the attempt is no longer
// this worker's, or no longer wanted: the worker then ends it at once.
var ErrGone = errors.New("the attempt is not this worker's any more")

// Pulse lets a worker show that it lives. It calls tell at once, and then six times in
// each period of the length within, until stop is called; stop waits for the call that
// is in progress. A driver that hears nothing for that long gives the work to another
// worker, so this worker must have ended its own attempt by then. The context that
// Pulse returns is done when tell has failed for half of within, when tell returns
// [ErrGone], and when stops is closed, which asks the worker to end (nil = it is never
// asked). Its cause is the error of tell.
//
// tell is never called concurrently and must return within a sixth of within. If the
// first call fails, its error is returned, and nothing was started.
func Pulse(ctx context.Context, within time.Duration, stops <-chan struct{}, tell func(context.Context) error) (_ context.Context, stop func(), err error) {
	heard := time.Now()
	if err := tell(ctx); err != nil {
		return ctx, func() {}, err
	}
	told := context.WithoutCancel(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(max(within/6, 1))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stops:
				cancel(errors.New("the worker stops"))
				stops = nil // it goes on to tell, for to end the work may take its time
				continue
			case <-over:
				return
			}
			sent := time.Now()
			switch err := tell(told); {
			case err == nil:
				heard = sent
			case errors.Is(err, ErrGone) || time.Since(heard) >= within/2:
				cancel(err)
			}
		}
	}()
	return ctx, sync.OnceFunc(func() { close(over); <-ended; cancel(nil) }), nil
}

// maxLost is how many workers in a row may be lost with an attempt: from there on the
// attempt is taken for what kills them, which is a fault, and has its limits.
const maxLost = 3

// OfMachine reports whether a key of [Task.Guarded] names something that differs from
// machine to machine: its programs, what tools read from its home folder, and files by
// an absolute path or one that begins with "~/". Every other key is of a file in the
// workspace or of an exam, which must be the same on all machines.
func OfMachine(key string) bool {
	for _, prefix := range []string{"//config/", "//program/", "//pin/", "~/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return filepath.IsAbs(key) && !strings.HasPrefix(key, "//")
}

// Begin returns the dispatch with its attempt begun, which the driver keeps. The worker
// is handed the dispatch as it was before Begin, since [Local.Serve] begins the attempt
// there. A loop that no machine has prepared yet does not begin: the worker prepares it
// first.
func (d Dispatch) Begin(now time.Time) Dispatch {
	if d.Hosts != nil {
		d.State = d.State.Apply(Event{Kind: EventIterationStarted, Iteration: Iteration{Number: d.State.Iteration, Attempt: d.State.Attempt, Start: now}})
	}
	return d
}

// Told returns the dispatch after a worker's report. The attempt has ended now, by the
// driver's clock.
func (d Dispatch) Told(r Report, now time.Time) Dispatch {
	if r.Prepared == nil {
		r.Iteration.End, d.Lost, d.Pending = now, 0, nil
		d.State = d.State.Next(r.Iteration)
		return d
	}
	if d.Hosts == nil {
		d.State.Task.Guarded, d.State.Base, d.State.Prepared = maps.Clone(r.Prepared.Task.Guarded), r.Prepared.Base, r.Prepared.Prepared
		if r.Learned != nil {
			d.State = d.State.Apply(*r.Learned)
		}
	}
	if d.Hosts = maps.Clone(d.Hosts); d.Hosts == nil {
		d.Hosts = map[string]map[string]string{}
	}
	d.Hosts[r.Host] = maps.Clone(r.Here)
	return d
}

// Heard returns the state with the usage that a beat reports, for the driver to show.
// The driver asks [State.Over] of that state whether a budget is spent, with a zero Usage:
// what the beat reports is in the state. A loop that has not begun (see [Dispatch.Begin])
// has used nothing.
func (d Dispatch) Heard(b Beat) State {
	return d.State.Apply(Event{Kind: EventRunning, Iteration: Iteration{Number: d.State.Iteration, Attempt: d.State.Attempt, Usage: b.Usage, Elapsed: b.Elapsed}})
}

// Missed returns the dispatch after a worker was lost: b is the last beat that it told,
// and why says, for people, why it is given up. If it had told an answer, the next
// worker verifies that. Otherwise the attempt was interrupted and is made again; but
// the third loss in a row counts as a fault, so that an attempt which kills its workers
// comes to an end.
func (d Dispatch) Missed(b Beat, why string, now time.Time) Dispatch {
	if b.Answered != nil && d.State.awaits(*b.Answered) == nil {
		d.Pending = b.Answered
	}
	d.State = d.Heard(b)
	if b.Host != "" || d.Hosts == nil { // else no worker has begun it: whom it was given to has not heard of it
		d.Lost++
	}
	switch {
	case d.Lost >= maxLost:
		return d.end(FaultError, fmt.Sprintf("%d workers in a row were lost with it; the last: %s", d.Lost, why), now)
	case d.Hosts == nil && !d.State.Running: // nothing has begun
		return d
	case d.Pending != nil && !d.State.Done():
		return d
	}
	return d.end(FaultInterrupted, why, now)
}

// Failed returns the dispatch after an attempt for which the driver found no worker, or
// got an error in place of a report; why is for people. It is a fault like any other,
// with the limits of one: it is retried, and too many of them end the loop.
func (d Dispatch) Failed(why string, now time.Time) Dispatch { return d.end(FaultError, why, now) }

func (d Dispatch) end(f Fault, why string, now time.Time) Dispatch {
	it := Iteration{Number: d.State.Iteration, Attempt: d.State.Attempt, Outcome: OutcomeFailure, Fault: f, Error: why, End: now}
	if d.Pending = nil; f == FaultInterrupted {
		it.Outcome = OutcomeInterrupted
	}
	d.State = d.State.Next(it)
	return d
}

// Serve is what a worker does for a Dispatch: it makes one attempt on this machine, as
// [Local.Iterate] does, or prepares the loop for this machine if it never was on it. The
// beat has the machine's name, or the container's, and the attempt's mark; it must be on
// record before.
//
// tell is called with the beat whenever that changes. With the agent's usage it is
// called from any goroutine and must return at once; what it returns then does not
// matter. With the agent's answer it is called before the verification, which waits for
// it: it returns when the answer is on record. If it returns an error instead, the
// answer is not verified, and a claim in it counts as when a verifier fails: a verdict
// that could be lost with its worker must not be paid for.
//
// The times in the report are of this machine's clock. An error with a zero report
// means that no worker can do it: the dispatch makes no sense, or the verifier or the
// runner cannot work on the task. An error beside a report says that the raw output
// could not be written.
func (l *Local) Serve(ctx context.Context, d Dispatch, b Beat, tell func(Beat) error) (Report, error) {
	here, known := d.Hosts[b.Host]
	if !known {
		return l.prepareHere(ctx, d, b.Host)
	}
	s, r, start := d.State, Report{Host: b.Host}, time.Now()
	if s.Task.Guarded = maps.Clone(s.Task.Guarded); s.Task.Guarded == nil {
		s.Task.Guarded = map[string]string{}
	}
	maps.Copy(s.Task.Guarded, here)
	s = s.Apply(Event{Kind: EventIterationStarted, Meta: map[string]string{metaMark: b.Mark},
		Iteration: Iteration{Number: s.Iteration, Attempt: s.Attempt, Start: start.UTC().Round(0)}})
	var mu sync.Mutex
	told := func(u Usage, ev *Event) error {
		mu.Lock()
		defer mu.Unlock()
		if b.Answered != nil && ev == nil { // by a goroutine that the runner has left
			return nil
		}
		b.Answered = ev
		now := b
		now.Usage, now.Answered, now.Elapsed = u, ev, time.Since(start)
		return plugin.Call("Serve", func() error { return tell(now) })
	}
	var unwritten error
	if d.Pending == nil {
		own := *l
		own.Live = func(req Request, u Usage) {
			if l.Live != nil {
				l.Live(req, u)
			}
			_ = told(u, nil)
		}
		ev, err := own.Attempt(ctx, s)
		if ev.Kind == "" {
			return Report{}, err
		}
		unwritten, d.Pending = err, &ev
	}
	judge := *l
	if err := told(d.Pending.Iteration.Usage, d.Pending); err != nil {
		judge.Verifier = VerifierFunc(func(context.Context, Claim) (Verdict, error) { return Verdict{}, err })
	}
	var err error
	if r.Iteration, err = judge.Judge(ctx, s, *d.Pending); err != nil {
		return Report{}, err
	}
	return r, unwritten
}

// prepareHere makes a loop ready on a machine. On all but the first that is what holds
// there alone: what the workspace is by now, the agent has made.
func (l *Local) prepareHere(ctx context.Context, d Dispatch, host string) (Report, error) {
	s, first := d.State, d.Hosts == nil
	if first && s.Prepared { // by a driver on another machine
		s.Task.Guarded = maps.Clone(s.Task.Guarded)
		maps.DeleteFunc(s.Task.Guarded, func(key, _ string) bool { return OfMachine(key) })
	}
	fresh := s
	fresh.Prepared, fresh.Running, fresh.Iteration, fresh.Attempt = false, false, 1, 1
	ready, err := l.Prepare(ctx, fresh)
	if err != nil {
		return Report{}, err
	}
	r := Report{Host: host, Prepared: &s, Here: map[string]string{}}
	for key, sum := range ready.Task.Guarded {
		if _, agreed := s.Task.Guarded[key]; !agreed && OfMachine(key) {
			r.Here[key] = sum
			if was, known := d.Known[host][key]; known {
				r.Here[key] = was
			}
		}
	}
	if !first || s.Prepared || s.Base != "" { // not by Begun: a worker may have been lost, or have failed, before it was prepared
		return r, nil
	}
	maps.DeleteFunc(ready.Task.Guarded, func(key, _ string) bool { _, is := r.Here[key]; return is })
	r.Prepared = &ready
	if l.Learn == nil {
		return r, nil
	}
	lesson, err := l.lesson(ctx, ready)
	if err != nil || lesson.Why == "" {
		return r, err
	}
	ev := lesson.Event(ready)
	r.Learned = &ev
	return r, nil
}
