package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/doc"
	"github.com/ralph-loop/ralph/internal/file"
)

// A File is a text with definitions, as YAML or JSON: one definition, with or without a
// task: above it, a list, with or without a tasks: above it, or several YAML documents
// of these. A part of a definition (a completion, or one agent's criteria) loads too,
// see [File.Fragments]. Use [Load] or [Parse]; the zero value holds no text and is of
// no use.
//
// Setting a status changes the bytes of that status and no others: comments, order,
// quoting and layout stay. The other way, to write all of the file anew from values,
// would lose the comments, which in such files are often what matters to people.
//
// A File is not safe for concurrent use. Several Files may have the same path, here or
// in other programs: the second to save gets [ErrChanged].
type File struct {
	// Name is the path the file was loaded from, and where Save writes it.
	Name string
	// Warnings are what a person should know but what stops nothing: a
	// definition that does not say what done means, a status that is none of the
	// constants and what it is taken for. At most 100, and then "and more".
	Warnings []string
	// Methods are the verification methods that Validate takes as known besides
	// the built-in ones.
	Methods Methods

	doc    *doc.Doc
	loaded []byte // what the file held when it was read or saved
	units  []unit
	parts  []Completion
}

// A unit is a definition and where it stands: the value for those who ask, the node for
// messages and for changes in place.
type unit struct {
	node *doc.Node
	def  Definition
}

// Load reads a file, which must be a regular one of at most 4 MiB. The error wraps
// [io/fs.ErrNotExist] if there is none. See [Parse].
func Load(path string) (*File, error) {
	text, err := file.Read("task file", path, doc.MaxText)
	if err != nil {
		return nil, leaving(err)
	}
	return Parse(path, text)
}

// Parse reads a text; name is used in messages and by [File.Save]. It is JSON
// if the name ends in .json or all of it is JSON, else YAML.
//
// Text that is neither, an unknown key, a value of the wrong type, a
// configuration that its method does not know, and a text without any task are
// errors, one [*Problem] for each, joined. So are texts that are too large or
// nest too deep. What is missing, out of range or does not fit together is for
// [File.Validate].
//
// The two are apart so that a file that somebody is still writing can be shown and
// edited, while one that may mean something else than it says is not even loaded.
func Parse(name string, text []byte) (*File, error) {
	d, err := doc.Parse(name, bytes.Clone(text))
	if err != nil {
		return nil, leaving(unread("", err))
	}
	f := &File{Name: name, loaded: d.Text}
	if err := f.read(d); err != nil {
		return nil, leaving(err)
	}
	return f, nil
}

// read makes f a file with this text. If there is an error f stays as it is, so a
// change that cannot be made leaves a File that can still be used.
func (f *File) read(d *doc.Doc) error {
	next := File{Name: f.Name, Methods: f.Methods, loaded: f.loaded, doc: d}
	r := next.roots()
	if len(next.units)+len(next.parts)+len(r.wrong) == 0 {
		r.bad(nil, "there is no task in it")
	}
	next.Warnings = r.warnings
	if err := r.wrong.join(); err != nil {
		return err
	}
	*f = next
	return nil
}

// roots reads all of the text, and returns what is wrong with it. Validate reads the
// text again instead of keeping what was found: the methods that are known may be set
// after the file was loaded.
func (f *File) roots() reader {
	r := reader{doc: f.doc, methods: f.Methods}
	for _, root := range f.doc.Roots {
		r.root(f, root)
	}
	return r
}

// Definitions returns the definitions in the order in which they stand. What
// they point to belongs to the file and must not be changed.
func (f *File) Definitions() []Definition {
	defs := make([]Definition, len(f.units))
	for i, u := range f.units {
		defs[i] = u.def
	}
	return defs
}

// Fragments returns what stands in the file without a task around it, each as
// a completion: only an outcome and acceptance criteria, only agents' criteria,
// one agent's criteria, or a verification_config, the method of which is told by
// its keys. Where it is not said whose criteria they are, the agent is "".
func (f *File) Fragments() []Completion { return slices.Clone(f.parts) }

// Validate reports everything that keeps the file from being used, each as a
// [*Problem] with its place, joined: required fields that are missing (id and
// title; outcome and at least one acceptance criterion where there is a
// completion), promises that no answer could hold, unknown methods, numbers out
// of range, and tasks that do not fit together (an ID given twice, a dependency
// that is unknown, a cycle).
//
// A definition without a completion is valid; see Warnings.
//
// It may be called at any time, and sees what was changed since the file was loaded.
func (f *File) Validate() error {
	again := File{doc: f.doc, Methods: f.Methods} // which may have been set since
	r := again.roots()
	r.order(f.units, nil)
	return leaving(r.invalid.join())
}

// ValidateAdditions is Validate for definitions that are to be added to others, as
// those that an agent proposes: they may depend on the others, and each must say what
// done means. That is optional in a file that a person writes; here nobody is left to
// ask.
func (f *File) ValidateAdditions(to []Definition) error {
	again := File{doc: f.doc, Methods: f.Methods}
	r := again.roots()
	r.order(f.units, to)
	for _, u := range f.units {
		if r.task = u.def.ID; u.def.Completion == nil {
			r.refuse(u.node, "has no completion; its outcome and its acceptance_criteria say what done means")
		}
	}
	return leaving(r.invalid.join())
}

// SetStatus sets the status of a task, and changes nothing else in the text: a
// status that is there is replaced in its own quotes, one that is missing gets a
// line after the ID. The file is written by [File.Save].
//
// It is an error if there is no such task, if its ID is given twice, or if its
// status cannot be changed alone, because it stands in an anchor or is written as
// a block of text.
func (f *File) SetStatus(id string, s Status) error {
	if strings.TrimSpace(string(s)) == "" {
		return f.refuse(nil, id, "a status cannot be empty")
	}
	return f.set(id, "status", doc.String(string(s)))
}

// SetIteration sets the iteration of a task, from 0, as SetStatus does its status.
func (f *File) SetIteration(id string, n int) error {
	if n < 0 {
		return f.refuse(nil, id, "an iteration cannot be negative, found %d", n)
	}
	return f.set(id, "iteration", doc.Int(n))
}

// SetUpdatedAt sets the updated_at of a task, in UTC and to the second, as SetStatus
// does its status: it is a time for people, not one to order events by.
func (f *File) SetUpdatedAt(id string, t time.Time) error {
	return f.set(id, "updated_at", doc.String(t.UTC().Format(time.RFC3339)))
}

// SetMetadata sets one value, which must be valid JSON, in the metadata of a task, as
// SetStatus does its status. A nil value removes it, and with it metadata in which
// there was nothing else: what a program writes for the time of its work leaves no
// trace.
func (f *File) SetMetadata(id, key string, value json.RawMessage) error {
	target, err := f.node(id)
	if err != nil {
		return err
	}
	all := target.Get("metadata")
	old := all.Get(key)
	if value == nil {
		in, name := all, key
		switch {
		case old == nil:
			return nil
		case len(all.Keys) == 1:
			in, name = target, "metadata"
		}
		return f.take(all, id, "metadata", func() (*doc.Doc, bool) { return f.doc.Remove(in, name) })
	}
	n, err := doc.FromJSON(value)
	if err != nil {
		return leaving(unread(key, err))
	}
	if all == nil || len(all.Keys) == 0 {
		whole := doc.Mapping()
		whole.Add(key, n)
		return f.set(id, "metadata", whole)
	}
	if old != nil && old.Equal(n) {
		return nil
	}
	return f.take(all, id, "metadata", func() (*doc.Doc, bool) { return f.doc.Set(all, all.Keys[len(all.Keys)-1].Text, key, n) })
}

// refuse is an error about one task, at the place of n; nil = without a place.
func (f *File) refuse(n *doc.Node, id, format string, args ...any) error {
	r := reader{doc: f.doc, task: id}
	return leaving(r.problem(n, format, args...))
}

// node returns where a task stands. An ID that is given twice is an error: to change
// the first one would be a guess, and the file would look right.
func (f *File) node(id string) (*doc.Node, error) {
	var target *doc.Node
	for _, u := range f.units {
		switch {
		case u.def.ID != id:
		case target != nil:
			return nil, f.refuse(u.node, id, "the ID is given twice, so it is not clear which task is meant")
		default:
			target = u.node
		}
	}
	if target == nil {
		return nil, f.refuse(nil, "", "there is no task %s%s", doc.Quote(id), meantID(id, "", f.units))
	}
	return target, nil
}

// set changes the value of a key of a task. A new one is put behind those that are
// written down while a task is worked on.
func (f *File) set(id, key string, value *doc.Node) error {
	target, err := f.node(id)
	if err != nil {
		return err
	}
	old := target.Get(key)
	if old != nil && old.Equal(value) {
		return nil
	}
	// Where a new key goes: a status under the ID, where people look for it; what only
	// programs read, after what programs have written already.
	after := "id"
	if key == "updated_at" || key == "metadata" {
		for _, one := range []string{"status", "iteration", "updated_at"} {
			if target.Has(one) {
				after = one
			}
		}
	}
	if old == nil {
		old = target
	}
	return f.take(old, id, key, func() (*doc.Doc, bool) { return f.doc.Set(target, after, key, value) })
}

// take takes over a change of one key of a task, which stands at n. A change that would
// have to touch more than the key is refused, and the error says how to write the key
// so that it can be changed.
func (f *File) take(n *doc.Node, id, key string, change func() (*doc.Doc, bool)) error {
	next, ok := change()
	if !ok {
		return f.refuse(n, id, "%s cannot be changed without changing more than it; write it in lines of its own, as in %s: …", key, key)
	}
	return leaving(f.read(next))
}

// Add appends a definition, and changes nothing that stands in the text: a list
// gets one more entry in its own layout; a file that is no list, or whose list
// cannot be added to, gets one more YAML document. The file is written by
// [File.Save]; a file that is not there yet is [Definition.YAML].
//
// It is an error if the definition is not valid (see [Definition.Validate]), if
// the file has a task of its ID, or if it is JSON and holds no list.
func (f *File) Add(d Definition) error {
	if err := d.Validate(f.Methods); err != nil {
		return err
	}
	if slices.ContainsFunc(f.units, func(u unit) bool { return u.def.ID == d.ID }) {
		return f.refuse(nil, d.ID, "the file has a task of this ID")
	}
	n, err := d.node()
	if err != nil {
		return leaving(err)
	}
	list := f.doc.Roots[len(f.doc.Roots)-1]
	if list.Has("tasks") {
		list = list.Get("tasks")
	}
	if list.Kind == doc.List {
		if next, ok := f.doc.Append(list, n); ok {
			return leaving(f.read(next))
		}
	}
	if next, ok := f.doc.AppendDocument(belowTask(n)); ok {
		return leaving(f.read(next))
	}
	return f.refuse(nil, d.ID, "it cannot be added: the file holds no list of tasks")
}

// Bytes returns the text with all changes, as [File.Save] would write it. It is a copy.
func (f *File) Bytes() []byte { return bytes.Clone(f.doc.Text) }

// ErrChanged is wrapped by the error of [File.Save] when somebody else has
// changed the file since it was read.
var ErrChanged = errors.New("the file was changed by somebody else since it was read; load it again")

// Create writes a new file with the text of definitions, which is not looked at. A file
// that is there must hold nothing but white space, as one does that somebody has only
// touched; otherwise the error wraps [io/fs.ErrExist] and the file stays as it is.
func Create(path string, text []byte) error {
	f, err := file.Create("task file", path, file.Shared)
	if errors.Is(err, fs.ErrExist) {
		old, err := file.Read("task file", path, doc.MaxText)
		if err == nil && len(bytes.TrimSpace(old)) > 0 {
			err = fmt.Errorf("task file %s: %w", path, fs.ErrExist)
		}
		if err == nil {
			err = file.Replace("task file", path, text)
		}
		return leaving(err)
	}
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	return leaving(err)
}

// Save writes the text to the file it was loaded from, all or nothing: the file is
// replaced, and its mode stays. Nothing is written if nothing was changed.
//
// If the file no longer holds what was read, nothing is written and the error wraps
// [ErrChanged]: load it again, make the change again, and save. Of two programs that
// write at the same time one gets that error, where the system has locks. Merging two
// versions is left to people, who know which of them is meant. A file that is gone is
// an error too.
//
// Nothing is written through a symbolic link: resolve it once, before Load. The file
// must be a regular one without further names (hard links), owned by this user, by root
// or by the owner of its folder, for otherwise the write may change a file that
// somebody else put in its way.
func (f *File) Save() error {
	if bytes.Equal(f.doc.Text, f.loaded) {
		return nil
	}
	same, err := file.Swap("task file", f.Name, f.loaded, f.doc.Text)
	if err != nil {
		return leaving(err)
	}
	if !same {
		return fmt.Errorf("spec: task file %s: %w", f.Name, ErrChanged)
	}
	f.loaded = f.doc.Text
	return nil
}
