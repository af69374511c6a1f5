package verifytest_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify/verifytest"
)

// TestOwnRunners runs the runners of this module through the kit.
func TestOwnRunners(t *testing.T) {
	t.Parallel()
	replay := func(n int, says string) verifytest.Run {
		return verifytest.Run{Request: ralph.Request{Prompt: "Go on.", Iteration: n}, Says: says}
	}
	beyond := replay(3, "")
	beyond.Fault = ralph.FaultPermanent
	good := verifytest.Run{Request: ralph.Request{Prompt: "Go on."}, Says: goodWords}
	for _, tt := range []struct {
		name string
		r    ralph.Runner
		runs verifytest.Runs
	}{
		{"Replay", ralph.Replay(goodWords, otherWords), verifytest.Runs{Good: replay(1, goodWords), Other: replay(2, otherWords), Faults: []verifytest.Run{beyond}}},
		{"RunnerFunc", ralph.RunnerFunc(soundRunner), runs()},
		{"Judge", verifytest.Judge(func(string) bool { return true }), verifytest.Runs{
			Good:   verifytest.Run{Request: ralph.Request{Prompt: "Judge.\nThe criteria:\n1. it works\n\n"}, Says: "1. VERIFIED"},
			Faults: []verifytest.Run{{Request: ralph.Request{Prompt: "Hello."}, Fault: ralph.FaultError}},
		}},
		{"Command, text", agent(ralph.FormatText, "true"), textRuns(good)},
		{"Command, claude", agent(ralph.FormatClaude, "true"), claudeRuns(good)},
		{"Command, claude, filtered", agent(ralph.FormatClaude, "true"), filtered(claudeRuns(good))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, ok := tt.r.(*ralph.Command); ok && runtime.GOOS == "windows" {
				t.Skip("a Command does not run here")
			}
			if err := verifytest.TestRunner(tt.r, tt.runs); err != nil {
				t.Error(err)
			}
		})
	}
}

// agent is a client that is a shell script.
func agent(format ralph.Format, script string) *ralph.Command {
	return &ralph.Command{Args: []string{"/bin/sh", "-c", script}, Format: format, Grace: time.Second}
}

// by is a run of a script.
func by(run verifytest.Run, format ralph.Format, says string, fault ralph.Fault, script string) verifytest.Run {
	client := agent(format, script)
	if fault == ralph.FaultTimeout {
		client.IdleTimeout = 3 * time.Second
	}
	run.Runner, run.Says, run.Fault = client, says, fault
	return run
}

// textRuns are of a client that prints plain text, repeats its prompt, and begins
// programs that outlive it.
func textRuns(run verifytest.Run) verifytest.Runs {
	text := func(says string, fault ralph.Fault, script string) verifytest.Run {
		return by(run, ralph.FormatText, says, fault, script)
	}
	all := verifytest.Runs{
		Good:  text(goodWords, "", "touch pump; cat; (setsid sleep 300 || sleep 300) >/dev/null 2>&1 & echo '"+goodWords+"'"),
		Other: text(otherWords, "", "echo 'painting' >&2; echo '"+otherWords+"'"),
		Long:  text(longWords, "", "sleep 300 & echo '"+longWords+"'; sleep 300"),
		Faults: []verifytest.Run{
			text("Half of", ralph.FaultError, "echo 'Half of it.'; echo 'it broke' >&2; exit 1"),
			text("", ralph.FaultEmpty, "true"),
			text("I wait", ralph.FaultTimeout, "echo 'I wait.'; sleep 300"),
			text("", ralph.FaultRateLimit, "echo 'Error: 429 rate limit exceeded, retry after 60 seconds' >&2; exit 1"),
			text("", ralph.FaultPermanent, ""),
		},
	}
	all.Good.Writes = "pump"
	all.Faults[3].RetryAfter = time.Minute
	all.Faults[4].Runner = &ralph.Command{Args: []string{"no-such-agent"}}
	return all
}

// filtered has other commands print what the agent says.
func filtered(all verifytest.Runs) verifytest.Runs {
	for _, run := range []*verifytest.Run{&all.Good, &all.Other, &all.Long} {
		run.Runner.(*ralph.Command).Filter.Display = []string{"cat"}
	}
	return all
}

// claudeRuns are of a client that prints a stream.
func claudeRuns(run verifytest.Run) verifytest.Runs {
	says := func(words string) string {
		return `printf '%s\n' '{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":"` + words + `"}],"usage":{"input_tokens":100,"output_tokens":20}}}'` + "\n"
	}
	end := func(rest string) string {
		return `printf '%s\n' '{"type":"result",` + rest + `,"total_cost_usd":0.5,"usage":{"input_tokens":100,"output_tokens":25}}'` + "\n"
	}
	well := end(`"subtype":"success","is_error":false`)
	stream := func(words string, fault ralph.Fault, script string) verifytest.Run {
		return by(run, ralph.FormatClaude, words, fault, script)
	}
	all := verifytest.Runs{
		Good:  stream(goodWords, "", "touch pump\n"+says(goodWords)+"echo 'a warning' >&2\n"+well),
		Other: stream(otherWords, "", says(otherWords)+well),
		Long:  stream(longWords, "", says(longWords)+"trap '' INT\nsleep 300; sleep 300"),
		Faults: []verifytest.Run{
			stream("Half of", ralph.FaultError, says("Half of it.")+end(`"subtype":"error_during_execution","is_error":true,"result":"it broke"`)),
			stream("I am about", ralph.FaultIncomplete, says("I am about to")),
			stream("", ralph.FaultEmpty, well),
			stream("I wait", ralph.FaultTimeout, says("I wait.")+"sleep 300"),
			stream("", ralph.FaultPermanent, end(`"subtype":"success","is_error":true,"result":"Invalid API key · Please run /login"`)),
		},
	}
	all.Good.Writes = "pump"
	return all
}
