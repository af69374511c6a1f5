package ralph

import (
	"context"
	"fmt"
	"io"
)

// Replay returns a [Runner] that answers from a script: iteration n gets the nth
// output, however often it is tried. An iteration beyond the script is a permanent
// error. It is for tests and examples, and safe for concurrent use. It writes each
// output to Display and Raw, too, and tells one request and one message of unknown
// cost: enough to test a driver, its log and its limits without a client or a model.
func Replay(outputs ...string) Runner {
	return RunnerFunc(func(_ context.Context, req Request) (Response, error) {
		if req.Iteration < 1 || req.Iteration > len(outputs) {
			return Response{}, Permanent(fmt.Errorf("replay: the script has %d answers, none for iteration %d", len(outputs), req.Iteration))
		}
		output := outputs[req.Iteration-1]
		for _, w := range []io.Writer{req.Display, req.Raw} {
			if w != nil {
				io.WriteString(w, output+"\n")
			}
		}
		return Response{Output: output, Usage: Usage{Requests: 1, Messages: 1}}, nil
	})
}
