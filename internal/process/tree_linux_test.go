package process

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestParseStat reads lines as kernels print them.
func TestParseStat(t *testing.T) {
	t.Parallel()
	const (
		sleeps  = "16562 (sleep) S 16494 16494 12073 0 -1 4194304 193 0 0 0 0 0 0 0 20 0 1 0 272571 2560000 355 18446744073709551615 93937118633984 93937118651913 140733408311648 0 0 0 0 6 0 1 0 0 17 1 0 0 0 0 0 93937118666000 93937118667264 93937528623104 140733408313317 140733408313325 140733408313325 140733408313880 0"
		kworker = "59 (kworker/1:2-events) I 2 0 0 0 -1 69238880 0 0 0 0 0 12 0 0 20 0 1 0 171 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0"
		zombie  = "16605 (a ) (b) Z 16603 16494 12073 0 -1 4227084 98 0 0 0 0 0 0 0 20 0 1 0 272596 0 0 18446744073709551615 0 0 0 0 0 0 0 6 0 1 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
	)
	for _, tt := range []struct {
		name, line string
		want       stat
		none       bool
	}{
		{"sleeps", sleeps, stat{parent: 16494, start: 272571}, false},
		{"cleared its environment", strings.Replace(sleeps, "140733408313880", "140733408313325", 1), stat{parent: 16494, start: 272571, cleared: true}, true},
		{"starts a program", strings.Replace(sleeps, "140733408313317 140733408313325 140733408313325 140733408313880", "0 0 0 0", 1), stat{parent: 16494, start: 272571}, false},
		{"the kernel's own", kworker, stat{parent: 2, start: 171, kernel: true}, true},
		{"a child of the second process of a container", strings.Replace(sleeps, " 16494 ", " 2 ", 1), stat{parent: 2, start: 272571}, false},
		{"dead", zombie, stat{parent: 16603, start: 272596, dead: true}, true},
	} {
		got, ok := parseStat([]byte(tt.line))
		if !ok || got != tt.want || got.hasNone() != tt.none {
			t.Errorf("%s: %+v, %v; has no environment: %v", tt.name, got, ok, got.hasNone())
		}
	}
	for _, line := range []string{"", "1", "1 (x)", "1 (x) S 1 2"} {
		if got, ok := parseStat([]byte(line)); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestMarkedIsKnown looks at processes that show no environment and never will: a
// run must not wait for them to show one.
func TestMarkedIsKnown(t *testing.T) {
	t.Parallel()
	tree := newTree(1, mark{id: "AAAAAAAAAAAAAAAA"})
	check := func(what string, pid int) {
		t.Helper()
		if marked, known := tree.marked(pid); marked || !known {
			t.Errorf("%s: marked %v, known %v", what, marked, known)
		}
	}

	for _, pid := range pids() {
		if s, ok := readStat(pid); ok && s.kernel {
			check("a thread of the kernel", pid)
			break
		}
	}

	dead := exec.Command("true")
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	awaitExit(dead) // it is not reaped
	check("a dead process", dead.Process.Pid)
	dead.Wait()

	bare := exec.Command("env", "-i", "/bin/sh", "-c", "echo ready; read x")
	in, err1 := bare.StdinPipe()
	out, err2 := bare.StdoutPipe()
	if err := errors.Join(err1, err2, bare.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	}
	check("one without an environment", bare.Process.Pid)
	in.Close()
	io.Copy(io.Discard, out)
	bare.Wait()
}

// TestNext finds the processes that came after another without a list of all.
func TestNext(t *testing.T) {
	t.Parallel()
	first := exec.Command("true")
	if err := first.Run(); err != nil {
		t.Fatal(err)
	}
	var in []io.Closer
	var want []int
	for range 3 {
		cmd := exec.Command("cat")
		w, err := cmd.StdinPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		in, want = append(in, w), append(want, cmd.Process.Pid)
		defer cmd.Wait()
	}
	for _, c := range in {
		defer c.Close()
	}
	tree := &tree{root: first.Process.Pid}
	got, ok := tree.next(lastPID())
	for _, pid := range want {
		if pid > tree.root && ok && !slices.Contains(got, pid) {
			t.Errorf("%d is not in %v", pid, got)
		}
	}
	if got, ok := tree.next(tree.root + 1000); ok {
		t.Errorf("many: %v", got)
	}
}

// IDs begin again at the lowest, and one that has been through all of them has
// processes below its own: they are looked at once there was time for that.
func TestYounger(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	tree := newTree(cmd.Process.Pid, newMark())
	if tree.begun = tree.begun.Add(-10 * time.Second); !slices.Contains(tree.younger(), os.Getppid()) {
		t.Errorf("process IDs are thought not to begin again within %v", tree.again)
	}
}
