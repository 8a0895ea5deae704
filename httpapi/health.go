package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// getHealth reports that the server runs.
func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request, _ account.Identity) error {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

// getReady reports whether the server is ready: the hub runs and the store accepts answers.
func (s *Server) getReady(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	if !s.o.Live.Running() {
		return refusal.GoingAway()
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := s.o.Store.Ping(ctx); err != nil {
		if s.o.Refusals.StoreProblem(err) == wire.ReadOnly {
			return err
		}
		ref := refusal.New("database_down")
		ref.Retry, ref.Cause = time.Second, err
		return ref
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	return nil
}
