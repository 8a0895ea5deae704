package wsapi

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// learnedMessage is how long a message is that may be said again, in bytes.
const learnedMessage = 200

func (s *Server) sendMessage(ctx context.Context, c *wire.SendMessage, who account.Identity) (wire.Outcome, error) {
	if err := givenBy(c.UserID, who); err != nil {
		return wire.Outcome{}, err
	}
	if err := s.consent(ctx, c.SessionID, c.FolderConsent, who); err != nil {
		return wire.Outcome{}, err
	}
	attached, err := s.attached(ctx, c.Attachments, c.SessionID, c.CommandID, who)
	if err != nil {
		return wire.Outcome{}, err
	}
	m := session.Message{
		MessageID: derivedID("message", who.User.UserID, c.CommandID), SessionID: c.SessionID,
		Text: c.Text, Attachments: attached, By: access.Actor(who), CreatedAt: time.Now(),
	}
	err = s.o.Driver.Send(ctx, m)
	// What is said again and again is short.
	if err == nil && len(c.Text) <= learnedMessage && !strings.ContainsAny(c.Text, "\n\r") {
		if err := s.learn(ctx, who, account.MessagePlace, c.Text); err != nil {
			s.o.Log.WarnContext(ctx, "what was said is not kept for the next time", "error", err)
		}
	}
	return wire.Outcome{MessageID: m.MessageID}, err
}

func (s *Server) createSession(ctx context.Context, c *wire.CreateSession, who account.Identity) (wire.Outcome, error) {
	if c.Resume != "" {
		// A conversation that is known here is resumed and forked by who may see it.
		if _, err := s.may(ctx, who, project.See, c.Resume); err != nil && !s.unknown(ctx, c.Resume, err) {
			return wire.Outcome{}, err
		}
	}
	attached, err := s.attached(ctx, c.Attachments, "", c.CommandID, who)
	if err != nil {
		return wire.Outcome{}, err
	}
	sessionID, err := s.o.Driver.Start(ctx, orchestrator.StartRequest{
		SessionID: derivedID("session", who.User.UserID, c.CommandID),
		CWD:       c.CWD, Prompt: c.Prompt, Title: c.Title, Model: c.Model, PermissionMode: c.PermissionMode,
		Attachments: attached, AllowedTools: c.AllowedTools,
		Resume: c.Resume, Fork: c.Fork, Demo: c.Demo, By: access.Actor(who),
		Consent: orchestrator.Consent{Trust: c.Trust, LeaveOut: c.WithoutSettings},
		Permit:  func(folder, mode string) error { return s.mayStart(ctx, who, folder, mode, c.AllowedTools) },
	})
	return wire.Outcome{SessionID: sessionID}, err
}

// unknown reports whether an error says that a session is not known here at all.
func (s *Server) unknown(ctx context.Context, sessionID string, err error) bool {
	if !errors.Is(err, session.ErrNotFound) {
		return false
	}
	_, err = s.o.Store.Session(ctx, sessionID)
	return errors.Is(err, session.ErrNotFound)
}

func (s *Server) resumeSession(ctx context.Context, c *wire.ResumeSession, who account.Identity) (wire.Outcome, error) {
	if err := s.consent(ctx, c.SessionID, c.FolderConsent, who); err != nil {
		return wire.Outcome{}, err
	}
	return wire.Outcome{SessionID: c.SessionID}, s.o.Driver.Resume(ctx, c.SessionID, access.Actor(who))
}

func (s *Server) forkSession(ctx context.Context, c *wire.ForkSession, who account.Identity) (wire.Outcome, error) {
	from, err := s.o.Store.Session(ctx, c.SessionID)
	if err != nil {
		return wire.Outcome{}, err
	}
	if err := s.mayStart(ctx, who, from.CWD, from.PermissionMode, from.AllowedTools); err != nil {
		return wire.Outcome{}, err
	}
	if err := s.consent(ctx, c.SessionID, c.FolderConsent, who); err != nil {
		return wire.Outcome{}, err
	}
	sessionID, err := s.o.Driver.Fork(ctx, c.SessionID, access.Actor(who))
	return wire.Outcome{SessionID: sessionID}, err
}

func (s *Server) interrupt(ctx context.Context, c *wire.Interrupt, who account.Identity) (wire.Outcome, error) {
	return wire.Outcome{}, s.o.Driver.Interrupt(ctx, c.SessionID, access.Actor(who))
}

func (s *Server) killProcess(ctx context.Context, c *wire.KillProcess, who account.Identity) (wire.Outcome, error) {
	return wire.Outcome{}, s.o.Driver.Kill(ctx, c.SessionID, c.Force, "Ended by "+who.User.Name+".")
}

func (s *Server) setModel(ctx context.Context, c *wire.SetModel, _ account.Identity) (wire.Outcome, error) {
	return wire.Outcome{}, s.o.Driver.SetModel(ctx, c.SessionID, c.Model)
}

func (s *Server) setPermissionMode(ctx context.Context, c *wire.SetPermissionMode, who account.Identity) (wire.Outcome, error) {
	ses, err := s.o.Store.Session(ctx, c.SessionID)
	if err != nil {
		return wire.Outcome{}, err
	}
	book, err := s.book(ctx)
	if err != nil {
		return wire.Outcome{}, err
	}
	if err := book.MayLoosen(access.Person(who), access.PlaceOf(ses), c.PermissionMode, nil); err != nil {
		return wire.Outcome{}, err
	}
	return wire.Outcome{}, s.o.Driver.SetPermissionMode(ctx, c.SessionID, c.PermissionMode, access.Actor(who))
}
