//go:build linux

package ralph_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// codexFile is what codex writes down of two responses: 3000 tokens and 200, for $0.05
// at the prices of priced.
const codexFile = `{"type":"turn_context","payload":{"model":"m"}}
{"type":"token_usage_record","payload":{"response_id":"1","usage":{"input_tokens":1000,"cached_input_tokens":500,"output_tokens":100}}}
{"type":"token_usage_record","payload":{"response_id":"2","usage":{"input_tokens":2000,"output_tokens":100}}}
`

const (
	codexSession = "01a20373-dfce-77c3-873c-9baa12c8f3fe"
	codexStart   = `{"type":"thread.started","thread_id":"` + codexSession + `"}`
)

// codexIn is a client of codex's format whose home is dir. In the script $file is where
// it writes down what it uses.
func codexIn(dir, script string) *ralph.Command {
	c := sh(ralph.FormatCodex, `file=$CODEX_HOME/sessions/$(date +%Y/%m/%d)/rollout-now-`+codexSession+`.jsonl
mkdir -p "${file%/*}"
`+script)
	c.Env = []string{"CODEX_HOME=" + dir}
	c.Prices = ralph.Prices{"m": {Input: 10, Output: 125}}
	return c
}

// TestLedgerIsSeenWhileTheClientRuns: a client that tells what it uses only at its end
// is ended in mid-run by what it has written down.
func TestLedgerIsSeenWhileTheClientRuns(t *testing.T) {
	t.Parallel()
	c := codexIn(t.TempDir(), says(codexStart)+`cat >"$file" <<'END'
`+codexFile+"END\nexec sleep 300\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(ctx)
	resp, err := c.Run(ctx, ralph.Request{Dir: t.TempDir(), Live: func(u ralph.Usage) {
		if u.CostUSD != nil && *u.CostUSD > 0.05 {
			stop(enough)
		}
	}})
	u := resp.Usage
	if !errors.Is(err, enough) || u.Requests != 2 || u.InputTokens != 3000 || u.CacheRead != 500 || u.OutputTokens != 200 || u.Cost() != "≈ $0.055" || resp.Model != "m" {
		t.Errorf("%v, %d read, of %q: %v", u, u.CacheRead, resp.Model, err)
	}
}

// TestLedgerInTheWay: whatever stands where a client would write down what it uses, its
// run goes on, and its stream tells what it tells.
func TestLedgerInTheWay(t *testing.T) {
	t.Parallel()
	const told = "1 request, 10 tokens in, 1 out, "
	for name, tt := range map[string]struct{ script, want string }{
		"nothing":            {"", told + "cost unknown"},
		"what it has used":   {`cp "$CODEX_HOME/full" "$file"`, "2 requests, 3000 tokens in, 200 out, ≈ $0.055"},
		"a link":             {`ln -s "$CODEX_HOME/full" "$file"`, told + "cost unknown"},
		"a link that leaves": {`mv "${file%/*}" "$CODEX_HOME/../away" && ln -s "$CODEX_HOME/../away" "${file%/*}" && cp "$CODEX_HOME/full" "$file"`, told + "cost unknown"},
		"a pipe":             {`mkfifo "$file"`, told + "cost unknown"},
		"a folder":           {`mkdir "$file"`, told + "cost unknown"},
		"of a device":        {`ln -s /dev/zero "$file"`, told + "cost unknown"},
		"far too much":       {`truncate -s 4G "$file"`, told + "cost unknown"},
		"no JSON":            {`printf '\377{"a\n\000\n[1]\n' >"$file"`, told + "cost unknown"},
		"the model alone":    {`head -1 "$CODEX_HOME/full" >"$file"`, told + "≈ $0.0002"},
		"of others":          {`cp "$CODEX_HOME/full" "${file%-*}-000000000000.jsonl"`, told + "cost unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "home")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "full"), []byte(codexFile), 0o600)); err != nil {
				t.Fatal(err)
			}
			c := codexIn(dir, tt.script+"\n"+says(codexStart,
				`{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}`,
				`{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":1}}`))
			resp, err := c.Run(t.Context(), ralph.Request{Dir: t.TempDir(), Live: func(ralph.Usage) {}})
			if err != nil || resp.Output != "Done." || resp.Usage.String() != tt.want {
				t.Errorf("%v, %q: %v; want %s", resp.Usage, resp.Output, err, tt.want)
			}
		})
	}
}

// TestLedgerInTheTemporaryFolder: a client that has a switch for it writes into the
// run's own folder, unless a person has it write elsewhere.
func TestLedgerInTheTemporaryFolder(t *testing.T) {
	t.Parallel()
	const script = `to=${COPILOT_OTEL_FILE_EXPORTER_PATH:-/dev/null}
case $to in "$TMPDIR"/*|/dev/null) ;; *) exit 7;; esac
cat >"$to" <<'END'
{"type":"span","spanId":"1","attributes":{"gen_ai.operation.name":"chat","gen_ai.response.model":"m","gen_ai.usage.input_tokens":1000,"gen_ai.usage.output_tokens":10}}
END
`
	for _, tt := range []struct {
		name, env, want string
	}{
		{"by itself", "A=1", "1 request, 1000 tokens in, 10 out, ≈ $0.011"},
		{"of a person's own", "COPILOT_OTEL_ENABLED=true", "1 request, 0 tokens in, 10 out, cost unknown"},
	} {
		c := sh(ralph.FormatCopilot, script+says(
			`{"type":"assistant.message","data":{"messageId":"1","model":"m","content":"Done.","outputTokens":10}}`, `{"type":"result","exitCode":0}`))
		c.Env, c.Prices = []string{tt.env}, ralph.Prices{"m": {Input: 10, Output: 100}}
		c.Inherit = []string{"PATH"}
		resp, err := c.Run(t.Context(), ralph.Request{Dir: t.TempDir()})
		if err != nil || resp.Usage.String() != tt.want {
			t.Errorf("%s: %v, %v; want %s", tt.name, resp.Usage, err, tt.want)
		}
	}
}

// TestLedgerLivePanics: a Live that panics because of what was written down ends the
// run like one that panics because of the stream.
func TestLedgerLivePanics(t *testing.T) {
	t.Parallel()
	c := codexIn(t.TempDir(), says(codexStart)+`cat >"$file" <<'END'
`+codexFile+"END\nexec sleep 300\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := c.Run(ctx, ralph.Request{Dir: t.TempDir(), Live: func(ralph.Usage) { panic("not today") }})
	if err == nil || !strings.Contains(err.Error(), "not today") || !strings.Contains(err.Error(), "ledger_test.go") {
		t.Error(err)
	}
}
