package verify_test

import (
	"context"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// TestTakes: how long verifiers may take by their own configuration.
func TestTakes(t *testing.T) {
	t.Parallel()
	ten := verify.External{Args: []string{"true"}, Timeout: 10 * time.Minute}
	plain := verify.External{Args: []string{"true"}}
	own := ralph.VerifierFunc(func(context.Context, ralph.Claim) (ralph.Verdict, error) { return ralph.Pass(), nil })
	stages := func(vs ...ralph.Verifier) ralph.Verifier {
		var m verify.MultiStage
		for _, v := range vs {
			m.Stages = append(m.Stages, verify.Stage{Name: "s", Verifier: v})
		}
		return m
	}
	for name, tt := range map[string]struct {
		v    ralph.Verifier
		want time.Duration
	}{
		"stated":     {ten, 10 * time.Minute},
		"not stated": {plain, 5 * time.Minute},
		"none":       {verify.External{Args: []string{"true"}, Timeout: -1}, -1},
		"template":   {verify.Template{Name: "go-test"}, 5 * time.Minute},
		"misspelt":   {verify.Template{Name: "go-tset"}, 0},
		"guard":      {verify.Guard{Verifier: ten}, 10 * time.Minute},
		"only guard": {verify.Guard{}, 0},
		"held out":   {verify.HeldOut{Verifier: ten}, 22 * time.Minute},
		"cache":      {verify.Cache(ten), 10 * time.Minute},
		"judge":      {verify.Semantic{Judge: ralph.Replay()}, 5 * time.Minute},
		"slow judge": {verify.Semantic{Judge: ralph.Replay(), Timeout: time.Hour, Fallback: ten}, 70 * time.Minute},
		"any judge":  {verify.Semantic{Judge: ralph.Replay(), Timeout: -1}, -1},
		"no judge":   {verify.Semantic{Excludes: []string{"x"}, Timeout: time.Hour}, 0},
		"judges":     {stages(verify.Semantic{Judge: ralph.Replay()}, verify.Cache(verify.Semantic{Judge: ralph.Replay()})), 10 * time.Minute},
		"stages":     {stages(ten, verify.String{}, verify.Contradictions{}, verify.Agent("coder"), plain, own), 20 * time.Minute},
		"unbounded":  {stages(ten, verify.External{Args: []string{"true"}, Timeout: -1}), -1},
		"for ever":   {stages(verify.External{Timeout: 1 << 62}, verify.External{Timeout: 1 << 62}), 1<<63 - 1},
	} {
		got := tt.v.(interface {
			Takes(ralph.Task) time.Duration
		}).Takes(ralph.Task{})
		if got != tt.want && !(got < 0 && tt.want < 0) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
