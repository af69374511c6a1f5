package spec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/tasks/spec"
)

// A project without a configuration file has the defaults.
func ExampleLoadConfig() {
	config, err := spec.LoadConfig(".ralph/no such file.yaml")
	if errors.Is(err, fs.ErrNotExist) {
		config, err = spec.Config{}, nil
	}
	fmt.Println(config.Enabled("coder"), err)
	// Output: true <nil>
}

// What done means for each agent, with the defaults for what is not said.
func ExampleDefinition_Criteria() {
	file, err := spec.Parse("auth.yaml", []byte(authTask))
	if err != nil {
		fmt.Println(err)
		return
	}
	def := file.Definitions()[0]
	for _, agent := range []string{"coder", "reviewer"} {
		c, err := def.Criteria(agent)
		fmt.Println(agent, c.Promise, c.Method, err)
	}
	task, err := def.Task("coder")
	fmt.Println(spec.Verifier(spec.Env{}).Evidence(task), err) // a command, and no words
	// Output:
	// coder AUTH_IMPLEMENTED external <nil>
	// reviewer REVIEW_PASSED  <nil>
	// true <nil>
}

// A new task file is begun with a definition that a program has made.
func ExampleDefinition_YAML() {
	text, err := spec.Definition{ID: "T1", Title: "Log in", Dependencies: []string{"T0"}}.YAML()
	fmt.Print(string(text), err)
	// Output:
	// task:
	//   id: T1
	//   title: Log in
	//   dependencies:
	//     - T0
	// <nil>
}

// A board writes down how far a task is, for other programs to show. The rest of the file
// stays as it is.
func ExampleFile_SetMetadata() {
	file, err := spec.Parse("tasks.yaml", []byte("- {id: T1, title: Log in} # soon\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = errors.Join(
		file.SetIteration("T1", 2),
		file.SetUpdatedAt("T1", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		file.SetMetadata("T1", "board", json.RawMessage(`{"column":"doing"}`)),
		file.SetMetadata("T1", "board", nil), // and takes it back
	)
	fmt.Print(string(file.Bytes()), err)
	// Output:
	// - {id: T1, iteration: 2, updated_at: 2026-01-02T03:04:05Z, title: Log in} # soon
	// <nil>
}

// A file with nothing but criteria belongs to a task that another program keeps.
func ExampleFile_Fragments() {
	file, err := spec.Parse("criteria.yaml", []byte("outcome: All endpoints want a token\nacceptance_criteria: [A wrong token gets 401]\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range file.Fragments() {
		fmt.Println(c.Outcome, c.Acceptance)
	}
	// Output: All endpoints want a token [A wrong token gets 401]
}

// A column of a database holds what done means: as JSON text, or NULL.
func ExampleCompletion_Scan() {
	var c spec.Completion
	err := c.Scan(`{"outcome": "Prices have VAT", "acceptance_criteria": ["The sum has it too"]}`)
	fmt.Println(c.Outcome, err)
	value, err := c.Value() // what an INSERT stores
	fmt.Println(value, err)
	value, err = spec.Completion{}.Value()
	fmt.Println(value, err)
	// Output:
	// Prices have VAT <nil>
	// {"outcome":"Prices have VAT","acceptance_criteria":["The sum has it too"]} <nil>
	// <nil> <nil>
}

// Tasks that an agent proposes must say what done means.
func ExampleFile_ValidateAdditions() {
	there := []spec.Definition{{ID: "CART", Title: "A cart"}}
	proposed, err := spec.Parse("followup.yaml", []byte("- {id: VAT, title: Taxes, dependencies: [CART]}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(proposed.ValidateAdditions(there))
	// Output: followup.yaml:1:3: VAT: has no completion; its outcome and its acceptance_criteria say what done means
}

// A warning for words that no program here writes.
func ExampleStatus_Known() {
	fmt.Println(spec.StatusDone.Known(), spec.Status("Done").Known())
	// Output: true false
}

// A hook in a settings file of another program: put in, and taken out again.
func ExampleEditFile() {
	dir, err := os.MkdirTemp("", "ralph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "settings.json")
	hook := spec.Insertion{Path: []string{"hooks", "Stop"}, Value: `{"command":"ralph hook"}`, Mark: `"command":"ralph hook`}
	if err := spec.EditFile(path, true, hook); err != nil {
		fmt.Println(err)
		return
	}
	text, err := os.ReadFile(path)
	fmt.Println(strings.Contains(string(text), "ralph hook"), err)
	err = spec.EditFile(path, false, hook)
	_, gone := os.Stat(path)
	fmt.Println(err, errors.Is(gone, fs.ErrNotExist))
	// Output:
	// true <nil>
	// <nil> true
}

// Elements of a list are taken out by what they hold.
func ExampleRemoveJSON() {
	text, err := spec.RemoveJSON([]byte(`{"hooks": ["mine", "ours"], "theme": "dark"}`), func(value []byte) bool {
		return bytes.Equal(value, []byte(`"ours"`))
	}, "hooks")
	fmt.Printf("%s %v\n", text, err)
	// Output: {"hooks": ["mine"], "theme": "dark"} <nil>
}
