package pipeline

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/file"
	"github.com/ralph-loop/ralph/tasks/spec"
)

//go:embed prompts/*.md
var builtinRoles embed.FS

// itemRole is that of a task that is not done in stages. It has a folder of its own, for
// an agent may have any name.
//
//go:embed prompts/list/item.md
var itemRole string

// maxRole is the most that is read of a role, in bytes. Every prompt has it.
const maxRole = 64 << 10

// Prompts says where the texts come from that agents are told. The zero value has roles
// for coder, reviewer, tester and qa, one for agents of any other name, and looks for
// specifications in the usual folders.
type Prompts struct {
	// Dir is a folder with roles of one's own: <agent>.md is used instead of the one
	// that is built in, agent.md for agents that have neither, and for the items of a
	// list, which have no agent of a name. "" = none.
	//
	// A role is what the agent is to do and what not, in words, for [ralph.Template]:
	// TASK_ID, TASK_TITLE, STAGE ("" = the task has no stages), ITERATION and MAX_ITERATIONS (which begin with 1; 0 = no
	// maximum), SPEC_ID, SPEC_PATH ("" = it is not there) and REJECT, which says how
	// the agent tells that work of others does not hold. The rest of a prompt is
	// the same for all and needs no place in it, see [Roles.Prompt].
	Dir string
	// Spec is the folder of the specifications, relative to the workspace. That of the
	// spec_id auth is auth/spec.md in it, else auth.md. "" = the first that is found in
	// specs, .specify/specs and docs/specs. What is blank is none.
	Spec string
}

// Roles are the texts of [Prompts] as they were when a run began. They do not change.
// The zero value has those that are built in.
type Roles struct {
	spec string
	of   map[string]role
}

// A role is a text and the file it is from.
type role struct{ file, text string }

// A Stage is what a prompt is made of: one agent's part of a task. It holds what is on
// record, and nothing that an earlier agent said of its own work, except why it rejects
// another's.
type Stage struct {
	// Definition is the task's, as it was agreed.
	Definition spec.Definition
	// Agent is whose part it is; "" = the task is not done in stages, as an item of a list,
	// and the prompt speaks of none.
	Agent string
	// Branch is that of the git worktree that the task has for itself; "" = it has
	// none.
	Branch string
	// Before are the stages before it, in their order.
	Before []Record
	// Feedback is why a later stage sent the task back to this one; "" = none did. It
	// is an agent's text.
	Feedback string
	// From is the agent of that stage.
	From string
	// Once says that it is a single pass, see [AgreedTask].
	Once bool
}

// A Record is what is known of a stage that is over, not what its agent said: a
// reviewer who reads that the tests pass is inclined to believe it.
type Record struct {
	Agent string `json:"agent"`
	// Verified says that its verifier agreed.
	Verified bool `json:"verified,omitempty"`
	// Unverified says that it was done, and nothing has checked it.
	Unverified bool `json:"unverified,omitempty"`
	// Iterations is how many it took.
	Iterations int `json:"iterations,omitempty"`
	// Files are those that it has changed, as paths in the workspace.
	Files []string `json:"files,omitempty"`
	// Checks are those of its last verdict.
	Checks []ralph.Check `json:"checks,omitempty"`
	// Commit is the one that it was verified with; "" = there is no worktree.
	Commit string `json:"commit,omitempty"`
}

// Load reads the roles of agents, once, when a run begins: nothing that is written
// later changes them. A role that is blank, or that names in {{…}} what is not known, is
// an error, which says in which file and what is known. Agents that are not named have
// the roles that are built in.
func (p Prompts) Load(agents []string) (Roles, error) {
	r := Roles{spec: p.Spec, of: map[string]role{}}
	if p.Spec != "" && !filepath.IsLocal(p.Spec) {
		return Roles{}, fmt.Errorf("pipeline: the folder of specifications %s is not in the workspace; give a path in it", p.Spec)
	}
	var errs []error
	for _, agent := range agents {
		own, err := p.role(agent)
		if err == nil {
			_, err = own.fill(values(Stage{}, ralph.State{}, ""))
		}
		if errs = append(errs, err); err == nil {
			r.of[agent] = own
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Roles{}, ours(err)
	}
	return r, nil
}

// role finds the role of an agent: the user's own for it, the built-in one for it, the
// user's for all others, the built-in one for all others. The user's agent.md does not
// replace a built-in reviewer, which says more than a text for everybody can.
func (p Prompts) role(agent string) (role, error) {
	own, err := p.own(agent)
	if err == nil && own.text == "" && !builtin(agent) {
		own, err = p.own("agent")
	}
	if own.text == "" {
		own = builtinRole(agent)
	}
	return own, err
}

// own reads a role of the user's; no text = there is none. An agent's name is a
// stranger's text, so one that is no plain file name has no role of its own.
func (p Prompts) own(agent string) (role, error) {
	name := agent + ".md"
	if agent == "" || p.Dir == "" || filepath.Base(name) != name || !filepath.IsLocal(name) {
		return role{}, nil
	}
	r := role{file: filepath.Join(p.Dir, name)}
	if _, err := os.Lstat(r.file); errors.Is(err, fs.ErrNotExist) {
		return role{}, nil
	}
	text, err := file.Read("prompt", r.file, maxRole)
	switch r.text = strings.TrimSpace(string(text)); {
	case err != nil:
	case r.text == "":
		err = fmt.Errorf("prompt %s is blank: write what the %s is to do, or remove it", r.file, agent)
	case !utf8.Valid(text):
		err = fmt.Errorf("prompt %s is not valid UTF-8", r.file)
	}
	return r, err
}

func builtin(agent string) bool {
	_, err := fs.Stat(builtinRoles, "prompts/"+agent+".md")
	return err == nil
}

func builtinRole(agent string) role {
	if agent == "" {
		return role{"the built-in item.md", strings.TrimSpace(itemRole)}
	}
	if !builtin(agent) {
		agent = "agent"
	}
	text, _ := builtinRoles.ReadFile("prompts/" + agent + ".md") // it is there
	return role{"the built-in " + agent + ".md", strings.TrimSpace(string(text))}
}

// fill puts values into the role. They are put in once and not looked at again: a title
// with braces in it is a title.
func (r role) fill(values map[string]string) (string, error) {
	text, err := ralph.Template(r.text, values)
	if err != nil {
		return "", fmt.Errorf("prompt %s: %s", r.file, strings.TrimPrefix(err.Error(), "ralph: ")) // one package is enough
	}
	return text, nil
}

// Prompt returns what [ralph.Local] has as Prompt in the loop of a stage. Each prompt
// has, in this order: task information (ID, title, stage, which iteration of how many),
// the description, the specification, what the stages before it left on record, why it was sent
// back, the role, what holds for all agents, and what [ralph.State.Opening] and
// [ralph.State.Continuation] say of the task: what done means, how to say so, how it will
// be verified, and what came of the iterations before. The task's own Prompt is not
// used, and should be the description alone, for that is what judges are shown.
//
// The specification is looked for in workspace, now. What is there must be a regular
// file, reached without links that leave the workspace or are absolute; else that is an
// error. The first 64 KiB of it are told. That there is none is told too, and no error.
// Let workspace be the folder that tasks are merged into, not the task's own worktree:
// there a coder could write the specification for its reviewer.
//
// What people have not written for the agent is quoted, and the tags of promises in it
// are told as [promise]: whoever copies them claims nothing.
func (r Roles) Prompt(workspace string, s Stage) (func(context.Context, ralph.State) (string, error), error) {
	found, err := r.specification(workspace, s.Definition.SpecID)
	if err != nil {
		return nil, ours(err)
	}
	own, there := r.of[s.Agent]
	if !there {
		own = builtinRole(s.Agent)
	}
	fixed, rules := s.task()+found.section()+records(s.Before)+s.sentBack(), s.rules()
	return func(_ context.Context, st ralph.State) (string, error) {
		text, err := own.fill(values(s, st, found.path))
		if err != nil {
			return "", ours(err)
		}
		st.Task.Prompt = s.information(st) + fixed + section("Your role", text) + rules
		text = st.Opening()
		if more := st.Continuation(); more != "" {
			text += "\n" + more
		}
		return text, nil
	}, nil
}

// values are what a role may name. Those that come from a definition are on one line
// each.
func values(s Stage, st ralph.State, path string) map[string]string {
	d := s.Definition
	return map[string]string{
		"TASK_ID": oneLine(d.ID), "TASK_TITLE": oneLine(cmp.Or(d.Title, d.ID)), "STAGE": oneLine(s.Agent),
		"ITERATION": strconv.Itoa(st.Iteration), "MAX_ITERATIONS": strconv.Itoa(maximum(st)),
		"SPEC_ID": oneLine(d.SpecID), "SPEC_PATH": oneLine(path), "REJECT": reject(st.Task),
	}
}

// maximum is the number of iterations that a loop may have, 0 = any: ten where it is
// not said, as in every loop.
func maximum(st ralph.State) int { return max(cmp.Or(st.Task.Limits.Iterations, 10), 0) }
