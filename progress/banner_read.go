package progress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SessionLog is what a session log holds, as [Banner] writes it. The agent's output
// stands in the same file, and an agent can print what looks like the lines of a Banner:
// what is read is for people, and no evidence.
type SessionLog struct {
	// Iterations are in the order of the file: an attempt each.
	Iterations []SessionIteration
	// Result is the first line of what [Banner.Close] was given; "" = the
	// session has not come to its end, or was killed.
	Result string
}

// SessionIteration is an attempt in a session log. What is not told, because the attempt
// has not ended or the client did not say, is zero or "".
type SessionIteration struct {
	Number   int           `json:"number"` // from 1
	Mode     string        `json:"mode,omitempty"`
	Start    time.Time     `json:"start,omitzero"`     // in UTC
	End      time.Time     `json:"end,omitzero"`       // in UTC
	Duration time.Duration `json:"duration,omitempty"` // in nanoseconds in JSON
	Model    string        `json:"model,omitempty"`
	Cost     string        `json:"cost,omitempty"`   // in words: "$0.3700"
	Status   string        `json:"status,omitempty"` // in words, the outcome first: "success (claimed, verified)"
}

// ReadBanner reads a session log. A file that is none has no iterations and no result.
// Of a line at most 64 KiB are kept, and of the agent's output nothing. The only errors
// are those of r; what was read until then is returned with them. It reads r to its end.
//
// It is for logs that are all that is left of a session. Who wants to know for certain
// what came of a loop reads its journal, see [Dir].
func ReadBanner(r io.Reader) (SessionLog, error) {
	var p bannerParser
	in := bufio.NewReaderSize(r, 32<<10)
	for {
		b, err := readLine(in, maxMarkdownLine)
		if len(b) > 0 || err == nil {
			p.read(strings.ToValidUTF8(string(bytes.TrimRight(b, "\r\n")), "\uFFFD"))
		}
		if errors.Is(err, io.EOF) {
			return p.SessionLog, nil
		}
		if err != nil {
			return p.SessionLog, fmt.Errorf("progress: %w", err)
		}
	}
}

// A bannerParser reads a session log line by line.
// A title alone proves nothing, for agents print such words; so a part begins only where a
// rule and a title follow each other in the order that a Banner writes, and counts only
// once the rule that ends it has come. A regular expression over the whole text would do
// the same with all of it in memory, and a log of a week is large.
type bannerParser struct {
	SessionLog
	last  string // the last line, with its line feed
	title string // what has begun: a header, a footer or the summary; "" = nothing
	ruled bool   // the rule that ends the title has come, or there is none
	until string // the rule that ends it
	is    map[string]string
}

// bannerFields are the fields that are read. Others are not kept, for an agent can print
// as many as it likes.
var bannerFields = []string{"Mode", "Start Time", "End Time", "Duration", "Model", "Cost", "Status", "Exit Reason"}

func (p *bannerParser) read(text string) {
	text += "\n"
	before := p.last
	p.last = text
	switch key, value, isField := strings.Cut(strings.TrimSuffix(text, "\n"), ": "); {
	case p.title != "" && !p.ruled && text == doubleRule:
		p.ruled = true
		return
	case p.title != "" && p.ruled && text == p.until:
		p.close()
		return
	case p.title != "" && p.ruled && isField:
		if slices.Contains(bannerFields, key) {
			p.is[key] = value
		}
		return
	case p.title == summaryTitle && p.ruled: // a line of the result
		return
	}
	// What has begun and goes on otherwise was none. The line may still begin another part.
	p.title = ""
	footer := strings.HasSuffix(text, footerEnd+"\n")
	switch {
	case before == singleRule && footer:
		p.begin(text, true, doubleRule)
	case before == doubleRule && strings.HasPrefix(text, headerBegin) && !footer:
		p.begin(text, false, singleRule)
	case before == doubleRule && text == summaryTitle+"\n":
		p.begin(text, false, doubleRule)
	}
}

// The titles of the parts.
const (
	headerBegin  = "ITERATION "
	footerEnd    = " COMPLETE"
	summaryTitle = "SESSION SUMMARY"
)

func (p *bannerParser) begin(title string, ruled bool, until string) {
	p.title, p.ruled, p.until, p.is = strings.TrimSuffix(title, "\n"), ruled, until, map[string]string{}
}

// close takes over what has ended. A footer belongs to the header before it: of several,
// and an agent may have printed one, the last counts.
func (p *bannerParser) close() {
	title, is := p.title, p.is
	p.title = ""
	if title == summaryTitle {
		p.Result = is["Exit Reason"]
		return
	}
	number, footer := strings.CutSuffix(strings.TrimPrefix(title, headerBegin), footerEnd)
	n, err := strconv.Atoi(number)
	last := len(p.Iterations) - 1
	switch {
	case err != nil:
	case !footer && is["Start Time"] != "":
		p.Iterations = append(p.Iterations, SessionIteration{Number: n, Mode: is["Mode"], Start: parseTime(is["Start Time"])})
	case footer && last >= 0 && p.Iterations[last].Number == n:
		it := &p.Iterations[last]
		it.End, it.Model, it.Cost, it.Status = parseTime(is["End Time"]), is["Model"], is["Cost"], is["Status"]
		it.Duration, _ = time.ParseDuration(is["Duration"])
	}
}
