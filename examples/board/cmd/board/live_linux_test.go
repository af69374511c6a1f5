package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/term/termtest"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/tasks/pipeline"
)

// TestMain makes this program the board, and the pipeline that is watched, for those
// tests that run them as programs.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("BOARD_TEST") == "board":
		main()
	case os.Getenv("BOARD_TEST") == "pipeline":
		if err := watchedPipeline(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// agent is a shell's: it says what it was told by its number of starts, tries to take the
// terminal over, and works until it is ended.
const agent = `n=$(ls starts 2>/dev/null | wc -l); mkdir -p starts; : >starts/$$
printf 'start %s of the agent\n' $((n+1))
printf '\033]0;EVIL\007\033[2J\033[31mred\033[0m \342\200\256turned\342\200\254\n'
while :; do sleep 1; done`

// watchedPipeline runs two tasks, one after the other, that never end by themselves.
func watchedPipeline(base string) error {
	record := &progress.Dir{Path: filepath.Join(base, "record")}
	defer record.Close()
	p := pipeline.Pipeline{
		Name: "shop", Dir: base, Record: record, Stages: []string{"coder"},
		Source: &pipeline.File{Path: filepath.Join(base, "tasks.yaml")},
		Runner: func(pipeline.Place) (ralph.Runner, error) {
			return &ralph.Command{Args: []string{"sh", "-c", agent}}, nil
		},
		Verifier: ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil }),
	}
	_, err := p.Run(context.Background())
	return err
}

// A screen is a board in tmux, on a server of its own.
type screen struct {
	t      *testing.T
	socket string
}

func (s screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "tmux", append([]string{"-S", s.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// until waits for something that other programs do, and returns the screen by then.
func (s screen) until(what string, is func(shown string) bool) string {
	s.t.Helper()
	late := time.After(time.Minute)
	for {
		shown := s.tmux("capture-pane", "-p", "-t", "board")
		if is(shown) {
			return shown
		}
		select {
		case <-late:
			s.t.Fatalf("not within a minute: %s\n%s", what, shown)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// shows waits until all of some texts are on the screen.
func (s screen) shows(texts ...string) string {
	s.t.Helper()
	return s.until(fmt.Sprintf("%q", texts), func(shown string) bool {
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false
			}
		}
		return true
	})
}

func (s screen) keys(keys ...string) {
	s.tmux(append([]string{"send-keys", "-t", "board"}, keys...)...)
}

// TestLive: the real board, on a terminal of two sizes, watches a real pipeline of another
// process: pauses its loop, guides it, sees it die by SIGKILL and come back, cancels it,
// and leaves, also by a signal, without ending anything. What the agent prints is no command for the
// terminal.
func TestLive(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux is installed")
	}
	for _, size := range [][2]string{{"80", "24"}, {"200", "60"}} {
		t.Run(size[0]+"x"+size[1], func(t *testing.T) {
			t.Parallel()
			live(t, size[0], size[1])
		})
	}
}

func live(t *testing.T, columns, rows string) {
	base := t.TempDir()
	if err := os.WriteFile(filepath.Join(base, "tasks.yaml"), []byte("tasks:\n- {id: CART, title: A cart}\n- {id: PAY, title: Payment, dependencies: [CART]}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], base)
		cmd.Env = append(os.Environ(), "BOARD_TEST=pipeline")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	short, err := os.MkdirTemp("", "b") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	s := screen{t, filepath.Join(short, "s")}
	dir := &progress.Dir{Path: filepath.Join(base, "record")}
	t.Cleanup(func() {
		exec.Command("tmux", "-S", s.socket, "kill-server").Run()
		dir.Cancel("shop", "the test is over") // which ends what is left of the agent
		os.RemoveAll(short)
	})
	pid := filepath.Join(base, "pid")
	ended := filepath.Join(base, "ended") // what a dead pane tells differs between versions of tmux
	s.tmux("new-session", "-d", "-x", columns, "-y", rows, "-s", "board", "BOARD_TEST=board sh -c 'echo $$ >\"$0\"; exec \"$@\"' '"+pid+"' '"+os.Args[0]+"' --state '"+dir.Path+"'; echo $? >'"+ended+"'; exec sleep 100")
	s.shows("Nothing is on record yet")

	pipe := start()
	s.shows("RUNNING 1", "TODO 1", "🔄 Coder (1/15)", "○ after CART", "Slot 1: coder", "Ralph: iteration 1/15")
	s.keys("p")
	s.shows("CART (coder): paused", "pausing")
	if e, err := dir.Look("shop/CART.coder"); err != nil || !e.State.Paused {
		t.Errorf("%+v, %v", e.State, err)
	}
	s.keys("p")
	s.shows("CART (coder): goes on")
	s.keys("g", "use a map", "Enter")
	s.shows("its next prompt will say so")
	s.keys("Enter")
	shown := s.shows("Promise", "start 1 of the agent", "red turned")
	if bad := termtest.Unsafe(shown); bad != "" || strings.Contains(shown, "EVIL") {
		t.Errorf("%s\n%s", bad, shown)
	}
	if title := s.tmux("display-message", "-p", "-t", "board", "#{pane_title}"); strings.Contains(title, "EVIL") {
		t.Error(title)
	}

	if err := pipe.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	pipe.Wait()
	s.keys("Escape")
	s.shows("shop · interrupted", "interrupted", "no agent is at work", "TODO 2")
	start()
	s.shows("shop · running", "🔄 Coder (1/15)")
	s.keys("Enter")
	s.shows("start 2 of the agent")
	s.keys("c")
	s.shows("Cancel CART (coder) for good? y/n")
	s.keys("y")
	s.shows("CART (coder): cancelled", "Why it is not done", "cancelled on the board")
	if e, err := dir.Look("shop/CART.coder"); err != nil || e.State.Stop != ralph.StopCancelled {
		t.Errorf("%+v, %v", e.State, err)
	}

	if columns == "80" {
		s.keys("q")
	} else if out, err := exec.Command("sh", "-c", "kill -INT $(cat '"+pid+"')").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.until("the board's end", func(string) bool {
		status, err := os.ReadFile(ended)
		return err == nil && string(status) == "0\n"
	})
}
