package verifytest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// Model is somebody's own runner: it asks a model by HTTP.
type Model struct{ URL string }

func (m Model) Run(ctx context.Context, req ralph.Request) (ralph.Response, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, strings.NewReader(req.Prompt))
	if err != nil {
		return ralph.Response{}, ralph.Permanent(err)
	}
	resp, err := http.DefaultClient.Do(ask)
	if err != nil {
		return ralph.Response{}, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return ralph.Response{}, ralph.Permanent(fmt.Errorf("model: %s", resp.Status))
	case http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return ralph.Response{}, ralph.RetryAfter(fmt.Errorf("model: %s", resp.Status), time.Duration(seconds)*time.Second)
	}
	var said strings.Builder
	to := io.Writer(&said)
	if req.Display != nil {
		to = show{&said, req.Display}
	}
	_, err = io.Copy(to, resp.Body)
	return ralph.Response{Output: said.String(), Usage: ralph.Usage{Requests: 1}}, err
}

// show writes to two writers, and does not mind if the second cannot be written.
type show struct{ answer, display io.Writer }

func (s show) Write(p []byte) (int, error) {
	_, _ = s.display.Write(p)
	return s.answer.Write(p)
}

func ExampleTestRunner() {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prompt, _ := io.ReadAll(r.Body)
		switch what, _, _ := strings.Cut(string(prompt), "\n"); what {
		case "greet":
			fmt.Fprintln(w, "Hello.")
		case "think":
			fmt.Fprintln(w, "Let me see.")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "busy":
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer model.Close()

	err := verifytest.TestRunner(Model{model.URL}, verifytest.Runs{
		Good: verifytest.Run{Request: ralph.Request{Prompt: "greet"}, Says: "Hello."},
		Long: verifytest.Run{Request: ralph.Request{Prompt: "think"}, Says: "Let me see."},
		Faults: []verifytest.Run{
			{Request: ralph.Request{Prompt: "who are you?"}, Fault: ralph.FaultPermanent},
			{Request: ralph.Request{Prompt: "busy"}, Fault: ralph.FaultRateLimit, RetryAfter: time.Minute},
		},
	})
	if err != nil {
		fmt.Println(err) // in a test: t.Error(err)
	}
	// Output:
}
