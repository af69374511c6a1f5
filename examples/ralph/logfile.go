package main

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/ralph-loop/ralph/progress"
)

// A logFile is the execution log. It stands in the folder that the agent works
// in, which may clean up there: what is deleted is begun again (FAILURES 36).
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
}

func openLog(path string) (*logFile, error) {
	file, err := progress.OpenJSONL(path)
	return &logFile{path: absolute(path), file: file}, err
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.again(); err != nil {
		return 0, err
	}
	return l.file.Write(p)
}

// again opens the file again if it is not the one at its path any more.
func (l *logFile) again() error {
	now, err := os.Stat(l.path)
	if err == nil {
		if open, err := l.file.Stat(); err == nil && os.SameFile(now, open) {
			return nil
		}
	}
	folder := filepath.Dir(l.path)
	if filepath.Base(folder) == ".ralph" {
		if _, err := dotRalph(filepath.Dir(folder)); err != nil {
			return err
		}
	}
	file, err := progress.OpenJSONL(l.path)
	if err != nil {
		return err
	}
	old := l.file
	l.file = file
	return old.Close()
}

func (l *logFile) Close() error { return l.file.Close() }
