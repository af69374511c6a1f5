module github.com/ralph-loop/ralph/examples/temporal

go 1.26.0

require (
	github.com/ralph-loop/ralph v0.0.0
	go.temporal.io/sdk v1.50.0
)

replace github.com/ralph-loop/ralph => ../..
