package command

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// saveDraft stores a draft and sends it to the person's other devices.
func (e *Executor) saveDraft(ctx context.Context, c *wire.Draft, who account.Identity) (wire.Outcome, error) {
	d := account.Draft{UserID: who.User.UserID, SessionID: c.SessionID, RequestID: c.RequestID, Value: nilIfNull(c.Value), ChangedAt: time.Now()}
	switch {
	case len(d.Value) > account.MaxDraftBytes:
		return wire.Outcome{}, problem.New("draft_too_long")
	case d.RequestID != "":
		r, _, _, err := e.o.Guard.Request(ctx, who, project.Tend, d.RequestID)
		switch {
		case err != nil:
			return wire.Outcome{}, err
		case d.SessionID != "" && r.SessionID != d.SessionID:
			return wire.Outcome{}, pending.ErrNotFound
		case r.Status.Final():
			return wire.Outcome{}, &pending.NotOpenError{Request: r}
		}
		d.SessionID = r.SessionID
	default:
		if _, _, err := e.o.Guard.Session(ctx, who, project.Tend, d.SessionID); err != nil {
			return wire.Outcome{}, err
		}
	}
	err := e.o.Store.PutDraft(ctx, d)
	if errors.Is(err, account.ErrNotFound) {
		return wire.Outcome{}, session.ErrNotFound
	}
	if err == nil && e.onDraft != nil {
		e.onDraft(d, c.CommandID)
	}
	return wire.Outcome{}, err
}

// Learn saves a text that a person wrote as a suggestion for a saved reply.
func (e *Executor) Learn(ctx context.Context, who account.Identity, place account.TemplatePlace, text string) error {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > account.MaxTemplateBytes {
		return nil
	}
	known := text
	if place != account.ReasonPlace {
		known = string(place) + "/" + text
	}
	return e.o.Store.LearnTemplate(ctx, account.Template{
		UserID: who.User.UserID, TemplateID: derivedID("template", who.User.UserID, known), Place: place, Text: text, UsedAt: time.Now(),
	})
}
