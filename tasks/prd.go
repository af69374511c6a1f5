package tasks

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph/internal/doc"
)

// A PRD is what a prd.json holds, the file of the bash loops: a project and its
// user stories. Only what a loop needs is kept; a prd.json is never written from it,
// see [TickPRD].
type PRD struct {
	// Project is what "project" or "projectName" says; "" if that is no text.
	Project string
	// Branch is what "branchName" or "branch" says: the git branch to work on. A
	// [Session] does not switch to it.
	Branch      string
	Description string
	// Items are the user stories that are tasks: parts before the story that they are a
	// part of, what another one depends on before that, else by priority, those without
	// one last, and then in the order of the file. A story's title is the item's text,
	// its description the details.
	Items []Item
	// Others are the stories that are no tasks, as their status says: "cancelled".
	Others []Finding
}

// ParsePRD reads a prd.json. The stories are in "userStories" of an object, or in
// "stories", "features" or "tasks", or in such a list of each of its "phases", whose name
// is the item's Phase; a bare list of stories will do. Each key may be written in
// camelCase or in snake_case. Keys that are not named here are left alone.
//
// A story has an "id" (a text or a number) and a "title" or "name"; without an id its
// text is its key, and without a title the description is its text. It is done if
// "passes" is true, and null is false. "passed", "done" and "completed" say so too, and
// the word of a "status", which may also say that nobody is to do it; an unknown word is
// taken for open. Where there are several, the first of these decides. It is an error if
// another one says done and that does not.
//
// A "priority" is a number, a number in a text ("2", "P2") or one of critical, high,
// medium and low (1 to 4). An entry of "acceptanceCriteria", "acceptance" or "criteria"
// is a text or an object with a "text", "description" or "criterion"; if there are none,
// the "steps" are the criteria. "dependencies", "dependsOn" and "blockedBy" name the
// stories that come first. Objects in "subtasks", "tasks" or "stories" of a story that
// say how far they are are its parts.
//
// Errors have the line and the column, counted in characters from 1: for bad JSON, a wrong type, a
// repeated id, a story that has no text, one that contradicts itself, a second list of
// stories beside the first, and a key that stands twice where that leaves open which
// one counts. At most 4 MiB are read. It keeps nothing and may be called concurrently.
func ParsePRD(text []byte) (PRD, error) {
	p, err := readPRD(text)
	if err != nil {
		return PRD{}, err
	}
	return p.prd(), nil
}

// TickPRD returns a copy of a prd.json in which the story passes. Only the value of the
// key that says so differs: "passes", or what the story has instead of it. If it has
// none, one is added after the story's last member. A story that passes already is left
// alone. The error is for a text that cannot be read, or in which the story is no
// longer where it was. With the key alone, use [PRDFile.Mark].
func TickPRD(text []byte, it Item) ([]byte, error) {
	p, err := readPRD(text)
	if err != nil {
		return nil, err
	}
	for e := range written(p.entries) {
		if e.Key == cmp.Or(it.Key, it.ID) && e.Offset == it.Offset {
			return p.tick(e)
		}
	}
	return nil, fmt.Errorf("tasks: the story %q is no longer at line %d: the file has changed since it was read", cmp.Or(it.ID, it.Key), it.Line)
}

// readPRD reads a prd.json. A bare list is one too: models that are asked for a list of
// features write that.
func readPRD(text []byte) (*jsonText, error) {
	p, err := readJSON("story", "userStories", text)
	if err != nil {
		return nil, err
	}
	switch root := p.Roots[0]; root.Kind {
	case doc.List:
		p.read(root)
		p.settle()
	case doc.Map:
		p.stories(root)
	default:
		p.want("the file", "an object with userStories", root)
	}
	if p.err != nil {
		return nil, p.err
	}
	return p, nil
}

// prd is what a text holds. What is only shown is read without mistakes: a project
// whose name is a number can be worked on.
func (p *jsonText) prd() PRD {
	prd := PRD{Items: p.items()}
	for _, f := range p.findings() {
		if !f.Task() {
			prd.Others = append(prd.Others, f)
		}
	}
	root := p.Roots[0]
	for i := len(root.Keys) - 1; i >= 0; i-- { // of two the first counts; they are only shown
		into, value := (*string)(nil), root.Items[i]
		switch snake(root.Keys[i].Text) {
		case "project", "project_name":
			into = &prd.Project
		case "branch_name", "branch":
			into = &prd.Branch
		case "description":
			into = &prd.Description
		}
		if into != nil && value.Kind == doc.Text {
			*into = value.Text
		}
	}
	return prd
}

// stories reads the object with the stories, or with the phases that have them.
func (p *jsonText) stories(n *doc.Node) {
	key, list := p.storyList(n)
	phases := n.Get("phases")
	if phases != nil {
		p.once(n, "phases")
	}
	switch inPhases := hasStories(phases); {
	case list != nil && len(list.Items) > 0 && inPhases:
		line, _ := p.Place(key)
		p.fail(n.Key("phases"), "a second list of stories, in \"phases\", beside %s in line %d: put all stories into one", doc.Quote(key.Text), line)
	case inPhases:
		p.list = "phases"
		for _, phase := range phases.Items {
			p.readPhase(phase)
		}
	case list != nil:
		p.list = key.Text
		p.read(list)
	default:
		more := ""
		if name, at := listOf(n, ""); at != nil {
			line, _ := p.Place(at)
			more = fmt.Sprintf(", \"stories\" or \"features\"; what %s in line %d holds is not known", doc.Quote(name), line)
		}
		p.fail(n, "there is no list of stories: the key is \"userStories\"%s", more)
		return
	}
	p.settle()
}

// storyList is the list of stories of an object, and its key; nil = it has none.
// Another one with stories in it is an error, since one of the two would be left out,
// and the loop would end with half of the work done. An empty list beside it says
// nothing.
func (p *jsonText) storyList(n *doc.Node) (at, list *doc.Node) {
	for _, name := range storyLists() {
		for i, key := range n.Keys {
			value := n.Items[i]
			switch {
			case snake(key.Text) != name || name == "tasks" && len(value.Items) == 0:
			case at != nil && snake(at.Text) == name:
				p.fail(key, "a second %q", key.Text)
			case list != nil && len(list.Items) > 0 && isObjects(value):
				line, _ := p.Place(at)
				p.fail(key, "a second list of stories, %s, beside %s in line %d: put all stories into one, or give this one another name", doc.Quote(key.Text), doc.Quote(at.Text), line)
			case list == nil || len(list.Items) == 0 && len(value.Items) > 0:
				at, list = key, value
			}
		}
	}
	return at, list
}

// hasStories reports whether one of the phases has a list of stories.
func hasStories(phases *doc.Node) bool {
	return phases != nil && isObjects(phases) && slices.ContainsFunc(phases.Items, func(phase *doc.Node) bool {
		return slices.ContainsFunc(phase.Keys, func(key *doc.Node) bool {
			return slices.Contains(storyLists(), snake(key.Text)) && isObjects(phase.Get(key.Text))
		})
	})
}

// readPhase reads the stories of a phase, which bear its name.
func (p *jsonText) readPhase(n *doc.Node) {
	if n.Kind != doc.Map {
		p.want(p.list, "a phase, which is an object", n)
		return
	}
	p.phase = ""
	for _, name := range []string{"name", "title", "phase", "id"} {
		if f := n.Get(name); f != nil && p.phase == "" && (f.Kind == doc.Text || numeric(f)) {
			p.phase = oneLine(f.Text)
		}
	}
	if _, list := p.storyList(n); list != nil {
		p.read(list)
	}
}

// listOf finds the first list of objects below an object, and its path: "a.b". It is
// what a person has probably meant, for the error that says that there are no stories.
func listOf(n *doc.Node, path string) (name string, at *doc.Node) {
	for i, value := range n.Items {
		if n.Kind != doc.Map {
			break
		}
		if isObjects(value) {
			return path + n.Keys[i].Text, n.Keys[i]
		}
		if name, at = listOf(value, path+n.Keys[i].Text+"."); at != nil {
			return name, at
		}
	}
	return "", nil
}

// isObjects reports whether it is a list of objects.
func isObjects(n *doc.Node) bool {
	return n.Kind == doc.List && len(n.Items) > 0 && n.Items[0].Kind == doc.Map
}

// storyLists are the keys under which stories stand, the best first. "tasks" is last:
// it is also the name of a list of steps.
func storyLists() []string { return []string{"user_stories", "stories", "features", "tasks"} }

// PRDFile is the [Source] of a prd.json; see [ParsePRD]. It is a value and
// keeps nothing; its methods may be called concurrently.
type PRDFile struct {
	// Path of the file, which has at most 4 MiB. Items and Read follow a symbolic link,
	// Tick does not, since an agent may have put it there: resolve it once, as
	// [PRDFile.Resolve] and [OpenSource] do.
	Path string
}

// Items reads the file. It is an error if it is missing, is no regular file, is no
// prd.json or has no stories; see [ParsePRD]. It is no error that all stories pass.
func (f PRDFile) Items(ctx context.Context) ([]Item, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p, err := f.read()
	if err != nil {
		return nil, err
	}
	if len(p.entries) == 0 {
		return nil, fmt.Errorf("tasks: %s: %s is empty: write the stories into it", f.Path, p.list)
	}
	return p.items(), nil
}

// Check says of each story, in the order of the file, whether it is a task, and why not.
// The error is for a file that cannot be read; see [ParsePRD].
func (f PRDFile) Check(ctx context.Context) ([]Finding, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p, err := f.read()
	if err != nil {
		return nil, err
	}
	return p.findings(), nil
}

// Read reads the file, also one without stories, for those who want the project's name
// and its branch.
func (f PRDFile) Read() (PRD, error) {
	p, err := f.read()
	if err != nil {
		return PRD{}, err
	}
	return p.prd(), nil
}

// read reads the file. Errors name it.
func (f PRDFile) read() (*jsonText, error) {
	text, err := read("prd.json", f.Path)
	if err != nil {
		return nil, err
	}
	p, err := readPRD(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return p, nil
}

// Tick makes the story with this key pass; see [TickPRD]. The file is replaced as a
// whole, since false and true differ in length: readers see the old one or the new one,
// and its mode stays. What others write at the same time stays too. It must be a
// regular file without other hard links, and belong to this user, to root or to the
// folder's owner. If the story passes already, nothing is written. If there is no such
// story, the error is a *[NoItemError].
func (f PRDFile) Tick(key string) error {
	return rewrite("prd.json", f.Path, func(text []byte) ([]byte, error) { return f.Mark(key, text) })
}

// Mark returns a copy of a text of the file in which the story with this key passes,
// wherever it stands there. It touches no file. If there is no such story, the error is
// a *[NoItemError].
func (f PRDFile) Mark(key string, text []byte) ([]byte, error) {
	return jsonReader(readPRD).mark(f.Path, "story", key, text)
}

// Filename is the absolute path of the file; "" = none is given.
func (f PRDFile) Filename() string { return absolute(f.Path) }

// HowDone says how a story is marked as done, for the agent: half a sentence that begins
// with a verb. It reads the file to find out which key says so.
func (f PRDFile) HowDone(it Item) string {
	text, _ := read("prd.json", f.Path) // without it the usual way is told
	return jsonReader(readPRD).howDone(f.Filename(), "story", text, it)
}

// Resolve returns a PRDFile whose Path is the file that a symbolic link leads to, so that
// a link which is changed later changes nothing.
func (f PRDFile) Resolve(context.Context) (_ PRDFile, err error) {
	f.Path, err = followed(f.Path)
	return f, err
}
