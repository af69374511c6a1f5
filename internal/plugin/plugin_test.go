package plugin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/plugin"
)

var errPlugin = errors.New("a plug-in's error")

func explode() error { panic(errPlugin) }

func TestCall(t *testing.T) {
	t.Parallel()
	if err := plugin.Call("verifier", func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := plugin.Call("verifier", func() error { return errPlugin }); err != errPlugin {
		t.Errorf("an error that was returned became %v", err)
	}

	err := plugin.Call("verifier", explode)
	if err == nil || errors.Is(err, errPlugin) {
		t.Fatalf("got %v", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if lines[0] != "verifier panicked: a plug-in's error" || !strings.Contains(lines[1], "plugin_test.explode") {
		t.Errorf("the stack does not begin where it panicked:\n%v", err)
	}
	if strings.Contains(err.Error(), "plugin.Call(") || strings.Contains(err.Error(), "testing.tRunner") {
		t.Errorf("the stack holds frames of ours:\n%v", err)
	}

	var none map[string]int
	if err := plugin.Call("log", func() error { none["x"] = 1; return nil }); err == nil || !strings.Contains(err.Error(), "nil map") {
		t.Errorf("got %v", err)
	}
	if err := plugin.Call("log", func() error { panic(nil) }); err == nil {
		t.Error("panic(nil) is no panic")
	}
}

// TestBrief: the stack is for people who can read it, also where the error was
// wrapped.
func TestBrief(t *testing.T) {
	t.Parallel()
	err := plugin.Call("the verifier", func() error { panic("no such file") })
	if got := plugin.Brief(fmt.Errorf("verify: %w, and more", err)); got != "verify: the verifier panicked: no such file, and more" {
		t.Errorf("%q", got)
	}
	if got := plugin.Brief(errors.New("one\ntwo")); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
}
