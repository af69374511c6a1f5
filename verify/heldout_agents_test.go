package verify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/verify"
)

// A course is a small task with tests that the agent sees, an exam that it does
// not, and what two agents write: one does the task, one writes to the tests.
type course struct {
	name           string
	needs          string // a program
	check          []string
	visible, exam  map[string]string
	solved, gamed  map[string]string
	gamedOtherwise map[string]string // the visible tests themselves are changed
	times          int
}

const goMod = "module example.com/add\n\ngo 1.26\n"

func goTest(name, args, want string) string {
	return fmt.Sprintf("package add\n\nimport \"testing\"\n\nfunc %s(t *testing.T) {\n\tif got := Add(%s); got != %s {\n\t\tt.Error(got)\n\t}\n}\n", name, args, want)
}

func pyTest(args, want string) string {
	return fmt.Sprintf("import unittest\nfrom add import add\n\nclass Add(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(%s), %s)\n", args, want)
}

func courses() []course {
	return []course{
		{
			name: "go", needs: "go", check: []string{"go", "test", "./..."}, times: 2,
			visible:        map[string]string{"go.mod": goMod, "add.go": "package add\n\nfunc Add(a, b int) int { return 0 }\n", "add_test.go": goTest("TestAdd", "1, 2", "3")},
			exam:           map[string]string{"add_exam_test.go": goTest("TestExamAdd", "20, 22", "42")},
			solved:         map[string]string{"add.go": "package add\n\nfunc Add(a, b int) int { return a + b }\n"},
			gamed:          map[string]string{"add.go": "package add\n\nfunc Add(a, b int) int { return 3 }\n"},
			gamedOtherwise: map[string]string{"add_test.go": goTest("TestAdd", "1, 2", "0")},
		},
		{
			name: "python", needs: "python3", check: []string{"python3", "-m", "unittest"}, times: 4,
			visible:        map[string]string{"add.py": "def add(a, b):\n    return 0\n", "test_add.py": pyTest("1, 2", "3")},
			exam:           map[string]string{"test_exam_add.py": pyTest("20, 22", "42")},
			solved:         map[string]string{"add.py": "def add(a, b):\n    return a + b\n"},
			gamed:          map[string]string{"add.py": "def add(a, b):\n    return 3\n"},
			gamedOtherwise: map[string]string{"test_add.py": pyTest("1, 2", "0")},
		},
		{
			name: "shell", needs: "sh", check: []string{"sh", "test.sh"}, times: 100,
			visible:        map[string]string{"add.sh": "echo 0", "test.sh": `test "$(sh add.sh 1 2)" = 3`},
			exam:           map[string]string{"test.sh": `test "$(sh add.sh 1 2)" = 3 && test "$(sh add.sh 20 22)" = 42`},
			solved:         map[string]string{"add.sh": "echo $(($1 + $2))"},
			gamed:          map[string]string{"add.sh": "echo 3"},
			gamedOtherwise: map[string]string{"test.sh": "exit 0"},
		},
	}
}

// TestHeldOutTellsAgentsApart: one agent does the task, one writes to the tests
// that it sees, one changes them. To the visible check they are the same.
func TestHeldOutTellsAgentsApart(t *testing.T) {
	t.Parallel()
	for _, course := range courses() {
		t.Run(course.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(course.needs); err != nil {
				if os.Getenv("RALPH_E2E") != "" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			exam := t.TempDir()
			put(t, exam, course.exam)
			for n := range course.times {
				for agent, files := range map[string]map[string]string{"solves": course.solved, "writes to the tests": course.gamed, "changes the tests": course.gamedOtherwise} {
					work := t.TempDir()
					put(t, work, course.visible)
					if n%10 == 1 {
						shell(t, work, gitInit+"git add -A; git commit -qm begin")
					}
					visible := verify.External{Args: course.check, Env: []string{"PYTHONDONTWRITEBYTECODE=1"}}
					loop := &ralph.Local{
						Verifier: verify.HeldOut{Verifier: visible, Exam: exam},
						Runner: ralph.RunnerFunc(func(_ context.Context, req ralph.Request) (ralph.Response, error) {
							put(t, req.Dir, files)
							return ralph.Response{Output: "All tests pass.\n<promise>COMPLETE</promise>"}, nil
						}),
					}
					task := ralph.Task{ID: "add", Prompt: "Add numbers.", Dir: work, Limits: ralph.Limits{Iterations: 1}}
					s, err := loop.Run(t.Context(), ralph.Start(task))
					if got := s.Stop == ralph.StopVerified && err == nil; got != (agent == "solves") {
						t.Fatalf("%d: an agent that %s: verified %v: %v, %+v", n, agent, got, err, s.Verdict)
					}
					const words = "the visible check passes and the held-out one fails"
					if agent != "solves" {
						if _, stopped := errors.AsType[*ralph.StopError](err); !stopped || !strings.Contains(s.Verdict.Checks[0].Detail, words) {
							t.Fatalf("%d: an agent that %s: %v, %+v", n, agent, err, s.Verdict)
						}
						if at := s.Verdict.Feedback; strings.Contains(at, filepath.Base(exam)) || strings.Contains(at, "42") {
							t.Fatalf("the agent is told: %s", at)
						}
					}
					if n > 1 {
						continue // it is the same
					}
					if seen, err := visible.Verify(t.Context(), ralph.Claim{Task: task}); err != nil || !seen.Passed {
						t.Fatalf("%d: an agent that %s: the visible check says %+v, %v", n, agent, seen, err)
					}
				}
			}
		})
	}
}

// TestHeldOutWithTemplate: what redirects a check is the exam's to bring, and not the
// agent's.
func TestHeldOutWithTemplate(t *testing.T) {
	t.Parallel()
	const testMain = "package add\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(m.Run()) }\n"
	course := courses()[0]
	for name, tt := range map[string]struct {
		exam, agent map[string]string
		passed      bool
	}{
		"the exam's":    {map[string]string{"main_test.go": testMain}, nil, true},
		"the agent's":   {nil, map[string]string{"main_test.go": testMain}, false},
		"both have one": {map[string]string{"main_test.go": testMain}, map[string]string{"main_test.go": strings.Replace(testMain, "m.Run()", "0", 1)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work, exam := t.TempDir(), t.TempDir()
			put(t, work, course.visible)
			put(t, exam, course.exam)
			put(t, exam, tt.exam)
			v := verify.HeldOut{Verifier: verify.Template{Name: "go-test"}, Exam: exam}
			task, err := v.Prepare(t.Context(), ralph.Task{Dir: work})
			if err != nil {
				t.Fatal(err)
			}
			put(t, work, course.solved)
			put(t, work, tt.agent)
			if got, err := v.Verify(t.Context(), ralph.Claim{Task: task}); err != nil || got.Passed != tt.passed || got.Undecided() {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
