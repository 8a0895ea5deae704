package pending

import (
	"context"
	"errors"
	"github.com/sayso-dev/sayso/internal/statement"
)

// Causes with which an asker ends the context of [Registry.Ask]; see there.
var (
	// ErrDeadline: a deadline that the asker set has passed.
	ErrDeadline = errors.New("nobody answered in time")
	// ErrDetached: this server stops waiting, but the asker does not; somebody
	// will ask the same request again.
	ErrDetached = errors.New("the server stopped waiting; the question stays open")
)

// ErrAskerDied is the cause of an asker whose process ended with the question
// open, which stays answerable.
type ErrAskerDied struct {
	Reason string // a sentence for people
}

func (e ErrAskerDied) Error() string { return e.Reason }

// ending says how a request ends whose asker stopped waiting for this cause.
func ending(cause error) (Status, string) {
	var died ErrAskerDied
	switch {
	case errors.As(cause, &died):
		return Orphaned, died.Reason
	case errors.Is(cause, ErrDeadline), errors.Is(cause, context.DeadlineExceeded):
		return Expired, statement.New("not_answered")
	case errors.Is(cause, context.Canceled):
		return Withdrawn, statement.New("question_withdrawn")
	default:
		return Withdrawn, cause.Error()
	}
}
