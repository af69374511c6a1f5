// Package tasks works off lists of things to do.
//
// An [Item] is one thing to do. A [Source] says which there are, and which of
// them are done: the boxes of a Markdown list ([ListFile], tasks.md), the user
// stories of a prd.json ([PRDFile]), the tasks.json of Taskmaster
// ([TaskmasterFile]), the folder of Backlog.md ([Backlog]), or what a program of
// your own has in an issue tracker or a database. What is done is kept in the
// source and nowhere else; a session only stores which ticked items its Verifier
// has not accepted, see [PendingFile].
//
//	src := tasks.ListFile{Path: "specs/001-login/tasks.md"}
//	items, err := src.Items(ctx) // each box: ID, text, phase, done or not
//	…
//	err = src.Tick("T001") // changes one byte of the file
//
// A [Session] has an agent work the items off, one after the other; what an item
// waits for comes before it, see [InOrder]. The source is read again after each
// iteration, since the agent ticks the boxes while the session runs:
//
//	s := tasks.Session{Source: src, Runner: agent}
//	report, err := s.Run(ctx)
//
// The grammar of lists is strict on purpose, since a loop that takes
// "- [2026-01-29]" or a box of the acceptance criteria for a task never ends.
// Boxes are what GitHub renders as boxes; tasks are the boxes with an ID, outside
// of sections like "Success criteria". [ListFile.AllBoxes] takes those without an ID too,
// [ListFile.Criteria] and [ListFile.Optional] those that say how work is judged and those
// that are marked as optional.
//
// Nothing here logs, and nothing is cached. Errors name the file and say what
// to do. Tasks that say how they are verified are not lists: package tasks/spec
// reads those.
package tasks

import "context"

// An Item is one thing to do: a box of a list, a story of a prd.json, or what a task
// source of your own has. It is a plain value. A field's zero value means that nothing
// is known of it. A source of your own must set Key, and Done where it is true; of the
// rest it sets what it knows.
type Item struct {
	// ID is what the source calls the item, "T001"; "" if it has none.
	ID string `json:"id,omitempty"`
	// Key names the item within its list and stays the same while its text
	// does: the ID, else the text. If that stands in the list more than once,
	// the later ones end in "#2", "#3" and so on.
	Key string `json:"key,omitempty"`
	// Text is the description in one line, without box, ID and markers. Lines
	// that go on below are in Details.
	Text string `json:"text,omitempty"`
	// Phase is the text of the nearest heading above, without the number signs.
	Phase string `json:"phase,omitempty"`
	// Story is what a story marker says: "US1" for [US1]. Several are joined by
	// a comma and a space.
	Story string `json:"story,omitempty"`
	// Parallel says that the item is marked [P]: it touches nothing that other items
	// marked so touch. A [Session] works on one item at a time all the same; for
	// several at once see package tasks/pipeline.
	Parallel bool `json:"parallel,omitempty"`
	// Done is what the source says: the box is ticked, the story passes, the status is
	// a word for it. Whether a [Session.Verifier] agrees is not in the source, and so
	// not here.
	Done bool `json:"done,omitempty"`
	// Doing says that the item is open and that somebody has begun with it: a box
	// like [-] or [~], or a status like "in-progress".
	Doing bool `json:"doing,omitempty"`
	// Parent is the key of the item that this one is a part of, which comes when all
	// its parts are done; "" = none.
	Parent string `json:"parent,omitempty"`
	// After are the keys of the items that must be done before this one, as the file
	// states them, in its order. Its parts are not among them; a key that no item has
	// is ignored.
	After []string `json:"after,omitempty"`
	// Level is how many list items the item is nested in; 0 = in none.
	Level int `json:"level,omitempty"`
	// Line is where the item stands in its file, from 1; 0 = not known.
	Line int `json:"line,omitempty"`
	// Offset is where the mark is, in bytes from the start of the file: in a
	// list the character between the brackets; in a prd.json the value of
	// passes, or, if there is none, the brace that opens the story.
	Offset int `json:"offset,omitempty"`
	// Acceptance holds a story's acceptance criteria, in the order of the file. The
	// prompt names them as that by which the item is done.
	Acceptance []string `json:"acceptance,omitempty"`
	// Details are the lines indented below the item, up to the next item with an
	// ID, or a story's description. At most 4 KiB are kept.
	Details string `json:"details,omitempty"`
	// Priority is a story's: 1 comes before 2; 0 = not given.
	Priority int `json:"priority,omitempty"`
}

// A Source is where the things to do come from. [ListFile], [PRDFile], [TaskmasterFile]
// and [Backlog] are sources; programs write others.
//
// Items returns all of them, done or not, in the order in which they are to be worked
// on, as far as it does not follow from what they wait for (see [InOrder]), with keys
// that are unique and stay the same from one call to the next: that is how a session
// knows that an item which was open is now done. It is called again after each
// iteration and returns what is true then. The caller may change the slice. An error
// means that it cannot be known what there is to do; nothing to do at all is not an
// error of the interface, but may be one of the source. Items should return soon after
// ctx is done. A session calls it from one goroutine at a time, and takes a panic for
// an error.
//
// A session also asks for these methods, where a source has them. They are not in the
// interface, so that one function is enough to begin with, see [SourceFunc]:
//
//	HowDone(Item) string                    // how the agent marks an item as done; else it is told to tick a box
//	Filename() string                       // the file to name in the prompt; "" = none
//	FilenameOf(key string) string           // that of one item, where each has its own
//	Check(context.Context) ([]Finding, error) // what is no task, so that an item taken out is not taken for a renamed one
type Source interface {
	Items(ctx context.Context) ([]Item, error)
}

// SourceFunc makes a Source of a function, for tasks that are not in a file but, say,
// in an issue tracker or a database. The function must do what the comment of [Source]
// says of Items.
type SourceFunc func(ctx context.Context) ([]Item, error)

// Items calls f.
func (f SourceFunc) Items(ctx context.Context) ([]Item, error) { return f(ctx) }

// find looks an item up by its key. It looks at one after the other: after an attempt a
// session asks for a handful of keys of a slice that is new each time, and an index
// would cost more than it saves.
func find(items []Item, key string) (Item, bool) {
	for _, it := range items {
		if it.Key == key {
			return it, true
		}
	}
	return Item{}, false
}
