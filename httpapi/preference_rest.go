package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// preferenceStore holds what preferenceHandlers reads and writes.
type preferenceStore interface {
	ChangePreferences(ctx context.Context, userID string, change account.PreferencesChange) error
	ItemsSince(ctx context.Context, since time.Time, each func(sessionID, inProject string, it session.Item)) error
	Preferences(ctx context.Context, userID string) (account.Preferences, error)
	Waits(ctx context.Context, since time.Time) ([]pending.Wait, error)
}

// preferenceHandlers serves preferences, and what happened while a person was away.
type preferenceHandlers struct {
	store  preferenceStore
	guard  *access.Guard
	alerts *alert.Alerter
}

func (s *preferenceHandlers) getPreferences(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	p, err := s.store.Preferences(r.Context(), who.User.UserID)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Preferences{Keys: p.Keys, SingleKeys: p.SingleKeys, Language: p.Language})
	return nil
}

func (s *preferenceHandlers) patchPreferences(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PreferencesChange
	if err := readBody(r, &body); err != nil {
		return err
	}
	err := s.store.ChangePreferences(r.Context(), who.User.UserID, account.PreferencesChange{Keys: body.Keys, SingleKeys: body.SingleKeys, Language: body.Language})
	if err != nil {
		return err
	}
	if body.Language != nil {
		s.alerts.Refresh()
	}
	return s.getPreferences(w, r, who)
}

// maxLookback bounds how far back catch-up and waiting times go.
const maxLookback = 7 * 24 * time.Hour

// parseSince returns the time in ?since (Unix seconds), at most maxLookback ago.
func parseSince(r *http.Request, now time.Time) (time.Time, error) {
	at, err := strconv.ParseFloat(r.URL.Query().Get("since"), 64)
	if err != nil || !(at >= 0 && at < 1<<40) {
		return time.Time{}, refusal.For("since", "parameter_time", "name", "since")
	}
	since := time.UnixMicro(int64(at * 1e6))
	if oldest := now.Add(-maxLookback); since.Before(oldest) {
		since = oldest
	}
	return since, nil
}

// visibility returns a function that reports whether a person may see the sessions of a project.
func (s *preferenceHandlers) visibility(ctx context.Context, who account.Identity) (func(inProject string) bool, error) {
	book, err := s.guard.Book(ctx)
	if err != nil {
		return nil, err
	}
	return func(inProject string) bool { return access.Sees(book, who, inProject) }, nil
}

func (s *preferenceHandlers) getCatchUp(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	since, err := parseSince(r, time.Now())
	if err != nil {
		return err
	}
	isVisible, err := s.visibility(r.Context(), who)
	if err != nil {
		return err
	}
	all := map[string]*session.CatchUp{}
	if err := s.store.ItemsSince(r.Context(), since, func(id, inProject string, it session.Item) {
		if !isVisible(inProject) {
			return
		}
		if all[id] == nil {
			all[id] = &session.CatchUp{SessionID: id}
		}
		all[id].Add(it)
	}); err != nil {
		return err
	}
	list := wire.CatchUpList{Sessions: []wire.CatchUp{}}
	for id, l := range all {
		if l.HasActivity() {
			list.Sessions = append(list.Sessions, wire.CatchUp{
				SessionID: id, Edits: l.Edits, Files: l.Files, Commands: l.Commands, Tests: l.Tests, Failed: l.Failed,
				Answered: l.Answered, Turns: l.Turns, First: l.First,
			})
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *preferenceHandlers) getWaits(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	now := time.Now()
	since, err := parseSince(r, now)
	if err != nil {
		return err
	}
	isVisible, err := s.visibility(r.Context(), who)
	if err != nil {
		return err
	}
	waits, err := s.store.Waits(r.Context(), since)
	if err != nil {
		return err
	}
	list := wire.WaitList{Waits: []wire.Waited{}}
	waits = slices.DeleteFunc(waits, func(w pending.Wait) bool { return !isVisible(w.InProject) })
	for id, d := range pending.WaitedBySession(waits, since, now) {
		list.Waits = append(list.Waits, wire.Waited{SessionID: id, Waited: d.Seconds()})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}
