// Package progress records what happens in loops, and reads it back.
//
// There are two kinds of records, for two purposes. A journal, in a [Dir], is what a
// loop goes on from after a crash, and what other processes steer it by; it lies where
// the agent cannot write. Everything else is for people and programs to look at, and
// may lie in the workspace: [Markdown] is a diary that agents read, [JSONL] an
// execution log, [Banner] a session as a person reads it, [StateFile] and [TaskFile]
// tell other programs where things stand. All of them are a [ralph.ProgressLog], and
// [Multi] makes one of several.
//
//	journals, err := progress.WorkspaceDir(".") // outside the workspace
//	…
//	j, err := journals.Open("T001") // holds the loop: nobody else can run it
//	if errors.Is(err, fs.ErrNotExist) {
//		j, err = journals.Create(ralph.Start(task), progress.KindLoop)
//	}
//	…
//	final, err := j.Run(ctx, loop) // run it again after a crash: it goes on
//
// A record is believed by whoever resumes from it: a line that says that a verdict has
// passed is a task that is done. So nothing resumes from a file that the agent can
// write to. What a [Dir] has recorded survives the machine; the other logs survive the
// process.
//
// What is on record of loops is found by [Dir.Loops], [Dir.Look] and [Dir.Stand], and
// steered by [Dir.Pause], [Dir.Cancel] and their like, from any process; [Dir.Follow] tells
// what happens in one, and a [Pool] runs those of a service. [Dir.History]
// tells what many loops have shown, and what the next one can learn of it.
//
// What agents and their programs print is not trusted: it is written so that no
// terminal takes it for a command ([Printable]), and without secrets where a [Redactor]
// stands before the log, as it does in a [Dir].
package progress
