package httpapi

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/wire"
)

// alertHandlers serves the alert settings of people and of the server.
type alertHandlers struct {
	alerts *alert.Alerter
}

// alertsOf returns the id of the user whose alerts a request concerns: the caller or, for
// admins with ?of=server, "", which stands for the server.
func (s *alertHandlers) alertsOf(r *http.Request, who account.Identity) (userID string, err error) {
	switch r.URL.Query().Get("of") {
	case "":
		return who.User.UserID, nil
	case "server":
		if !who.User.Role.AtLeast(account.Admin) {
			return "", refusal.Forbidden(account.Admin)
		}
		return "", nil
	}
	return "", refusal.For("of", "parameter_server")
}

func (s *alertHandlers) getAlerts(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	userID, err := s.alertsOf(r, who)
	if err != nil {
		return err
	}
	v, err := s.alerts.View(r.Context(), userID)
	if err != nil {
		return err
	}
	c := v.Choices
	out := wire.Alerts{PushKey: v.PushKey, Targets: make([]wire.AlertTarget, 0, len(v.Targets)), Choices: wire.AlertChoices{
		Wanted:      wire.AlertWanted{Waiting: wantedWays(c, alert.Waiting), Finished: wantedWays(c, alert.Finished), Died: wantedWays(c, alert.Died)},
		AllSessions: c.AllSessions, ShowText: c.ShowText, RemindAfter: c.RemindAfter, EscalateAfter: c.EscalateAfter, Language: c.Language,
	}}
	if c.Quiet != (alert.Quiet{}) {
		out.Choices.Quiet = &wire.AlertQuiet{From: c.Quiet.From, To: c.Quiet.To, Zone: c.Quiet.Zone}
	}
	for _, t := range v.Targets {
		out.Targets = append(out.Targets, wireTarget(t))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// wantedWays returns the ways for an occasion, never nil: the wire format has no null here.
func wantedWays(c alert.Choices, o alert.Occasion) []alert.Way {
	return append([]alert.Way{}, c.Wanted[o]...)
}

func (s *alertHandlers) patchAlertChoices(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	userID, err := s.alertsOf(r, who)
	if err != nil {
		return err
	}
	var body wire.AlertChoices
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireUnlimited(who); err != nil {
		return err
	}
	c := alert.Choices{
		Wanted:      map[alert.Occasion][]alert.Way{alert.Waiting: body.Wanted.Waiting, alert.Finished: body.Wanted.Finished, alert.Died: body.Wanted.Died},
		AllSessions: body.AllSessions, ShowText: body.ShowText, RemindAfter: body.RemindAfter,
		EscalateAfter: body.EscalateAfter, Language: body.Language,
	}
	if body.Quiet != nil {
		c.Quiet = alert.Quiet{From: body.Quiet.From, To: body.Quiet.To, Zone: body.Quiet.Zone}
	}
	if err := s.alerts.SetChoices(context.WithoutCancel(r.Context()), userID, c); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *alertHandlers) postAlertTarget(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	userID, err := s.alertsOf(r, who)
	if err != nil {
		return err
	}
	var body wire.AlertTargetCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireUnlimited(who); err != nil {
		return err
	}
	t := alert.Target{
		UserID: userID, Way: body.Way, Name: body.Name,
		Address: alert.Address{URL: body.URL, Secret: body.Secret, Priority: body.Priority},
	}
	if body.Way == alert.Push {
		if t.Name == "" {
			t.Name = who.Device()
		}
		if t.Address.P256DH, err = decodeBase64URL(body.P256DH); err != nil {
			return refusal.For("p256dh", "push_key")
		}
		if t.Address.Auth, err = decodeBase64URL(body.Auth); err != nil {
			return refusal.For("auth", "push_key")
		}
	}
	made, err := s.alerts.AddTarget(context.WithoutCancel(r.Context()), t, access.Actor(who))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wireTarget(made))
	return nil
}

// decodeBase64URL accepts padding, which some browsers send.
func decodeBase64URL(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
}

func (s *alertHandlers) deleteAlertTarget(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	userID, err := s.alertsOf(r, who)
	if err != nil {
		return err
	}
	if err := requireUnlimited(who); err != nil {
		return err
	}
	if err := s.alerts.RemoveTarget(context.WithoutCancel(r.Context()), userID, r.PathValue("id"), access.Actor(who)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *alertHandlers) postAlertTest(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	userID, err := s.alertsOf(r, who)
	if err != nil {
		return err
	}
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	if err := requireUnlimited(who); err != nil {
		return err
	}
	problem, err := s.alerts.TestTarget(r.Context(), userID, r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.AlertTest{Problem: problem, Reasons: statement.Reasons("problem", problem)})
	return nil
}

func wireTarget(t alert.Target) wire.AlertTarget {
	return wire.AlertTarget{
		TargetID: t.TargetID, Way: t.Way, Name: t.Name, CreatedAt: wire.Seconds(t.CreatedAt),
		SentAt: wire.SecondsOrNull(t.SentAt), Problem: t.Problem, Reasons: statement.Reasons("problem", t.Problem),
	}
}
