package progress_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
)

// stateFolder is a state folder for an example, in the place of the user's own.
func stateFolder() (workspace string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	before, was := os.LookupEnv("XDG_STATE_HOME")
	os.Setenv("XDG_STATE_HOME", dir+"/state")
	if err := os.Mkdir(dir+"/workspace", 0o700); err != nil {
		panic(err)
	}
	return dir + "/workspace", func() {
		if os.Unsetenv("XDG_STATE_HOME"); was {
			os.Setenv("XDG_STATE_HOME", before)
		}
		os.RemoveAll(dir)
	}
}

// Two runs in one workspace would undo each other's work: the second one is told who is
// there.
func ExampleHoldWorkspace() {
	workspace, remove := stateFolder()
	defer remove()
	first, err := progress.HoldWorkspace(workspace, "ralph run tasks.md")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = progress.HoldWorkspace(workspace, "ralph run tasks.md")
	if held, ok := errors.AsType[*progress.HeldError](err); ok {
		fmt.Println("held by this process:", held.Holder.PID == os.Getpid(), held.Holder.What)
	}
	fmt.Println(first.Close())
	second, err := progress.HoldWorkspace(workspace, "")
	fmt.Println(err, second.Close())
	// Output:
	// held by this process: true ralph run tasks.md
	// <nil>
	// <nil> <nil>
}

// A worker of a queue has its record on another machine. If it is killed, the next one on
// this machine finds out by the note what is to be ended.
func ExampleHoldAttempt() {
	_, remove := stateFolder()
	defer remove()
	ended, err := progress.EndAttempts(context.Background()) // first of all: of those that were killed
	fmt.Println("ended:", ended, err)

	mark := ralph.NewMark() // recorded where the queue is
	note, err := progress.HoldAttempt(mark)
	if err != nil {
		fmt.Println(err)
		return
	}
	// … the attempt: ralph.Local.Serve with a ralph.Beat that has the mark
	fmt.Println(note.Close())
	// Output:
	// ended: [] <nil>
	// <nil>
}

// A program that listens to a client's hooks stays with a loop that it does not drive.
// Nobody else can take the loop meanwhile.
func ExampleDir_Hold() {
	dir, remove := scratch()
	defer remove()
	hold, err := dir.Hold("chat 1", "listens to the hooks of an editor")
	if err != nil {
		fmt.Println(err)
		return
	}
	other := &progress.Dir{Path: dir.Path} // as another process has it
	_, err = other.Hold("chat 1", "")
	_, is := errors.AsType[*progress.HeldError](err)
	fmt.Println(is, hold.Close())
	// Output: true <nil>
}
