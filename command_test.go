package ralph_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

const (
	claudeDone  = `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Done.\n<promise>COMPLETE</promise>"}]}}`
	claudeEnd   = `{"type":"result","subtype":"success","is_error":false,"result":"Done.\n<promise>COMPLETE</promise>","total_cost_usd":0.5}`
	claudeError = `{"type":"result","subtype":"error_during_execution","is_error":true,"result":"it broke","total_cost_usd":0.5}`
)

// sh is a Command that runs a shell script.
func sh(format ralph.Format, script string) *ralph.Command {
	return &ralph.Command{Args: []string{"/bin/sh", "-c", script}, Format: format}
}

// says prints a line of a stream.
func says(lines ...string) string {
	return "cat <<'END'\n" + strings.Join(lines, "\n") + "\nEND\n"
}

// faultOf runs a command through Local, as a loop does whose command was good when
// it began: what is known to be wrong before is TestCommandValidate's.
func faultOf(t *testing.T, c *ralph.Command) ralph.Iteration {
	t.Helper()
	l := &ralph.Local{Runner: ralph.RunnerFunc(c.Run), Verifier: verify.External{Args: []string{"true"}}}
	it, err := l.Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Go on.", Dir: t.TempDir()}))
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// TestCommandFaults runs agents that end in every way there is.
func TestCommandFaults(t *testing.T) {
	t.Parallel()
	slow := func(c *ralph.Command) *ralph.Command { c.IdleTimeout = 100 * time.Millisecond; return c }
	lingering := func(c *ralph.Command) *ralph.Command { c.ExitTimeout = 100 * time.Millisecond; return c }
	for _, tt := range []struct {
		name    string
		command *ralph.Command
		fault   ralph.Fault
		claimed bool
		says    string
	}{
		{"text, good", sh("text", "echo '<promise>COMPLETE</promise>'"), "", true, ""},
		{"text, exit 1 after a good answer", sh("text", "echo '<promise>COMPLETE</promise>'; echo oops >&2; exit 1"), ralph.FaultError, true, "exit status 1: oops"},
		{"text, nothing", sh("text", "true"), ralph.FaultEmpty, false, "no answer"},
		{"text, blank", sh("text", "echo; echo ' '"), ralph.FaultEmpty, false, "no answer"},
		{"text, promise on stderr", sh("text", "echo '<promise>COMPLETE</promise>' >&2"), ralph.FaultEmpty, false, ""},
		{"text, NULs and bytes", sh("text", `printf 'a\000\377\n<promise>COMPLETE</promise>\n'`), "", true, ""},
		{"text, stdout closed early", sh("text", "echo '<promise>COMPLETE</promise>'; exec >&-; cat >/dev/null"), "", true, ""},
		{"stream, good", sh("claude", says(claudeDone, claudeEnd)), "", true, ""},
		{"stream, error inside, exit 0", sh("claude", says(claudeError)), ralph.FaultError, false, "it broke"},
		{"stream, error after a claim", sh("claude", says(claudeDone, claudeError)), ralph.FaultError, true, "it broke"},
		{"stream, no end event", sh("claude", says(claudeDone)), ralph.FaultIncomplete, true, "without its end event"},
		{"stream, cut line", sh("claude", "printf '%s' '"+claudeDone[:60]+"'"), ralph.FaultIncomplete, false, ""},
		{"stream, exit 1 after its end event", sh("claude", says(claudeDone, claudeEnd)+"exit 1"), ralph.FaultError, true, "exit status 1"},
		{"stream, dies at once", sh("claude", "echo 'out of memory' >&2; exit 2"), ralph.FaultError, false, "exit status 2: out of memory"},
		{"stream, does not know an option", sh("claude", "echo 'unknown option' >&2; exit 2"), ralph.FaultPermanent, false, "unknown option"},
		{"stream, does not know an option that a tool of the agent named", sh("claude", says(claudeDone)+"echo 'unknown option' >&2; exit 2"), ralph.FaultIncomplete, true, "unknown option"},
		{"not installed", &ralph.Command{Args: []string{"no-such-agent"}}, ralph.FaultPermanent, false, "no-such-agent"},
		{"no arguments", &ralph.Command{}, ralph.FaultPermanent, false, "no Args"},
		{"unknown format", sh("morse", "true"), ralph.FaultPermanent, false, "morse"},
		{"a model that cannot be passed on", &ralph.Command{Args: []string{"true"}, Model: "x"}, ralph.FaultPermanent, false, "ModelFlag"},
		{"idle", slow(sh("text", "echo begun; sleep 300")), ralph.FaultTimeout, false, "no output for 100ms"},
		{"ends, but does not exit", lingering(sh("claude", says(claudeDone, claudeEnd)+"sleep 300")), "", true, ""},
		{"fails, and does not exit", lingering(sh("claude", says(claudeError)+"sleep 300")), ralph.FaultError, false, "it broke"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			it := faultOf(t, tt.command)
			if it.Fault != tt.fault || it.Claimed != tt.claimed || !strings.Contains(it.Error, tt.says) || strings.Contains(it.Error, "\n") {
				t.Errorf("fault %q (%s), claimed %v", it.Fault, it.Error, it.Claimed)
			}
		})
	}
}

// TestFailure38 tells rate limits from what merely mentions them.
func TestFailure38RateLimits(t *testing.T) {
	t.Parallel()
	limit := `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}`
	for _, tt := range []struct {
		name    string
		command *ralph.Command
		fault   ralph.Fault
	}{
		{"the event, and a failed end", sh("claude", says(limit, `{"type":"result","is_error":true,"result":"You've hit your limit · resets 7pm"}`)), ralph.FaultRateLimit},
		{"the event, and no end", sh("claude", says(limit)+"exit 1"), ralph.FaultRateLimit},
		{"the event, and a good end", sh("claude", says(limit, claudeDone, claudeEnd)), ""},
		{"a warning", sh("claude", says(`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning"}}`, claudeDone, claudeEnd)), ""},
		{"a status", sh("claude", says(`{"type":"result","is_error":true,"api_error_status":429,"result":"API Error"}`)), ralph.FaultRateLimit},
		{"another status, and a port", sh("claude", says(`{"type":"result","is_error":true,"api_error_status":500,"result":"API Error: 500 (127.0.0.1:4290)"}`)), ralph.FaultError},
		{"the agent talks about it", sh("claude", says(`{"type":"assistant","message":{"content":[{"type":"text","text":"The rate limit 429 is tested."}]}}`, `{"type":"result","is_error":true,"result":"it broke"}`)), ralph.FaultError},
		{"a file mentions it", sh("claude", says(`{"type":"user","message":{"content":[{"type":"tool_result","content":"HTTP 429 Too Many Requests: rate limit"}]}}`)+"exit 1"), ralph.FaultError},
		{"codex", sh("codex", says(`{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}`)), ralph.FaultRateLimit},
		{"codex reconnects", sh("codex", says(`{"type":"error","message":"Reconnecting... 1/5 (429 Too Many Requests)"}`, `{"type":"item.completed","item":{"type":"agent_message","text":"<promise>COMPLETE</promise>"}}`, `{"type":"turn.completed"}`)), ""},
		{"text, on stderr of a failed run", sh("text", "echo 'Error: 429 Too Many Requests' >&2; exit 1"), ralph.FaultRateLimit},
		{"text, on stderr of a good run", sh("text", "echo 'Error: 429 Too Many Requests' >&2; echo fine"), ""},
		{"text, in the answer", sh("text", "echo 'I added a rate limit'; exit 1"), ralph.FaultError},
		{"a time-out is none", &ralph.Command{Args: []string{"/bin/sh", "-c", "echo 'rate limit 429' >&2; sleep 300"}, IdleTimeout: 100 * time.Millisecond}, ralph.FaultTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if it := faultOf(t, tt.command); it.Fault != tt.fault {
				t.Errorf("fault %q (%s), want %q", it.Fault, it.Error, tt.fault)
			}
		})
	}
	it := faultOf(t, sh("claude", says(limit, `{"type":"result","is_error":true,"result":"limit"}`)))
	if it.RetryAfter < 24*time.Hour {
		t.Errorf("the reset in the year 2100 is %v away", it.RetryAfter)
	}
	it = faultOf(t, sh("codex", says(`{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again in 3 hours 5 minutes."}}`)))
	if it.RetryAfter != 3*time.Hour+5*time.Minute {
		t.Errorf("the hint is %v", it.RetryAfter)
	}
}

func TestCommandStreams(t *testing.T) {
	t.Parallel()
	var display, raw bytes.Buffer
	c := sh("claude", "echo 'npm \x1b[31mnotice\x1b[0m' >&2; "+says(`{"type":"system","subtype":"init","session_id":"s1","model":"big"}`,
		`{"type":"assistant","message":{"id":"m0","content":[{"type":"text","text":"I \u001b[2Jlook."},{"type":"tool_use","name":"Bash","input":{"command":"go test ./..."}}],"usage":{"input_tokens":10,"output_tokens":2}}}`,
		claudeDone, claudeEnd))
	var mu sync.Mutex
	var live []int64
	resp, err := c.Run(t.Context(), ralph.Request{Prompt: "Go on.", Display: &display, Raw: &raw, Live: func(u ralph.Usage) {
		mu.Lock()
		defer mu.Unlock()
		live = append(live, u.InputTokens)
	}})
	if err != nil {
		t.Fatal(err)
	}
	half := 0.5
	want := ralph.Response{Output: "Done.\n<promise>COMPLETE</promise>", Session: "s1", Model: "big",
		Usage: ralph.Usage{Requests: 1, Messages: 1, InputTokens: 10, OutputTokens: 2, CostUSD: &half}}
	if diff := cmp.Diff(want, resp); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(live) == 0 || live[0] != 10 {
		t.Errorf("live usage: %v", live)
	}
	for _, text := range []string{"npm notice\n", "I look.\n", "→ Bash go test ./...\n", "Done.\n"} {
		if !strings.Contains(display.String(), text) {
			t.Errorf("no %q on display: %q", text, display.String())
		}
	}
	if strings.ContainsRune(display.String(), 0x1b) || !strings.Contains(raw.String(), "\x1b[31mnotice") || !strings.Contains(raw.String(), claudeDone+"\n") {
		t.Errorf("display %q\nraw %q", display.String(), raw.String())
	}
}

func TestCommandEnvironment(t *testing.T) {
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("ANTHROPIC_API_KEY", "kept")
	c := sh("text", `echo "$CLAUDECODE|$ANTHROPIC_API_KEY|$EXTRA|$TMPDIR"; test -d "$TMPDIR" && touch "$TMPDIR/left"`)
	c.Env = []string{"EXTRA=more"}
	resp, err := c.Run(t.Context(), ralph.Request{})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.TrimSpace(resp.Output), "|")
	if diff := cmp.Diff([]string{"", "kept", "more"}, parts[:3]); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(parts[3]); parts[3] == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its TMPDIR %q is still there: %v", parts[3], err)
	}
}

func TestCommandModel(t *testing.T) {
	t.Parallel()
	c := &ralph.Command{Args: []string{"echo", "exec", "-"}, ModelFlag: "-m", Model: "small"}
	resp, err := c.Run(t.Context(), ralph.Request{})
	if err != nil || resp.Output != "exec -m small -\n" {
		t.Errorf("%q, %v", resp.Output, err)
	}
}

func TestCommandVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tt := range map[string]struct{ script, want, says string }{
		"says it":        {`test "$*" = --version && printf 'tool \033[1m1.2.3\033[0m\r\nmore\n'`, "tool 1.2.3", ""},
		"has a variable": {`echo "$EXTRA"`, "1.0", ""},
		"says much":      {"yes ä | head -c 100000 | tr '\\n' ' '", strings.Repeat("ä ", 26) + "ä", ""},
		"says nothing":   {"echo; echo", "", "prints none"},
		"fails":          {"echo 1.0; exit 3", "", "exit status 3"},
		"leaves a child": {"setsid sleep 300 & echo $! >" + dir + "/pids; echo 1.0", "1.0", ""},
	} {
		program := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		syscall.ForkLock.RLock() // a child of another test that inherits the file keeps it from being run
		err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o700)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
		c := &ralph.Command{Args: []string{program, "--json"}, Env: []string{"EXTRA=1.0"}}
		got, err := c.Version(t.Context())
		if got != tt.want || (err == nil) != (tt.says == "") || err != nil && (!strings.Contains(err.Error(), tt.says) || !strings.HasPrefix(err.Error(), "ralph: ")) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	checkDead(t, filepath.Join(dir, "pids"))
	if _, err := (&ralph.Command{Args: []string{"no-such-agent"}}).Version(t.Context()); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("not installed: %v", err)
	}
	if _, err := (&ralph.Command{}).Version(t.Context()); err == nil {
		t.Error("a Command without Args has a version")
	}
	cause := errors.New("no")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := (&ralph.Command{Args: []string{"true"}}).Version(ctx); !errors.Is(err, cause) {
		t.Errorf("a done context: %v", err)
	}
}

// TestHurry kills an agent that heeds no signal, without the time to heed one.
func TestHurry(t *testing.T) {
	t.Parallel()
	now := make(chan struct{})
	ctx, cancel := context.WithCancel(ralph.Hurry(t.Context(), now))
	c := sh("text", "trap '' INT TERM; echo $$ >pids; echo ready; while :; do sleep 300 & wait; done")
	c.Grace = time.Hour
	dir := t.TempDir()
	_, err := c.Run(ctx, ralph.Request{Dir: dir, Raw: onWrite(func() { cancel(); close(now) })})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	checkDead(t, filepath.Join(dir, "pids"))
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	for format, want := range map[ralph.Format]ralph.Capabilities{
		ralph.FormatClaude:   {Cost: true, Tokens: true, Model: true, Live: true, Session: true, RateLimits: true},
		ralph.FormatOpencode: {Cost: true, Tokens: true, Live: true, Session: true, RateLimits: true},
		ralph.FormatCodex:    {Tokens: true, Model: true, Live: true, Session: true},
		ralph.FormatGemini:   {Tokens: true, Model: true, Live: true, Session: true},
		ralph.FormatCopilot:  {Tokens: true, Model: true, Live: true, Session: true, RateLimits: true},
		ralph.FormatCursor:   {Tokens: true, Model: true, Session: true}, ralph.FormatCline: {Cost: true, Tokens: true, Model: true, Live: true},
		ralph.FormatText: {}, "morse": {},
	} {
		if got := format.Capabilities(); got != want {
			t.Errorf("%s: %+v", format, got)
		}
	}
}

func TestPreset(t *testing.T) {
	t.Parallel()
	for _, name := range ralph.Presets() {
		c, err := ralph.Preset(name)
		if err != nil || len(c.Args) == 0 || c.Format == "" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
		c.Args[0] = "changed"
		if again, _ := ralph.Preset(name); again.Args[0] == "changed" {
			t.Errorf("%s: presets are shared", name)
		}
	}
	if c, err := ralph.Preset(""); err == nil { // two formats have no preset
		t.Errorf("%+v", c)
	}
	if c, err := ralph.Preset("claud"); err == nil || !strings.Contains(err.Error(), "claude, codex, gemini") {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestCommandEcho runs cat as the agent, with prompts that would claim, also
// longer ones than what is kept of an answer.
func TestCommandEcho(t *testing.T) {
	t.Parallel()
	tag := "<promise>COMPLETE</promise>"
	for name, prompt := range map[string]string{
		"short":   "Do it.\n" + tag,
		"long":    strings.Repeat("word\n", 100<<10) + tag + "\n" + strings.Repeat("more\n", 100<<10) + tag + "\n",
		"a claim": claudeDone + "\n" + claudeEnd,
	} {
		for _, m := range []ralph.Match{ralph.MatchLastLine, ralph.MatchOwnLine, ralph.MatchAnywhere, ralph.MatchFold} {
			for _, f := range []ralph.Format{ralph.FormatText, ralph.FormatClaude} {
				l := &ralph.Local{Runner: sh(f, "cat"), Verifier: verify.String{},
					Prompt: func(context.Context, ralph.State) (string, error) { return prompt, nil }}
				it, err := l.Iterate(t.Context(), ralph.Start(ralph.Task{Prompt: "Do it.", Match: m, Dir: t.TempDir()}))
				if err != nil || it.Claimed {
					t.Errorf("%s, %s, mode %q: claimed (%v)", name, f, m, err)
				}
			}
		}
	}
}

// TestFailure25 and the others run agents that leave processes behind; the
// process package's tests look closer.
func TestFailure25GrandchildHoldsStdout(t *testing.T) {
	t.Parallel()
	it := faultOf(t, sh("claude", "setsid sleep 300 & "+says(claudeDone, claudeEnd)))
	if it.Fault != "" || !it.Claimed || !it.Verdict.Passed {
		t.Errorf("%+v", it)
	}
}

func TestFailure26StdinIsThePromptThenEOF(t *testing.T) {
	t.Parallel()
	resp, err := sh("text", `cat; test -p /dev/stdin && echo pipe`).Run(t.Context(), ralph.Request{Prompt: "the prompt\n"})
	if err != nil || resp.Output != "the prompt\npipe\n" {
		t.Errorf("%q, %v", resp.Output, err)
	}
}

func TestFailure27PipesAreDrained(t *testing.T) {
	t.Parallel()
	resp, err := sh("text", `head -c 300000 /dev/zero | tr '\0' x >&2; head -c 300000 /dev/zero | tr '\0' y; echo; cat >/dev/null; echo end`).
		Run(t.Context(), ralph.Request{Prompt: strings.Repeat("z", 300<<10)})
	if err != nil || !strings.HasSuffix(resp.Output, "\nend\n") {
		t.Errorf("%d bytes, %v", len(resp.Output), err)
	}
}

// What an agent leaves behind when it ends well: a child, one in a session of its
// own, and one whose parent has ended. None of them heeds a polite signal.
func TestFailure29NothingIsLeft(t *testing.T) {
	t.Parallel()
	needsProc(t)
	dir := t.TempDir()
	c := sh("text", `trap '' HUP INT TERM
		sleep 300 >/dev/null 2>&1 & echo $! >>pids
		setsid sleep 300 >/dev/null 2>&1 & echo $! >>pids
		(setsid sh -c 'echo $$ >>pids; sleep 300' >/dev/null 2>&1 &)
		while test $(wc -l <pids) -lt 3; do :; done
		echo fine`)
	c.Grace = 20 * time.Millisecond
	var before []string
	if _, err := c.Run(t.Context(), ralph.Request{Dir: dir, Raw: onWrite(func() { before = living(t, filepath.Join(dir, "pids")) })}); err != nil {
		t.Fatal(err)
	}
	if len(before) != 3 {
		t.Errorf("when the agent ended %q lived, want 3 processes", before)
	}
	if after := living(t, filepath.Join(dir, "pids")); len(after) != 0 {
		t.Errorf("%q live on", after)
	}
}

// The client is a wrapper around the real agent, which is in a session of its own
// and heeds no signal; the wrapper heeds none either, or is gone at once, so that
// the agent has lost its parent when it is to be ended.
func TestFailure30AgentBehindAWrapper(t *testing.T) {
	t.Parallel()
	needsProc(t)
	const agent = `setsid sh -c 'trap "" HUP INT TERM; echo $$ >>pids; echo up; while :; do sleep 300; done' & echo $$ >>pids; `
	for name, script := range map[string]string{
		"deaf":         `trap '' HUP INT TERM; ` + agent + `wait; wait`,
		"gone at once": `trap 'exit 1' HUP INT TERM; ` + agent + `wait; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := sh("text", script)
			c.Grace = 20 * time.Millisecond
			var before []string
			_, err := c.Run(ctx, ralph.Request{Dir: dir, Raw: onWrite(func() {
				for len(before) < 2 { // both have said who they are
					before = living(t, filepath.Join(dir, "pids"))
				}
				cancel()
			})})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if after := living(t, filepath.Join(dir, "pids")); len(before) != 2 || len(after) != 0 {
				t.Errorf("of %q %q live on", before, after)
			}
		})
	}
}

type onWrite func()

func (f onWrite) Write(p []byte) (int, error) { f(); return len(p), nil }

func needsProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("what lives is looked up in /proc")
	}
}

// checkDead fails if a process of a list lives.
func checkDead(t *testing.T, file string) {
	t.Helper()
	if left := living(t, file); len(left) > 0 {
		t.Errorf("processes live: %v", left)
	}
}

// living returns which processes of a list live.
func living(t *testing.T, file string) []string {
	t.Helper()
	pids, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	var alive []string
	for pid := range strings.FieldsSeq(string(pids)) {
		status, err := os.ReadFile("/proc/" + pid + "/status")
		if err == nil && !strings.Contains(string(status), "State:\tZ") {
			alive = append(alive, pid)
		}
	}
	return alive
}

// TestPresetsPassOnTheirPrompt runs every preset with a stand-in for its client
// that shows its arguments and its input.
func TestPresetsPassOnTheirPrompt(t *testing.T) {
	t.Parallel()
	want := []string{"claude", "codex", "gemini", "opencode", "copilot", "amp", "cline", "text"}
	if diff := cmp.Diff(want, ralph.Presets()); diff != "" {
		t.Error(diff)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "stand-in"), []byte("#!/bin/sh\necho \"$@\"\ncat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range ralph.Presets() {
		c, err := ralph.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Args[0] = filepath.Join(dir, "stand-in")
		c.Format = ralph.FormatText
		if c.ModelFlag != "" {
			c.Model = "small"
		}
		resp, err := c.Run(t.Context(), ralph.Request{Prompt: "the prompt"})
		if err != nil || !strings.HasSuffix(resp.Output, "\nthe prompt") || c.Model != "" && !strings.Contains(resp.Output, c.ModelFlag+" small") {
			t.Errorf("%s: %q, %v", name, resp.Output, err)
		}
	}
}
