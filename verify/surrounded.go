package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// changedConfig returns the files that are not as they were when the task was
// prepared, and says of each how. What was not prepared is not looked at: the
// tool is used for the first time, and nobody knows what was there.
func (s *surroundings) changedConfig(t ralph.Task) (files, texts []string) {
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		was, ok := t.Guarded[configKey+file]
		is := s.config(file)
		if !ok || is == was {
			continue
		}
		how := "was changed"
		switch absent {
		case was:
			how = "has appeared"
		case is:
			how = "has vanished"
		}
		files = append(files, file)
		texts = append(texts, fmt.Sprintf("%s, which %s reads, %s", file, s.files[file].tool, how))
	}
	return files, texts
}

// changedPrograms says which programs are not those that they were. One that
// has appeared is no change, as the agent may install what it needs; one that
// stands before what was there is. What is gone is left to the run, which then
// fails to find it.
func (s *surroundings) changedPrograms(t ralph.Task) (changed []string) {
	for _, name := range slices.Sorted(maps.Keys(s.programs)) {
		was, ok := t.Guarded[s.programKey(name)]
		path := s.program(name)
		if !ok || path == "" { // what cannot be run is found out soon
			continue
		}
		before := was[:max(strings.LastIndexByte(was, ' '), 0)]
		switch is := path + " " + fingerprint(path, nil); {
		case is == was:
		case path == before:
			changed = append(changed, fmt.Sprintf("%s (%s) was changed", name, path))
		default:
			changed = append(changed, fmt.Sprintf("%s was %s and is now %s", name, before, path))
		}
	}
	return changed
}

// acceptHint is the way out, in every message that rejects because of something
// outside of the work: the agent may not be able to undo it, or it may have
// been right.
const acceptHint = "a person can accept it (AcceptConfig, --accept-config)"

// surrounded asks only if what surrounds the command is as it was when the loop
// started, or if its tools can be told what that was, and looks again when it
// has run. A changed file rejects and a changed program makes the check unable:
// files in the home folder are the agent's to put back, but programs change
// when the system is updated.
func (e External) surrounded(c ralph.Claim, verify func(External) (ralph.Verdict, error)) (ralph.Verdict, error) {
	if !prepared(c.Task) {
		return verify(e)
	}
	s, err := e.surroundings(c.Task.Dir)
	if err != nil {
		return ralph.Verdict{}, err
	}
	files, config := s.changedConfig(c.Task)
	programs := s.changedPrograms(c.Task)
	// What has changed is told even if it is accepted: the one who accepted it
	// may not be the one who reads the record.
	if e.AcceptConfig {
		v, err := verify(e)
		if changed := append(config, programs...); len(changed) > 0 && err == nil {
			v.Checks = few(append(slices.Clone(v.Checks), ralph.Check{Name: "configuration", Status: ralph.CheckWarning,
				Detail: oneLine("accepted as it is now: "+strings.Join(changed, "; "), 700, 150)}))
		}
		return v, err
	}
	switch {
	case slices.ContainsFunc(files, func(file string) bool { return !s.pinned(c.Task, file) }):
		return judge(configCheck(config)), nil
	// Another program may be an update of the system, which is not the agent's
	// doing, or a trap, so neither a pass nor a rejection would be right.
	case len(programs) > 0:
		return judge(ralph.Check{Name: "program", Status: ralph.CheckUnable, Detail: oneLine(fmt.Sprintf(
			"%s would not be run by what was there when the loop started: %s; %s", e.name(), strings.Join(programs, "; "), acceptHint), 700, 150)}), nil
	}
	v, err := e.withPins(s, c.Task, files, config, verify)
	if err != nil || !v.Passed {
		return v, err
	}
	if now, config := s.changedConfig(c.Task); !slices.Equal(now, files) { // the check itself has changed one
		rejected := judge(configCheck(config))
		rejected.Checks = few(append(rejected.Checks, v.Checks...))
		return rejected, nil
	}
	return v, nil
}

// configCheck is the check that rejects because of changed files.
func configCheck(changed []string) ralph.Check {
	return ralph.Check{Name: "configuration", Status: ralph.CheckFailed, Detail: oneLine(
		"what decides how the work is checked must be as it was when the loop started: "+strings.Join(changed, "; ")+
			". Undo that; "+acceptHint, 700, 150)}
}

// prepared reports whether anything of what surrounds commands was noted.
// Without it, nothing is looked for either, which would cost time and find
// nothing to compare with.
func prepared(t ralph.Task) bool {
	return noted(t.Guarded, func(key string) bool { return strings.HasPrefix(key, configKey) || strings.HasPrefix(key, programKey) })
}
