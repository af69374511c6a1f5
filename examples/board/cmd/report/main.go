// Command report writes what is on record of a pipeline, a session or a loop as one page of
// HTML, which needs nothing but itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/examples/board"
	"github.com/ralph-loop/ralph/examples/board/report"
	"github.com/ralph-loop/ralph/progress"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `report writes a page of HTML about a pipeline, a session or a loop.

usage: report [flags] ID

ID is its name, or the ID of the task that the loop works on; 'ralph status' lists them.

`

// run writes the page. It returns the exit status: 2 = it was called in a wrong way, 1 =
// something failed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { io.WriteString(stderr, usage); flags.PrintDefaults() }
	workspace := flags.String("workspace", "", "the `FOLDER` that the loops work in (usually the git work tree around the current folder)")
	state := flags.String("state", "", "the `FOLDER` with the records, as in 'ralph run --state'")
	out := flags.String("out", "", "the `FILE` to write, - is the standard output (usually report-ID.html, here)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() != 1 || *state != "" && *workspace != "" {
		fmt.Fprintln(stderr, "report: it takes one ID, and --state or --workspace; report -h tells more")
		return 2
	}
	path, err := write(ctx, *state, *workspace, flags.Arg(0), *out, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "report: "+progress.PrintableLine(err.Error()))
		return 1
	}
	if path != "" {
		fmt.Fprintln(stdout, progress.PrintableLine(path))
	}
	return 0
}

// write writes the page of a loop to a file, whose path it returns, or to the standard
// output.
func write(ctx context.Context, state, workspace, id, out string, stdout io.Writer) (path string, err error) {
	dir := &progress.Dir{Path: state}
	if state == "" {
		if dir, err = board.Records(workspace); err != nil {
			return "", err
		}
	}
	defer dir.Close() // it was only read
	rep, err := report.Read(ctx, dir, id)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("nothing is on record of %q in %s; --state or --workspace names another folder", id, dir.Path)
	} else if err != nil {
		return "", err
	}
	rep.Zone = time.Local
	if out == "-" {
		return "", rep.Write(stdout)
	}
	if out == "" {
		out = "report-" + fileName(rep.Run.Loop) + ".html"
	}
	return out, replace(out, rep.Write)
}

// fileName is a name that a file can have anywhere.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, name)
}

// replace writes a file as a whole: whoever reads it sees the old one or the new one. What
// is there and is no file stays there.
func replace(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file, and stays as it is; --out names another one", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".report-*.html")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
