package ralph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/gravest"
	"github.com/ralph-loop/ralph/internal/term"
)

// Bounds on what a state carries, in bytes and numbers. Together they keep a
// State without its Task below 64 KiB as JSON, however its text is escaped.
//
// A state is in every record of its loop's start and end, and engines hand it on as a
// message, so it has to stay small. Each text has its own share, so that a verifier
// which prints much cannot push out what people have said.
const (
	maxFeedback    = 8 << 10
	maxKept        = 2 << 10 // of the feedback in a verdict that is kept as record
	maxGuidance    = 6 << 10
	maxLessons     = 2 << 10
	maxDetail      = 1 << 10
	maxObstacle    = 1 << 10
	maxUnseen      = 300
	maxChecks      = 64
	maxChecksBytes = 8 << 10
	maxFiles       = 200
	maxFilesBytes  = 16 << 10
	maxRecordBytes = 4 << 10 // of the files in a state
	maxEnded       = 20
	maxEndedLine   = 120
)

// bounded returns a copy of the verdict that is small enough to be kept. It is cut when
// it is recorded and not when it is shown, so that what a fold gives is what the loop
// had. Of too many checks those that say why it rejects are kept before others.
func (v Verdict) bounded() Verdict {
	v.Feedback = bound(v.Feedback, maxKept)
	v.Usage = Usage{}.Add(v.Usage) // without what is no amount, and a copy
	if len(v.Checks) == 0 {
		v.Checks = nil
		return v
	}
	var statuses []CheckStatus
	for _, c := range v.Checks {
		statuses = append(statuses, c.Status)
	}
	kept, _ := gravest.Of(statuses, maxChecks) // in their order
	checks := make([]Check, 0, len(kept))
	share := maxChecksBytes / len(kept)
	for _, i := range kept {
		c := v.Checks[i]
		c.Name = fit(c.Name, min(share, 128))
		c.Status = CheckStatus(fit(string(c.Status), 16))
		c.Detail = fit(c.Detail, max(share-jsonSize(c.Name), 32))
		c.Digest = fit(c.Digest, 80)
		if c.ExitCode != nil {
			c.ExitCode = new(*c.ExitCode)
		}
		checks = append(checks, c)
	}
	v.Checks = checks
	return v
}

// boundedList returns the distinct lines of a list, as many as fit into limit bytes of
// JSON. It stops at the first that does not fit, rather than look for shorter ones
// behind it: a list with holes would look complete.
func boundedList(list []string, limit int) []string {
	var kept []string
	size := 0
	for _, text := range list {
		text = fit(strings.TrimSpace(text), 1<<10)
		if text == "" || slices.Contains(kept, text) {
			continue
		}
		if size += jsonSize(text); size > limit || len(kept) == maxFiles {
			break
		}
		kept = append(kept, text)
	}
	return kept
}

// boundedEnded makes command lines fit to be kept and shown, each as one line: a cut marks
// its place with line feeds.
func boundedEnded(lines []string) []string {
	var kept []string
	for _, line := range lines[:min(len(lines), maxEnded)] {
		kept = append(kept, term.Line(fit(term.Line(line), maxEndedLine)))
	}
	return kept
}

// boundedGuidance drops the oldest of too much advice. The newest stays. What a person
// says last usually corrects what was said before.
func boundedGuidance(texts []string) []string {
	size := func(text string) int { return max(len(text), (jsonSize(text)+1)/2) + len(`,"`) }
	total := 0
	for i, text := range slices.Backward(texts) {
		if total += size(text); total > maxGuidance && i < len(texts)-1 {
			return texts[i+1:]
		}
	}
	return texts
}

// boundedLessons keeps the first ones of too many. They come in the order of their
// frequency.
func boundedLessons(texts []string) []string { return boundedList(texts, maxLessons) }

// clip makes text fit to be kept and shown: valid UTF-8, no control characters
// but line feed and tab, no control sequences, and at most limit bytes. What is too
// long loses its middle, for the first and the last lines say most.
//
// It cuts at borders of characters, since half a character makes invalid JSON, and says
// how much is missing, since a reader takes a text without a mark for the whole.
func clip(text string, limit int) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, isControl) {
		text = term.Clean(text)
	}
	if len(text) <= limit {
		return text
	}
	mark := fmt.Sprintf("\n… %d bytes left out …\n", len(text)-limit)
	if len(mark) >= limit {
		return strings.ToValidUTF8(text[:limit], "")
	}
	head := strings.ToValidUTF8(text[:(limit-len(mark))/3], "")
	tail := text[len(text)-(limit-len(mark)-len(head)):]
	return head + mark + strings.ToValidUTF8(tail, "")
}

// bound is clip for text of which at most twice the limit may be JSON. That is
// enough for what is quoted and broken into lines; only text full of markup, of
// which each character may be six bytes, is cut shorter.
func bound(text string, limit int) string { return escaped(text, clip(text, limit), 2*limit) }

// fit is clip for the bytes that a text has as JSON.
func fit(text string, limit int) string { return escaped(text, clip(text, limit), limit) }

// escaped cuts text, of which kept was kept so far, until it has at most limit bytes as
// JSON. It goes in proportion and so converges in a few steps, without a search through
// the text at each.
func escaped(text, kept string, limit int) string {
	if 6*len(kept) <= limit {
		return kept
	}
	for size := jsonSize(kept); size > limit; size = jsonSize(kept) {
		kept = clip(text, len(kept)*limit/size)
	}
	return kept
}

// jsonSize is the size of clipped text in a JSON string, as encoding/json writes it by
// default: with <, > and & escaped, for HTML. Escapes can make a text six times as
// long, which a bound on the text alone would miss.
func jsonSize(text string) int {
	size := len(text)
	for _, r := range text {
		switch r {
		case '"', '\\', '\n', '\t':
			size++
		case '<', '>', '&':
			size += len(`\u003c`) - 1
		case '\u2028', '\u2029':
			size += len(`\u2028`) - len("\u2028")
		}
	}
	return size
}

// short hashes digests and names over 128 bytes. Digests of a caller's Workspace may be
// of any length, and are only compared.
func short(digest string) string {
	if len(digest) <= 128 {
		return digest
	}
	sum := sha256.Sum256([]byte(digest))
	return hex.EncodeToString(sum[:])
}

// isControl leaves line feed and tab alone.
func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
