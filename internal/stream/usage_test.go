package stream

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// prices are those of the models a and b, for a million tokens; a cache read is a tenth.
func prices(model string, u Usage) (float64, bool) {
	per, ok := map[string]float64{"a": 10, "b": 100, "nan": math.NaN()}[model]
	return per * (float64(u.InputTokens-u.CacheRead) + float64(u.CacheRead)/10 + 10*float64(u.OutputTokens)) / 1e6, ok && u.InputTokens > 0
}

const (
	claudeInit = `{"type":"system","subtype":"init","session_id":"s1","model":"a"}` + "\n"
	// Two lines of one message, one of a sub-agent's.
	claudeWork = `{"type":"assistant","session_id":"s1","message":{"id":"m1","model":"a","content":[{"type":"text","text":"One."}],"usage":{"input_tokens":1000,"cache_read_input_tokens":9000,"output_tokens":1}}}
{"type":"assistant","session_id":"s1","message":{"id":"m1","model":"a","content":[{"type":"tool_use","name":"Bash"}],"usage":{"input_tokens":1000,"cache_read_input_tokens":9000,"output_tokens":1}}}
{"type":"assistant","session_id":"s1","parent_tool_use_id":"t","message":{"id":"m2","model":"b","content":[{"type":"text","text":"Sub."}],"usage":{"input_tokens":500,"output_tokens":50}}}
`
	claudeEnd    = `{"type":"result","subtype":"success","session_id":"s1","result":"One.","total_cost_usd":0.25,"usage":{"input_tokens":1000,"cache_read_input_tokens":9000,"output_tokens":400},"modelUsage":{"a":{"inputTokens":1000,"cacheReadInputTokens":9000,"outputTokens":400},"b":{"inputTokens":500,"outputTokens":50}}}` + "\n"
	claudeWrites = `{"type":"user","message":{"content":"x"}}
{"type":"assistant","message":{"id":"m1","model":"a","usage":{"input_tokens":1000,"cache_read_input_tokens":9000,"output_tokens":400}}}
{"type":"assistant","message":{"id":"m1","model":"a","usage":{"input_tokens":1000,"cache_read_input_tokens":9000,"output_tokens":400}}}
{"type":"assistant","message":{"id":"mx","model":"b","usage":{"input_tokens":70000,"output_tokens":400}}}
`
	codexBegin  = `{"type":"thread.started","thread_id":"th1"}` + "\n" + `{"type":"turn.started"}` + "\n"
	codexEnd    = `{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":5000,"cached_input_tokens":1000,"output_tokens":300}}` + "\n"
	codexWrites = `{"timestamp":"2026-11-22T13:00:01Z","type":"turn_context","payload":{"model":"a"}}
{"timestamp":"2026-11-22T13:00:02Z","type":"token_usage_record","payload":{"response_id":"r1","usage":{"input_tokens":1000,"cached_input_tokens":0,"output_tokens":100}}}
{"timestamp":"2026-11-22T13:00:02Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1000,"output_tokens":100}}}}
{"timestamp":"2026-11-22T13:00:02Z","type":"token_usage_record","payload":{"response_id":"r1","usage":{"input_tokens":1000,"cached_input_tokens":0,"output_tokens":100}}}
{"timestamp":"2026-11-22T13:00:03Z","type":"token_usage_record","payload":{"response_id":"r2","usage":{"input_tokens":3000,"cached_input_tokens":1000,"output_tokens":100}}}
`
	codexOlder = `{"type":"turn_context","payload":{"model":"a"}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1000,"output_tokens":100}}}}
{"type":"event_msg","payload":{"type":"token_count","info":null}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":4000,"cached_input_tokens":1000,"output_tokens":200}}}}
`
	geminiBegin  = `{"type":"init","session_id":"g1","model":"a"}` + "\n" + `{"type":"message","role":"assistant","delta":true,"content":"Done."}` + "\n"
	geminiEnd    = `{"type":"result","status":"success","stats":{"total_tokens":5400,"input_tokens":5000,"output_tokens":300,"cached":1000,"models":{"a":{"total_tokens":4300,"input_tokens":4000,"output_tokens":200,"cached":1000},"b":{"total_tokens":1100,"input_tokens":1000,"output_tokens":100}}}}` + "\n"
	geminiWrites = `{"sessionId":"g1","kind":"main"}
{"id":"1","type":"user","tokens":{"input":7}}
{"id":"2","type":"gemini","tokens":{"input":1000,"output":60,"cached":500,"thoughts":40,"tool":0},"model":"a"}
{"id":"2","type":"gemini","tokens":{"input":1000,"output":60,"cached":500,"thoughts":40,"tool":0},"model":"a","toolCalls":[]}
{"id":"3","type":"gemini","tokens":{"input":2000,"output":100,"cached":500,"thoughts":0,"tool":0},"model":"b"}
`
	copilotSays   = `{"type":"assistant.message","data":{"messageId":"x","model":"a","content":"Done.","outputTokens":100}}` + "\n"
	copilotWrites = `{"type":"span","spanId":"1","attributes":{"gen_ai.operation.name":"execute_tool","gen_ai.usage.input_tokens":9}}
{"type":"span","spanId":"2","attributes":{"gen_ai.operation.name":"chat","gen_ai.response.model":"a","gen_ai.usage.input_tokens":1000,"gen_ai.usage.output_tokens":100,"gen_ai.usage.cache_read.input_tokens":500}}
{"type":"span","spanId":"3","attributes":{"gen_ai.operation.name":"invoke_agent","gen_ai.usage.input_tokens":1000,"gen_ai.usage.output_tokens":100}}
`
)

// TestUsageTold: what is counted of a stream and of what its client writes beside it,
// and what that costs.
func TestUsageTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, format, stream, ledger string
		o                            Options
		want                         string
	}{
		{"claude in mid-run", "claude", claudeInit + claudeWork, "", Options{Price: prices}, "2 requests, 10500 in (9000 read, 0 written), 51 out, ≈ 0.119100"},
		{"claude, no prices", "claude", claudeInit + claudeWork, "", Options{}, "2 requests, 10500 in (9000 read, 0 written), 51 out, unknown"},
		{"claude's transcript", "claude", claudeInit + claudeWork, claudeWrites, Options{Price: prices}, "2 requests, 10500 in (9000 read, 0 written), 450 out, ≈ 0.159000"},
		{"claude's end", "claude", claudeInit + claudeWork + claudeEnd, claudeWrites, Options{Price: prices}, "2 requests, 10500 in (9000 read, 0 written), 450 out, 0.250000"},
		{"claude goes on after its end", "claude", claudeInit + claudeWork + claudeEnd + strings.NewReplacer(`"m1"`, `"n1"`, `"m2"`, `"n2"`).Replace(claudeWork), "", Options{Price: prices},
			"4 requests, 21000 in (18000 read, 0 written), 501 out, ≈ 0.369100"},
		{"a model without a price", "claude", claudeInit + strings.ReplaceAll(claudeWork, `"b"`, `"c"`), "", Options{Price: prices}, "2 requests, 10500 in (9000 read, 0 written), 51 out, unknown"},
		{"codex in mid-run", "codex", codexBegin, codexWrites, Options{Price: prices}, "2 requests, 4000 in (1000 read, 0 written), 200 out, ≈ 0.051000"},
		{"older codex", "codex", codexBegin, codexOlder, Options{Price: prices}, "0 requests, 4000 in (1000 read, 0 written), 200 out, ≈ 0.051000"},
		{"codex's end", "codex", codexBegin + codexEnd, codexWrites, Options{Price: prices}, "2 requests, 5000 in (1000 read, 0 written), 300 out, ≈ 0.071000"},
		{"codex, nothing written", "codex", codexBegin + codexEnd, "", Options{Price: prices}, "1 requests, 5000 in (1000 read, 0 written), 300 out, unknown"},
		{"codex, the command's model", "codex", codexBegin + codexEnd, "", Options{Price: prices, Model: "a"}, "1 requests, 5000 in (1000 read, 0 written), 300 out, ≈ 0.071000"},
		{"gemini in mid-run", "gemini", geminiBegin, geminiWrites, Options{Price: prices}, "2 requests, 3000 in (1000 read, 0 written), 200 out, ≈ 0.270500"},
		{"gemini's end", "gemini", geminiBegin + geminiEnd, "", Options{Price: prices}, "1 requests, 5000 in (1000 read, 0 written), 400 out, ≈ 0.261000"},
		{"copilot", "copilot", copilotSays, copilotWrites, Options{Price: prices}, "1 requests, 1000 in (500 read, 0 written), 100 out, ≈ 0.015500"},
		{"copilot, nothing written", "copilot", copilotSays, "", Options{Price: prices}, "1 requests, 0 in (0 read, 0 written), 100 out, unknown"},
		{"a client with zeros", "opencode", step(0) + step(0), "", Options{Zeros: true}, "2 requests, 2000 in (0 read, 0 written), 0 out, unknown"},
		{"and prices", "opencode", step(0) + step(0.5), "", Options{Zeros: true, Price: prices, Model: "a"}, "2 requests, 2000 in (0 read, 0 written), 0 out, ≈ 0.510000"},
		{"of others", "opencode", step(0) + step(0.5), "", Options{Zeros: true, Price: prices, Model: "c"}, "2 requests, 2000 in (0 read, 0 written), 0 out, unknown"},
		{"a client without", "opencode", step(0) + step(0), "", Options{}, "2 requests, 2000 in (0 read, 0 written), 0 out, 0.000000"},
		{"cline", "cline", clineUsage(1000, 0) + clineUsage(2000, 0), "", Options{Zeros: true, Price: prices, Model: "a"}, "2 requests, 2000 in (0 read, 0 written), 0 out, ≈ 0.020000"},
		{"cline tells", "cline", clineUsage(1000, 0.25) + clineUsage(2000, 0.5), "", Options{Zeros: true, Price: prices, Model: "a"}, "2 requests, 2000 in (0 read, 0 written), 0 out, 0.500000"},
		{"no ledger of this format", "opencode", step(1), codexWrites, Options{}, "1 requests, 1000 in (0 read, 0 written), 0 out, 1.000000"},
		{"a garbled ledger", "codex", codexBegin + codexEnd, "\x00{\"type\":\n[]\n{\"type\":\"token_usage_record\",\"payload\":{\"usage\":{\"input_tokens\":-5,\"output_tokens\":1e300}}}\n", Options{Price: prices},
			"1 requests, 5000 in (1000 read, 0 written), 300 out, unknown"},
		{"torn", "claude", claudeInit + claudeWork[:len(claudeWork)-40], claudeWrites[:len(claudeWrites)-150], Options{Price: prices}, "1 requests, 10000 in (9000 read, 0 written), 400 out, ≈ 0.059000"},
	} {
		for _, size := range []int{0, 1} { // at once and byte by byte
			for _, order := range []string{"stream first", "ledger first"} {
				var live []Usage
				tt.o.Live = func(u Usage) { live = append(live, u) }
				d, err := New(tt.format, tt.o)
				if err != nil {
					t.Fatal(err)
				}
				write := map[string]func(){
					"stream first": func() { pieces(tt.stream, size, func(p []byte) { d.Write(p) }); pieces(tt.ledger, size, d.Ledger) },
					"ledger first": func() { pieces(tt.ledger, size, d.Ledger); pieces(tt.stream, size, func(p []byte) { d.Write(p) }) },
				}
				write[order]()
				u := d.Result().Usage
				if diff := cmp.Diff(tt.want, told(u)); diff != "" {
					t.Errorf("%s, %s, %d: (-want +got)\n%s", tt.name, order, size, diff)
				}
				falls(t, tt.name, append(live, u))
			}
		}
	}
}

// TestLedgerOfEarlierRuns: what a resumed session has used before is not the run's.
func TestLedgerOfEarlierRuns(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 22, 13, 0, 2, 500, time.UTC)
	d, err := New("codex", Options{Since: since, Model: "a", Price: prices})
	if err != nil {
		t.Fatal(err)
	}
	d.Ledger([]byte(codexWrites))
	d.Ledger([]byte(`{"timestamp":"2026-11-22T13:00:04Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900000}}}}` + "\n"))
	if got := told(d.Result().Usage); got != "1 requests, 3000 in (1000 read, 0 written), 100 out, ≈ 0.031000" {
		t.Error(got)
	}
}

// TestTotalsOfEarlierRuns: older versions tell only the sum of a thread, which is not
// the run's if it is resumed.
func TestTotalsOfEarlierRuns(t *testing.T) {
	t.Parallel()
	for since, want := range map[int]string{
		1: "0 requests, 4000 in (0 read, 0 written), 0 out, ≈ 0.040000",
		3: "0 requests, 0 in (0 read, 0 written), 0 out, unknown",
	} {
		d, err := New("codex", Options{Since: time.Date(2026, 11, 22, 13, 0, since, 0, time.UTC), Model: "a", Price: prices})
		if err != nil {
			t.Fatal(err)
		}
		for second, sum := range []int{2: 3000, 4: 4000} {
			if sum > 0 {
				d.Ledger(fmt.Appendf(nil, `{"timestamp":"2026-11-22T13:00:%02dZ","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d}}}}`+"\n", second, sum))
			}
		}
		if got := told(d.Result().Usage); got != want {
			t.Errorf("since %d: %s", since, got)
		}
	}
}

// TestManyModels: of more models than are told apart the cost is not known, and what
// is counted is all of them.
func TestManyModels(t *testing.T) {
	t.Parallel()
	d, err := New("claude", Options{Price: func(string, Usage) (float64, bool) { return 1, true }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		fmt.Fprintf(d, `{"type":"assistant","message":{"id":"m%d","model":"%d","content":[],"usage":{"input_tokens":%d,"output_tokens":1}}}`+"\n", i, i, int64(1)<<59)
	}
	u := d.Result().Usage
	if u.Requests != 200 || u.InputTokens != math.MaxInt64 || u.OutputTokens != 200 || u.CostUSD != nil || len(d.told.rest) > maxModels {
		t.Errorf("%s, %d models", told(u), len(d.told.rest))
	}
}

func step(cost float64) string {
	return fmt.Sprintf(`{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls","cost":%v,"tokens":{"input":1000,"output":0}}}`+"\n", cost)
}

func clineUsage(in int, cost float64) string {
	return fmt.Sprintf(`{"type":"agent_event","event":{"type":"usage","totalInputTokens":%d,"totalOutputTokens":0,"totalCost":%v}}`+"\n", in, cost)
}

func told(u Usage) string {
	cost := "unknown"
	if u.CostUSD != nil {
		cost = fmt.Sprintf("%.6f", *u.CostUSD)
	}
	if u.Estimated {
		cost = "≈ " + cost
	}
	return fmt.Sprintf("%d requests, %d in (%d read, %d written), %d out, %s", u.Requests, u.InputTokens, u.CacheRead, u.CacheWrite, u.OutputTokens, cost)
}

func pieces(text string, size int, write func([]byte)) {
	if size == 0 {
		size = max(len(text), 1)
	}
	for text != "" {
		n := min(size, len(text))
		write([]byte(text[:n]))
		text = text[n:]
	}
}

// falls reports what shrinks on the way, but an estimate that is replaced.
func falls(t *testing.T, name string, list []Usage) {
	t.Helper()
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if b.Requests < a.Requests || b.InputTokens < a.InputTokens || b.OutputTokens < a.OutputTokens || b.CacheRead < a.CacheRead ||
			a.CostUSD != nil && b.CostUSD != nil && a.Estimated == b.Estimated && *b.CostUSD < *a.CostUSD {
			t.Errorf("%s: %s, and then %s", name, told(a), told(b))
		}
		if b.CacheRead+b.CacheWrite > b.InputTokens || b.Estimated && b.CostUSD == nil {
			t.Errorf("%s: %s", name, told(b))
		}
	}
}

// FuzzLedger: whatever is written down, and however it comes, what is told never
// shrinks, and memory is bounded.
func FuzzLedger(f *testing.F) {
	for _, text := range []string{claudeWrites, codexWrites, codexOlder, geminiWrites, copilotWrites} {
		f.Add([]byte(text), uint8(3))
	}
	formats := []string{"claude", "codex", "gemini", "copilot"}
	begin := map[string]string{"claude": claudeInit + claudeWork, "codex": codexBegin, "gemini": geminiBegin, "copilot": copilotSays}
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		format := formats[int(which)%len(formats)]
		var live []Usage
		d, err := New(format, Options{Price: func(_ string, u Usage) (float64, bool) {
			return float64(u.InputTokens-u.CacheRead-u.CacheWrite) + float64(u.CacheRead+u.CacheWrite) + float64(u.OutputTokens), true
		}, Live: func(u Usage) { live = append(live, u) }})
		if err != nil {
			t.Fatal(err)
		}
		half := len(text) / 2
		d.Ledger(text[:half])
		io.WriteString(d, begin[format])
		d.Ledger(text[half:])
		falls(t, format, append(live, d.Result().Usage))
		for _, c := range []counter{d.told, d.beside} {
			if len(c.open) > maxOpen || len(c.rest) > maxModels || len(d.early) > maxOpen {
				t.Errorf("%d open, %d models, %d early", len(c.open), len(c.rest), len(d.early))
			}
		}
	})
}
