package httpapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// terminalDriver is what terminalHandlers needs from the orchestrator.
type terminalDriver interface {
	SavedSession(ctx context.Context, sessionID string) (orchestrator.SavedSession, error)
	SavedSessions(ctx context.Context) ([]orchestrator.SavedSession, error)
	SavedTranscript(ctx context.Context, sessionID string, before int64) (orchestrator.SavedPage, error)
}

// terminalHandlers serves sessions that were started in a terminal.
type terminalHandlers struct {
	driver terminalDriver
	guard  *access.Guard
}

// mayContinue reports whether a person may see and continue a terminal session: they
// must be allowed to start a session in its folder, where Claude could read the
// transcript for them anyway.
func (s *terminalHandlers) mayContinue(ctx context.Context, who account.Identity, saved orchestrator.SavedSession) bool {
	return s.guard.Start(ctx, who, saved.CWD, "default", nil) == nil
}

func (s *terminalHandlers) getTerminalSessions(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	saved, err := s.driver.SavedSessions(r.Context())
	if err != nil {
		return err
	}
	list := wire.TerminalSessionList{Sessions: []wire.TerminalSession{}}
	allowedByFolder := map[string]bool{}
	for _, terminal := range saved {
		allowed, known := allowedByFolder[terminal.CWD]
		if !known {
			allowed = s.mayContinue(r.Context(), who, terminal)
			allowedByFolder[terminal.CWD] = allowed
		}
		if allowed {
			list.Sessions = append(list.Sessions, wireTerminalSession(terminal))
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func wireTerminalSession(s orchestrator.SavedSession) wire.TerminalSession {
	return wire.TerminalSession{SessionID: s.SessionID, Title: s.Title, CWD: s.CWD, ChangedAt: wire.Seconds(s.ChangedAt), Size: s.Size, Running: s.Running, RunnerID: s.RunnerID, Machine: s.Machine}
}

func (s *terminalHandlers) terminalSession(r *http.Request, who account.Identity) (orchestrator.SavedSession, error) {
	saved, err := s.driver.SavedSession(r.Context(), r.PathValue("id"))
	if err == nil && !s.mayContinue(r.Context(), who, saved) {
		err = session.ErrNotFound
	}
	return saved, err
}

func (s *terminalHandlers) getTerminalSession(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	saved, err := s.terminalSession(r, who)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wireTerminalSession(saved))
	return nil
}

func (s *terminalHandlers) getTerminalTranscript(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	before, err := queryNumber(r.URL.Query().Get("before"), "before", -1, wire.MaxSafeInteger)
	if err != nil {
		return err
	}
	saved, err := s.terminalSession(r, who)
	if err != nil {
		return err
	}
	page, err := s.driver.SavedTranscript(r.Context(), saved.SessionID, before)
	if err != nil {
		return err
	}
	out := wire.TerminalPage{Items: wire.NewItems(page.Items)}
	if page.Before > 0 {
		out.Before = &page.Before
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
