package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/ralph-loop/ralph/internal/file"
)

// A File is a text with definitions, as YAML or JSON (S1): one definition, with
// or without a task: above it, a list, with or without a tasks: above it, or
// several YAML documents of these. A part of a definition (a completion, or one
// agent's criteria) loads too, see [File.Fragments].
//
// Setting a status changes the bytes of that status and no others: comments,
// order, quoting and layout stay. A File is not safe for concurrent use.
type File struct {
	// Name is the path the file was loaded from, and where Save writes it.
	Name string
	// Warnings are what a person should know but what stops nothing: a
	// definition that does not say what done means.
	Warnings []string
	// Methods are the verification methods that Validate takes as known besides
	// the built-in ones.
	Methods Methods

	doc    *document
	loaded []byte // what the file held when it was read or saved
	roots  []*node
	units  []unit
	parts  []Completion

	invalid problems
	uses    []methodUse
}

// A unit is a definition and where it stands.
type unit struct {
	node *node
	def  Definition
}

// Load reads a file, which must be a regular one. See [Parse].
func Load(path string) (*File, error) {
	if _, err := file.Regular("task file", path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("task file: %w", err)
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("task file %s: %w", path, err)
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
func Parse(name string, text []byte) (*File, error) {
	f := &File{Name: name, doc: &document{name: name, text: bytes.Clone(text), file: true}}
	f.loaded = f.doc.text
	roots, err := f.doc.parse()
	if err != nil {
		return nil, err
	}
	f.roots = roots
	r := reader{doc: f.doc}
	for _, root := range roots {
		r.root(f, root)
	}
	if len(f.units)+len(f.parts)+len(r.wrong) == 0 {
		r.bad(nil, "there is no task in it")
	}
	f.Warnings, f.invalid, f.uses = r.warnings, r.invalid, r.methods
	if err := r.wrong.join(); err != nil {
		return nil, err
	}
	return f, nil
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
func (f *File) Validate() error {
	r := reader{doc: f.doc, methods: f.uses}
	r.invalid = slices.Clone(f.invalid)
	r.knownMethods(f.Methods)
	r.graph(f.units)
	return r.invalid.join()
}

// Bytes returns the text with all changes.
func (f *File) Bytes() []byte { return bytes.Clone(f.doc.text) }

// ErrChanged is wrapped by the error of [File.Save] when somebody else has
// changed the file since it was read.
var ErrChanged = errors.New("the file was changed by somebody else since it was read; load it again")

// Save writes the text to the file it was loaded from, all or nothing: the file
// is replaced, a symbolic link is followed, and the mode stays. If the file no
// longer holds what was read, nothing is written and the error wraps
// [ErrChanged]; a file that is gone is an error too. Nothing is written if
// nothing was changed.
func (f *File) Save() error {
	if bytes.Equal(f.doc.text, f.loaded) {
		return nil
	}
	now, err := os.ReadFile(f.Name)
	if err != nil {
		return fmt.Errorf("task file: %w", err)
	}
	if !bytes.Equal(now, f.loaded) {
		return fmt.Errorf("task file %s: %w", f.Name, ErrChanged)
	}
	if err := file.Replace(f.Name, f.doc.text); err != nil {
		return fmt.Errorf("task file %s: %w", f.Name, err)
	}
	f.loaded = f.doc.text
	return nil
}
