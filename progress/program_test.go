package progress_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const advice = "Use the store."

// programMode makes this test binary another program: its value is the program's
// name and its arguments.
const programMode = "PROGRESS_TEST_PROGRAM"

// programs are what it can be.
var programs = map[string]func(args []string) error{"loop": loopProgram, "crowd": crowdProgram, "no locks": withoutLocks, "hook": hookProgram, "cancel": cancelProgram}

func TestMain(m *testing.M) {
	mode := strings.Split(os.Getenv(programMode), "\n")
	if run := programs[mode[0]]; run != nil {
		os.Unsetenv(programMode)
		if err := run(mode[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// program is this test binary as another program.
func program(mode ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), programMode+"="+strings.Join(mode, "\n"))
	return cmd
}
