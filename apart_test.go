//go:build unix

package ralph_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// TestStartApart: what a program says until it closes its output is returned while it goes
// on; of one that says nothing, why.
func TestStartApart(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `ps -o pgid= -p $$ | grep -qw $$ && echo "apart"; exec >&-; read go`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := ralph.StartApart(cmd)
	if err != nil || said != "apart\n" {
		t.Errorf("%q, %v", said, err)
	}
	if cmd.ProcessState != nil {
		t.Error("it was waited for")
	}
	if err := in.Close(); err != nil { // it reads until then
		t.Error(err)
	}
	_ = cmd.Wait()
	for line, want := range map[string]string{"echo no such thing >&2; exit 2": "no such thing", "exit 3": "exit status 3", "exit 0": "has said nothing"} {
		if said, err := ralph.StartApart(exec.Command("sh", "-c", line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", line, said, err)
		}
	}
	if _, err := ralph.StartApart(exec.Command("/nowhere/program")); err == nil {
		t.Error("no error for a program that is not there")
	}
}
