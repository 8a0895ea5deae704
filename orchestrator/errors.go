package orchestrator

import (
	"errors"

	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// Errors that callers distinguish. An error for people is a [problem.Error] instead.
var (
	ErrNotRunning = errors.New("no process runs for this session")
	ErrRunning    = errors.New("a process runs for this session already")
	ErrClosing    = errors.New("the server is going away")
	// ErrRunnerLost means that the connection to the runner was lost. The runner may have carried
	// out what it was asked to do.
	ErrRunnerLost = launch.ErrUnreachable
)
