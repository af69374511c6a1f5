package progresstest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress/progresstest"
)

// lines is a sound log: a line of JSON for each event. What its hooks do makes
// it a broken one.
type lines struct {
	mu     sync.Mutex
	out    bytes.Buffer
	edit   func(ctx context.Context, ev *ralph.Event) error // before an event is written
	lookUp func([]ralph.Event) []ralph.Event                // before events are returned
	closed error
}

var errSkip = errors.New("this event is not recorded")

func (l *lines) Append(ctx context.Context, ev ralph.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.edit != nil {
		if err := l.edit(ctx, &ev); errors.Is(err, errSkip) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return json.NewEncoder(&l.out).Encode(ev)
}

func (l *lines) Close() error { return l.closed }

func read(log ralph.ProgressLog) ([]ralph.Event, error) {
	l := log.(*lines)
	l.mu.Lock()
	defer l.mu.Unlock()
	var events []ralph.Event
	for line := range bytes.Lines(l.out.Bytes()) {
		var ev ralph.Event
		if err := json.Unmarshal(line, &ev); err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	if l.lookUp != nil {
		events = l.lookUp(events)
	}
	return events, nil
}

// edited opens logs that do something to each event before they record it.
func edited(edit func(ctx context.Context, ev *ralph.Event) error) func() (ralph.ProgressLog, error) {
	return func() (ralph.ProgressLog, error) { return &lines{edit: edit}, nil }
}

func of(kind ralph.EventKind, edit func(ev *ralph.Event) error) func() (ralph.ProgressLog, error) {
	return edited(func(_ context.Context, ev *ralph.Event) error {
		if ev.Kind == kind {
			return edit(ev)
		}
		return nil
	})
}

func TestBrokenLogs(t *testing.T) {
	t.Parallel()
	full := progresstest.Traits{Read: read, Shared: true}
	partial := progresstest.Traits{Read: read, Shared: true, Partial: true}
	people := progresstest.Traits{Shared: true}
	sound := func() (ralph.ProgressLog, error) { return &lines{}, nil }
	skip := func(*ralph.Event) error { return errSkip }
	forever := func(context.Context, *ralph.Event) error { <-time.After(24 * time.Hour); return nil }
	for _, tt := range []struct {
		rule, name string
		open       func() (ralph.ProgressLog, error)
		traits     progresstest.Traits
	}{
		{"", "sound", sound, full},
		{"", "sound, cannot be read", sound, people},
		{"", "sound, keeps what the fold needs", of(ralph.EventWaiting, skip), partial},
		{"", "sound, and says so when it fails", sound, progresstest.Traits{Read: read, Failing: func() (ralph.ProgressLog, error) {
			return progresstest.FailAfter(nil, 0, nil), nil
		}}},
		{"", "sound, and cannot be opened when it would fail", sound, progresstest.Traits{Failing: func() (ralph.ProgressLog, error) {
			return nil, errors.New("disk full")
		}}},
		{"open", "cannot be opened", func() (ralph.ProgressLog, error) { return nil, errors.New("no such folder") }, full},
		{"open", "opens nothing", func() (ralph.ProgressLog, error) { return nil, nil }, full},
		{"returns", "waits for a reader", edited(forever), full},
		{"returns", "cannot be read while it is open", func() (ralph.ProgressLog, error) {
			return &lines{lookUp: func([]ralph.Event) []ralph.Event { forever(nil, nil); return nil }}, nil
		}, full},
		{"append", "knows no other kinds", of("of_a_later_version", func(*ralph.Event) error { return errors.New("unknown kind") }), full},
		{"append", "needs a State to go by", of(ralph.EventGuided, func(ev *ralph.Event) error {
			if ev.State == nil {
				return errors.New("no state")
			}
			return nil
		}), people},
		{"append", "takes short lines only", of(ralph.EventAnswered, func(ev *ralph.Event) error {
			if len(ev.Answer.Output) > bufio.MaxScanTokenSize {
				return bufio.ErrTooLong
			}
			return nil
		}), full},
		{"unmodified", "sorts the files", of(ralph.EventIterationEnded, func(ev *ralph.Event) error { slices.Sort(ev.Iteration.Files); return nil }), people},
		{"unmodified", "shortens the answer in place", of(ralph.EventAnswered, func(ev *ralph.Event) error { ev.Answer.Output = ""; return nil }), full},
		{"unmodified", "takes the prompt out of the state", of(ralph.EventLoopStarted, func(ev *ralph.Event) error { ev.State.Task.Prompt = ""; return nil }), full},
		{"kept", "holds the last state", func() (ralph.ProgressLog, error) {
			var last *ralph.State
			l := &lines{}
			l.edit = func(_ context.Context, ev *ralph.Event) error {
				if ev.State != nil {
					last = ev.State
				}
				return nil
			}
			l.lookUp = func(events []ralph.Event) []ralph.Event { _ = last; return events }
			return l, nil
		}, people},
		{"kept", "holds an answer", func() (ralph.ProgressLog, error) {
			var answers []*ralph.Response
			return &lines{edit: func(_ context.Context, ev *ralph.Event) error {
				if answers = append(answers, ev.Answer); len(answers) > 100 {
					answers = nil
				}
				return nil
			}}, nil
		}, full},
		{"kept", "shares the lists", func() (ralph.ProgressLog, error) {
			var files [][]string
			return &lines{
				edit: func(_ context.Context, ev *ralph.Event) error { files = append(files, ev.Iteration.Files); return nil },
				lookUp: func(events []ralph.Event) []ralph.Event {
					for i := range min(len(events), len(files)) {
						events[i].Iteration.Files = files[i]
					}
					return events
				},
			}, nil
		}, progresstest.Traits{Read: read}},
		{"cancelled", "gives up", edited(func(ctx context.Context, _ *ralph.Event) error { return ctx.Err() }), full},
		{"cancelled", "drops events in silence", edited(func(ctx context.Context, _ *ralph.Event) error {
			if ctx.Err() != nil {
				return errSkip
			}
			return nil
		}), full},
		{"errors", "swallows its errors", sound, progresstest.Traits{Read: read, Failing: sound}},
		{"errors", "says it once", sound, progresstest.Traits{Failing: func() (ralph.ProgressLog, error) {
			failed := false
			return ralph.ProgressLogFunc(func(context.Context, ralph.Event) error {
				if !failed {
					failed = true
					return errors.New("disk full")
				}
				return nil
			}), nil
		}}},
		{"read", "leaves out waits", of(ralph.EventWaiting, skip), full},
		{"read", "forgets the end", of(ralph.EventLoopStopped, skip), full},
		{"read", "returns the newest first", func() (ralph.ProgressLog, error) {
			return &lines{lookUp: func(events []ralph.Event) []ralph.Event { slices.Reverse(events); return events }}, nil
		}, full},
		{"read", "returns events twice", func() (ralph.ProgressLog, error) {
			return &lines{lookUp: func(events []ralph.Event) []ralph.Event { return append(events, events[len(events)-1]) }}, nil
		}, full},
		{"fold", "loses what was spent", of(ralph.EventIterationEnded, func(ev *ralph.Event) error { ev.Iteration.Usage = ralph.Usage{}; return nil }), full},
		{"fold", "keeps the ends of iterations only", edited(func(_ context.Context, ev *ralph.Event) error {
			if ev.Kind != ralph.EventIterationEnded {
				return errSkip
			}
			return nil
		}), partial},
		{"fold", "forgets that a cost was estimated", of(ralph.EventIterationEnded, func(ev *ralph.Event) error { ev.Iteration.Usage.Estimated = false; return nil }), full},
		{"fold", "loses what a cache was read for", of(ralph.EventIterationEnded, func(ev *ralph.Event) error { ev.Iteration.Usage.CacheRead = 0; return nil }), partial},
		{"fold", "forgets what the agent was blocked by", of(ralph.EventIterationEnded, func(ev *ralph.Event) error { ev.Iteration.Obstacle = ""; return nil }), full},
		{"fold", "loses what was learned", of(ralph.EventLearned, skip), partial},
		{"fold", "loses advice", of(ralph.EventGuided, skip), partial},
		{"whole", "loses the learnings", of(ralph.EventIterationEnded, func(ev *ralph.Event) error { ev.Iteration.Learnings = nil; return nil }), full},
		{"whole", "keeps seconds", edited(func(_ context.Context, ev *ralph.Event) error { ev.Time = ev.Time.Truncate(time.Second); return nil }), full},
		{"concurrent", "takes one at a time", func() (ralph.ProgressLog, error) { return &onlyOne{busy: errors.New("busy")}, nil }, people},
		{"concurrent", "loses what comes at the same time", func() (ralph.ProgressLog, error) { return &onlyOne{}, nil },
			progresstest.Traits{Shared: true, Read: func(log ralph.ProgressLog) ([]ralph.Event, error) { return read(&log.(*onlyOne).lines) }}},
		{"close", "cannot be closed", func() (ralph.ProgressLog, error) { return &lines{closed: errors.New("disk full")}, nil }, full},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				err := progresstest.TestLog(tt.open, tt.traits)
				<-time.After(100 * 24 * time.Hour) // for all that was held up to end
				var rules []string
				if err != nil {
					for line := range strings.Lines(err.Error()) {
						rule, _, _ := strings.Cut(line, ":")
						rules = append(rules, rule)
					}
				}
				if got := strings.Join(rules, " "); got != tt.rule {
					t.Errorf("broken are %q, want %q:\n%v", got, tt.rule, err)
				}
			})
		})
	}
}

// onlyOne takes the time to be disturbed.
type onlyOne struct {
	lines lines
	taken sync.Mutex
	busy  error
}

func (l *onlyOne) Append(ctx context.Context, ev ralph.Event) error {
	if !l.taken.TryLock() {
		return l.busy
	}
	defer l.taken.Unlock()
	<-time.After(time.Millisecond)
	return l.lines.Append(ctx, ev)
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	if err := progresstest.TestLog(nil, progresstest.Traits{}); err == nil || err.Error() != "open: it is nil" {
		t.Error(err)
	}
}
