package ralph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/process"
	"github.com/ralph-loop/ralph/internal/stream"
)

// ErrLogin is what [Command.Ready] wraps if the client says that it is not logged in.
var ErrLogin = errors.New("the agent is not logged in")

// A loginCheck is how a client says, without a call of a model or the network,
// whether it is logged in. The zero value is of a client that cannot.
type loginCheck struct {
	args []string
	// knows are the arguments with which it shows that it knows args, and shows is what
	// it says then. For a client that would take what it does not know for a prompt.
	knows []string
	shows string
	// denies reads its answer: the words of a no, "" = yes, or nothing that is known.
	denies func(output string, code int) string
	// Signs of a key or a provider of one's own, of which the check knows nothing:
	// variables, arguments, a text in one of the files of config.
	otherEnv, otherArgs []string
	config              func(env []string) []string
	otherText           string
}

// claudeLogin asks claude auth status. Older versions take these words for a prompt and
// call a model, so its help is asked first. Only the method "none" is a no: another one
// that it names may still be a login.
func claudeLogin() loginCheck {
	return loginCheck{
		args: []string{"auth", "status"}, knows: []string{"auth", "--help"}, shows: "claude auth", otherArgs: []string{"--settings", "--bare"},
		denies: func(output string, _ int) string {
			var status struct {
				LoggedIn   *bool
				AuthMethod string
			}
			if json.Unmarshal([]byte(output), &status) != nil || status.LoggedIn == nil || *status.LoggedIn || status.AuthMethod != "none" {
				return ""
			}
			return "claude auth status says that it has no login; 'claude auth login' or ANTHROPIC_API_KEY gives it one"
		},
	}
}

// codexLogin asks codex login status, which knows of OpenAI's login alone: where a
// configuration or an argument names another provider, nothing is concluded from it.
func codexLogin() loginCheck {
	return loginCheck{
		args: []string{"login", "status"},
		denies: func(output string, code int) string {
			if code != 1 || stream.Reason(output) != "Not logged in" {
				return ""
			}
			return "codex login status says: Not logged in; 'codex login' logs it in"
		},
		otherEnv:  []string{"CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY"},
		otherArgs: []string{"--oss", "--local-provider", "--profile", "-p", "model_provider", "--remote"},
		config: func(env []string) []string {
			home := lookup(env, "CODEX_HOME")
			if home == "" {
				home = filepath.Join(lookup(env, "HOME"), ".codex")
			}
			return []string{filepath.Join(home, "config.toml"), "/etc/codex/config.toml", "/etc/codex/managed_config.toml", ".codex/config.toml"}
		},
		otherText: "provider",
	}
}

// Ready asks the client whether it is logged in, where it has a check of its own that
// calls no model: claude and codex have one, in versions that know it. Ready returns
// nil if the client is logged in, and also if that cannot be found out: the client
// has no such check, it uses a provider or a key that its check does not cover, or
// its answer makes no sense. If the client says no, the error wraps [ErrLogin] and is
// [Permanent]. Any other error says that the client could not be asked. The client
// gets the environment of a run, but no sandbox; it takes at most twenty seconds, and
// nothing of it is left running.
//
// A login that is there may still not be accepted: only a run shows that.
//
// It never calls a model, so it costs nothing and can be asked before each loop.
// [Command.Validate] looks at less, and starts no program.
func (c *Command) Ready(ctx context.Context) error {
	if len(c.Args) == 0 {
		return errNoArgs
	}
	check := c.client().login
	env := c.environ(os.TempDir())
	if check.args == nil || check.other(c.Args, env) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if check.knows != nil {
		if output, _, err := c.ask(ctx, env, check.knows); err != nil || !strings.Contains(output, check.shows) {
			return err
		}
	}
	output, code, err := c.ask(ctx, env, check.args)
	if err != nil {
		return err
	}
	if why := check.denies(output, code); why != "" {
		return Permanent(fmt.Errorf("ralph: %w: %s", ErrLogin, why))
	}
	return nil
}

// client is what is known of the client, if it is one of the presets'. It goes by the
// program's name and the format together: a script that is called claude but prints
// text is somebody's own.
func (c *Command) client() client {
	program := strings.TrimSuffix(filepath.Base(c.Args[0]), ".exe")
	for _, known := range clients() {
		if known.preset != "" && known.format == c.Format && known.command.Args[0] == program {
			return known
		}
	}
	return client{}
}

// other reports whether there are signs of a login that the check knows nothing of.
// A file that cannot be read has none.
//
// The check must never refuse a client that works. So whatever might be a login counts
// as one, and the run shows the truth.
func (l loginCheck) other(args, env []string) bool {
	if slices.ContainsFunc(l.otherEnv, func(name string) bool { return lookup(env, name) != "" }) {
		return true
	}
	for _, arg := range args[1:] {
		name, _, _ := strings.Cut(arg, "=")
		if slices.Contains(l.otherArgs, name) {
			return true
		}
	}
	if l.config == nil {
		return false
	}
	return slices.ContainsFunc(l.config(env), func(file string) bool {
		text, err := ReadFile(file, 1<<20) // one of them is in the workspace: it may be anything
		return err == nil && strings.Contains(string(text), l.otherText)
	})
}

// lookup is a variable of an environment, "" if it is not there.
func lookup(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v // the last counts
		}
	}
	return value
}

// ask runs the client with other arguments and returns the beginning of what it
// prints, of standard error if it prints nothing else.
func (c *Command) ask(ctx context.Context, env, args []string) (output string, code int, err error) {
	var stdout, stderr strings.Builder
	const most = 16 << 10
	exit, err := process.Run(ctx, process.Cmd{
		Args: slices.Concat(c.Args[:1], args), Env: env, Grace: time.Second,
		Stdout: &atMost{to: &stdout, left: most}, Stderr: &atMost{to: &stderr, left: most},
	})
	if err != nil {
		return "", 0, fmt.Errorf("ralph: %s %s: %w", c.Args[0], strings.Join(args, " "), err)
	}
	if blank(stdout.String()) {
		return stderr.String(), exit.Code, nil
	}
	return stdout.String(), exit.Code, nil
}
