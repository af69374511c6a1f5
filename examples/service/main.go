// Command service runs loops over HTTP: a small one to copy, on ralph's public API.
//
//	service -agent claude -check test='go test ./...' ~/src
//
// Whoever has the token starts loops below ~/src, watches them, guides, pauses and cancels
// them, with curl or on the page at http://localhost:8321. They choose among the agents and
// the checks that the operator has named here; they name no commands.
//
// What loops do is on record in a folder of the user's, and nothing else is the truth: a
// service that was stopped, or killed, goes on with its loops when it is started again.
// SIGINT and SIGTERM interrupt them; the second one does not wait for the agents.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/progress"
	"github.com/ralph-loop/ralph/verify"
)

// A service is what the operator allows, and the loops.
type service struct {
	pool           progress.Pool
	host           string   // by which it is called, beside localhost
	folders        []string // below which loops may work
	agents, checks named    // by their names, the shell lines; of a known client ""
}

// A named is a flag NAME=LINE, or NAME, that may be given several times.
type named map[string]string

func (n named) add(text string) error {
	name, line, _ := strings.Cut(text, "=")
	n[name] = line
	_, err := theAgent(name, line) // of a check, too, that no line is refused
	return err
}

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	hurry, signals := make(chan struct{}), make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(fmt.Errorf("stopped: %v", <-signals))
		<-signals
		close(hurry)
	}()
	s := &service{agents: named{}, checks: named{}}
	address := flag.String("addr", "127.0.0.1:8321", "the `address` to listen on; there is no TLS, so beyond this machine put a proxy before it")
	flag.StringVar(&s.host, "host", "", "the `name` by which such a proxy is called")
	flag.IntVar(&s.pool.Slots, "slots", 4, "how `many` loops run at the same time; the others wait")
	flag.Func("agent", "an agent to choose: the `NAME` of a known client, or NAME=COMMAND, a shell line that reads its prompt from standard input; again for more", s.agents.add)
	flag.Func("check", "a check to choose: `NAME=COMMAND`, a shell line that succeeds when the task is done; again for more", s.checks.add)
	flag.Parse()
	if err := s.serve(ralph.Hurry(ctx, hurry), *address, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "service:", progress.PrintableLine(err.Error()))
		os.Exit(1)
	}
}

// serve serves until ctx is done and all loops have been interrupted.
func (s *service) serve(ctx context.Context, address string, folders []string) error {
	token, err := s.open(folders)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	server := &http.Server{
		BaseContext: func(net.Listener) context.Context { return ctx }, // who watches is let go when it is done
		Handler:     s.handler(token), ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: 4 * patience, MaxHeaderBytes: 64 << 10,
	}
	go func() { cancel(server.Serve(listener)) }()
	slog.Info("serving", "url", "http://"+listener.Addr().String(), "records", s.pool.Dir.Path)
	slog.Info("ended", "cause", s.pool.Run(ctx))
	time.AfterFunc(patience/10, func() { server.Close() }) // who is slow is not waited for
	return errors.Join(server.Shutdown(context.WithoutCancel(ctx)), s.pool.Dir.Close())
}

// open finds the folders, those below which loops may work and that of the records, and
// the token. Loops must not work among the records: who can write there can say that a
// loop was verified.
func (s *service) open(folders []string) (token string, err error) {
	if len(folders) == 0 || len(s.agents) == 0 || len(s.checks) == 0 {
		return "", errors.New("it takes an -agent, a -check and the FOLDERs below which loops may work; -help tells more")
	}
	for _, folder := range folders {
		folder, _ = filepath.Abs(folder)                             // what fails here fails below
		if folder, err = filepath.EvalSymlinks(folder); err != nil { // a link could lead elsewhere
			return "", err
		}
		s.folders = append(s.folders, folder)
	}
	records, err := progress.WorkspaceDir("/") // whatever the folders are, and in whichever order
	if err != nil {
		return "", err
	}
	records.Path = filepath.Join(records.Path, "service")
	if err = records.Make(); err == nil {
		token, err = theToken(filepath.Join(records.Path, "token"))
	}
	if _, outside := s.workspace(records.Path); outside == nil {
		err = fmt.Errorf("loops could write to their own records, in %s; XDG_STATE_HOME can name another folder", records.Path)
	}
	records.Redactor.Secrets = append(progress.SecretsIn(os.Environ()), token)
	s.pool.Dir, s.pool.Build, s.pool.Alone = records, s.build, true
	s.pool.Failed = func(loop string, err error) {
		slog.Warn("not run", "loop", loop, "why", progress.Printable(err.Error()))
	}
	return token, err
}

// theToken is the secret of this service: in the environment, or in a file, which is made
// if it is not there. Agents inherit the environment, so it is taken out of that.
func theToken(path string) (string, error) {
	const name = "RALPH_SERVICE_TOKEN"
	token := os.Getenv(name)
	os.Unsetenv(name)
	text, err := ralph.ReadFile(path, 4<<10)
	if token != "" {
		err = nil
	} else if token = strings.TrimSpace(string(text)); errors.Is(err, fs.ErrNotExist) {
		token = rand.Text()
		err = progress.File{Path: path}.Replace([]byte(token))
		slog.Info("made a token, told this once", "token", token, "file", path)
	}
	if err == nil && len(token) < 16 {
		err = fmt.Errorf("a token of less than 16 characters can be guessed; put a longer one into %s or %s", name, path)
	}
	return token, err
}

// build makes what runs a loop, by what is on record of it and what is allowed now.
func (s *service) build(loop ralph.State, meta map[string]string) (*ralph.Local, error) {
	line, known := s.agents[meta["agent"]]
	check, checks := s.checks[meta["check"]]
	if !known || !checks {
		return nil, fmt.Errorf("there is no agent %q, or no check %q, here", meta["agent"], meta["check"])
	}
	if now, err := s.workspace(loop.Task.Dir); err != nil || now != loop.Task.Dir {
		return nil, fmt.Errorf("loops may not work in %s any more: %w", loop.Task.Dir, err)
	}
	agent, err := theAgent(meta["agent"], line)
	local := &ralph.Local{
		Runner: agent, Verifier: verify.External{Shell: check, Redact: s.pool.Dir.Redactor.String},
		Log: s.pool.Dir.Redactor.Log(progress.Slog(nil)), Evidence: filepath.Join(s.pool.Dir.Path, "evidence"),
	}
	if loop.Task.HowVerified != check { // another one than on record: the agent is told of that which judges it
		local.Prompt = func(_ context.Context, s ralph.State) (string, error) {
			s.Task.HowVerified = check
			return s.Prompt(), nil
		}
	}
	return local, err
}

// theAgent is a shell line, or, without one, the client of that name.
func theAgent(name, line string) (*ralph.Command, error) {
	if line == "" {
		return ralph.Preset(name)
	}
	return &ralph.Command{Args: []string{"sh", "-c", line}}, nil
}

// workspace is the real path of a folder that loops may work in.
func (s *service) workspace(dir string) (string, error) {
	path, err := filepath.EvalSymlinks(dir + "/") // which no file has
	if err != nil {
		return "", fmt.Errorf("dir: %v", err) // and not what HTTP calls not found
	}
	for _, folder := range s.folders {
		if below, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(below) && !strings.Contains("/"+filepath.ToSlash(below)+"/", "/.git/") {
			return path, nil
		}
	}
	return "", fmt.Errorf("dir: %s is not below a folder that loops may work in", path)
}
