package ralph_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
)

// agentMode makes this test binary an agent: a real process that prints much
// and fast.
const agentMode = "RALPH_TEST_AGENT"

func TestMain(m *testing.M) {
	if mode := os.Getenv(agentMode); mode != "" {
		runAgent(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runAgent prints as its mode says, "KIND BYTES".
func runAgent(mode string) {
	kind, size, _ := strings.Cut(mode, " ")
	n, _ := strconv.Atoi(size)
	switch kind {
	case "text":
		repeat("The agent ran the tests again and saw that 3 of them fail in the parser.\n", n)
		fmt.Println("<promise>COMPLETE</promise>")
	case "json": // a realistic mix: most bytes are tool results
		tool := strings.Repeat(`ok  \tgithub.com/x/y\t0.2s\n\tif err != nil {\n\t\treturn fmt.Errorf(\"open %q: %w\", name, err)\n`, 60)
		repeat(fmt.Sprintf(`{"type":"assistant","message":{"id":"msg_1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"go test ./..."}}],"usage":{"input_tokens":10,"output_tokens":3}},"parent_tool_use_id":null}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"%s"}]},"tool_use_result":{"stdout":"%s"}}
{"type":"assistant","message":{"id":"msg_2","content":[{"type":"text","text":"I look at the failures."}],"usage":{"input_tokens":10,"output_tokens":3}},"parent_tool_use_id":null}
`, tool, tool), n)
		fmt.Println(`{"type":"result","subtype":"success","is_error":false,"result":"Done.\n<promise>COMPLETE</promise>","total_cost_usd":0.5}`)
	case "host":
		runHost(size)
	case "ask":
		runAsk()
	case "relay":
		runRelay(n)
	case "line": // one line of JSON, one string
		fmt.Print(`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"`)
		repeat(`All is well, and \"quoted\" too.\n`, n)
		fmt.Println(`\n<promise>COMPLETE</promise>"}]},"parent_tool_use_id":null}`)
		fmt.Println(`{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":0.5}`)
	}
}

// repeat prints n bytes, roughly, of a text in big pieces.
func repeat(text string, n int) {
	block := strings.Repeat(text, 1<<20/len(text)+1)
	w := bufio.NewWriterSize(os.Stdout, 0)
	for n > 0 {
		io.WriteString(w, block)
		n -= len(block)
	}
	w.Flush()
}
