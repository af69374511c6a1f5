package stream

import (
	"io"
	"time"
)

// Options are what a Decoder needs besides the stream.
type Options struct {
	// Echo is the prompt. Verbatim copies of it in the stream are removed
	// before anything else, in every format, if it holds a promise's tag.
	Echo string
	// Display gets readable text as it comes, without control sequences.
	// nil = none. Its errors are ignored.
	Display io.Writer
	// Notes take what the client says of its own between the events. nil = it is not shown.
	Notes *Notes
	// Dir is the workspace: paths of tools are shown relative to it. "" = as they are.
	Dir string
	// Live is told the usage so far whenever the stream tells it. nil = none.
	Live func(Usage)
	// Price estimates what the stream does not tell the cost of. nil = nothing is
	// estimated.
	Price Pricing
	// Model is the run's, as far as the stream does not tell it.
	Model string
	// Zeros says that a cost of 0 is that of a model for which the client has no
	// price, and so unknown.
	Zeros bool
	// Since is when the run began: what a ledger tells of before is not its.
	Since time.Time
}

// A Result is what a stream said.
type Result struct {
	Text           string // the agent's own final words, bounded
	Omitted        int64  // bytes of them left out
	Usage          Usage
	Model, Session string
	Files          []string // that the stream says were changed, at most 200

	Ended   bool   // the stream's end event came; in plain text, always
	Failed  bool   // the stream itself says that the run failed
	Message string // the provider's words about that, one line

	Kind       Kind          // of a failure that was not overcome
	Words      string        // Message as it came, in which [ResetTime] finds more
	RetryAfter time.Duration // of a rate limit, as a field tells it; 0 = none does
	ResetAt    time.Time     // the same
	Unasked    bool          // it ended well, but no model was asked: Message is the client's

	Skipped     int      // lines that are not of the dialect
	LastSkipped []string // the last few, for diagnosis
}
