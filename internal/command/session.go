package command

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// maxLearnedMessage bounds the messages that are suggested as saved replies, in bytes.
const maxLearnedMessage = 200

func (e *Executor) sendMessage(ctx context.Context, c *wire.SendMessage, who account.Identity) (wire.Outcome, error) {
	if err := access.CheckSameUser(c.UserID, who); err != nil {
		return wire.Outcome{}, err
	}
	if err := e.consent(ctx, c.SessionID, c.FolderConsent, who); err != nil {
		return wire.Outcome{}, err
	}
	attached, err := e.attachments(ctx, c.Attachments, c.SessionID, c.CommandID, who)
	if err != nil {
		return wire.Outcome{}, err
	}
	m := session.Message{
		MessageID: derivedID("message", who.User.UserID, c.CommandID), SessionID: c.SessionID,
		Text: c.Text, Attachments: attached, By: access.Actor(who), CreatedAt: time.Now(),
	}
	err = e.o.Driver.Send(ctx, m)
	// People repeat short messages.
	if err == nil && len(c.Text) <= maxLearnedMessage && !strings.ContainsAny(c.Text, "\n\r") {
		if err := e.Learn(ctx, who, account.MessagePlace, c.Text); err != nil {
			e.o.Log.WarnContext(ctx, "cannot save a suggested reply", "error", err)
		}
	}
	return wire.Outcome{MessageID: m.MessageID}, err
}

func (e *Executor) createSession(ctx context.Context, c *wire.CreateSession, who account.Identity) (wire.Outcome, error) {
	if c.Resume != "" {
		// A conversation that this server knows may be resumed or forked only by people who
		// may see it.
		if _, _, err := e.o.Guard.Session(ctx, who, project.See, c.Resume); err != nil && !e.unknown(ctx, c.Resume, err) {
			return wire.Outcome{}, err
		}
	}
	attached, err := e.attachments(ctx, c.Attachments, "", c.CommandID, who)
	if err != nil {
		return wire.Outcome{}, err
	}
	sessionID, err := e.o.Driver.Start(ctx, orchestrator.StartRequest{
		SessionID: derivedID("session", who.User.UserID, c.CommandID),
		RunnerID:  c.RunnerID, Labels: c.RunnerLabels,
		CWD: c.CWD, Prompt: c.Prompt, Title: c.Title, Model: c.Model, PermissionMode: c.PermissionMode,
		Attachments: attached, AllowedTools: c.AllowedTools,
		Resume: c.Resume, Fork: c.Fork, Demo: c.Demo, By: access.Actor(who),
		Consent: orchestrator.Consent{Trust: c.Trust, LeaveOut: c.WithoutSettings},
		Permit:  func(folder, mode string) error { return e.o.Guard.Start(ctx, who, folder, mode, c.AllowedTools) },
	})
	return wire.Outcome{SessionID: sessionID}, err
}

// unknown reports whether an error means that the server does not know a session at all.
func (e *Executor) unknown(ctx context.Context, sessionID string, err error) bool {
	if !errors.Is(err, session.ErrNotFound) {
		return false
	}
	_, err = e.o.Store.Session(ctx, sessionID)
	return errors.Is(err, session.ErrNotFound)
}

func (e *Executor) resumeSession(ctx context.Context, c *wire.ResumeSession, who account.Identity) (wire.Outcome, error) {
	if err := e.consent(ctx, c.SessionID, c.FolderConsent, who); err != nil {
		return wire.Outcome{}, err
	}
	return wire.Outcome{SessionID: c.SessionID}, e.o.Driver.Resume(ctx, c.SessionID, access.Actor(who))
}

func (e *Executor) forkSession(ctx context.Context, c *wire.ForkSession, who account.Identity) (wire.Outcome, error) {
	from, err := e.o.Store.Session(ctx, c.SessionID)
	if err != nil {
		return wire.Outcome{}, err
	}
	if err := e.o.Guard.Start(ctx, who, from.CWD, from.PermissionMode, from.AllowedTools); err != nil {
		return wire.Outcome{}, err
	}
	if err := e.consent(ctx, c.SessionID, c.FolderConsent, who); err != nil {
		return wire.Outcome{}, err
	}
	forkID := derivedID("session", who.User.UserID, c.CommandID)
	sessionID, err := e.o.Driver.Fork(ctx, c.SessionID, c.MessageID, access.Actor(who), forkID)
	return wire.Outcome{SessionID: sessionID}, err
}

func (e *Executor) interrupt(ctx context.Context, c *wire.Interrupt, who account.Identity) (wire.Outcome, error) {
	return wire.Outcome{}, e.o.Driver.Interrupt(ctx, c.SessionID, access.Actor(who))
}

func (e *Executor) killProcess(ctx context.Context, c *wire.KillProcess, who account.Identity) (wire.Outcome, error) {
	return wire.Outcome{}, e.o.Driver.Kill(ctx, c.SessionID, c.Force, statement.New("ended_by", "by", who.User.Name))
}

func (e *Executor) setModel(ctx context.Context, c *wire.SetModel, _ account.Identity) (wire.Outcome, error) {
	return wire.Outcome{}, e.o.Driver.SetModel(ctx, c.SessionID, c.Model)
}

func (e *Executor) setPermissionMode(ctx context.Context, c *wire.SetPermissionMode, who account.Identity) (wire.Outcome, error) {
	ses, err := e.o.Store.Session(ctx, c.SessionID)
	if err != nil {
		return wire.Outcome{}, err
	}
	book, err := e.o.Guard.Book(ctx)
	if err != nil {
		return wire.Outcome{}, err
	}
	if err := book.MayLoosen(access.Person(who), access.PlaceOf(ses), c.PermissionMode, nil); err != nil {
		return wire.Outcome{}, err
	}
	return wire.Outcome{}, e.o.Driver.SetPermissionMode(ctx, c.SessionID, c.PermissionMode, access.Actor(who))
}

// consent stores a person's decision about the settings of a session's folder.
func (e *Executor) consent(ctx context.Context, sessionID string, given wire.FolderConsent, who account.Identity) error {
	if given == (wire.FolderConsent{}) {
		return nil
	}
	return e.o.Driver.Consent(ctx, sessionID, orchestrator.Consent{Trust: given.Trust, LeaveOut: given.WithoutSettings}, access.Actor(who))
}
