package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A Remote is a repository by which clones share branches: the user's branch, which is the
// remote's and not the clone's then, and those below ralph/. It is reached by what was
// configured when the repository was opened: SSH and credentials are the user's. Of that
// what is configured for remotes by their name does not count, nor for branches, and no
// hook of the clone runs; those of the remote do, where it is. Nothing of the clone's work
// tree changes. Its methods may be called concurrently.
type Remote struct {
	repo *Repo
	url  string
	mu   sync.Mutex // held while what was fetched is noted
}

// A MovedError says that a branch is not where it was.
type MovedError struct{ Branch, Is, Was string } // commits; "" = there is none

func (e *MovedError) Error() string {
	if e.Is == "" {
		return fmt.Sprintf("git: %s is gone: it was at %.10s", e.Branch, e.Was)
	}
	return fmt.Sprintf("git: %s has moved: it is at %.10s, not %.10s", e.Branch, e.Is, cmp.Or(e.Was, "none"))
}

// protocols are those by which git reaches a remote; the environment of this process may
// name others.
const protocols = "file:git:http:https:ssh"

// Remote returns the repository at a URL, or a path.
func (r *Repo) Remote(url string) (*Remote, error) {
	switch {
	case strings.TrimSpace(url) == "" || strings.HasPrefix(url, "-") || strings.ContainsFunc(url, unicode.IsControl):
		return nil, fmt.Errorf("git: %q can be no repository", url)
	case r.Branch == "":
		return nil, fmt.Errorf("git: in %s no branch is checked out, so there is none that the remote has, too", r.Top)
	}
	if before, _, _ := strings.Cut(url, "/"); !strings.Contains(before, ":") || filepath.IsAbs(url) {
		path, err := filepath.Abs(url) // else git takes a plain name for that of a remote which is configured
		if err != nil {
			return nil, fmt.Errorf("git: %w", err)
		}
		url = path
	}
	return &Remote{repo: r, url: url}, nil
}

// call is a call of git that transfers. Its folder has no refs but what it is given.
func (m *Remote) call() *shadow {
	r := m.repo
	s := r.shadow(r.Top)
	var safe, ask string
	for _, c := range r.config {
		switch {
		case c.key == "safe.directory" && (c.scope == "system" || c.scope == "global"): // git's other half looks for it, if the remote is a path
			safe += "[safe]\n\tdirectory = " + inQuotes(c.value) + "\n"
		case c.key == "core.askpass":
			ask = c.value
		}
	}
	config := slices.DeleteFunc(slices.Clone(r.config), func(c setting) bool {
		section, _, _ := c.split()
		return section == "remote" || section == "branch" || c.key == "extensions.partialclone"
	})
	s.hold("config", config.text(r.Common, false))
	s.hold("global", []byte(safe))
	s.env = append(s.env, "GIT_CONFIG_GLOBAL="+filepath.Join(s.folder, "global"), "GIT_ASKPASS="+cmp.Or(os.Getenv("GIT_ASKPASS"), ask),
		"GIT_ALLOW_PROTOCOL="+cmp.Or(os.Getenv("GIT_ALLOW_PROTOCOL"), protocols))
	// The objects are the repository's: nothing may clear them away by the refs that are
	// here. What comes is written as a whole, or not at all.
	s.options = []string{"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "fetch.unpackLimit=1", "-c", "fetch.writeCommitGraph=false", "-c", "fetch.prune=false"}
	return s
}

// Fetch gets a branch below ralph/ ("" = none), and the user's branch, which is an error
// if the remote does not have it; "" = the remote does not have the other. From now on the
// user's branch is what was fetched for all that asks for it, see [Repo.Main].
func (m *Remote) Fetch(ctx context.Context, branch string) (main, other string, err error) {
	s := m.call()
	defer s.remove()
	names := slices.DeleteFunc([]string{m.repo.Branch, branch}, func(name string) bool { return name == "" })
	there := m.list(ctx, s, names...)
	if there[m.repo.Branch] == "" {
		return "", "", cmp.Or(s.err, fmt.Errorf("git: the remote has no branch %s", m.repo.Branch))
	}
	have, err := m.repo.have(ctx)
	if err != nil {
		return "", "", err
	}
	get := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no", "--refmap=", "--", m.url}
	least := len(get)
	for name, commit := range there {
		if !slices.Contains(have, commit) {
			get = append(get, "+refs/heads/"+name+":refs/remote/"+name)
		}
	}
	if len(get) > least {
		s.grant(have)
		s.run(ctx, get...)
		for name, listed := range there { // it may have moved since it was listed
			there[name] = cmp.Or(s.refCommit(ctx, "refs/remote/"+name), listed)
		}
	}
	if s.err != nil {
		return "", "", s.err
	}
	return there[m.repo.Branch], there[branch], m.note(ctx, there[m.repo.Branch])
}

// fetched is the ref that keeps what was fetched of the user's branch.
func (r *Repo) fetched() string { return "refs/ralph/remote/" + r.Branch }

// note keeps what the user's branch is in the remote.
func (m *Remote) note(ctx context.Context, main string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.repo.main.Store(&main)
	c := m.repo.own()
	if c.refCommit(ctx, m.repo.fetched()) != main {
		c.run(ctx, "update-ref", m.repo.fetched(), main)
	}
	return c.err
}

// Main is the commit of the branch that tasks are merged into: that which is checked out
// in the user's work tree, or what was fetched of it last if a [Remote] has it.
func (r *Repo) Main(ctx context.Context) (commit string, err error) {
	if main := r.main.Load(); main != nil {
		return *main, nil
	}
	return r.Head(ctx)
}

// have are the commits that need not be fetched.
func (r *Repo) have(ctx context.Context) ([]string, error) {
	c := r.own()
	out := c.run(ctx, "for-each-ref", "--format=%(objectname)", "refs/heads/"+r.Branch, "refs/heads/ralph/", r.fetched())
	return slices.Compact(slices.Sorted(strings.FieldsSeq(out))), c.err
}

// grant gives the shadow's folder refs, so that the other side knows what is here.
func (s *shadow) grant(commits []string) {
	var b strings.Builder
	for i, commit := range commits {
		fmt.Fprintf(&b, "%s refs/have/%d\n", commit, i)
	}
	s.hold("packed-refs", []byte(b.String()))
}

// list asks the remote for branches.
func (m *Remote) list(ctx context.Context, s *shadow, branches ...string) map[string]string {
	args := []string{"ls-remote", "--", m.url}
	for _, name := range branches {
		args = append(args, "refs/heads/"+name)
	}
	there := map[string]string{}
	for line := range strings.Lines(s.run(ctx, args...)) {
		commit, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok && slices.Contains(branches, name) && isObject(commit) {
			there[name] = commit
		}
	}
	return there
}

// Push moves a branch of the remote from one commit to another, which goes on from it:
// nothing is forced. From "" makes it, to "" takes it away. It is a [MovedError] if it was
// somewhere else, and none if it is at to already.
func (m *Remote) Push(ctx context.Context, branch, from, to string) error {
	if branch != m.repo.Branch && !strings.HasPrefix(branch, "ralph/") {
		return fmt.Errorf("git: the branch %s is not shared", branch)
	}
	if from == to {
		return nil
	}
	if from != "" && to != "" {
		if on, err := m.repo.Within(ctx, from, to); err != nil || !on {
			return cmp.Or(err, error(&MovedError{branch, from, to}))
		}
	}
	s := m.call()
	defer s.remove()
	if s.err != nil {
		return s.err
	}
	ref := "refs/heads/" + branch
	_, err := s.do(ctx, "push", "--quiet", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no",
		"--force-with-lease="+ref+":"+from, // it forces nothing here, but refuses if the branch is not at from
		"--", m.url, to+":"+ref)
	if err == nil {
		return nil
	}
	switch is := m.list(ctx, s, branch); {
	case s.err != nil:
	case is[branch] == to:
		return nil
	case is[branch] != from:
		return &MovedError{branch, is[branch], from}
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		for line := range strings.Lines(exit.out) { // why the remote does not want it
			if _, why, ok := strings.Cut(line, ref+"\t"); ok && strings.HasPrefix(line, "!") {
				return fmt.Errorf("%w %s", err, strings.TrimSpace(why))
			}
		}
	}
	return err
}
