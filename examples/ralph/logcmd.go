package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// logFlags are the flags of log.
type logFlags struct {
	shared
	as     string
	follow bool
}

func (f *logFlags) own(set *flag.FlagSet) {
	set.StringVar(&f.as, "format", "table", "how it is printed, a `FORMAT`: table, json (a line for each row), md")
	set.BoolVar(&f.follow, "follow", false, "go on printing what comes, until the loop has ended, of a log of many tasks until Ctrl-C")
}

// run prints a log as a table, and text of another kind as it is.
func (f *logFlags) run(e env, args []string) error {
	switch {
	case !slices.Contains([]string{"table", "json", "md"}, f.as):
		return fail(exitUsage, "--format: unknown format %q; the known ones are table, json and md", f.as)
	case f.summary && (f.follow || f.given["format"]):
		return fail(exitUsage, "--summary is a table of what has ended; it excludes --follow and --format")
	case f.summary:
		return f.summarize(e, strings.Join(args, ""))
	}
	name := strings.Join(args, "")
	file, _, err := f.openLog(e, name)
	if err != nil {
		return err
	}
	defer file.Close()
	name = cmp.Or(name, file.Name())
	p := rowPrinter{out: e.stdout, as: f.as}
	for size := int64(-1); ; {
		info, err := file.Stat()
		if err == nil && info.Size() != size {
			size = info.Size()
			err = f.print(e, &p, file, name)
		}
		if err != nil || !f.follow || p.Ended {
			return errors.Join(err, p.close())
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-e.ctx.Done(): // who followed it has seen enough
			return p.close()
		}
	}
}

// print prints what a log has that was not printed yet.
func (f *logFlags) print(e env, p *rowPrinter, file *os.File, name string) error {
	l, err := progress.ReadLogTable(file)
	if err != nil {
		return fail(exitConfig, "%s: %w", name, err)
	}
	if f.follow && l.Running {
		l.Rows = l.Rows[:len(l.Rows)-1]
	}
	if f.follow && len(l.Rows) == 1 && !l.Ended { // the head alone is as wide as it is
		return nil
	} else if l.Rows != nil {
		return p.print(l)
	}
	if info, err := file.Stat(); f.follow && (p.shown > 0 || err == nil && info.Size() == 0) {
		return nil // it is being written anew, or nothing has come yet
	}
	if f.as != "table" || f.follow {
		return fail(exitConfig, "%s is no execution log, no session log and no progress.txt, so there is nothing to follow or to print as %s", name, f.as)
	}
	_, err = file.Seek(0, io.SeekStart)
	if err == nil {
		err = e.showText(file, name)
	}
	return err
}

// showText shows text that is none of our logs, made safe.
func (e env) showText(file io.Reader, name string) error {
	in := bufio.NewReaderSize(file, 64<<10)
	switch begin, err := in.Peek(1 << 10); {
	case len(begin) == 0 && errors.Is(err, io.EOF):
		return fail(exitConfig, "%s is empty", name)
	case bytes.IndexByte(begin, 0) >= 0:
		return fail(exitConfig, "%s is no log: it is not text", name)
	}
	e.say("%s is no log that ralph writes; it is shown as it is, but for control sequences", name)
	for {
		text, err := in.ReadSlice('\n')
		if _, bad := e.stdout.Write(text); bad != nil {
			return bad
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// A rowPrinter prints a table that grows.
type rowPrinter struct {
	out   io.Writer
	as    string
	shown int // rows, with the head
	table progress.Table
	progress.LogTable
}

func (p *rowPrinter) print(l progress.LogTable) error {
	if len(l.Rows) < p.shown { // it was written anew
		p.shown = 0
	}
	rows, from := l.Rows[p.shown:], p.shown
	p.shown, p.LogTable = len(l.Rows), l
	var b strings.Builder
	var err error
	switch p.as {
	case "json":
		var text string
		if text, err = l.JSON(from); err == nil {
			b.WriteString(text)
		}
	case "md":
		for i, row := range rows {
			for k, cell := range row {
				row[k] = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;").Replace(cmp.Or(line(cell), "-"))
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if from+i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat(" --- |", len(row)))
			}
		}
	default:
		for i, text := range p.table.Lines(rows...) {
			err = cmp.Or(err, paint(p.out, colour(rows[i][2]), text))
		}
	}
	_, errOut := io.WriteString(p.out, b.String())
	return cmp.Or(err, errOut)
}

// close prints the summary below a table.
func (p *rowPrinter) close() error {
	if p.as != "table" || p.Summary == "" {
		return nil
	}
	_, err := fmt.Fprintln(p.out, p.Summary)
	return err
}

// openLog opens a file, or the journal of a loop, of a kind; "" = that of the last loop.
func (s *shared) openLog(e env, name string) (file *os.File, kind progress.Kind, err error) {
	if name == "" {
		return s.lastLog(e)
	}
	file, err = ralph.OpenFile(name)
	if err == nil {
		if l, _ := progress.ReadLogTable(file); l.Rows != nil {
			_, err = file.Seek(0, io.SeekStart)
			return file, "", err
		}
	}
	dir, loops, found := s.meant(e, name)
	if found != nil { // a file that is no log is shown as what it is
		return file, "", err
	}
	if err == nil {
		file.Close() // it was only read
	}
	loop := loops[0]
	path := dir.File(loop.Loop)
	if loop.Kind != progress.KindLoop && loop.Kind != progress.KindHook { // a run of many, whose own record has no iterations
		path = cmp.Or(loop.Meta["log"], path)
	}
	file, err = ralph.OpenFile(path)
	return file, loop.Kind, err
}

// lastLog opens the journal of the loop that was active last; runs of many have no rows.
func (s *shared) lastLog(e env) (*os.File, progress.Kind, error) {
	dir, err := s.found(e)
	if err != nil {
		return nil, "", err
	}
	all, err := dir.Standings(e.ctx)
	all = slices.DeleteFunc(all, func(st progress.Standing) bool { return st.Kind != progress.KindLoop })
	if len(all) == 0 {
		return nil, "", cmp.Or(wrong(err), fail(exitConfig, "no loop is on record here; give log the FILE of a log"))
	}
	last := slices.MaxFunc(all, func(a, b progress.Standing) int { return a.Active.Compare(b.Active) })
	e.say("the last loop here: %s", last.Loop)
	file, err := ralph.OpenFile(dir.File(last.Loop))
	return file, last.Kind, err
}

// summarize prints what loops have shown: those of a file, a loop, a folder of records, or
// this workspace.
func (s *shared) summarize(e env, of string) error {
	h, err := s.history(e, of)
	if err != nil {
		return wrong(err)
	}
	rows, loops := [][]string{{"AGENT", "METHOD", "LOOPS", "VERIFIED", "ITERATIONS", "COST", "REJECTIONS"}}, 0
	for _, st := range h.Stats {
		loops += st.Loops
		iterations, why, n := "", "", 0
		if st.Verified > 0 {
			iterations = fmt.Sprintf("%d/%d", st.Iterations(50, 1), st.Iterations(95, 1))
		}
		cost := st.Usage.Cost()
		if st.Unpriced > 0 && st.Usage.CostUSD != nil {
			cost += fmt.Sprintf(" (unknown: %d)", st.Unpriced)
		}
		for _, r := range st.Rejections {
			if n += r.Loops; why == "" {
				why = fmt.Sprintf(", %dx: %s", r.Loops, short(r.Text, 80))
			}
		}
		rows = append(rows, []string{st.Agent, st.Method, fmt.Sprint(st.Loops), fmt.Sprint(st.Verified), iterations, cost, fmt.Sprint(n) + why})
	}
	columns(e.stdout, rows)
	skipped := ""
	if h.Skipped > 0 {
		skipped = fmt.Sprintf("; %s could not be read", plural(h.Skipped, "record"))
	}
	_, err = fmt.Fprintf(e.stdout, "%s%s; iterations are those of verified loops for each acceptance criterion: median/95th percentile\n", plural(loops, "loop"), skipped)
	return err
}

func (s *shared) history(e env, of string) (progress.History, error) {
	if of == "" {
		dir, err := s.found(e)
		if err != nil {
			return progress.History{}, err
		}
		return dir.History(e.ctx)
	}
	if isFolder(of) == nil {
		return (&progress.Dir{Path: of, Redactor: redact()}).History(e.ctx)
	}
	file, kind, err := s.openLog(e, of)
	if err != nil {
		return progress.History{}, err
	}
	defer file.Close()
	if kind == progress.KindSession || kind == progress.KindPipeline {
		return progress.History{}, fail(exitConfig, "%s is a run of many loops; 'ralph log --summary' tells of all here, and with an execution log of those in it", of)
	}
	return progress.ReadHistory(file)
}

// colour is that of what came of an iteration, 0 = none: one that can be read on a light
// and on a dark ground.
func colour(outcome string) int {
	return map[ralph.Outcome]int{
		ralph.OutcomeSuccess: 32, ralph.OutcomeFailure: 31, ralph.OutcomeSkipped: 35, ralph.OutcomeInterrupted: 35,
	}[ralph.Outcome(outcome)]
}

// paint prints a line that is safe to show, in a colour where those are wanted, and in one
// piece: nothing of others comes between.
func paint(out io.Writer, colour int, text string) error {
	if o, ok := out.(*outlet); ok && o.colours && colour != 0 {
		return o.raw(fmt.Sprintf("\x1b[%dm%s\x1b[0m\n", colour, text))
	}
	_, err := io.WriteString(out, text+"\n")
	return err
}

// tty reports whether a reader or writer is a terminal.
func tty(stream any) bool {
	switch s := stream.(type) {
	case *outlet:
		stream = s.Writer
	case inlet:
		stream = s.from
	}
	file, ok := stream.(*os.File)
	return ok && progress.DisplayOn(file, nil).Terminal
}
