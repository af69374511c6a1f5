//go:build unix

package progress_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/progress"
)

// busy is the time that the process has had of the processor.
func busy(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSessionLog writes a session log of 100 MB of what agents print, in pieces as
// a pipe has them, through [progress.Banner] and without its secrets. The floor is the
// same without the Redactor, in the same run and in time of the processor: "x-floor" is
// to be 2 at most.
func BenchmarkSessionLog(b *testing.B) {
	const size, piece = 100 << 20, 32 << 10
	files, err := filepath.Glob("../internal/stream/testdata/captures/*")
	if err != nil || len(files) == 0 {
		b.Fatal(err, files)
	}
	var text []byte
	for len(text) < 1<<20 {
		for _, name := range files {
			more, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			text = append(text, more...)
		}
	}
	path := filepath.Join(b.TempDir(), "log")
	write := func(hide func(io.Writer) io.WriteCloser) time.Duration {
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		var w io.WriteCloser = f
		if hide != nil {
			w = hide(f)
		}
		banner := &progress.Banner{W: w}
		begin := busy(b)
		for i := range size / piece {
			at := i * piece % (len(text) - piece)
			banner.Write(text[at : at+piece])
		}
		if err := banner.Close(time.Time{}, ""); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		return busy(b) - begin
	}
	for name, secrets := range map[string][]string{"formats": nil, "named": {"correct horse battery", "another-secret-value"}} {
		b.Run(name, func(b *testing.B) {
			var floor, hidden time.Duration
			b.SetBytes(size)
			for b.Loop() {
				floor += write(nil)
				hidden += write(progress.Redactor{Secrets: secrets}.Writer)
			}
			b.ReportMetric(hidden.Seconds()/floor.Seconds(), "x-floor")
			b.ReportMetric(float64(b.N)*size/1e6/floor.Seconds(), "floor-MB/s")
			b.ReportMetric(float64(b.N)*size/1e6/(hidden-floor).Seconds(), "cpu-MB/s")
		})
	}
}
