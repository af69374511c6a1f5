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

// Cache returns a verifier that asks v once about a claim: several stages, or
// several goroutines, that ask about the same answer of the same attempt get one
// verdict, and those that ask while v looks wait for it. Use the returned value in
// all of these places: two Caches share nothing.
//
// The same attempt is one of the same task, in the same folder, with the same
// numbers, that began at the same time and changed the same files: what was verified
// once is verified again when the agent has run again, whatever it says. Only the
// call that asked v has its Usage; the others cost nothing.
//
// Errors are not cached: who asks next has v asked again. So is who waited for
// a call that was given up by the one who made it. The last 128 verdicts are
// kept.
func Cache(v ralph.Verifier) ralph.Verifier { return &cache{verifier: v} }

type cache struct {
	verifier ralph.Verifier

	mu      sync.Mutex
	flights map[string]*flight
	known   map[string]ralph.Verdict
	order   []string // of known, the oldest first
}

// A flight is a call of the verifier that others wait for. x/sync/singleflight
// would have either those wait for longer than their contexts last, or v called
// on a goroutine that is not its caller's.
type flight struct {
	done    chan struct{}
	verdict ralph.Verdict
	err     error
	givenUp bool // its caller's context ended
}

const cached = 128

// Validate is that of the verifier.
func (k *cache) Validate(t ralph.Task) error {
	if k.verifier == nil {
		return errNoVerifier
	}
	return validate(k.verifier, t)
}

// Prepare is that of the verifier.
func (k *cache) Prepare(ctx context.Context, t ralph.Task) (ralph.Task, error) {
	return prepare(ctx, k.verifier, t)
}

var errNoVerifier = errors.New("verify: Cache: there is no verifier")

// Verify implements [ralph.Verifier].
func (k *cache) Verify(ctx context.Context, c ralph.Claim) (ralph.Verdict, error) {
	if k.verifier == nil {
		return ralph.Verdict{}, errNoVerifier
	}
	key, err := cacheKey(c)
	if err != nil {
		return ralph.Verdict{}, err
	}
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
		if f.givenUp {
			continue
		}
		v = clone(f.verdict)
		v.Usage = ralph.Usage{} // which its caller has
		return v, f.err
	}
}

// board returns what is known; else the call that is being made, or a new one
// that is the caller's to make.
func (k *cache) board(key string) (v ralph.Verdict, f *flight, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.known[key]; ok {
		return clone(v), nil, false
	}
	if f := k.flights[key]; f != nil {
		return ralph.Verdict{}, f, false
	}
	f = &flight{done: make(chan struct{}), givenUp: true} // until it has ended
	if k.flights == nil {
		k.flights, k.known = map[string]*flight{}, map[string]ralph.Verdict{}
	}
	k.flights[key] = f
	return ralph.Verdict{}, f, true
}

// fly makes the call.
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
	f.verdict.Passed = f.verdict.Passed && f.err == nil
	f.givenUp = f.err != nil && ctx.Err() != nil
}

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

// clone copies a verdict, for its receivers may add to their checks and write
// to them.
func clone(v ralph.Verdict) ralph.Verdict {
	if v.Usage.CostUSD != nil {
		v.Usage.CostUSD = new(*v.Usage.CostUSD)
	}
	v.Checks = slices.Clone(v.Checks)
	for i, c := range v.Checks {
		if c.ExitCode != nil {
			v.Checks[i].ExitCode = new(*c.ExitCode)
		}
	}
	return v
}

// cacheKey names what is the same claim.
func cacheKey(c ralph.Claim) (string, error) {
	dir, err := filepath.Abs(c.Task.Dir)
	if err != nil {
		return "", fmt.Errorf("verify: Cache: %w", err)
	}
	text, err := json.Marshal([]any{c.Task, dir, c.Iteration, c.Attempt, c.Start.UnixNano(), c.Files, c.Promised, c.Fault, c.Omitted})
	if err != nil {
		return "", fmt.Errorf("verify: Cache: task: %w", err)
	}
	h := sha256.New()
	h.Write(text)
	h.Write([]byte(c.Output))
	return string(h.Sum(nil)), nil
}
