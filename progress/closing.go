package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term"
)

// Closing is what a person is told after a loop, in at most three lines: whether its
// task is verified, and by what; how much it took; and how to go on. Of many loops, as
// of a session, say in Result what came of them, and give a State with what they have
// used in all.
//
//	verified by go test ./... (exit code 0, 1.2s) and 2 more checks
//	3 iterations in 4m12s, $0.37 (cost of 1 attempt unknown), 41k tokens, 5 files changed
//	records: /home/me/.ralph/T001; go on: ralph resume T001
type Closing struct {
	// State is how the loop ended, or where it was interrupted. Of it the second line has
	// Usage, Unpriced, Elapsed and Files; what of them is zero is left out.
	State ralph.State
	// Result stands for the first line. "" = it is made of State.
	Result string
	// Iterations is how many have run. 0 = what State tells.
	Iterations int
	// Untold is how many attempts State.Unpriced does not count, because they were
	// interrupted, and of which the cost is not known either. Who has seen their events knows.
	Untold int
	// Records is where the records are, Next the command to go on. "" = that is left out,
	// and the third line with both.
	Records, Next string
	// Columns is how wide a line may be: one that is wider is broken between words, and goes
	// on in rows that begin with three blanks. A command is never broken, so that it can be
	// copied; it gets a row of its own. Give the columns of the terminal. 0 = no line is broken.
	Columns int
}

// String returns the lines, each with a line feed. A terminal may show them.
// Each becomes a single one, also a Result or a path with line feeds in it, so that "at
// most three" holds whatever others have written.
func (c Closing) String() string {
	var b strings.Builder
	for _, line := range []string{cmp.Or(c.Result, c.verdict()), c.account(), c.further()} {
		for _, row := range c.rows(term.Line(line)) {
			b.WriteString(row + "\n")
		}
	}
	return b.String()
}

// rows is a line as it is shown; none for an empty one.
// A row as wide as the terminal has room: nothing is drawn below it again.
func (c Closing) rows(line string) []string {
	switch {
	case line == "":
		return nil
	case c.Columns <= 0 || term.Width(line) <= c.Columns:
		return []string{line}
	}
	command := ""
	if next := goOn + term.Line(c.Next); c.Next != "" && strings.HasSuffix(line, next) {
		line, command = strings.TrimSuffix(line, next), next
	}
	var rows []string
	if line = strings.TrimSuffix(line, "; "); line != "" {
		rows = wrap(line, indent, c.Columns)
	}
	if command != "" {
		rows = append(rows, command)
	}
	return rows
}

const goOn = "go on: "

// maxClosing bounds reasons, in columns: they are on record whole.
const maxClosing = 300

// verdict is the first line.
// It begins with "verified" or "not verified", or says that it was interrupted, so that
// nobody has to know the reasons for a stop to tell a success.
func (c Closing) verdict() string {
	s := c.State
	if s.Stop == ralph.StopVerified {
		if what := by(s.Verdict.Checks, ralph.CheckPassed); what != "" {
			return "verified" + what
		}
		// That nothing but the agent's word was asked is a warning.
		if at := slices.IndexFunc(s.Verdict.Checks, func(c ralph.Check) bool { return c.Status == ralph.CheckWarning }); at >= 0 {
			return "verified, with a warning: " + term.Cut(term.Line(cmp.Or(s.Verdict.Checks[at].Detail, s.Verdict.Checks[at].Name)), maxClosing)
		}
		return "verified"
	}
	// A limit says that it is over, and not what was missing. Other reasons have that in
	// their detail.
	text := stopped(s)
	if s.Done() && !s.Verdict.Passed && slices.Contains([]ralph.StopReason{ralph.StopIterations, ralph.StopCost, ralph.StopTokens, ralph.StopDuration}, s.Stop) {
		if why := by(s.Verdict.Checks, ralph.CheckFailed); why != "" {
			text += "; last rejected" + why
		}
	}
	return text
}

// stopped says why a loop that is not verified has stopped, or where it was interrupted.
// Limits are told by what was allowed, since that is what to raise; other reasons by
// their detail, which is for people.
func stopped(s ralph.State) string {
	switch {
	case s.Stop == "":
		return brokenOff(s)
	case s.Stop == ralph.StopIterations && s.Asked != 0:
		return fmt.Sprintf("not verified: stopped on request after iteration %d", s.Iteration)
	case s.Stop == ralph.StopIterations:
		return fmt.Sprintf("not verified: limit of %s reached", plural(cmp.Or(s.Task.Limits.Iterations, 10), "iteration"))
	case s.Stop == ralph.StopDuration:
		return "not verified: " + late(s)
	case s.Stop == ralph.StopStalled && s.Stalled == 1:
		return "not verified: stalled: 1 iteration changed no file"
	case s.Stop == ralph.StopStalled && s.Stalled > 1:
		// What was compared, with its digest, is on record; a person needs the number.
		return fmt.Sprintf("not verified: stalled: %d iterations in a row changed no file", s.Stalled)
	}
	how, known := map[ralph.StopReason]struct{ reason, without string }{ // without a detail
		ralph.StopCost:    {"limit of cost", ""},
		ralph.StopTokens:  {"limit of tokens", ""},
		ralph.StopInvalid: {"it makes no sense", ""},
		ralph.StopBlocked: {"", "the agent says that it cannot go on"}, // as its detail does
		ralph.StopFailed:  {"", "failed"},                              // "failed: the agent failed" would say it twice
	}[s.Stop]
	if !known { // rate limited, cancelled, and what later versions add
		how.reason = strings.ReplaceAll(string(s.Stop), "_", " ")
	}
	if s.Stop == ralph.StopCost && s.Blind != "" { // what is limited has been said
		s.Detail = s.Blind
	}
	detail := cmp.Or(term.Cut(once(how.reason, term.Line(s.Detail)), maxClosing), how.without)
	if strings.HasPrefix(detail, how.reason+" ") { // "cancelled by …" says it by itself
		how.reason = ""
	}
	return strings.TrimSuffix("not verified: "+strings.TrimPrefix(how.reason+": "+detail, ": "), ": ")
}

// late says that the time of a loop is over, or would be after a wait that was not begun.
func late(s ralph.State) string {
	limit := lasted(s.Task.Limits.Duration)
	if wait := unwaited(s); wait > 0 && s.RateLimits > 0 {
		return fmt.Sprintf("rate limited for %s, longer than the limit of %s allows", lasted(wait), limit)
	}
	return fmt.Sprintf("limit of %s reached", limit)
}

// unwaited is the wait that a limit has stopped a loop before. It is counted in its time,
// for that is why it was stopped, and nobody has waited.
func unwaited(s ralph.State) time.Duration {
	if !s.Done() {
		return 0
	}
	return min(max(s.Wait, 0), s.Elapsed)
}

// brokenOff says where a loop is that has not stopped.
// An attempt that was interrupted is made again, and so its iteration is the one that a
// loop goes on with.
func brokenOff(s ralph.State) string {
	switch {
	case s.Running || s.Attempt > 1:
		return fmt.Sprintf("interrupted in iteration %d", s.Iteration)
	case s.Iteration > 1:
		return fmt.Sprintf("interrupted before iteration %d", s.Iteration)
	}
	return "interrupted before the first iteration"
}

// by names the check that tells most of those with a status, a command before others,
// and how many more there are.
// A command with an exit code is the best evidence there is, and what people expect to
// read; "promise" alone is none.
// One is named and the rest counted: a list of twenty checks would push the cost and the
// command to go on off the screen, and is on record.
func by(checks []ralph.Check, status ralph.CheckStatus) string {
	var of []ralph.Check
	for _, c := range checks {
		if c.Status == status {
			of = append(of, c)
		}
	}
	if len(of) == 0 {
		return ""
	}
	first := of[max(slices.IndexFunc(of, func(c ralph.Check) bool { return c.ExitCode != nil }), 0)]
	var measured []string
	if first.ExitCode != nil {
		measured = append(measured, fmt.Sprintf("exit code %d", *first.ExitCode))
	}
	if first.Duration > 0 {
		measured = append(measured, lasted(first.Duration))
	}
	text := " by " + term.Cut(term.Line(first.Name), maxClosing)
	if len(measured) > 0 {
		text += " (" + strings.Join(measured, ", ") + ")"
	}
	if more := len(of) - 1; more > 0 {
		text += " and " + plural(more, "more check")
	}
	return text
}

// account is the second line: what it took. It is left out if nothing has run.
// It gives the known cost and how many attempts are not in it, never a sum that looks
// whole and is not.
func (c Closing) account() string {
	s, used := c.State, ralph.Usage{}.Add(c.State.Usage)
	n := cmp.Or(c.Iterations, iterationsOf(s))
	if n == 0 && used == (ralph.Usage{}) {
		return ""
	}
	parts := []string{fmt.Sprintf("%s in %s", plural(n, "iteration"), lasted(s.Elapsed+s.Ran-unwaited(s)))}
	untold := s.Unpriced + max(c.Untold, 0)
	switch cost := price(used, 0, 0); {
	case cost != "":
		parts = append(parts, cost+costless(untold))
	case used != ralph.Usage{} || untold > 0:
		parts = append(parts, "cost unknown")
	}
	if told := tokens(used, 0); told != "" {
		parts = append(parts, told)
	}
	if len(s.Files) > 0 {
		parts = append(parts, changed(s.Files))
	}
	return strings.Join(parts, ", ")
}

// costless says behind a cost how many attempts are not in it.
func costless(attempts int) string {
	if attempts <= 0 {
		return ""
	}
	return fmt.Sprintf(" (cost of %s unknown)", plural(attempts, "attempt"))
}

// once is a detail without a beginning that says what has been said before it, or that it
// says itself: "rate limited" is followed by "rate limit: …", "cancelled" by
// "cancelled: cancelled by …".
func once(said, detail string) string {
	head, rest, has := strings.Cut(detail, ": ")
	if has && (said == head || said == head+"ed" || strings.HasPrefix(rest, head+" ")) {
		return rest
	}
	return detail
}

// changed counts files. A state keeps those that fit into some 4 KiB of JSON: of a list
// that is nearly full there may be more.
// Three quarters of the bound are taken for full, because a single long path may be what
// did not fit any more. "At least" is true also when none is missing.
func changed(files []string) string {
	size := 0
	for _, f := range files {
		size += len(f) + 3
	}
	text := plural(len(files), "file") + " changed"
	if size > 3<<10 {
		return "at least " + text
	}
	return text
}

// iterationsOf is how many iterations have begun. A state that a cancel has stopped
// between two has the number of the next one.
func iterationsOf(s ralph.State) int {
	begun := s.Running || s.Uncounted || s.Attempt > 1
	switch {
	case begun, s.Done() && s.Stop != ralph.StopCancelled && !s.Updated.IsZero():
		return s.Iteration
	}
	if s.Elapsed > 0 { // it was cancelled in its first
		return max(s.Iteration-1, 1)
	}
	return max(s.Iteration-1, 0)
}

// further is the third line.
// Only the caller knows its commands and places.
// It is not made of the loop's name here: a command that does not exist would be worse than
// none, and a library does not know what its program is called.
func (c Closing) further() string {
	var parts []string
	if c.Records != "" {
		parts = append(parts, "records: "+c.Records)
	}
	if c.Next != "" {
		parts = append(parts, goOn+c.Next)
	}
	return strings.Join(parts, "; ")
}
