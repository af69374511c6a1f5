package verify

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ralph-loop/ralph"
)

// Cache returns a verifier that asks v once about a claim. Several stages, or
// several goroutines, that ask about the same answer of the same attempt get
// one verdict, and those that ask while v is at work wait for it. Use the
// returned value in all of these places: two Caches share nothing.
//
// The same attempt means the same task, in the same folder, with the same
// numbers, that began at the same time and changed the same files. Equal words
// are not enough: what was verified once is verified again when the agent has
// run again, whatever it says. Only the call that asked v has its Usage; the
// others cost nothing.
//
// Errors are not cached: whoever asks next has v asked again. So does a caller
// that waited for a call which was given up by the one who made it. The last
// 128 verdicts are kept, in memory only: a verdict that outlived the process
// would be about a workspace that may have changed since.
//
// A nil v is an error of Validate and of Verify. The returned verifier is safe
// for concurrent use if v is.
func Cache(v ralph.Verifier) ralph.Verifier {
	return &cache{verifier: v, flights: map[string]*flight{}, known: map[string]ralph.Verdict{}}
}

// A cache must not be copied: its callers share the calls that are under way.
// That is why Cache returns a pointer, unlike this package's other verifiers,
// which are plain values.
type cache struct {
	verifier ralph.Verifier

	mu      sync.Mutex
	flights map[string]*flight
	known   map[string]ralph.Verdict
	order   []string // of known, the oldest first
}

// A flight is a call of the verifier that others wait for. x/sync/singleflight
// would either have them wait for longer than their contexts last, or have v
// called on a goroutine that is not its caller's.
type flight struct {
	done    chan struct{}
	verdict ralph.Verdict
	err     error
	givenUp bool // its caller's context ended
}

// cached is how many verdicts are kept. A loop asks about one attempt at a
// time, so this is enough for many loops that share a Cache, and small enough
// that nobody has to think about memory.
const cached = 128

// Validate is that of v, and it is an error if v is nil.
func (k *cache) Validate(t ralph.Task) error {
	if k.verifier == nil {
		return errNoVerifier
	}
	return validate(k.verifier, t)
}

// Prepare is that of v. It is not cached: it is called once in a loop, and asks
// for the state of the workspace at that moment.
func (k *cache) Prepare(ctx context.Context, t ralph.Task) (ralph.Task, error) {
	return prepare(ctx, k.verifier, t)
}

var errNoVerifier = errors.New("verify: Cache: there is no verifier")

// Verify implements [ralph.Verifier]. The errors are those of v,
// context.Cause(ctx), and one if v is nil. A caller that waits for another's
// call returns as soon as its own ctx is done, and does not end that call.
func (k *cache) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if k.verifier == nil {
		return ralph.Verdict{}, errNoVerifier
	}
	key, err := cacheKey(c)
	if err != nil {
		return ralph.Verdict{}, err
	}
	// A loop, because a caller whose leader gave up has to start over: it may
	// have to make the call itself now.
	for {
		if ctx.Err() != nil {
			return ralph.Verdict{}, context.Cause(ctx)
		}
		v, f, mine := k.board(key)
		switch {
		case f == nil:
			return v, nil
		case mine:
			k.fly(ctx, key, f, c)
			return clone(f.verdict), f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return ralph.Verdict{}, context.Cause(ctx)
		}
		// The call ended for a reason that is not this caller's: somebody
		// else's context was done.
		if f.givenUp {
			continue
		}
		v = clone(f.verdict)
		v.Usage = ralph.Usage{} // which its caller has
		return v, f.err
	}
}

// board returns the verdict if it is known; else the call that is being made,
// or a new one, which is the caller's to make. One lock covers all three
// answers, so no two callers can both take the call for theirs.
func (k *cache) board(key string) (v ralph.Verdict, f *flight, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.known[key]; ok {
		return clone(v), nil, false
	}
	if f := k.flights[key]; f != nil {
		return ralph.Verdict{}, f, false
	}
	// A call counts as given up from the start, so that one whose goroutine
	// ends in it (a test's FailNow) leaves nobody waiting and no empty verdict
	// behind.
	f = &flight{done: make(chan struct{}), givenUp: true} // until it has ended
	k.flights[key] = f
	return ralph.Verdict{}, f, true
}

// fly makes the call, and wakes those that wait however it ends. The channel is
// closed under the lock, after the verdict is stored: who wakes up and looks
// finds it.
func (k *cache) fly(ctx context.Context, key string, f *flight, c ralph.Claim) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.flights, key)
		if !f.givenUp && f.err == nil {
			k.put(key, f.verdict)
		}
		close(f.done)
	}()
	f.verdict, f.err = ask(ctx, k.verifier, c)
	// A pass that comes with an error is none. It is corrected here once,
	// before anybody else can see it.
	f.verdict.Passed = f.verdict.Passed && f.err == nil
	f.givenUp = f.err != nil && ctx.Err() != nil
}

// put stores a verdict, without what it has cost: that was paid by the call
// that made it, and would be counted again with each hit. The oldest goes
// first, and not the one least asked for: attempts do not come back.
func (k *cache) put(key string, v ralph.Verdict) {
	if len(k.order) == cached {
		delete(k.known, k.order[0])
		k.order = slices.Delete(k.order, 0, 1)
	}
	v = clone(v)
	v.Usage = ralph.Usage{}
	k.known[key] = v
	k.order = append(k.order, key)
}

// clone copies a verdict deeply. Its receivers may append to the checks or
// write to them, as [MultiStage] does where it makes warnings of them, and two
// goroutines may do so at once.
func clone(v ralph.Verdict) ralph.Verdict {
	v.Usage = ralph.Usage{}.Add(v.Usage) // with a cost of its own
	v.Checks = slices.Clone(v.Checks)
	for i, c := range v.Checks {
		if c.ExitCode != nil {
			v.Checks[i].ExitCode = new(*c.ExitCode)
		}
	}
	return v
}

// cacheKey names what counts as the same claim. The folder is made absolute,
// since a relative name means another folder after the program has changed its
// own. Evidence and Mark are not part of the key, because they do not change
// what is judged; nor is Base, which stays the same in a loop, nor Checks,
// which differ between stages that ask about the same answer. The output is
// hashed by itself: JSON would replace bytes of it that are not UTF-8.
func cacheKey(c ralph.Claim) (string, error) {
	dir, err := filepath.Abs(c.Task.Dir)
	text, bad := json.Marshal([]any{c.Task, dir, c.Iteration, c.Attempt, c.Start.UnixNano(), c.Files, c.Promised, c.Fault, c.Omitted})
	if err = errors.Join(err, bad); err != nil {
		return "", fmt.Errorf("verify: Cache: %w", err)
	}
	h := sha256.New()
	h.Write(text)
	h.Write([]byte(c.Output))
	return string(h.Sum(nil)), nil
}
