// Command train makes model.txt of english.txt, in the folder it is started in.
package main

import (
	"fmt"
	"os"

	"github.com/ralph-loop/ralph/internal/english"
)

func main() {
	text, err := os.ReadFile("english.txt")
	if err == nil {
		text, err = english.Train(string(text))
	}
	if err == nil {
		err = os.WriteFile("model.txt", text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}
