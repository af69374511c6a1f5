module github.com/ralph-loop/ralph

go 1.26
