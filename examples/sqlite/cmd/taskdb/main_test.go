//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/examples/sqlite"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/spec"
)

// TestMain makes the test binary the program, and an agent.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "slow-agent":
		slowAgent(os.Args[2])
		return
	case os.Getenv("TASKDB_MAIN") != "" || len(os.Args) > 1 && os.Args[1] == "demo-agent":
		main()
		return
	}
	home, err := os.MkdirTemp("", "taskdb-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", home)
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// slowAgent never comes to an end the first time, and says that it has begun.
func slowAgent(begun string) {
	if f, err := os.OpenFile(begun, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
		time.Sleep(time.Hour) // it is killed before
	}
	if err := os.WriteFile("slow.txt", []byte("at last\n"), 0o600); err != nil {
		panic(err)
	}
	fmt.Println("I have committed it.\n<promise>IMPLEMENTATION_COMPLETE</promise>")
}

// taskdb runs a command in this process.
func taskdb(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(t.Context(), args, strings.NewReader(""), &out, &errs); got != want {
		t.Errorf("taskdb %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, want, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// program is a command in a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "TASKDB_MAIN=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// database is a new one, and a workspace.
func database(t *testing.T) (db, work string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	db, work = filepath.Join(dir, "tasks.db"), filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	taskdb(t, 0, "migrate", db)
	return db, work
}

// repository makes a folder a git repository with a commit.
func repository(t *testing.T, dir string) {
	t.Helper()
	for _, args := range []string{"init -q", "-c user.name=n -c user.email=e commit -q --allow-empty -m first", "config user.name n", "config user.email e"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
}

// readme is the n-th block of commands in the README.
func readme(t *testing.T, n int) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "\n```\n")
	return strings.Split(strings.TrimSpace(blocks[2*n-1]), "\n")
}

// TestReadme: the two commands of the README.
func TestReadme(t *testing.T) {
	t.Parallel()
	commands := readme(t, 1)
	if len(commands) != 3 || commands[0] != "cd examples/sqlite" || !strings.HasPrefix(commands[2], "go test ./... ") {
		t.Fatalf("%q", commands)
	}
	line, _, _ := strings.Cut(commands[1], "#")
	args, tmp := strings.Fields(line), t.TempDir()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "TMPDIR="+tmp)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	for _, want := range []string{
		"hello: its checks run: test -s hello.txt\n",
		"2 of 2 tasks are done\n",
		"world  done    writer, iteration 2: verified  Write world.txt\n",
		" hello.writer 1/10 failure: test -s hello.txt ended with exit code 1",
		" hello.writer 2/10 success\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "taskdb-demo-*")); len(left) > 0 || err != nil {
		t.Error("it leaves", left, err)
	}
}

// TestReadmeUse: the commands of a person's own tasks, with a scripted client, in a git
// repository.
func TestReadmeUse(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	repository(t, work)
	tasks := "tasks:\n  - {id: T6, title: One, completion: {outcome: It is there., acceptance_criteria: [it is], coder: {verification_method: external, verification_config: {command: test -s slow.txt}}}}\n"
	if err := os.WriteFile(filepath.Join(home, "tasks.yaml"), []byte(tasks), 0o600); err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(home, "begun")
	if err := os.WriteFile(begun, nil, 0o600); err != nil { // so that the agent is not slow
		t.Fatal(err)
	}
	var said strings.Builder
	for _, command := range readme(t, 2) {
		command = strings.ReplaceAll(command, "~/", home+"/")
		command = strings.ReplaceAll(command, "tasks.yaml", home+"/tasks.yaml")
		command = strings.ReplaceAll(command, "go test ./...", "test -s slow.txt")
		if before, after, ok := strings.Cut(command, "--agent claude"); ok {
			command = before + "--dir " + work + after + " -- " + os.Args[0] + " slow-agent " + begun
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = append(os.Environ(), "PATH="+home+":"+os.Getenv("PATH"))
		if err := os.WriteFile(filepath.Join(home, "taskdb"), []byte("#!/bin/sh\nTASKDB_MAIN=1 exec "+os.Args[0]+" \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		said.Write(out)
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	for _, want := range []string{"T7.coder ends: verified\n", "T6 is merged", "2 of 2 tasks are done\n", "T7    done    coder, iteration 1: verified  Mend the test that fails on Mondays\n", "T7.coder 1/15 success\n", `"command": "test -s slow.txt"`} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing says %q:\n%s", want, said.String())
		}
	}
	if _, err := os.Stat(filepath.Join(work, "slow.txt")); err != nil {
		t.Error("it was not merged:", err)
	}
}

// TestRunKilled kills a run in the middle of an agent's work. The next one takes the task
// again, and all is on record once.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	db, work := database(t)
	repository(t, work)
	taskdb(t, 0, "add", "--verify", "test -s slow.txt", "--outcome", "It is there.", db, "T1", "Slow")
	begun := filepath.Join(t.TempDir(), "begun")
	args := []string{"run", "--dir", work, "--stages", "coder", "--worktrees", db, "--", os.Args[0], "slow-agent", begun}
	first := program(t, args...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for tick, late := time.Tick(10*time.Millisecond), time.After(time.Minute); ; {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		select {
		case <-tick:
		case <-late:
			t.Fatal("it never begins")
		}
	}
	_, stderr := taskdb(t, 1, args...) // the first lives
	if !strings.Contains(stderr, "taskdb run") || !strings.Contains(stderr, "is held by process") {
		t.Error(stderr)
	}
	other := t.TempDir()
	if _, stderr = taskdb(t, 3, "run", "--dir", other, "--stages", "coder", db, "--", os.Args[0], "demo-agent"); !strings.Contains(stderr, "T1 is left alone: taken by somebody else") {
		t.Error(stderr)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	stdout, stderr := taskdb(t, 0, args...)
	if stdout != "1 of 1 tasks are done\n" {
		t.Error(stdout, stderr)
	}
	opened, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if err := opened.Check(t.Context()); err != nil {
		t.Error(err)
	}
	var kinds []string
	seen := map[string]bool{}
	for rec, err := range opened.Records(t.Context(), "T1") {
		seen[string(rec.Kind)+rec.Event.Time.Format(time.RFC3339Nano)] = true
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == ralph.EventIterationEnded {
			kinds = append(kinds, fmt.Sprintf("%d.%d %s", rec.Iteration, rec.Attempt, rec.Outcome))
		}
	}
	if d := cmp.Diff([]string{"1.1 interrupted", "1.2 success"}, kinds); d != "" {
		t.Error(d)
	}
	journals, err := progress.WorkspaceDir(work)
	if err != nil {
		t.Fatal(err)
	}
	journal, err := os.ReadFile(journals.File("taskdb/T1.coder"))
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range progress.ReadJSONL(bytes.NewReader(journal)) {
		if err != nil || !seen[string(rec.Kind)+rec.Event.Time.Format(time.RFC3339Nano)] {
			t.Errorf("the journal has %s, and the database has not: %v", rec.Kind, err)
		}
	}
}

// TestTwoRuns: two runs with workspaces of their own share the tasks, and each task has one
// loop.
func TestTwoRuns(t *testing.T) {
	t.Parallel()
	db, _ := database(t)
	const n = 8
	for i := range n {
		taskdb(t, 0, "add", "--description", "Write hello.txt.", "--verify", "true", db, fmt.Sprint("T", i), "One")
	}
	dir := t.TempDir()
	begun := filepath.Join(dir, "begun")
	if err := os.WriteFile(begun, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var both []*exec.Cmd
	for _, work := range []string{"one", "two"} {
		work = filepath.Join(dir, work)
		if err := os.Mkdir(work, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := program(t, "run", "--dir", work, "--stages", "coder", db, "--", os.Args[0], "slow-agent", begun)
		cmd.Stderr = nil
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		both = append(both, cmd)
	}
	codes := map[int]int{}
	for _, cmd := range both {
		_ = cmd.Wait()
		codes[cmd.ProcessState.ExitCode()]++
	}
	if codes[0] == 0 || codes[0]+codes[3] != 2 { // to the one that ends last all is done
		t.Errorf("exit codes %v", codes)
	}
	opened, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	begins, ends := map[string]int{}, 0
	for rec, err := range opened.Records(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		switch rec.Kind {
		case ralph.EventLoopStarted:
			begins[rec.TaskID]++
		case ralph.EventLoopStopped:
			ends++
		}
	}
	for id, times := range begins {
		if times != 1 {
			t.Errorf("%s was begun %d times", id, times)
		}
	}
	if len(begins) != n || ends != n {
		t.Errorf("%d tasks were begun and %d loops ended, of %d", len(begins), ends, n)
	}
}

// TestExport: what is exported can be imported, and is the same.
func TestExport(t *testing.T) {
	t.Parallel()
	db, work := database(t)
	taskdb(t, 0, "add", "--verify", "go vet ./... && echo '<b>'", db, "T1", "One\x1b[31m red")
	taskdb(t, 0, "add", db, "T2", "Two")
	if stdout, _ := taskdb(t, 0, "list", db); strings.ContainsRune(stdout, '\x1b') {
		t.Errorf("%q", stdout)
	}
	exported, _ := taskdb(t, 0, "export", db)
	file := filepath.Join(work, "tasks.json")
	if err := spec.Create(file, []byte(exported)); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(work, "other.db")
	taskdb(t, 0, "migrate", "--to", "tables", other)
	taskdb(t, 0, "migrate", other) // and it stays so
	stdout, _ := taskdb(t, 0, "import", "--trust", other, file)
	if !strings.Contains(stdout, "T1: its checks run: go vet ./... && echo '<b>'\nadded T1\nadded T2\n") {
		t.Error(stdout)
	}
	again, _ := taskdb(t, 0, "export", other)
	if d := cmp.Diff(exported, again); d != "" {
		t.Error(d)
	}
}

// TestMistakes: what is wrong is said, and nothing is run.
func TestMistakes(t *testing.T) {
	t.Parallel()
	db, work := database(t)
	taskdb(t, 0, "add", db, "T1", "One")
	inside, open, text := filepath.Join(work, "tasks.db"), filepath.Join(filepath.Dir(db), "open.db"), filepath.Join(work, "tasks.yaml")
	taskdb(t, 0, "migrate", inside)
	taskdb(t, 0, "migrate", open)
	shared := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	taskdb(t, 0, "migrate", shared+"/tasks.db")
	for path, mode := range map[string]os.FileMode{open: 0o660, shared: 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	starts := filepath.Join(work, "starts.yaml")
	for path, content := range map[string]string{
		text:   "tasks:\n  - {id: T1, title: One, tittle: x}\n",
		starts: "tasks:\n  - {id: T9, title: One, completion: {outcome: o, acceptance_criteria: [a], coder: {verification_method: external, verification_config: {command: touch gone}}}}\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		code int
		args string
		want string
	}{
		{2, "", "there is no command \"\"; there are:\n  taskdb demo\n"},
		{2, "lst " + db, "there is no command \"lst\""},
		{2, "list", "usage: taskdb list DB"},
		{2, "list --all " + db, "flag provided but not defined"},
		{0, "run --help", "-slots int"},
		{1, "list " + work + "/none.db", "none.db"},
		{1, "list " + text, "tasks.yaml"},
		{1, "migrate --to json " + db, "--to json: there are column and tables"},
		{1, "add " + db + " T1 Another", `task "T1": there is a task of this ID already`},
		{1, "import " + db + " " + text, "tasks.yaml:2"},
		{1, "run --dir " + work + " " + db, "who is to do it? --agent claude"},
		{1, "run --dir " + work + " --agent claude " + db + " -- x", "and not both"},
		{3, "run --dir " + work + " " + db + " -- no-such-client", "no-such-client"},
		{1, "run --dir " + work + " " + inside + " -- true", "lies in the workspace"},
		{1, "run --dir " + work + " " + open + " -- true", "others can write to"},
		{1, "run --dir " + work + " " + shared + "/tasks.db -- true", "others can write to " + shared + ","},
		{1, "import " + db + " " + starts, "nobody has agreed to these commands"},
		{1, "log " + db + " T9", "nothing is on record of a task \"T9\""},
		{1, "run --dir " + work + " --slots 2 " + db + " -- true", "--slots 2: several agents"},
	} {
		_, stderr := taskdb(t, tt.code, strings.Fields(tt.args)...)
		if !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: it does not say %q:\n%s", tt.args, tt.want, stderr)
		}
	}
	if stdout, _ := taskdb(t, 0, "list", db); strings.Contains(stdout, "T9") {
		t.Errorf("what nobody agreed to is in:\n%s", stdout)
	}
}
