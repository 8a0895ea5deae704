package orchestrator

import "errors"

// Errors of this package. Sentences for a person are in [InvalidError].
var (
	ErrNotRunning = errors.New("no process runs for this session")
	ErrRunning    = errors.New("a process runs for this session already")
	ErrInvalid    = errors.New("request cannot be carried out as given")
	ErrClosing    = errors.New("the server is going away")
)

// InvalidError says in one sentence why a request was refused and what to do.
// It is an [ErrInvalid].
type InvalidError struct {
	Field    string // as the wire names it: cwd, prompt, model, …
	Sentence string
}

func (e *InvalidError) Error() string        { return e.Sentence }
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }
