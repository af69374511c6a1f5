package verify_test

import (
	"os/exec"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

func BenchmarkExternal(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("external", func(b *testing.B) {
		v := verify.External{Args: []string{"true"}}
		claim := ralph.Claim{Task: ralph.Task{Dir: b.TempDir()}, Promised: true}
		for b.Loop() {
			if got, err := v.Verify(b.Context(), claim); err != nil || !got.Passed {
				b.Fatal(got, err)
			}
		}
	})
}
