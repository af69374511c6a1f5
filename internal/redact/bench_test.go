//go:build unix

package redact_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/redact"
)

// logged is 1 MB of what agents print, as it goes into session logs.
func logged(b *testing.B) []byte {
	files, err := filepath.Glob("../stream/testdata/captures/*")
	if err != nil || len(files) == 0 {
		b.Fatal(err, files)
	}
	var all []byte
	for len(all) < 1<<20 {
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, text...)
		}
	}
	return all[:1<<20]
}

// BenchmarkSessionLog writes a log of 100 MB to a file, as it is (the floor) and
// without its secrets, in pieces as a pipe has them. The floor is measured in the same
// run, in time of the processor: "x-floor" is to be 2 at most.
func BenchmarkSessionLog(b *testing.B) {
	const size, piece = 100 << 20, 32 << 10
	text := logged(b)
	write := func(name string, s *redact.Stream) time.Duration {
		f, err := os.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		var hidden []byte
		begin := busy()
		for i := range size / piece {
			at := i * piece % len(text)
			out := text[at : at+piece]
			if s != nil {
				hidden = s.Add(hidden[:0], out, false)
				out = hidden
			}
			if _, err := f.Write(out); err != nil {
				b.Fatal(err)
			}
		}
		return busy() - begin
	}
	for name, secrets := range map[string][]string{"formats": nil, "named": {"correct horse battery", "another-secret-value"}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			var floor, hidden time.Duration
			path := filepath.Join(b.TempDir(), "log")
			for b.Loop() {
				floor += write(path, nil)
				s := redact.New(secrets).Stream()
				hidden += write(path, &s)
			}
			b.ReportMetric(hidden.Seconds()/floor.Seconds(), "x-floor")
			b.ReportMetric(float64(b.N)*size/1e6/(hidden-floor).Seconds(), "cpu-MB/s")
		})
	}
}

// busy is the time that the process has had of the processor.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkHostile goes through what could cost the most: nothing may be slower than
// 20 MB/s.
func BenchmarkHostile(b *testing.B) {
	for name, text := range map[string]string{
		"sk-": "sk-", "token=": "token=", "token= and blanks": "token=" + strings.Repeat(" ", 60), "password:": "password: ", "quotes": `"`, "base64": token("", 900), "a": "a",
		"-": "-", "keys": "-----BEGIN PRIVATE KEY-----\n", "urls": "https://u:", "url": "a://b", "eyJ": "eyJ", "eyJ.": "eyJ.", "key": "key ", "KEY": "X_KEY=a1", "[": "[", "escapes": "\x1b[1m", "backslashes": `\`, "ghp": "ghp_\n",
		"u001b": `\u001b[`, "marks": "[redacted", "cookie": "cookie: a=b;", "tokens": token("ghp_", 36) + " ", "bearer": "Bearer ", "name": "name: token value: ", "login": "machine login a password ", "-u": " -u a:b", "auth": "authorization: Basic ", "urlsafe": "LS0tLS1CRUdJTi", "spaces": " ", "newlines": "\n",
		"basic": "Basic YTpi", "SK": "SK0", "pass": "pass", "secretsecret": "secret", "dots": "token.", "long name": strings.Repeat("x", 60) + "token=",
	} {
		b.Run(name, func(b *testing.B) {
			line := []byte(strings.Repeat(text, 1<<20/len(text)))
			b.SetBytes(int64(len(line)))
			s := redact.New([]string{"correct horse battery", "aaaaaaaaaaaaaaaaaaaaaaaab"}).Stream()
			out := make([]byte, 0, 2<<20)
			begin := busy()
			for b.Loop() {
				for at := 0; at < len(line); at += 32 << 10 {
					s.Add(out, line[at:min(at+32<<10, len(line))], false)
				}
			}
			b.ReportMetric(float64(b.N*len(line))/1e6/(busy()-begin).Seconds(), "cpu-MB/s")
		})
	}
}
