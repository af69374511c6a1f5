package progress_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/progress"
)

// stream is a part of an endless text in which each byte tells where it is.
func stream(off, n int64) []byte {
	var b []byte
	for at := off &^ 7; at < off+n; at += 8 {
		b = binary.BigEndian.AppendUint64(b, uint64(at)*0x9e3779b97f4a7c15)
	}
	return b[off&7:][:n]
}

// A raw is a file of raw output, its writer and its reader.
type raw struct {
	t testing.TB
	*progress.Raw
	w    io.WriteCloser
	path string
	keep int64
	size int64
}

func newRaw(t testing.TB, keep int64) *raw {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a", "b", "raw")
	w, err := progress.NewRaw(path, keep)
	if err != nil {
		t.Fatal(err)
	}
	return &raw{t: t, Raw: openRaw(t, path), w: w, path: path, keep: keep}
}

func openRaw(t testing.TB, path string) *progress.Raw {
	t.Helper()
	r, err := progress.OpenRaw(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func (r *raw) write(n int64) {
	r.t.Helper()
	if k, err := r.w.Write(stream(r.size, n)); int64(k) != n || err != nil {
		r.t.Fatalf("%d of %d, %v", k, n, err)
	}
	r.size += n
}

// check reads around an offset, and compares it with what was written.
func (r *raw) check(off, n int64) {
	r.t.Helper()
	last := max(r.keep, r.size-r.keep)
	var wantErr error
	end := min(off+n, r.size)
	switch {
	case off >= r.keep && off < last:
		end, wantErr = off, &progress.LostError{Offset: off, Next: last}
	case off < r.keep && end > r.keep && last > r.keep:
		end, wantErr = r.keep, &progress.LostError{Offset: r.keep, Next: last}
	case off+n > r.size:
		end, wantErr = max(end, off), io.EOF
	}
	p := make([]byte, n)
	k, err := r.ReadAt(p, off)
	if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" || !bytes.Equal(p[:k], stream(off, end-off)) {
		r.t.Fatalf("%d bytes at %d of %d, %d kept: %d bytes, want %d\n%s", n, off, r.size, r.keep, k, end-off, diff)
	}
}

// TestRaw: whatever is written in whatever pieces, the first bytes and the last ones
// are there as they were, also while more is written, and all others are said to
// be lost.
func TestRaw(t *testing.T) {
	t.Parallel()
	for _, keep := range []int64{1, 7, 64, 1000, 100 << 10} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, uint64(keep)))
			r := newRaw(t, keep)
			r.check(0, 10)
			for range 200 {
				r.write(random.Int64N(1 + keep*[]int64{1, 1, 1, 4}[random.IntN(4)]))
				for _, off := range []int64{0, keep - 1, keep, r.size - keep - 1, r.size - keep, r.size - 1, r.size, random.Int64N(r.size + 1)} {
					r.check(max(off, 0), 1+random.Int64N(3*keep))
				}
				if size, err := r.Size(); size != r.size || err != nil {
					t.Fatalf("size %d, want %d; %v", size, r.size, err)
				}
			}
			// Killed between data and header: nothing of what is kept was touched.
			if _, err := progress.BeginWrite(r.w, bytes.Repeat([]byte{0xff}, int(2*keep))); err != nil {
				t.Fatal(err)
			}
			r.check(max(r.size-keep, 0), 2*keep)
			if info, err := os.Stat(r.path); err != nil || info.Size() > 4*keep+100 || info.Mode().Perm() != 0o600 {
				t.Errorf("the file: %d bytes, %v, %v", info.Size(), info.Mode(), err)
			}
		})
	}
}

// TestRawOvertaken: what is overwritten between the look where it is and the read is
// lost, and not what came in its place.
func TestRawOvertaken(t *testing.T) {
	t.Parallel()
	const keep = 1000
	for n := int64(1); n < 6*keep; n += 97 {
		r := newRaw(t, keep)
		r.write(10*keep + n%keep)
		off, p := r.size-keep/2, make([]byte, 100)
		k, err := r.ReadAround(p, off, func() { r.write(n) })
		lost, missing := errors.AsType[*progress.LostError](err)
		switch {
		case missing != (off < r.size-keep), !missing && (err != nil || !bytes.Equal(p[:k], stream(off, 100))):
			t.Errorf("%d bytes later: %d bytes, %v", n, k, err)
		case missing && (lost.Offset != off || lost.Next != r.size-keep/2):
			t.Errorf("%d bytes later: %+v of %d", n, lost, r.size)
		}
		r.check(r.size-keep/2, keep)
	}
}

// TestRawTail: a tail yields what was there, what comes, and what is missing, and
// ends with the stream; of a writer that has died, when its reader says so.
func TestRawTail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const keep = 100 << 10
		r := newRaw(t, keep)
		r.write(3*keep + 5)
		go func() {
			for range 50 {
				<-time.After(time.Second)
				r.write(keep / 3)
			}
			<-time.After(time.Second)
			if err := r.w.Close(); err != nil {
				t.Error(err)
			}
		}()
		off, gaps := int64(-7), 0
		for p, err := range r.Tail(t.Context(), off) {
			off = max(off, 0)
			if lost, ok := errors.AsType[*progress.LostError](err); ok {
				gaps++
				off = lost.Next
			} else if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(p, stream(off, int64(len(p)))) {
				t.Fatalf("at %d: other bytes", off)
			}
			off += int64(len(p))
		}
		if off != r.size || gaps != 1 {
			t.Errorf("%d of %d bytes, %d gaps", off, r.size, gaps)
		}

		dead := newRaw(t, keep)
		dead.write(1000)
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("the attempt has ended")
		go func() {
			<-time.After(time.Minute)
			dead.write(1000)
			cancel(stop)
		}()
		var got []byte
		var last error
		for p, err := range dead.Tail(ctx, 500) {
			got, last = append(got, p...), err
		}
		if !bytes.Equal(got, stream(500, 1500)) || last != stop {
			t.Errorf("%d bytes, %v", len(got), last)
		}
		for range dead.Tail(ctx, 0) {
			break
		}
	})
}

// TestRawKilled: a reader in this process follows a writer in another one, of which
// it never shows a wrong byte; and what the writer said that it has written is there
// after it was killed.
func TestRawKilled(t *testing.T) {
	const name = "RALPH_TEST_RAW"
	if path := os.Getenv(name); path != "" {
		writeForever(t, path)
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "raw")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRawKilled$")
	child.Env = append(os.Environ(), name+"="+path)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	begun, said := make(chan struct{}), make(chan int64, 1)
	go func() { // for a writer that waits for us writes nothing
		var size, n int64
		lines := bufio.NewReader(out)
		for first := true; ; first = false {
			if _, err := fmt.Fscanf(lines, "%d\n", &n); err != nil {
				if first {
					close(begun)
				}
				said <- size
				return
			}
			if size = n; first {
				close(begun)
			}
		}
	}()
	<-begun
	r := openRaw(t, path)
	off, read := int64(0), 0
	for p, err := range r.Tail(t.Context(), 0) {
		if lost, ok := errors.AsType[*progress.LostError](err); ok {
			off = lost.Next
		} else if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p, stream(off, int64(len(p)))) {
			t.Fatalf("at %d: other bytes", off)
		}
		off += int64(len(p))
		if read += len(p); read > 1<<20 {
			break
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	size := <-said
	_ = child.Wait() // it was killed
	whole, err := r.Size()
	if err != nil || whole < size {
		t.Fatalf("%d bytes are there, %d were written, %v", whole, size, err)
	}
	kept := &raw{t: t, Raw: r, keep: 64 << 10, size: whole}
	kept.check(0, 10<<10)
	kept.check(whole-kept.keep, kept.keep)
}

// writeForever says after each write how much it has written.
func writeForever(t *testing.T, path string) {
	w, err := progress.NewRaw(path, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	for off, n := int64(0), int64(1); ; off, n = off+n, n*7%20011 {
		if _, err := w.Write(stream(off, n)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Println(off + n); err != nil {
			os.Exit(1) // nobody is there any more
		}
	}
}

// TestRawAnew: a new file takes the place of an old one, whose readers read on in it.
// What is none of ours is an error, and a file that was only just made is empty.
func TestRawAnew(t *testing.T) {
	t.Parallel()
	r := newRaw(t, 100)
	r.write(50)
	w, err := progress.NewRaw(r.path, 100)
	if err == nil {
		_, err = w.Write([]byte("new"))
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r.check(0, 50)
	if size, err := openRaw(t, r.path).Size(); size != 3 || err != nil {
		t.Errorf("%d, %v", size, err)
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("written after Close")
	}
	if _, err := openRaw(t, r.path).ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("a negative offset")
	}
	whole, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[20] ^= 1
	for _, text := range [][]byte{[]byte("text"), whole[:30], flipped, make([]byte, 1000)} {
		if err := os.WriteFile(r.path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := progress.OpenRaw(r.path); err == nil {
			t.Errorf("%d bytes are no error", len(text))
		}
	}
	if err := os.Truncate(r.path, 0); err != nil {
		t.Fatal(err)
	}
	if size, err := openRaw(t, r.path).Size(); size != 0 || err != nil {
		t.Errorf("of nothing: %d, %v", size, err)
	}
	if _, err := progress.OpenRaw(r.path + "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// BenchmarkRaw writes lines of an agent's stream, beside a plain file that grows.
func BenchmarkRaw(b *testing.B) {
	for _, size := range []int64{200, 32 << 10} {
		line := stream(0, size)
		for name, open := range map[string]func(path string) (io.WriteCloser, error){
			"raw":   func(path string) (io.WriteCloser, error) { return progress.NewRaw(path, 1<<20) },
			"floor": func(path string) (io.WriteCloser, error) { return os.Create(path) },
		} {
			b.Run(fmt.Sprintf("%d/%s", size, name), func(b *testing.B) {
				w, err := open(filepath.Join(b.TempDir(), "raw"))
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(size)
				for b.Loop() {
					if _, err := w.Write(line); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
