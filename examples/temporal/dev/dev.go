// Package dev starts Temporal's development server on this machine.
package dev

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/ralph-loop/ralph/examples/temporal"
)

// Version is the one of the server's program, of which the module proxy has all parts.
const Version = "v1.5.1"

// Program returns the path of the server's program: temporal in the PATH, or one that is
// built into the user's cache folder, which takes some minutes, once.
func Program(ctx context.Context, says io.Writer) (string, error) {
	if path, err := exec.LookPath("temporal"); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "ralph-temporal", Version)
	path := filepath.Join(dir, "temporal")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Fprintf(says, "building Temporal's development server, %s, once; this takes some minutes\n", Version)
	cmd := exec.CommandContext(ctx, "go", "install", "github.com/temporalio/cli/cmd/temporal@"+Version)
	cmd.Dir, cmd.Stdout, cmd.Stderr = os.TempDir(), says, says
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	return path, cmd.Run()
}

// Server starts a server on loopback that keeps what it is told in a file, "" = nowhere.
func Server(ctx context.Context, db string, says io.Writer) (*testsuite.DevServer, error) {
	program, err := Program(ctx, says)
	if err != nil {
		return nil, fmt.Errorf("temporal's development server: %w", err)
	}
	return testsuite.StartDevServer(context.WithoutCancel(ctx), testsuite.DevServerOptions{
		ExistingPath: program, DBFilename: db, LogLevel: "never", Stdout: io.Discard, Stderr: says,
		ClientOptions:    &client.Options{Logger: Quiet()},
		SearchAttributes: sdk.NewSearchAttributes(temporal.TaskKey.ValueSet(""), temporal.AgentKey.ValueSet(""), temporal.StopKey.ValueSet(""), temporal.CostKey.ValueSet(0), temporal.SumKey.ValueSet("")),
	})
}

// Quiet is a log that says nothing.
func Quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }
