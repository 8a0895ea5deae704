package wsapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Preferences are what a person chose for themselves; they follow to every device.
type Preferences struct {
	Keys       map[string]string `json:"keys"`        // what to press, by the name of what it does, where it is not as it comes
	SingleKeys bool              `json:"single_keys"` // whether keys of one character do anything
	Language   string            `json:"language"`    // that the app was shown in last; that of alerts, too
}

// PreferencesChange holds what is to be another now; what is absent stays.
type PreferencesChange struct {
	Keys       map[string]string `json:"keys,omitempty" validate:"omitempty,max=100,dive,keys,min=1,max=40,endkeys,max=40"`
	SingleKeys *bool             `json:"single_keys,omitempty"`
	Language   *string           `json:"language,omitempty" validate:"omitempty,max=16"`
}

func (s *Server) getPreferences(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	p, err := s.o.Store.Preferences(r.Context(), who.User.UserID)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, Preferences{Keys: p.Keys, SingleKeys: p.SingleKeys, Language: p.Language})
	return nil
}

func (s *Server) patchPreferences(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body PreferencesChange
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

// LatelyList is what happened in the sessions that a person may see since they
// looked; only those in which something did.
type LatelyList struct {
	Sessions []Lately `json:"sessions"`
}

// Lately counts what happened in one session.
type Lately struct {
	SessionID string `json:"session_id"`
	Edits     int    `json:"edits"`
	Files     int    `json:"files"`
	Commands  int    `json:"commands"`
	Tests     int    `json:"tests"`
	Failed    int    `json:"failed"`
	Answered  int    `json:"answered"`
	Turns     int    `json:"turns"`
	First     string `json:"first"` // key of the first block
}

// WaitList is how long Claude waited for people since a moment.
type WaitList struct {
	Waits []Waited `json:"waits"`
}

// Waited is how long it did in one session, in seconds.
type Waited struct {
	SessionID string  `json:"session_id"`
	Waited    float64 `json:"waited"`
}

// longestLook is how far back either looks.
const longestLook = 7 * 24 * time.Hour

// sinceOf reads from when on; not longer than longestLook ago.
func sinceOf(r *http.Request, now time.Time) (time.Time, error) {
	at, err := strconv.ParseFloat(r.URL.Query().Get("since"), 64)
	if err != nil || !(at >= 0 && at < 1<<40) {
		return time.Time{}, refuseField("since", "The parameter \"since\" must be a time in Unix seconds.")
	}
	since := time.UnixMicro(int64(at * 1e6))
	if oldest := now.Add(-longestLook); since.Before(oldest) {
		since = oldest
	}
	return since, nil
}

// seen says which of some sessions a person may see.
func (s *Server) seen(ctx context.Context, who account.Identity) (func(sessionID string) bool, error) {
	book, err := s.book(ctx)
	if err != nil {
		return nil, err
	}
	return func(id string) bool {
		ses, err := s.o.Store.Session(ctx, id)
		return err == nil && book.May(person(who), project.See, placeOf(ses)) == nil
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
	list := LatelyList{Sessions: []Lately{}}
	for id, l := range all {
		if l.Anything() && sees(id) {
			list.Sessions = append(list.Sessions, Lately{
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
	list := WaitList{Waits: []Waited{}}
	for id, d := range pending.Waited(waits, since, now) {
		if sees(id) {
			list.Waits = append(list.Waits, Waited{SessionID: id, Waited: d.Seconds()})
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}
