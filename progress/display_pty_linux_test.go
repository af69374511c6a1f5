package progress_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph/progress"
)

// openTerminal returns a terminal and what a person in front of it reads.
func openTerminal(tb testing.TB, columns, rows uint16) (terminal, person *os.File) {
	tb.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Skip("there are no terminals here:", err)
	}
	tb.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		tb.Skip("there are no terminals here:", err)
	}
	tb.Cleanup(func() { terminal.Close() })
	return terminal, person
}

// TestDisplayOn: what is a terminal, whether it wants colours, and how large it is.
func TestDisplayOn(t *testing.T) {
	t.Parallel()
	terminal, _ := openTerminal(t, 123, 45)
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		w                 io.Writer
		env               string
		terminal, colours bool
	}{
		{terminal, "", true, true}, {terminal, "TERM=xterm", true, true}, {terminal, "NO_COLOR=1", true, false}, {terminal, "NO_COLOR=", true, true},
		{terminal, "TERM=dumb", false, false}, {terminal, "CI=true", false, false}, {terminal, "CI=woodpecker", false, false}, {terminal, "CI=false", true, true}, {terminal, "CI=", true, true},
		{file, "", false, false}, {io.Discard, "", false, false}, {(*os.File)(nil), "", false, false},
	} {
		name, value, _ := strings.Cut(tt.env, "=")
		d := progress.DisplayOn(tt.w, func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		})
		if d.W != tt.w || d.Terminal != tt.terminal || d.Colours != tt.colours {
			t.Errorf("%T with %s: terminal %t, colours %t", tt.w, tt.env, d.Terminal, d.Colours)
		}
		if d.Terminal {
			if c, r := d.Size(); c != 123 || r != 45 {
				t.Errorf("%d columns, %d rows", c, r)
			}
		}
	}
	if d := progress.DisplayOn(terminal, nil); !d.Terminal || !d.Colours {
		t.Error("without an environment it is no terminal")
	}
}

// TestDisplayUnreadTerminal: a terminal that nobody reads holds up no agent, and shows the
// last of what it said once somebody does. Were somebody waited for, this would not end.
func TestDisplayUnreadTerminal(t *testing.T) { // not in parallel: others measure memory
	terminal, person := openTerminal(t, 100, 30)
	d := progress.DisplayOn(terminal, nil)
	out := begin(d, "T1")
	for range 4 {
		fmt.Fprint(out, strings.Repeat("→ Bash a command of an agent that does a lot, of seventy bytes or so\n", 10_000))
	}
	fmt.Fprint(out, "the last words\n")
	ended(d, "T1") // nobody has read yet
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(person) // a terminal ends with an error
		read <- string(text)
	}()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	terminal.Close()
	got := <-read
	if !strings.Contains(got, "MB of output not shown") || !strings.Contains(got, "\x1b[35m→ Bash a command") || !strings.Contains(got, "the last words\r\n") {
		t.Errorf("the end is %q", got[max(0, len(got)-300):])
	}
}

// BenchmarkDisplay shows 100 MB of an agent's output, of which each hundredth line is a
// tool's, to who reads as fast as they can: in a pipe, and on a terminal, which is not to
// take more than 1.2 times as long: "times-pipe" says how many it does.
func BenchmarkDisplay(b *testing.B) {
	text := []byte(strings.Repeat("A line of an agent, as long as such lines are, with a word or two more\n", 99) + "→ Bash go test ./...\n")
	var pipe time.Duration // for each
	for _, kind := range []string{"pipe", "terminal"} {
		b.Run(kind, func(b *testing.B) {
			r, w, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			if kind == "terminal" {
				w.Close()
				r.Close()
				w, r = openTerminal(b, 120, 40)
			}
			go io.Copy(io.Discard, r)
			b.SetBytes(100e6)
			before := processor(b)
			for b.Loop() {
				d := progress.DisplayOn(w, nil)
				out := begin(d, "T1")
				for said := 0; said < 100e6; said += len(text) {
					out.Write(text)
				}
				ended(d, "T1")
				if err := d.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			each := b.Elapsed() / time.Duration(b.N)
			if kind == "pipe" {
				pipe = each
			} else if pipe > 0 {
				b.ReportMetric(float64(each)/float64(pipe), "times-pipe")
			}
			b.ReportMetric(float64(processor(b)-before)/float64(b.N)/1e6, "cpu-ms/op") // on a machine that does other things too
			w.Close()
		})
	}
}

// processor is the time of the processor that this program has used, in nanoseconds.
func processor(b *testing.B) int64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
