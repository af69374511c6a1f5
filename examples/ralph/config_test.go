package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parseConfig(t *testing.T, text string, env map[string]string) (config, string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	warned := ""
	c, err := readConfig(file, true, func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		func(format string, args ...any) { warned += fmt.Sprintf(format, args...) + "\n" })
	return c, warned, err
}

// TestConfigAsBash reads configs and compares with what bash makes of them.
func TestConfigAsBash(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"A=1\nB=two # comment\n# C=3\n\nexport D=4; E=5",
		`A="a b" B='$c "d"' C=e\ f D="g\"h\\i\n\$j" E='a'"b"c`,
		"A=one\nB=\"$A two ${A}\"\nC=$HOME_X/${UNSET}x\nD=${SET_X}",
		": \"${A:=default}\"\n: ${B:='x y'}\nC=${A:-no}${NONE:-\"d e\"}${SET_X:=no}${EMPTY_X:-was empty}${EMPTY_X-kept}",
		"A=\"two\nlines\"\nB=x\\\ny",
		"A=\nB=\"\"\nC=a=b",
		"A=http://x/#y B=a#b",
		`A="${X:="$HOME_X y"}" B=${Y:="$HOME_X/y"} C="${Z:='q r'}" D=${W:='q } r'} E="${V:=a\\}b\"c\\x}"`,
		"A=~/x B=~ C=~:~/y:a~ D='~/x' E=\"~/x\"",
		"A=x~/y B=${N:=~/z} C=${M:-~} D=~other",
		"export\tA=1\nexport A\n:\t${B:=2}\nexport  C=3 D=4",
		"A=1;B=2;\nC=$HOME_X\\$HOME_X D=\"$\" E=a'\n'b",
		"A='.message.content[]? | select(.type == \"text\") | .text'",
	} {
		env := map[string]string{"SET_X": "set", "EMPTY_X": "", "HOME_X": "/home", "HOME": "/home/me"}
		got, _, err := parseConfig(t, text, env)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		cmd := exec.Command("bash", "-c", text+"\nfor n in A B C D E; do printf '%s=%s\\0' $n \"${!n-}\"; done")
		cmd.Env = []string{"SET_X=set", "EMPTY_X=", "HOME_X=/home", "HOME=/home/me"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var want, have strings.Builder
		want.Write(out)
		for _, n := range []string{"A", "B", "C", "D", "E"} {
			fmt.Fprintf(&have, "%s=%s\x00", n, got[n])
		}
		if diff := cmp.Diff(want.String(), have.String()); diff != "" {
			t.Errorf("%s (-bash +ours):\n%s", text, diff)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A=1\nB=$(date)":   "line 2: command substitution",
		"A=`date`":         "line 1: command substitution",
		"A=\"$(date)\"":    "command substitution",
		"A=1\n\necho hi":   `line 3: "echo hi" is not an assignment`,
		"A='x":             "not closed",
		"A=\"x":            "not closed",
		"A=(1 2)":          "array",
		"A=$'x'":           "not known",
		"A=\"${B:=x\"":     "not closed",
		"A=${B:=$(date)}":  "command substitution",
		`A="${B:="$(d)"}"`: "command substitution",
		"A='x\ny'\nexport": "line 3",
		"A=x|y":            "runs nothing",
		"A=${B%%x}":        "only ${NAME}",
		"source other.cfg": "not an assignment",
	} {
		if c, _, err := parseConfig(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", text, c, err, want)
		}
	}
	_, warned, err := parseConfig(t, "AGENT_TPYE=claude\nMY_VAR=1\nID=1\nMODE=x\nMAX_RETRIES=1\nSPEC_DIR=x\nmax_retries=1\n", nil)
	if err != nil || !strings.Contains(warned, "did you mean AGENT_TYPE?") || !strings.Contains(warned, "did you mean SPECS_DIR?") || !strings.Contains(warned, "did you mean MAX_RETRIES?") || strings.Count(warned, "\n") != 3 {
		t.Errorf("%s, %v", warned, err)
	}
}

// TestConfigOfWindows reads what an editor there may leave.
func TestConfigOfWindows(t *testing.T) {
	t.Parallel()
	got, _, err := parseConfig(t, "\uFEFFA=1\r\n# B=2\r\nexport C=\"x y\"\r\nD='z'", nil)
	if diff := cmp.Diff(config{"A": "1", "C": "x y", "D": "z"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestSubstituteAsEnvsubst compares with GNU envsubst, given the same names.
func TestSubstituteAsEnvsubst(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("envsubst"); err != nil {
		if os.Getenv("RALPH_E2E") == "1" {
			t.Fatal("envsubst is not installed; Debian's gettext-base has it")
		}
		t.Skip("envsubst is not installed; Debian's gettext-base has it")
	}
	values := map[string]string{"SPECS_DIR": "spe cs", "MODE": "$MODE ${SPECS_DIR}", "EMPTY": ""}
	for _, text := range []string{
		"${SPECS_DIR}/x $SPECS_DIR/y $MODE ${MODE} $EMPTY|${EMPTY}|",
		"$SPECS_DIRX ${SPECS_DIRX} ${SPECS_DIR $SPECS_DIR} $HOME ${HOME} $ $$ $$MODE $5 ${ } ${}",
		"${MODE:-x} {MODE} {{MODE}} `$MODE` \\$MODE '$MODE' $(MODE) $MODE",
		"line\n$MODE\r\n${MODE}", "", "$", "${", "$MODE", "é$MODEé ${MODE}é",
	} {
		cmd := exec.Command("envsubst", "$SPECS_DIR $MODE $EMPTY")
		cmd.Stdin = strings.NewReader(text)
		for k, v := range values {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(out), substitute(text, values)); diff != "" {
			t.Errorf("%q (-envsubst +ours):\n%s", text, diff)
		}
	}
}
