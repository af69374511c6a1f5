// Package report writes what is on record of a pipeline, a session or a loop as one page
// of HTML: when its agents worked, how their work was judged and why, what it has cost,
// and which files changed.
//
//	rep, err := report.Read(ctx, dir, "shop")
//	…
//	err = rep.Write(w)
//
// A page needs nothing but itself: it fetches nothing, and a policy in it forbids that. It
// can be read on paper, by keyboard alone, and without its script. What agents have said
// stands in it as text, whatever it is.
package report

import (
	"context"
	"crypto/sha256"
	_ "embed" // page.html, style.css, script.js
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// A Report is what a page tells. [Read] makes one of what is on record.
type Report struct {
	// Run is the pipeline or session with its tasks, or the loop that stands alone.
	Run board.Run
	// Histories are those of Run and of its loops, by their names. A loop without one is
	// shown without its attempts.
	Histories map[string]board.History
	// Unread are journals that cannot be read, of loops of Run or, if it is a session,
	// maybe of others.
	Unread []board.Unread
	// Made is when it was read. An attempt that has not ended is shown until then.
	Made time.Time
	// Zone is the time zone of the times that are shown; nil = UTC.
	Zone *time.Location
}

// Read reads what is on record of the pipeline, session or loop of a name, or of the loop
// that works on the task with that ID. The error wraps [fs.ErrNotExist] if there is none;
// it is a [*progress.CorruptError] if its journal cannot be read, and a [*SeveralError]
// if several loops work on that task.
func Read(ctx context.Context, dir *progress.Dir, name string) (Report, error) {
	reader := &board.Reader{Dir: dir}
	tree, err := reader.Look(ctx)
	if err != nil {
		return Report{}, err
	}
	rep := Report{Made: time.Now(), Histories: map[string]board.History{}}
	if rep.Run, err = find(ctx, dir, tree, name); err != nil {
		return Report{}, err
	}
	loops := []string{rep.Run.Loop}
	for _, c := range rep.Run.Cards {
		for _, st := range c.Loops {
			loops = append(loops, st.Loop)
		}
	}
	for _, loop := range loops {
		h, err := reader.History(loop)
		if errors.Is(err, fs.ErrNotExist) { // removed since the look
			continue
		} else if err != nil {
			rep.Unread = append(rep.Unread, board.Unread{Name: loop, Err: err})
			continue
		}
		rep.Histories[loop] = h
	}
	for _, u := range tree.Unread {
		if mayBelong(dir, rep.Run, u.Name) {
			rep.Unread = append(rep.Unread, u)
		}
	}
	return rep, nil
}

// mayBelong reports whether a journal that cannot be read may be that of one of a run's
// loops. Those of a pipeline are known by their tasks; of a session nobody knows which it
// has but they themselves.
func mayBelong(dir *progress.Dir, run board.Run, name string) bool {
	if run.Kind != progress.KindPipeline {
		return run.Kind == progress.KindSession
	}
	for _, c := range run.Cards {
		for _, stage := range c.Stages {
			if fileName(dir, run.Loop+"/"+c.ID+"."+stage.Agent) == name {
				return true
			}
		}
	}
	return false
}

// A SeveralError says that a name means more than one loop.
type SeveralError struct {
	Name  string
	Loops []string // the names of the loops
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("%q means several loops, name one of them: %s", e.Name, strings.Join(e.Loops, ", "))
}

// find is the run of a name. A loop of a run becomes a run of its own.
func find(ctx context.Context, dir *progress.Dir, tree board.Tree, name string) (board.Run, error) {
	for _, run := range tree.Runs {
		if run.Loop == name {
			return run, nil
		}
	}
	found, err := dir.Find(ctx, name)
	if err != nil {
		for _, u := range tree.Unread {
			if u.Name == fileName(dir, name) {
				return board.Run{}, u.Err
			}
		}
		return board.Run{}, err
	}
	if len(found) > 1 {
		several := &SeveralError{Name: name}
		for _, e := range found {
			several.Loops = append(several.Loops, e.Loop)
		}
		return board.Run{}, several
	}
	return board.Alone(pipeline.StandingOf(ctx, dir, found[0])), nil
}

// fileName is that of a loop's journal, without its end.
func fileName(dir *progress.Dir, loop string) string {
	return strings.TrimSuffix(filepath.Base(dir.File(loop)), ".jsonl")
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed style.css
	styleCSS string
	//go:embed script.js
	scriptJS string
)

// Write writes the page. The error is that of w.
func (r Report) Write(w io.Writer) error {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	p := newPage(r)
	p.Style, p.Script = template.CSS(styleCSS), template.JS(scriptJS)
	p.Policy = strings.Join([]string{
		"default-src 'none'", "style-src " + digest(styleCSS), "script-src " + digest(scriptJS), "base-uri 'none'", "form-action 'none'",
	}, "; ")
	return t.Execute(w, p)
}

// digest is how a policy names a style or a script that may be used.
func digest(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// zone is the time zone of the page.
func (r Report) zone() *time.Location {
	if r.Zone == nil {
		return time.UTC
	}
	return r.Zone
}

// over reports whether nobody works on any of it any more.
func (r Report) over() bool {
	return !board.Active(r.Run.Standing.Standing) && !slices.ContainsFunc(r.Run.Cards, func(c board.Card) bool {
		return slices.ContainsFunc(c.Loops, board.Active)
	})
}
