package progress

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

// Banner writes a session as a person reads it: a header before each iteration, the
// agent's output as it streams, a footer after it, and a summary at the end. What it
// writes is not bounded, and it holds none of it in memory. A terminal may show it: of
// the agent's output it leaves out what [Printable] would.
//
// It is a [ralph.ProgressLog] and, for the agent's output, an [io.Writer]: give
// it as the raw writer of [ralph.Local.Output]. Call Close when the session is
// over, also when it was interrupted. It is for one loop; its methods may be
// called concurrently.
type Banner struct {
	// W gets all of it, required. Its first error is that of Append and of Close; what the
	// agent prints after that is lost.
	W io.Writer
	// Mode stands in the header of each iteration, in the caller's words: plan, build, …
	Mode string

	mu       sync.Mutex
	agent    io.Writer // takes the agent's output
	err      error     // the first of W
	midLine  bool      // the agent's output did not end with a line feed
	begun    time.Time
	last     int // number of the last iteration that ended
	total    int
	failed   int
	badLast  bool // the last iteration counted has failed
	attempts int  // at the iteration so far, beyond the first
}

var (
	_ ralph.ProgressLog = (*Banner)(nil)
	_ io.Writer         = (*Banner)(nil)
)

// The rules are 80 characters wide, as terminals were: the session log is often read on one.
const (
	doubleRule = "================================================================================\n"
	singleRule = "--------------------------------------------------------------------------------\n"
)

// Write takes the agent's output. It always reports success, so that the agent
// goes on; Append and Close return the first error of W.
func (b *Banner) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent == nil {
		b.agent = term.Strip(agentOutput{b})
	}
	return b.agent.Write(p)
}

// An agentOutput is what of an agent's output may be shown. It comes behind the filter,
// so that a sequence which is split over two writes is removed as well.
type agentOutput struct{ *Banner }

func (b agentOutput) Write(p []byte) (int, error) {
	b.write(p)
	b.midLine = p[len(p)-1] != '\n'
	return len(p), nil
}

// write writes to W until that has failed once: a log with a hole in it would be taken
// for a whole one.
func (b *Banner) write(p []byte) {
	if b.err == nil {
		if _, err := b.W.Write(p); err != nil {
			b.err = fmt.Errorf("progress: %w", err)
		}
	}
}

func (b *Banner) print(format string, args ...any) { b.write(fmt.Appendf(nil, format, args...)) }

// Append writes the header and the footer of iterations. The error is the first one of
// W, at each call; no event is lost by it, for none is kept.
func (b *Banner) Append(_ context.Context, ev ralph.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev.Kind {
	case ralph.EventLoopStarted:
		if b.begun.IsZero() {
			b.begun = ev.Time
		}
	case ralph.EventIterationStarted:
		b.agent = nil // what the last one has left open ends with it
		b.print("%sITERATION %d\n%sMode: %s\nStart Time: %s\n%s", doubleRule, ev.Iteration.Number, doubleRule, PrintableLine(b.Mode), stamp(ev.Iteration.Start), singleRule)
	case ralph.EventIterationEnded:
		b.footer(ev.Iteration)
	}
	return b.err
}

// footer ends an iteration. What is not known is left out, for "0" would say that there
// was none; only the cost says that it is unknown, since people look for it.
// The names of the fields are what [ReadBanner] and people's scripts look for: one may be
// added, none renamed.
func (b *Banner) footer(it ralph.Iteration) {
	b.count(it)
	if b.midLine {
		b.print("\n")
		b.midLine = false
	}
	b.print("%sITERATION %d COMPLETE\nEnd Time: %s\nDuration: %s\n", singleRule, it.Number, stamp(it.End), it.Elapsed.Round(time.Millisecond))
	if it.Usage.Requests > 0 {
		b.print("API Requests: %d\n", it.Usage.Requests)
	}
	if it.Model != "" {
		b.print("Model: %s\n", PrintableLine(it.Model))
	}
	if it.Usage.Messages > 0 {
		b.print("Messages: %d\n", it.Usage.Messages)
	}
	if it.Usage != (ralph.Usage{}) {
		b.print("Cost: %s\n", it.Usage.Cost())
	}
	b.print("Retries: %d\nStatus: %s\n%s\n", b.attempts, status(it), doubleRule)
}

// count counts an iteration once, however often it was tried: as it ended. A retry that
// succeeds takes back the failure before it.
func (b *Banner) count(it ralph.Iteration) {
	if it.Number == b.last {
		b.attempts++
		if b.badLast {
			b.failed--
		}
	} else {
		b.last, b.attempts = it.Number, 0
		b.total++
	}
	if b.badLast = it.Outcome == ralph.OutcomeFailure || it.Outcome == ralph.OutcomeInterrupted; b.badLast {
		b.failed++
	}
}

// status says in a few words how an attempt has ended: a fault goes first, since a
// claim that came with one is the exception.
func status(it ralph.Iteration) string {
	switch {
	case it.Fault != "":
		return fmt.Sprintf("%s (%s: %s)", it.Outcome, it.Fault, PrintableLine(it.Error))
	case it.Claimed && it.Verdict.Passed:
		return string(it.Outcome) + " (claimed, verified)"
	case it.Claimed:
		return string(it.Outcome) + " (claimed, rejected)"
	// It is said in words, since it is the usual reason for "why does it go on?".
	case it.NearMiss != "":
		return fmt.Sprintf("%s (no claim: the promise was %s)", it.Outcome, strings.ReplaceAll(it.NearMiss, "_", " "))
	}
	return string(it.Outcome)
}

// Close writes the session's summary at the time now. The result says in words how the
// session ended; it may have several lines, such as "verified\nExit Code: 0", which
// stand in the summary as they are. Close does not close W. It reports the first error
// of W since the Banner was made.
func (b *Banner) Close(now time.Time, result string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.midLine {
		b.print("\n")
	}
	total := time.Duration(0)
	if !b.begun.IsZero() {
		total = now.Sub(b.begun)
	}
	b.print("%sSESSION SUMMARY\n%sTotal Iterations: %d\nSuccessful: %d\nFailed: %d\nTotal Duration: %s\nExit Reason: %s\n%s",
		doubleRule, doubleRule, b.total, b.total-b.failed, b.failed, total.Round(time.Millisecond), strings.TrimSpace(Printable(result)), doubleRule)
	return b.err
}

// stamp is a time as all logs of this package write it, so that they can be compared.
// It is in UTC, unlike what a Display shows: a log is read elsewhere and later, where
// nobody knows what the clock on the writer's wall said.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
