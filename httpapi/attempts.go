package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/refusal"
)

// beginAttempt counts an attempt to prove an identity, for the account name, or "" if
// the attempt names none. It returns an error while too many have failed.
func (s *Server) beginAttempt(r *http.Request, name string) (succeeded func(), err error) {
	succeeded, wait, ok := s.limiter.BeginAttempt(s.remoteAddress(r), name)
	if !ok {
		err := tooManyAttempts(wait)
		s.recordFailure(r, name, err, "")
		return nil, err
	}
	return succeeded, nil
}

// recordFailure writes a refused sign-in to the audit log, unless the server was at
// fault.
func (s *Server) recordFailure(r *http.Request, name string, err error, method account.Method) {
	limited := false
	switch ref := s.o.Refusals.Of(err); ref.Status {
	case http.StatusTooManyRequests:
		limited = true
	case http.StatusUnauthorized, http.StatusForbidden:
	default:
		return
	}
	if err := s.o.Directory.NoteFailure(context.WithoutCancel(r.Context()), name, s.remoteAddress(r), method, limited); err != nil {
		s.o.Log.ErrorContext(r.Context(), "record a failed sign-in", "error", err)
	}
}

func tooManyAttempts(wait time.Duration) *refusal.Refusal {
	ref := refusal.New("too_many_attempts")
	ref.Retry = wait
	return ref
}
