package tasks

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph/internal/file"
)

// PRDFile is the [Source] of a prd.json; see [ParsePRD]. It is a value and
// keeps nothing; its methods may be called concurrently, but of two ticks at the
// same time one may be lost.
type PRDFile struct {
	Path string // of the file; symbolic links are followed
}

var _ Source = PRDFile{}

// Items reads the file. It is an error if it is missing, is no regular file, is
// no prd.json or has no stories. That all stories pass is none.
func (f PRDFile) Items(ctx context.Context) ([]Item, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return f.items()
}

func (f PRDFile) items() ([]Item, error) {
	prd, _, err := f.read()
	if err == nil && len(prd.Items) == 0 {
		err = fmt.Errorf("%s: userStories is empty: write the stories into it", f.Path)
	}
	return prd.Items, err
}

// Read reads the file, also one without stories.
func (f PRDFile) Read() (PRD, error) {
	prd, _, err := f.read()
	return prd, err
}

func (f PRDFile) read() (PRD, []byte, error) {
	text, err := readRegular("prd.json", f.Path)
	if err != nil {
		return PRD{}, nil, err
	}
	prd, err := ParsePRD(text)
	if err != nil {
		return PRD{}, nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return prd, text, nil
}

// Tick makes the story with this key pass; see [TickPRD]. The file is replaced
// as a whole, since false and true differ in length: readers see the old one or
// the new one, and its mode stays. If the story passes already, nothing is written.
func (f PRDFile) Tick(key string) error {
	prd, text, err := f.read()
	if err != nil {
		return err
	}
	it, ok := find(prd.Items, key)
	if !ok {
		return fmt.Errorf("%s: there is no story %q to tick", f.Path, key)
	}
	ticked, err := TickPRD(text, it)
	if err != nil || it.Done {
		return err
	}
	if err := file.Replace(f.Path, ticked); err != nil {
		return fmt.Errorf("tick %q: %w", key, err)
	}
	return nil
}
