package orchestrator

import "errors"

// Errors of this package. Those for people are a [problem.Error].
var (
	ErrNotRunning = errors.New("no process runs for this session")
	ErrRunning    = errors.New("a process runs for this session already")
	ErrClosing    = errors.New("the server is going away")
)
