package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A check gets what tools need, and not what else is in the environment.
func TestExternalEnvironment(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{
		"HOME": t.TempDir(), "SHOP_PASSWORD": "s", "GOOGLE_API_KEY": "k", "CLAUDECODE": "1", "GOFLAGS": "-mod=mod", "SHOP_NPM": "t", "npm_config_registry": "r",
	} {
		t.Setenv(name, value)
	}
	write(t, filepath.Join(dir, ".npmrc"), "//registry.example/:_authToken=${SHOP_NPM}\n")
	see := func(e verify.External) (env, detail string) {
		t.Helper()
		e.Shell = "env | sort >env; exit 1"
		v, err := e.Verify(t.Context(), ralph.Claim{Task: ralph.Task{Dir: dir}, Promised: true})
		if err != nil || v.Passed {
			t.Fatalf("%+v, %v", v, err)
		}
		if strings.Contains(v.Feedback, "InheritEnv") {
			t.Errorf("the agent is told of the environment: %s", v.Feedback)
		}
		text, err := os.ReadFile(filepath.Join(dir, "env"))
		if err != nil {
			t.Fatal(err)
		}
		return "\n" + string(text), v.Checks[0].Detail
	}
	for _, tt := range []struct {
		name      string
		e         verify.External
		with, out string // names
		told      string
	}{
		{"the usual", verify.External{Env: []string{"A=1"}}, "PATH HOME GOFLAGS SHOP_NPM npm_config_registry A", "SHOP_PASSWORD GOOGLE_API_KEY CLAUDECODE", "GOOGLE_API_KEY, SHOP_PASSWORD"},
		{"all", verify.External{InheritEnv: []string{"*"}}, "PATH SHOP_PASSWORD GOOGLE_API_KEY", "CLAUDECODE", ""},
		{"named", verify.External{InheritEnv: []string{"PATH", "SHOP_*"}}, "PATH SHOP_PASSWORD SHOP_NPM", "GOFLAGS CLAUDECODE", ""},
		{"none", verify.External{InheritEnv: []string{}, Env: []string{"PATH=/usr/bin:/bin"}}, "PATH", "GOFLAGS SHOP_NPM HOME", ""},
	} {
		env, detail := see(tt.e)
		for _, name := range strings.Fields(tt.with) {
			if !strings.Contains(env, "\n"+name+"=") {
				t.Errorf("%s: %s is missing", tt.name, name)
			}
		}
		for _, name := range strings.Fields(tt.out) {
			if strings.Contains(env, "\n"+name+"=") {
				t.Errorf("%s: %s is there", tt.name, name)
			}
		}
		for _, name := range strings.Split(tt.told, ", ") {
			if !strings.Contains(detail, name) || tt.told == "" && strings.Contains(detail, "InheritEnv") {
				t.Errorf("%s: %s", tt.name, detail)
			}
		}
	}
}
