package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/modelserver"
	"github.com/ralph-loop/ralph/verify"
)

// TestMain makes the test's binary the program, where a test starts it as that.
func TestMain(m *testing.M) {
	if os.Getenv("HOOK_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The environments of the two shapes, with U for the server.
var shapes = map[string][]string{
	"OpenAI":    {"OPENAI_BASE_URL=U/v1/", "OPENAI_API_KEY=key", "MODEL=m"},
	"Anthropic": {"ANTHROPIC_BASE_URL=U", "ANTHROPIC_API_KEY=key", "MODEL=m"},
}

func environ(shape, url string) []string {
	env := slices.Clone(shapes[shape])
	for i := range env {
		env[i] = strings.Replace(env[i], "=U", "="+url, 1)
	}
	return env
}

func modelAt(t *testing.T, shape, url string) *model {
	t.Helper()
	env := environ(shape, url)
	m, err := modelOf(func(name string) string {
		for _, e := range env {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				return v
			}
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func script(t *testing.T, turns ...modelserver.Turn) *modelserver.Server {
	t.Helper()
	s, err := modelserver.Start(turns...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func says(text string) modelserver.Turn {
	return modelserver.Turn{Reply: func(modelserver.Request) string { return text }}
}

func hookOf(v ralph.Verifier) *ralph.Hook {
	return &ralph.Hook{Store: &ralph.MemoryStore{}, Verifier: v, Delay: -1}
}

// asked are the first lines of the newest message in each request.
func asked(s *modelserver.Server) (first []string) {
	for _, r := range append(s.Requests(), s.Side()...) {
		line, _, _ := strings.Cut(r.LastUser(), "\n")
		first = append(first, line)
	}
	return first
}

// The program itself, with its flags: an answer without a promise, a claim that the
// verifier rejects, and one that holds.
func TestLoop(t *testing.T) {
	for shape := range shapes {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			done := filepath.Join(t.TempDir(), "done")
			s := script(t, says("\x1b[2JHello."), says("I have begun."), says("Done. <promise>DONE</promise>"), modelserver.Turn{Reply: func(modelserver.Request) string {
				if err := os.WriteFile(done, nil, 0o600); err != nil {
					t.Error(err)
				}
				return "Now it is.\n<promise>DONE</promise>"
			}})
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-verify", "test -e '"+done+"'", "-max", "7")
			cmd.Env = append([]string{"HOOK_TEST_MAIN=1", "PATH=" + os.Getenv("PATH")}, environ(shape, s.URL)...)
			cmd.Dir = t.TempDir()
			cmd.Stdin = strings.NewReader("Hi!\n/ralph Make it.\n")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatal(err, stderr.String())
			}
			if diff := cmp.Diff("Hello.\nI have begun.\nDone. <promise>DONE</promise>\nNow it is.\n<promise>DONE</promise>\n", stdout.String()); diff != "" {
				t.Error(diff)
			}
			notices := "Ralph Loop Started: Max 7 iterations. Complete with <promise>DONE</promise>\n" +
				"Ralph Loop: Iteration 2/7\nRalph Loop: Iteration 3/7\nRalph Loop Complete!: Task completed after 3 iteration(s)\n"
			if diff := cmp.Diff(notices, stderr.String()); diff != "" {
				t.Error(diff)
			}
			prompts := []string{"Hi!", "Make it.", "[RALPH LOOP - ITERATION 2/7]", "[RALPH LOOP - ITERATION 3/7]"}
			if diff := cmp.Diff(prompts, asked(s)); diff != "" {
				t.Error(diff)
			}
			last := s.Requests()[3]
			if len(last.User) != 4 || !strings.Contains(last.LastUser(), "test -e") {
				t.Errorf("the conversation of the last request: %q", last.User)
			}
		})
	}
}

func TestMaximum(t *testing.T) {
	for shape := range shapes {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			s := script(t, says("Not yet."), says("Nor now."), says("Good night."))
			hook := hookOf(verify.String{})
			hook.Task.Limits.Iterations = 2
			var stdout, stderr bytes.Buffer
			chat(t.Context(), modelAt(t, shape, s.URL), hook, strings.NewReader("/ralph Make it.\nBye.\n"), &stdout, &stderr)
			if !strings.HasSuffix(stderr.String(), "\nRalph Loop Stopped: Max iterations (2) reached without completion\n") {
				t.Error(stderr.String())
			}
			if diff := cmp.Diff([]string{"Make it.", "[RALPH LOOP - ITERATION 2/2]", "Bye."}, asked(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A cancel comes while the model answers, and while the next prompt is due.
func TestCancel(t *testing.T) {
	for shape := range shapes {
		for _, when := range []string{"Ralph Loop Started", "Ralph Loop: Iteration 2/100"} {
			t.Run(shape+"/"+when, func(t *testing.T) {
				t.Parallel()
				cancelled := make(chan struct{})
				s := script(t, modelserver.Turn{Reply: func(modelserver.Request) string {
					if when == "Ralph Loop Started" {
						<-cancelled
					}
					return "I have begun."
				}}, says("Good night."))
				hook := hookOf(verify.String{})
				hook.Delay = time.Hour
				stdin, keys := io.Pipe()
				notices, stderr := io.Pipe()
				var stdout bytes.Buffer
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer stderr.Close()
					chat(t.Context(), modelAt(t, shape, s.URL), hook, stdin, &stdout, stderr)
				}()
				io.WriteString(keys, "/ralph Make it.\n")
				for in := bufio.NewScanner(notices); in.Scan(); {
					switch line := in.Text(); {
					case strings.HasPrefix(line, when):
						io.WriteString(keys, "/cancel\n")
					case strings.HasPrefix(line, "Ralph Loop Cancelled: Stopped at iteration"):
						close(cancelled)
						io.WriteString(keys, "Bye.\n/cancel\n")
					case line == "No Active Loop: No Ralph Loop is currently running":
						keys.Close()
					}
				}
				<-ended
				if diff := cmp.Diff([]string{"Make it.", "Bye."}, asked(s)); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff("I have begun.\nGood night.\n", stdout.String()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// A model that cannot be reached is asked again with an empty line, and the loop goes on.
func TestModelFails(t *testing.T) {
	for shape := range shapes {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			s := script(t, says("Not yet."), modelserver.Turn{Status: http.StatusTooManyRequests, Reply: func(modelserver.Request) string { return "" }}, says("<promise>DONE</promise>"))
			var stdout, stderr bytes.Buffer
			chat(t.Context(), modelAt(t, shape, s.URL), hookOf(verify.String{}), strings.NewReader("/ralph Make it.\n\n\n"), &stdout, &stderr)
			want := "Ralph Loop Started: Max 100 iterations. Complete with <promise>DONE</promise>\nRalph Loop: Iteration 2/100\n" +
				"error: 429 Too Many Requests: Too Many Requests (scripted)\nRalph Loop Complete!: Task completed after 2 iteration(s)\n"
			if diff := cmp.Diff(want, stderr.String()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"Make it.", "[RALPH LOOP - ITERATION 2/100]", "[RALPH LOOP - ITERATION 2/100]"}, asked(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Ctrl-C ends a request that hangs, and a wait for what is typed.
func TestInterrupt(t *testing.T) {
	t.Run("request", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := script(t, modelserver.Turn{Break: modelserver.BreakHang, Reply: func(modelserver.Request) string { cancel(); return "" }})
		stdin, keys := io.Pipe()
		defer keys.Close()
		go io.WriteString(keys, "Hi!\n")
		chat(ctx, modelAt(t, "OpenAI", s.URL), hookOf(verify.String{}), stdin, io.Discard, io.Discard)
		if len(asked(s)) != 1 {
			t.Error(asked(s))
		}
	})
	t.Run("input", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			stdin, keys := io.Pipe()
			defer keys.Close()
			var ended bool
			go func() {
				chat(ctx, nil, hookOf(verify.String{}), stdin, io.Discard, io.Discard)
				ended = true
			}()
			synctest.Wait()
			early := ended
			cancel()
			synctest.Wait()
			if early || !ended {
				t.Error(early, ended)
			}
		})
	})
}

// What a stranger's server says of an error is one line without control sequences.
func TestErrorsArePrintable(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "go\n\x1b[2Jaway", http.StatusForbidden)
	}))
	defer s.Close()
	var stderr bytes.Buffer
	chat(t.Context(), modelAt(t, "OpenAI", s.URL), hookOf(verify.String{}), strings.NewReader("Hi!\n"), io.Discard, &stderr)
	if got := stderr.String(); got != "error: 403 Forbidden: go away\n" {
		t.Errorf("%q", got)
	}
}

func TestAsk(t *testing.T) {
	var elsewhere bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer other.Close()
	for name, c := range map[string]struct {
		shape, answer, want, err string
		status                   int
	}{
		"chat completions":   {shape: "OpenAI", answer: `{"choices":[{"message":{"role":"assistant","content":" Hi. "}},{"message":{"content":"no"}}]}`, want: "Hi."},
		"messages":           {shape: "Anthropic", answer: `{"content":[{"type":"thinking","thinking":"no","text":"no"},{"type":"text","text":"H"},{"type":"text","text":"i."}]}`, want: "Hi."},
		"no text":            {shape: "OpenAI", answer: `{"choices":[{"message":{"content":null}}]}`, err: "no text"},
		"no JSON":            {shape: "Anthropic", answer: `<html>`, err: "the answer: invalid character"},
		"too long":           {shape: "OpenAI", answer: "endless", err: "longer than"},
		"an error":           {shape: "Anthropic", answer: `{"error":{"message":"no such model"}}`, status: 404, err: "404 Not Found: no such model"},
		"an error as a text": {shape: "OpenAI", answer: "go away " + strings.Repeat("x", 1000), status: 500, err: "500 Internal Server Error: go away xxx"},
		"elsewhere":          {shape: "Anthropic", status: 307, err: "307 Temporary Redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				want := "/v1/chat/completions Bearer key  "
				if c.shape == "Anthropic" {
					want = "/v1/messages  key 2023-06-01"
				}
				if got := strings.Join([]string{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("x-api-key"), r.Header.Get("anthropic-version")}, " "); got != want {
					t.Error(got)
				}
				var q struct {
					Model    string
					Messages []ralph.Message
					Tokens   int `json:"max_tokens"`
				}
				err := json.NewDecoder(r.Body).Decode(&q)
				if err != nil || q.Model != "m" || len(q.Messages) != 1 || q.Messages[0].Content != "Hello?" || (q.Tokens > 0) != (c.shape == "Anthropic") {
					t.Error(q, err)
				}
				w.Header().Set("Location", other.URL)
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				for i := 0; err == nil && (i == 0 || c.answer == "endless"); i++ {
					if _, err = io.WriteString(w, c.answer); i == 8*maxAnswer {
						t.Error("all of it is read")
						return
					}
				}
			}))
			defer s.Close()
			got, err := modelAt(t, c.shape, s.URL).ask(t.Context(), []ralph.Message{{Role: "user", Content: "Hello?"}})
			if got != c.want || (err != nil) != (c.err != "") || err != nil && (!strings.Contains(err.Error(), c.err) || len(err.Error()) > 600) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if elsewhere {
		t.Error("the request was redirected")
	}
}

func TestModelOf(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, "set one of"},
		{map[string]string{"OPENAI_BASE_URL": "http://a", "ANTHROPIC_BASE_URL": "http://b", "MODEL": "m"}, "set one of"},
		{map[string]string{"OPENAI_BASE_URL": "http://a"}, "set MODEL"},
	} {
		if m, err := modelOf(func(name string) string { return c.env[name] }); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Error(c.env, m, err)
		}
	}
}
