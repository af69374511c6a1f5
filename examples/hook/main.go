// Command hook is a small host of [ralph.Hook]: a chat that owns its model, and gets the
// loop from the hook. It talks to any endpoint that is shaped like OpenAI's chat
// completions or Anthropic's messages:
//
//	OPENAI_BASE_URL=http://localhost:8080/v1 MODEL=name go run ./examples/hook -verify 'go test ./...'
//	ANTHROPIC_BASE_URL=… ANTHROPIC_API_KEY=… MODEL=name go run ./examples/hook
//
// What is typed goes to the model. "/ralph TASK" starts a loop: the model is asked again
// until it promises that the task is done and the line of -verify agrees; without one its
// word is enough. "/cancel" ends the loop: the answer that is under way is still shown,
// and nothing follows it. When the model could not be reached, an empty line asks again.
// What else is typed while a loop runs waits for its end. Ctrl-C ends the program.
//
// The model has no tools: this shows where the calls of the hook belong in a host.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

const (
	session = "chat" // there is just this one
	ending  = "\n\nWhen all of this is really done, and not before, end your answer with the line <promise>DONE</promise> and nothing after it."
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	hook := &ralph.Hook{Store: &ralph.MemoryStore{}, Verifier: verify.String{}} // the model's word is enough
	flag.Func("verify", "a shell `line` that succeeds when a task is done", func(line string) error {
		hook.Verifier = verify.External{Shell: line}
		return nil
	})
	flag.IntVar(&hook.Task.Limits.Iterations, "max", 100, "the most iterations of a loop; negative = no limit")
	flag.Parse()
	m, err := modelOf(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	chat(ctx, m, hook, os.Stdin, os.Stdout, os.Stderr)
}

// chat is the host. It returns when the input has ended, or ctx is done.
func chat(ctx context.Context, m *model, hook *ralph.Hook, stdin io.Reader, stdout, stderr io.Writer) {
	var messages []ralph.Message
	say := func(role, text string) { messages = append(messages, ralph.Message{Role: role, Content: text}) }
	tell := func(who, what string) { fmt.Fprintf(stderr, "%s: %s\n", who, progress.PrintableLine(what)) }
	hook.Messages = func(context.Context, string) ([]ralph.Message, error) { return messages, nil }
	hook.Inject = func(_ context.Context, _, prompt string) error { say("user", prompt); return nil }
	hook.Notify = func(_ context.Context, n ralph.Notice) { tell(n.Title, n.Message) }
	cancel := func() {
		if _, err := hook.Cancel(ctx, session); err != nil {
			tell("error", err.Error())
		}
	}
	for line := range lines(ctx, stdin, cancel) {
		if task, loop := strings.CutPrefix(line, "/ralph "); loop {
			line = task + ending
			if _, err := hook.Start(ctx, session, ralph.Task{Prompt: line}); err != nil {
				tell("error", err.Error())
				continue
			}
		}
		if line != "" {
			say("user", line)
		}
		for len(messages) > 0 && messages[len(messages)-1].Role == "user" { // its words, or what the hook has injected
			answer, err := m.ask(ctx, messages)
			if err == nil {
				say("assistant", answer)
				fmt.Fprintln(stdout, progress.Printable(answer))
				_, err = hook.Idle(ctx, ralph.Turn{Session: session})
			}
			if err != nil {
				tell("error", err.Error())
				break
			}
		}
	}
}
