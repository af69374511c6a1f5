package modelserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/modelserver"
)

// An api is what a client of one of the model APIs sends.
type api struct {
	name, path string
	// The request, for answers of both kinds, holds a task, a tool's result and
	// more of the task.
	whole, streamed string
	streamPath      string // "" = path
	args            string // how the shell tool is called, in JSON
	piece           string // the key of the pieces of a text in a stream
}

func apis() []api {
	anthropic := `{"model":"m","stream":STREAM,"messages":[
		{"role":"user","content":"the task"},{"role":"assistant","content":"x"},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"ran"}]},{"type":"text","text":"go on"}]}],
		"tools":[{"name":"Bash","input_schema":{"type":"object","required":["command","description"],
			"properties":{"command":{"type":"string"},"description":{"type":"string"}}}}]}`
	responses := `{"model":"m","stream":STREAM,"input":[
		{"type":"message","role":"user","content":[{"type":"input_text","text":"the task"}]},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]},
		{"type":"function_call_output","call_id":"1","output":"ran"},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}],
		"tools":[{"type":"custom","name":"x"},{"type":"function","name":"shell","parameters":{"type":"object",
			"properties":{"command":{"type":"array","items":{"type":"string"}}}}}]}`
	chat := `{"model":"m","stream":STREAM,"messages":[
		{"role":"system","content":"s"},{"role":"user","content":"the task"},{"role":"assistant","content":"x"},
		{"role":"tool","tool_call_id":"1","content":"ran"},{"role":"user","content":[{"type":"text","text":"go on"}]}],
		"tools":[{"type":"function","function":{"name":"run_commands","parameters":{"type":"object","required":["commands"],
			"properties":{"commands":{"type":"array","items":{"type":"string"}}}}}}]}`
	gemini := `{"contents":[
		{"role":"user","parts":[{"text":"the task"}]},{"role":"model","parts":[{"text":"x"}]},
		{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"ran"}}},{"text":"go on"}]}],
		"tools":[{"functionDeclarations":[{"name":"run_shell_command","parametersJsonSchema":{"type":"object","required":["command"],
			"properties":{"command":{"type":"string"},"is_background":{"type":"boolean"}}}}]}]}`
	both := func(body string) (string, string) {
		return strings.Replace(body, "STREAM", "false", 1), strings.Replace(body, "STREAM", "true", 1)
	}
	list := []api{
		{name: "anthropic", path: "/v1/messages?beta=true", args: `{"command":"ls","description":"scripted"}`, piece: "text"},
		{name: "responses", path: "/v1/responses", args: `{"command":["bash","-c","ls"]}`, piece: "delta"},
		{name: "chat", path: "/v1/chat/completions", args: `{"commands":["ls"]}`, piece: "content"},
		{name: "gemini", path: "/v1beta/models/m:generateContent", streamPath: "/v1beta/models/m:streamGenerateContent?alt=sse", args: `{"command":"ls"}`, piece: "text"},
	}
	for i, body := range []string{anthropic, responses, chat, gemini} {
		list[i].whole, list[i].streamed = both(body)
		if list[i].streamPath == "" {
			list[i].streamPath = list[i].path
		}
	}
	return list
}

func start(t *testing.T, script ...modelserver.Turn) *modelserver.Server {
	t.Helper()
	s, err := modelserver.Start(script...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// post returns the status and the body, with the error of reading it.
func post(t *testing.T, url, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// strs collects the string values of keys in all JSON of a body, streamed or
// not: what a client puts together from the pieces.
func strs(t *testing.T, body string, keys ...string) string {
	t.Helper()
	var b strings.Builder
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				walk(k, e)
			}
		case []any:
			for _, e := range v {
				walk(key, e)
			}
		case string:
			for _, k := range keys {
				if k == key {
					b.WriteString(v)
				}
			}
		}
	}
	docs := []string{body}
	if strings.Contains(body, "data: ") {
		docs = nil
		for line := range strings.SplitSeq(body, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]" {
				docs = append(docs, data)
			}
		}
	}
	for _, d := range docs {
		var v any
		if err := json.Unmarshal([]byte(d), &v); err != nil {
			t.Fatalf("%v: %s", err, d)
		}
		walk("", v)
	}
	return b.String()
}

const said = "I look at <it>, “first”.\n<promise>COMPLETE</promise>"

func TestAPIs(t *testing.T) {
	for _, a := range apis() {
		t.Run(a.name, func(t *testing.T) {
			s := start(t, modelserver.Turn{Text: said}, modelserver.Turn{Text: said}, modelserver.Turn{Shell: "ls"}, modelserver.Turn{Status: 429})
			if status, body, err := post(t, s.URL+a.path, a.whole); err != nil || status != 200 || !strings.Contains(strs(t, body, "text", "content"), said) {
				t.Errorf("whole: status %d, error %v, body %s", status, err, body)
			}
			status, body, err := post(t, s.URL+a.streamPath, a.streamed)
			if got := strs(t, body, a.piece); err != nil || status != 200 || !strings.Contains(got, said) {
				t.Errorf("stream: status %d, error %v, text %q", status, err, got)
			}
			_, body, _ = post(t, s.URL+a.path, a.whole)
			quoted, _ := json.Marshal(a.args)
			if !strings.Contains(body, a.args) && !strings.Contains(body, string(quoted)) {
				t.Errorf("the tool is not called with %s: %s", a.args, body)
			}
			if status, body, err := post(t, s.URL+a.streamPath, a.streamed); err != nil || status != 429 {
				t.Errorf("status %d, error %v, want 429: %s", status, err, body)
			}
			q := s.Requests()[1]
			if diff := cmp.Diff([]string{"the task", "go on"}, q.User); diff != "" {
				t.Errorf("user's messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"ran"}, q.Results); diff != "" {
				t.Errorf("tools' results (-want +got):\n%s", diff)
			}
			if !q.Holds("the t") || q.LastUser() != "go on" || !q.Stream || q.Turn != 2 || s.Left() != 0 {
				t.Errorf("request: %+v; %d turns left, want 0", q, s.Left())
			}
		})
	}
}

// A stream that breaks off has half of the text, and no end.
func TestBreaks(t *testing.T) {
	for _, a := range apis() {
		t.Run(a.name, func(t *testing.T) {
			s := start(t, modelserver.Turn{Text: said, Break: modelserver.BreakDrop}, modelserver.Turn{Text: said, Break: modelserver.BreakError})
			_, body, err := post(t, s.URL+a.streamPath, a.streamed)
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(body, "I look") || strings.Contains(body, "</promise>") {
				t.Errorf("drop: error %v, body %s", err, body)
			}
			_, body, err = post(t, s.URL+a.streamPath, a.streamed)
			if err != nil || !strings.Contains(body, "broken (scripted)") || strings.Contains(body, "</promise>") {
				t.Errorf("error event: error %v, body %s", err, body)
			}
		})
	}
}

// A hanging answer ends when the client goes away, and with the server.
func TestHang(t *testing.T) {
	a := apis()[0]
	s := start(t, modelserver.Turn{Break: modelserver.BreakHang, Repeat: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	ask := func(ctx context.Context) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+a.path, strings.NewReader(a.whole))
		if err == nil {
			_, err = http.DefaultTransport.RoundTrip(req)
		}
		done <- err
	}
	go ask(ctx)
	if q, err := s.Wait(t.Context(), 1); err != nil || !q.Holds("the task") {
		t.Fatalf("request %+v: %v", q, err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the client that goes away gets %v", err)
	}
	if err := s.WaitGone(t.Context(), 1); err != nil {
		t.Error(err)
	}
	go ask(t.Context())
	if _, err := s.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := <-done; err == nil {
		t.Error("the closed server has answered")
	}
	gone, give := context.WithCancelCause(t.Context())
	give(io.ErrClosedPipe)
	if _, err := s.Wait(gone, 3); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("waiting for what does not come: %v", err)
	}
}

// Requests without tools, and those of no known API, take no turn.
func TestSideRequests(t *testing.T) {
	s := start(t, modelserver.Turn{Text: said})
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens", "/v1/responses", "/v1/chat/completions", "/v1beta/models/m:generateContent", "/v1beta/models/m:countTokens", "/v1/models", "/api/probe"} {
		for _, body := range []string{`{"model":"m","messages":[{"role":"user","content":"a title, please"}]}`, `{"model":"m","stream":true,"input":"hi"}`, "no JSON"} {
			status, answer, err := post(t, s.URL+path, body)
			if err != nil || status != 200 || strings.Contains(answer, "promise") {
				t.Errorf("%s: status %d, error %v: %s", path, status, err, answer)
			}
		}
	}
	if s.Left() != 1 || len(s.Requests()) != 0 || len(s.Side()) != 8*3 {
		t.Errorf("%d turns left, %d requests, %d others; want 1, 0, 24", s.Left(), len(s.Requests()), len(s.Side()))
	}
}

// A script that is over, or does not fit, is told to the client as an error that
// it does not retry.
func TestScriptErrors(t *testing.T) {
	a := apis()[0]
	s := start(t, modelserver.Turn{Write: &modelserver.File{Path: "/f", Content: "it's"}}, modelserver.Turn{Shell: "ls"})
	if _, body, _ := post(t, s.URL+a.path, a.whole); !strings.Contains(body, `printf %s 'it'\\''s' > '/f'`) {
		t.Errorf("without a tool that writes, the shell does not: %s", body)
	}
	noShell := strings.Replace(a.whole, `"Bash"`, `"Look"`, 1)
	if status, body, _ := post(t, s.URL+a.path, noShell); status != 400 || !strings.Contains(body, "[Look]") {
		t.Errorf("status %d, want 400 that lists the tools: %s", status, body)
	}
	if status, body, _ := post(t, s.URL+a.path, a.whole); status != 400 || !strings.Contains(body, "no turn for request 3") {
		t.Errorf("status %d, want 400: %s", status, body)
	}
}

// Any tool can be called that a client offers; what it requires is filled in.
func TestCalls(t *testing.T) {
	a := apis()[0]
	call := modelserver.Call{Name: "Bash", Input: `{"command":"ls","timeout":7}`}
	s := start(t, modelserver.Turn{Calls: []modelserver.Call{call, call}}, modelserver.Turn{Calls: []modelserver.Call{{Name: "Look", Input: "{}"}}},
		modelserver.Turn{Calls: []modelserver.Call{{Name: "Bash", Input: "ls"}}})
	if _, body, _ := post(t, s.URL+a.path, a.whole); strings.Count(body, `{"command":"ls","description":"scripted","timeout":7}`) != 2 {
		t.Errorf("the tool is not called twice: %s", body)
	}
	for _, want := range []string{"no tool Look is among [Bash]", "no object"} {
		if status, body, _ := post(t, s.URL+a.path, a.whole); status != 400 || !strings.Contains(body, want) {
			t.Errorf("status %d, want 400 with %q: %s", status, want, body)
		}
	}
}

func TestProxyRefuses(t *testing.T) {
	s := start(t)
	proxy, err := url.Parse(s.ProxyURL)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
	for _, u := range []string{"http://example.invalid/x", "https://example.invalid/x"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("%s: status %d", u, res.StatusCode)
			}
		}
	}
	if diff := cmp.Diff([]string{"GET example.invalid", "CONNECT example.invalid:443"}, s.Escapes()); diff != "" {
		t.Errorf("escapes (-want +got):\n%s", diff)
	}
}

func TestEnv(t *testing.T) {
	s := start(t)
	for _, agent := range []string{"claude", "codex", "gemini", "copilot", "opencode", "cline"} {
		home := t.TempDir()
		env, err := s.Env(agent, home)
		if err != nil {
			t.Error(err)
		}
		for _, want := range []string{"HOME=" + home, "https_proxy=" + s.ProxyURL} {
			if !strings.Contains("\n"+strings.Join(env, "\n")+"\n", "\n"+want+"\n") {
				t.Errorf("%s: %s is missing in %q", agent, want, env)
			}
		}
	}
	if _, err := s.Env("nobody", t.TempDir()); err == nil {
		t.Error("an environment for an unknown agent")
	}
}

// A turn that is made of the request is taken by one without tools, too.
func TestReply(t *testing.T) {
	t.Parallel()
	s, err := modelserver.Start(modelserver.Turn{Reply: func(q modelserver.Request) string { return "You said: " + q.LastUser() }}, modelserver.Turn{Text: "hidden"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ask := func(text string) string {
		resp, err := http.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"`+text+`"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := ask("hello"); !strings.Contains(got, "You said: hello") {
		t.Error(got)
	}
	if got := ask("again"); strings.Contains(got, "hidden") || s.Left() != 1 || len(s.Requests()) != 1 {
		t.Errorf("%s, %d turns left", got, s.Left())
	}
}
