package pipeline_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// killedGitAt is a git that kills the program, once, when a command holds the words $AT, or
// when the task file says that a task is done; before the command is run, or after.
const killedGitAt = `case "$WHEN $*" in
before*$AT*) if [ -e $P/armed ]; then rm $P/armed; kill -9 $(cat $P/pid); exit 1; fi ;;
after*$AT*) if [ -e $P/armed ]; then %[1]q "$@"; rm $P/armed; kill -9 $(cat $P/pid); exit 1; fi ;;
done*) if [ -e $P/armed ] && grep -q 'status: done' $P/ws/tasks.yaml; then rm $P/armed; kill -9 $(cat $P/pid); exit 1; fi ;;
esac
exec %[1]q "$@"
`

// TestKilledInMerge kills a merge before and after it is verified, recorded, made, written
// down and cleared away: it is made once, and no agent runs again.
func TestKilledInMerge(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ when, at string }{
		{"before", "merge-tree"}, {"after", "commit-tree"}, {"before", "read-tree -m -u"}, {"after", "read-tree -m -u"},
		{"before", "ralph: merge"}, {"after", "ralph: merge"}, {"done", "anything"}, {"before", "update-ref -d"}, {"after", "update-ref -d"},
	} {
		t.Run(tt.when+" "+tt.at, func(t *testing.T) {
			k := kill(t, map[string]string{"coder": "echo made >$T; echo more >>shared; rm -f README; mkdir -p a/b; echo deep >a/b/c"}, killedTask("T1", nil, ""))
			writeAll(t, k.folder, map[string]string{"bin/git": "#!/bin/sh\n" + fmt.Sprintf(killedGitAt, git), "armed": ""})
			if err := os.Chmod(filepath.Join(k.folder, "bin", "git"), 0o755); err != nil {
				t.Fatal(err)
			}
			k.live(0, 0, func(cmd *exec.Cmd) {
				cmd.Env = append(cmd.Env, "P="+k.folder, "WHEN="+tt.when, "AT="+tt.at, "PATH="+filepath.Join(k.folder, "bin")+":"+os.Getenv("PATH"))
			})
			if _, err := os.Lstat(filepath.Join(k.folder, "armed")); err == nil {
				t.Fatal("it was not killed")
			}
			if !k.live(0, 0) {
				t.Error("it is not over")
			}
			k.over(map[string]string{"shared": "one\ntwo\nthree\nmore", "T1": "made", "T1.test": "tested", "a/b/c": "deep"}, "T1 done")
			if ran := strings.Fields(string(k.read("ran"))); !slices.Equal(ran, []string{"T1.coder", "T1.tester"}) {
				t.Errorf("ran %q", ran)
			}
			if n := sh(t, k.ws, "git rev-list --count --min-parents=2 main"); n != "1" {
				t.Errorf("%s merges", n)
			}
		})
	}
}
