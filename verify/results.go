package verify

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/internal/term"
)

// How many tests ran and passed, in the words of the tools. What a test program
// prints can imitate them; see the tests' own guard for that.

// Results are read from what a tool prints, or from a file it writes, of one
// run. They are needed because an exit code of 0 does not say that a test has
// run: tools end well where they find none. An implementation is used for one
// run and is not safe for concurrent use.
type results interface {
	// args are added to the command's.
	args() []string
	// stdout returns what the tool's standard output is written to: it hands on to w
	// what a person would read.
	stdout(w io.Writer) io.Writer
	// end is called when the tool has ended, and returns how many tests passed, and
	// which of its programs ended well before they had run their tests.
	end() (passed int, cut []string)
}

// A lineReader is written to, and calls line with each line and its end. Very long
// lines come in pieces.
type lineReader struct {
	line func([]byte)
	held []byte
}

// longestLine bounds a line that is held, in bytes: an event of go test -json
// can hold what a test printed in one piece.
const longestLine = 1 << 20

// Write takes a piece of what the tool prints. It never fails, as a pipe that
// breaks would end the tool.
func (r *lineReader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			end = len(p)
		}
		r.held = append(r.held, p[:end]...)
		p = p[end:]
		if last := r.held[len(r.held)-1]; last == '\n' || len(r.held) >= longestLine {
			r.flush()
		}
	}
	return n, nil
}

func (r *lineReader) flush() {
	if len(r.held) > 0 {
		r.line(r.held)
		r.held = r.held[:0]
	}
}

// goResults reads go test -json. It hands on what go test prints without -json:
// of a test that passes nothing, of one that fails all. The plain output would
// be enough to show, but it does not tell a package whose tests ran from one
// whose init ended the program.
type goResults struct {
	lines  lineReader
	to     io.Writer
	passed int
	tests  map[goTest]*bytes.Buffer // of what is not known yet whether it passes; nil = it is handed on
	order  []goTest
	held   int
	done   map[string]bool // packages whose tests have all run
	cut    []string
	mains  func(pkg string) bool // which may end before
}

type goTest struct{ Package, Test string }

// Bounds of what is held of tests that still run, in bytes: of one, and of all.
// A test that prints more is shown at once, whether it passes or not, because
// it could not be held back without limit.
const (
	mostOfTest  = 64 << 10
	mostOfTests = 4 << 20
)

// newGoResults makes results of packages; mains tells those that have a
// TestMain, which may leave its tests out and end well.
func newGoResults(mains func(pkg string) bool) *goResults {
	return &goResults{tests: map[goTest]*bytes.Buffer{}, done: map[string]bool{}, mains: mains}
}

func (r *goResults) args() []string { return []string{"-json"} }

func (r *goResults) stdout(w io.Writer) io.Writer {
	r.to, r.lines.line = w, r.line
	return &r.lines
}

// line takes one line. What is no event is handed on as it is: go prints errors
// of the build so, and a test program may write to the same stream.
func (r *goResults) line(line []byte) {
	var ev struct {
		goTest
		Action, Output string
	}
	if line[0] != '{' || json.Unmarshal(line, &ev) != nil || ev.Action == "" {
		r.to.Write(line)
		return
	}
	switch {
	case ev.Action == "output" && ev.Test != "":
		r.output(ev.goTest, ev.Output)
	case ev.Action == "output" && ev.Output == "PASS\n": // go test says it only with -v
		r.done[ev.Package] = true
	// A package that is told to be ok without ever having said PASS has ended
	// before its tests had run: os.Exit(0) in an init does that.
	case ev.Action == "output" || ev.Action == "build-output":
		io.WriteString(r.to, ev.Output)
		if strings.HasPrefix(ev.Output, "ok  \t") && !r.done[ev.Package] && !r.mains(ev.Package) {
			r.cut = append(r.cut, ev.Package)
		}
	case ev.Test != "":
		r.ended(ev.goTest, ev.Action)
	}
}

// ended takes how a test ended, if it did. Subtests are not counted: their
// parents are, and ten cases of a table are one test.
func (r *goResults) ended(test goTest, action string) {
	switch action {
	case "pass":
		// A name with a slash is a subtest's.
		if !strings.Contains(test.Test, "/") {
			r.passed++
		}
		r.release(test, false)
	case "skip", "fail":
		r.release(test, action == "fail")
	}
}

// output takes what a test prints. Lines with "===" only tell that a test runs,
// and go test does not print them without -v.
func (r *goResults) output(test goTest, text string) {
	if strings.HasPrefix(text, "=== ") {
		return
	}
	held, known := r.tests[test]
	if !known {
		held = &bytes.Buffer{}
		r.tests[test] = held
		r.order = append(r.order, test)
	}
	if held == nil {
		io.WriteString(r.to, text)
		return
	}
	held.WriteString(text)
	r.held += len(text)
	if held.Len() > mostOfTest || r.held > mostOfTests {
		r.held -= held.Len()
		held.WriteTo(r.to)
		r.tests[test] = nil
	}
}

// release forgets a test, and hands on what it has printed or not. Tests are
// forgotten as they end, so memory goes by how many run at once and not by how
// many there are.
func (r *goResults) release(test goTest, show bool) {
	if held := r.tests[test]; held != nil {
		r.held -= held.Len()
		if show {
			held.WriteTo(r.to)
		}
	}
	delete(r.tests, test)
	if i := slices.Index(r.order, test); i >= 0 {
		r.order = slices.Delete(r.order, i, i+1)
	}
}

// end hands on what tests have printed that did not end: a panic, or a
// time-out, stands in there.
func (r *goResults) end() (int, []string) {
	r.lines.flush()
	for len(r.order) > 0 { // tests that did not end
		r.release(r.order[0], true)
	}
	return r.passed, r.cut
}

// cargoResults reads the first and the last line of each test program, in the
// words of Rust's own harness. A program that has begun and given no sum has
// ended early. Its machine-readable output is not for stable toolchains.
type cargoResults struct {
	lines         lineReader
	passed        int
	begun, summed int // programs
}

func (r *cargoResults) args() []string { return nil }

func (r *cargoResults) stdout(w io.Writer) io.Writer {
	r.lines.line = func(line []byte) {
		text := strings.TrimSpace(term.Plain(string(line)))
		if strings.HasPrefix(text, "running ") && (strings.HasSuffix(text, " tests") || text == "running 1 test") {
			r.begun++
		}
		if strings.HasPrefix(text, "test result: ") {
			r.summed++
		}
		if count, ok := strings.CutPrefix(text, "test result: ok. "); ok {
			count, _, _ = strings.Cut(count, " passed;")
			if n, err := strconv.Atoi(count); err == nil && n > 0 {
				r.passed += n
			}
		}
		w.Write(line)
	}
	return &r.lines
}

func (r *cargoResults) end() (int, []string) {
	r.lines.flush()
	if r.begun > r.summed {
		return r.passed, []string{"a test program"}
	}
	return r.passed, nil
}

// junitResults reads the report in JUnit's format that pytest writes to a
// folder. What pytest prints is for people, and options change its form. It has
// no cut: pytest is one program, which ends with another exit code if it breaks
// off.
type junitResults struct{ folder string }

func (r junitResults) file() string                 { return filepath.Join(r.folder, "junit.xml") }
func (r junitResults) args() []string               { return []string{"--junitxml=" + r.file()} }
func (r junitResults) stdout(w io.Writer) io.Writer { return w }

// end counts the tests of all suites. A report that is missing or breaks off
// counts for what could be read, which at worst is no test and rejects.
func (r junitResults) end() (passed int, cut []string) {
	f, err := file.Open("", r.file())
	if err != nil {
		return 0, nil
	}
	defer f.Close()
	// It is read as a stream and bounded, for its size is up to the tests.
	dec := xml.NewDecoder(io.LimitReader(f, 256<<20))
	for {
		token, err := dec.Token()
		if err != nil {
			return passed, nil
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "testsuite" {
			of := func(name string) int {
				for _, a := range start.Attr {
					if a.Name.Local == name {
						n, _ := strconv.Atoi(a.Value)
						return n
					}
				}
				return 0
			}
			passed += max(of("tests")-of("failures")-of("errors")-of("skipped"), 0)
		}
	}
}
