//go:build unix

package redact_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/redact"
)

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
		"sk-": "sk-", "token=": "token=", "token= and blanks": "token=" + strings.Repeat(" ", 60),
		"password:": "password: ", "quotes": `"`, "base64": token("", 900), "a": "a", "-": "-",
		"keys": "-----BEGIN PRIVATE KEY-----\n", "urls": "https://u:", "url": "a://b", "eyJ": "eyJ", "eyJ.": "eyJ.",
		"key": "key ", "KEY": "X_KEY=a1", "[": "[", "escapes": "\x1b[1m", "backslashes": `\`, "ghp": "ghp_\n",
		"u001b": `\u001b[`, "marks": "[redacted", "cookie": "cookie: a=b;", "tokens": token("ghp_", 36) + " ",
		"bearer": "Bearer ", "name": "name: token value: ", "login": "machine login a password ", "-u": " -u a:b",
		"auth": "authorization: Basic ", "urlsafe": "LS0tLS1CRUdJTi", "spaces": " ", "newlines": "\n",
		"basic": "Basic YTpi", "SK": "SK0", "pass": "pass", "secretsecret": "secret", "dots": "token.",
		"7Q~": "7Q~", "_key": "_key", ":AA": ":AA", "1//0": "1//0", "-key-": "-key-", "token=a": "token=a.",
		"long name": strings.Repeat("x", 60) + "token=", "hidden": "TOKEN=" + token("", 20) + "\x1b[m ",
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
