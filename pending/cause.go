package pending

import (
	"context"
	"errors"
	"github.com/sayso-dev/sayso/internal/statement"
)

// Causes with which an asker ends the context of [Registry.Ask].
var (
	// ErrDeadline: the deadline that the asker set has passed.
	ErrDeadline = errors.New("nobody answered in time")
	// ErrDetached: this server stops waiting, but the asker does not. Another server, or this
	// one later, asks the same request again.
	ErrDetached = errors.New("the server stopped waiting; the question stays open")
)

// ErrAskerDied is the cause when the asker's process has ended. The question stays
// answerable.
type ErrAskerDied struct {
	Reason string // a sentence for people
}

func (e ErrAskerDied) Error() string { return e.Reason }

// ending returns the status and reason of a request whose asker stopped waiting because of cause.
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
