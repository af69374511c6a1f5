module github.com/ralph-loop/ralph/internal/markdown

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/ralph-loop/ralph v0.0.0
	github.com/yuin/goldmark v1.7.13
)

require (
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/ralph-loop/ralph => ../..
