// Package board reads a [progress.Dir] as a tree for those who show it: pipelines and
// sessions, their tasks, the loops that work on them, the attempts of a loop, what they
// have used and how they were judged.
//
//	r := board.Reader{Dir: dir}
//	tree, err := r.Look(ctx)
//	for _, run := range tree.Runs {
//		for _, card := range run.Cards {
//			fmt.Println(card.Lane, card.ID, card.Title)
//		}
//	}
//
// It only reads, takes no lock of a loop, and works beside the processes that run them.
// What stands in its values comes from tasks and agents: who shows it on a terminal
// passes it through [progress.Printable], who shows it on a page escapes it.
package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// A Reader looks at a folder of loops again and again. It reads only what has changed
// since its last look. Use it from one goroutine at a time. The zero value needs a Dir.
type Reader struct {
	Dir *progress.Dir

	watch pipeline.Watch
	logs  map[string]*journal // of loops whose history was asked for, by their names
}

// A Tree is what a folder of loops tells at one moment.
type Tree struct {
	// Runs are in the order in which they began.
	Runs []Run
	// Unread are the journals that cannot be read, in the order of their files' names.
	Unread []Unread
}

// A Run is a pipeline, a session, or a loop that belongs to neither.
type Run struct {
	pipeline.Standing
	// Cards are its tasks, in their order; of a loop that stands alone just one, that of
	// the loop.
	Cards []Card
}

// An Unread is a journal that cannot be read: somebody has damaged it, a newer version has
// written it, it belongs to somebody else, or it is no file.
type Unread struct {
	Name string // of the loop, as far as its file's name tells it
	Err  error
}

// Why says for people why it cannot be read, and where, without the path of the folder.
func (u Unread) Why() string {
	if c, ok := errors.AsType[*progress.CorruptError](u.Err); ok {
		return fmt.Sprintf("line %d: %v", c.Line, c.Err)
	}
	if _, why, ok := strings.Cut(u.Err.Error(), u.Name+".jsonl"); ok {
		return strings.TrimLeft(why, ": ")
	}
	return u.Err.Error()
}

// A Lane is a column of a board: how far a task is.
type Lane int

const (
	Todo Lane = iota
	Running
	Done
	Failed
	Skipped
)

// Lanes returns all lanes, from left to right.
func Lanes() []Lane { return []Lane{Todo, Running, Done, Failed, Skipped} }

// String is the name of a lane.
func (l Lane) String() string {
	return [...]string{"todo", "running", "done", "failed", "skipped"}[l]
}

// A Card is a task of a run.
type Card struct {
	// Run is the name of its run.
	Run string
	// ID and Title are the task's; "" = it has none.
	ID, Title string
	Lane      Lane
	// Agent is the role that works on it, or did last, or is next; "" = it has none.
	Agent string
	// Stages are the agents through which it goes; nil = it goes through one.
	Stages []pipeline.StageSummary
	// After are the tasks that must be done before it and are not. nil = it waits for none.
	After []string
	// Why says why it is not done, or what its agent waits for; "" = nothing is to be said.
	Why string
	// Loops are those that have worked on it, in the order in which they began. nil = none
	// has.
	Loops []progress.Standing
	// Used is what all of them have used, and Iterations how many they have had.
	Used       ralph.Usage
	Iterations int
}

// Key tells cards of a tree apart, also in later looks.
func (c Card) Key() string { return c.Run + "\x00" + c.ID }

// Loop is the last loop of a card, false if none has worked on it.
func (c Card) Loop() (progress.Standing, bool) {
	if len(c.Loops) == 0 {
		return progress.Standing{}, false
	}
	return c.Loops[len(c.Loops)-1], true
}

// Active reports whether a process works on a loop, or waits to.
func Active(st progress.Standing) bool {
	return slices.Contains([]progress.Status{progress.StatusRunning, progress.StatusWaiting, progress.StatusPaused}, st.Status)
}

// Look reads the folder. The error is that of the folder, or the cause of ctx; journals
// that cannot be read are in the tree.
func (r *Reader) Look(ctx context.Context) (Tree, error) {
	r.watch.Dir = r.Dir
	all, err := r.watch.Standings(ctx)
	var tree Tree
	if err != nil { // which does not say whose it is
		if tree.Unread, err = r.unread(ctx); err != nil {
			return Tree{}, err
		}
	}
	parents := map[string]bool{}
	for _, st := range all {
		parents[st.Loop] = st.Kind == progress.KindPipeline || st.Kind == progress.KindSession
	}
	loops := map[string][]progress.Standing{} // by their runs
	for _, st := range all {
		if parents[st.Parent] {
			loops[st.Parent] = append(loops[st.Parent], st.Standing)
		}
	}
	for _, st := range all {
		if !parents[st.Parent] {
			tree.Runs = append(tree.Runs, Run{st, cards(st, loops[st.Loop])})
		}
	}
	return tree, nil
}

// Alone is the run that a loop is by itself, whatever it belongs to.
func Alone(loop pipeline.Standing) Run { return Run{loop, cards(loop, nil)} }

// unread are the journals that cannot be read. The others are looked at once more for
// that, and not read. The error is that of the folder, or the cause of ctx.
func (r *Reader) unread(ctx context.Context) (all []Unread, err error) {
	for e, err := range r.watch.Loops(ctx) {
		switch {
		case err != nil && e.Loop == "":
			return nil, err
		case err != nil:
			all = append(all, Unread{e.Loop, err})
		}
	}
	return all, nil
}

// cards are those of a run: a pipeline tells of its tasks itself; of a session each task
// is known by its loops.
func cards(run pipeline.Standing, loops []progress.Standing) []Card {
	if run.Kind != progress.KindPipeline && run.Kind != progress.KindSession {
		return []Card{loopCard(run.Loop, run.Name(), []progress.Standing{run.Standing})}
	}
	var ids []string
	of := map[string][]progress.Standing{}
	for _, st := range loops {
		if of[st.Task] == nil {
			ids = append(ids, st.Task)
		}
		of[st.Task] = append(of[st.Task], st)
	}
	var all []Card
	done := map[string]bool{}
	for _, sum := range run.Tasks {
		done[sum.ID] = sum.Phase == pipeline.PhaseDone
	}
	for _, sum := range run.Tasks {
		all = append(all, taskCard(run, sum, of[sum.ID], done))
	}
	for _, id := range ids {
		if run.Tasks == nil { // else it was told, or is none of this run
			all = append(all, loopCard(run.Loop, id, of[id]))
		}
	}
	return all
}

// loopCard is the card of a task of which nothing is known but its loops.
func loopCard(run, id string, loops []progress.Standing) Card {
	last := loops[len(loops)-1]
	c := Card{Run: run, ID: cmp.Or(id, last.Loop), Title: last.State.Task.Title, Agent: last.Stage, Loops: loops, Lane: laneOf(last)}
	for _, st := range loops {
		c.Iterations += st.State.Completed()
	}
	c.Used = last.Used // the loops of a session have what those before them have used
	if c.Lane == Failed || c.Lane == Skipped {
		c.Why = why(last)
	}
	return c
}

// why says how a loop has ended that is not verified.
func why(st progress.Standing) string {
	came, detail := st.Came(), st.State.Detail
	switch {
	case wasAsked(st):
		return came
	case strings.HasPrefix(detail, came) || st.State.Stop == ralph.StopIterations && detail != "": // which names the limit
		return detail
	}
	return strings.TrimSuffix(came+": "+detail, ": ")
}

// wasAsked reports whether a loop has stopped since somebody wanted it to.
func wasAsked(st progress.Standing) bool {
	return st.State.Stop == ralph.StopIterations && st.State.Asked != 0
}

// laneOf is where a loop stands. One that was interrupted can be run again, and so is to
// be done.
func laneOf(st progress.Standing) Lane {
	switch st.Status {
	case progress.StatusCompleted:
		return Done
	case progress.StatusFailed:
		return Failed
	case progress.StatusCancelled:
		return Skipped
	case progress.StatusInterrupted:
		return Todo
	}
	return Running
}

// phaseLanes says in which lane a task of a pipeline stands.
func phaseLanes() map[pipeline.Phase]Lane {
	return map[pipeline.Phase]Lane{
		pipeline.PhaseOpen: Todo, pipeline.PhaseInterrupted: Todo,
		pipeline.PhaseRunning: Running, pipeline.PhaseReady: Running, pipeline.PhaseMerging: Running,
		pipeline.PhaseDone:   Done,
		pipeline.PhaseFailed: Failed, pipeline.PhaseUnmerged: Failed, pipeline.PhaseUnverified: Failed, pipeline.PhaseAltered: Failed, pipeline.PhaseBroken: Failed,
		pipeline.PhaseLeft: Skipped,
	}
}

// titled is a title with a sign that it goes on, where a pipeline tells no more of it.
func titled(title string) string {
	if utf8.RuneCountInString(title) >= 120 {
		title += "…"
	}
	return title
}

// taskCard is the card of a task of a pipeline. What was running when its pipeline died
// is to be done, for nobody works on it.
func taskCard(run pipeline.Standing, sum pipeline.Summary, loops []progress.Standing, done map[string]bool) Card {
	c := Card{Run: run.Loop, ID: sum.ID, Title: titled(sum.Title), Lane: phaseLanes()[sum.Phase], Stages: sum.Stages, Why: cmp.Or(sum.Why, sum.Altered),
		Loops: loops, Used: sum.Usage, Iterations: sum.Iterations}
	if c.Lane == Running && !Active(run.Standing) {
		c.Lane = Todo
	}
	if sum.Status == "failed" {
		c.Lane = Failed
	}
	for _, stage := range sum.Stages {
		if c.Agent = stage.Agent; stage.Status != pipeline.StageVerified && stage.Status != pipeline.StageUnverified {
			break
		}
	}
	for _, id := range sum.After {
		if !done[id] && c.Lane == Todo {
			c.After = append(c.After, id)
		}
	}
	if last, ok := c.Loop(); ok {
		if strings.HasPrefix(last.State.Task.Title, sum.Title) { // the whole of it
			c.Title = last.State.Task.Title
		}
		switch {
		case c.Lane == Failed && last.Status == progress.StatusCancelled:
			c.Lane, c.Why = Skipped, why(last)
		case c.Lane == Failed && wasAsked(last):
			c.Why = why(last)
		}
		if !last.State.Done() { // what it uses is not settled yet
			c.Used, c.Iterations = c.Used.Add(last.Used), c.Iterations+last.State.Completed()
		}
	}
	return c
}
