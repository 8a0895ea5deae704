package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func (s *Server) getPreferences(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	p, err := s.o.Store.Preferences(r.Context(), who.User.UserID)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Preferences{Keys: p.Keys, SingleKeys: p.SingleKeys, Language: p.Language})
	return nil
}

func (s *Server) patchPreferences(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PreferencesChange
	if err := readBody(r, &body); err != nil {
		return err
	}
	err := s.o.Store.ChangePreferences(r.Context(), who.User.UserID, account.PreferencesChange{Keys: body.Keys, SingleKeys: body.SingleKeys, Language: body.Language})
	if err != nil {
		return err
	}
	if body.Language != nil && s.o.Alerts != nil {
		s.o.Alerts.Refresh()
	}
	return s.getPreferences(w, r, who)
}

// longestLook is how far back either looks.
const longestLook = 7 * 24 * time.Hour

// sinceOf reads from when on; not longer than longestLook ago.
func sinceOf(r *http.Request, now time.Time) (time.Time, error) {
	at, err := strconv.ParseFloat(r.URL.Query().Get("since"), 64)
	if err != nil || !(at >= 0 && at < 1<<40) {
		return time.Time{}, refusal.Field("since", "The parameter \"since\" must be a time in Unix seconds.")
	}
	since := time.UnixMicro(int64(at * 1e6))
	if oldest := now.Add(-longestLook); since.Before(oldest) {
		since = oldest
	}
	return since, nil
}

// seen says which of some sessions a person may see.
func (s *Server) seen(ctx context.Context, who account.Identity) (func(sessionID string) bool, error) {
	book, err := s.o.Guard.Book(ctx)
	if err != nil {
		return nil, err
	}
	return func(id string) bool {
		ses, err := s.o.Store.Session(ctx, id)
		return err == nil && book.May(access.Person(who), project.See, access.PlaceOf(ses)) == nil
	}, nil
}

func (s *Server) getLately(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	since, err := sinceOf(r, time.Now())
	if err != nil {
		return err
	}
	sees, err := s.seen(r.Context(), who)
	if err != nil {
		return err
	}
	all := map[string]*session.Lately{}
	if err := s.o.Store.Fresh(r.Context(), since, func(id string, it session.Item) {
		if all[id] == nil {
			all[id] = &session.Lately{SessionID: id}
		}
		all[id].Add(it)
	}); err != nil {
		return err
	}
	list := wire.LatelyList{Sessions: []wire.Lately{}}
	for id, l := range all {
		if l.Anything() && sees(id) {
			list.Sessions = append(list.Sessions, wire.Lately{
				SessionID: id, Edits: l.Edits, Files: l.Files, Commands: l.Commands, Tests: l.Tests, Failed: l.Failed,
				Answered: l.Answered, Turns: l.Turns, First: l.First,
			})
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) getWaits(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	now := time.Now()
	since, err := sinceOf(r, now)
	if err != nil {
		return err
	}
	sees, err := s.seen(r.Context(), who)
	if err != nil {
		return err
	}
	waits, err := s.o.Store.Waits(r.Context(), since)
	if err != nil {
		return err
	}
	list := wire.WaitList{Waits: []wire.Waited{}}
	for id, d := range pending.Waited(waits, since, now) {
		if sees(id) {
			list.Waits = append(list.Waits, wire.Waited{SessionID: id, Waited: d.Seconds()})
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}
