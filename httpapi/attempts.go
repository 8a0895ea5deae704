package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/refusal"
)

// beginAttempt counts an attempt to prove an identity. name is the account that it names,
// or "". It returns an error while too many attempts have failed. Otherwise the caller
// calls succeeded after a success.
func (s *Server) beginAttempt(r *http.Request, name string) (succeeded func(), err error) {
	forget, wait, err := s.limiter.BeginAttempt(r.Context(), s.remoteAddress(r), name)
	if err == nil && wait > 0 {
		err = tooManyAttempts(wait)
		s.recordFailure(r, name, err, "")
	}
	if err != nil {
		return nil, err
	}
	return func() {
		if err := forget(); err != nil {
			s.o.Log.ErrorContext(r.Context(), "forget a sign-in that succeeded, which was counted as failed", "error", err)
		}
	}, nil
}

// recordFailure counts a refused sign-in and records it in the audit log, unless the
// server was at fault.
func (s *Server) recordFailure(r *http.Request, name string, err error, method account.Method) {
	limited := false
	switch ref := s.o.Refusals.Of(err); ref.Status {
	case http.StatusTooManyRequests:
		limited = true
	case http.StatusUnauthorized, http.StatusForbidden:
	default:
		return
	}
	s.failedSignIns.Add(1)
	if err := s.o.Directory.NoteFailure(context.WithoutCancel(r.Context()), name, s.remoteAddress(r), method, limited); err != nil {
		s.o.Log.ErrorContext(r.Context(), "record a failed sign-in", "error", err)
	}
}

// recordToken records in the limiter whether a secret was valid.
func (s *Server) recordToken(r *http.Request, hash []byte, isValid bool) {
	if err := s.limiter.RecordToken(context.WithoutCancel(r.Context()), s.remoteAddress(r), hash, isValid); err != nil {
		s.o.Log.ErrorContext(r.Context(), "count a refused token", "error", err)
	}
}

func tooManyAttempts(wait time.Duration) *refusal.Refusal {
	ref := refusal.New("too_many_attempts")
	ref.Retry = wait
	return ref
}
