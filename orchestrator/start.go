package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/session"
)

// Start creates a session and its process, and returns the session's id once the session is
// stored; the process starts asynchronously. Starting a known SessionID again only completes
// what an interrupted Start left undone.
func (o *Orchestrator) Start(ctx context.Context, r StartRequest) (string, error) {
	if err := o.checkPaused(ctx); err != nil {
		return "", err
	}
	s, err := o.newSession(ctx, r)
	if err != nil {
		return "", err
	}
	release, err := o.reserve(ctx, s)
	if err != nil {
		return "", err
	}
	defer release()
	if _, err := o.settleTrust(ctx, s, false, r.Consent, r.By); err != nil {
		return "", err
	}
	if err := o.checkImport(ctx, r); err != nil {
		return "", err
	}
	err = o.o.Store.CreateSession(ctx, s)
	again := errors.Is(err, session.ErrExists)
	switch {
	case again && r.Resume != "" && !r.Fork:
		return "", problem.For("resume", "resume_listed")
	case again && r.SessionID != "": // a repeated command: a server may have died halfway through it
	case err != nil:
		return "", fmt.Errorf("orchestrator: create session: %w", err)
	}
	if r.Consent.LeaveOut {
		if err := o.o.Store.LeaveOut(ctx, s.SessionID, true); err != nil {
			return "", fmt.Errorf("orchestrator: leave out settings: %w", err)
		}
	}
	if r.Resume != "" {
		if err := o.importTranscript(ctx, s, r.Resume, nil); err != nil {
			return "", err
		}
	}
	prompt := r.Prompt
	if prompt == "" && r.Demo {
		prompt = o.o.Demo.Prompt
	}
	if prompt != "" || len(r.Attachments) > 0 {
		if _, err := o.o.Store.QueueMessage(ctx, session.Message{
			MessageID: firstMessageID(s.SessionID), SessionID: s.SessionID, Text: prompt,
			Attachments: r.Attachments, By: r.By, CreatedAt: s.CreatedAt,
		}); err != nil {
			return "", fmt.Errorf("orchestrator: queue first message: %w", err)
		}
	}
	if again {
		if state, err := o.o.Store.ProcessState(ctx, s.SessionID); err != nil || state.ProcessID != "" {
			return s.SessionID, err // without an error, the process was started before
		}
	}
	l := launchOf(s)
	l.By = r.By
	if err := o.launch(ctx, s, l); err != nil && !(again && errors.Is(err, ErrRunning)) {
		return "", err
	}
	return s.SessionID, nil
}

// firstMessageID derives the id of a session's first message, so that repeated starts send it
// once.
func firstMessageID(sessionID string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("first message of "+sessionID)).String()
}

// newSession validates a request and returns its session.
func (o *Orchestrator) newSession(ctx context.Context, r StartRequest) (session.Session, error) {
	if r.Demo {
		if o.o.Demo == nil {
			return session.Session{}, problem.For("demo", "no_demo")
		}
		if r.CWD == "" {
			if err := o.runner.MakeFolder(ctx, o.o.Demo.Folder); err != nil {
				return session.Session{}, fmt.Errorf("orchestrator: make the demo's folder: %w", err)
			}
			r.CWD = o.o.Demo.Folder
		}
		if r.Title == "" {
			r.Title = "Demo"
		}
	} else if strings.TrimSpace(r.Prompt) == "" && len(r.Attachments) == 0 && r.Resume == "" {
		return session.Session{}, problem.For("prompt", "prompt_missing")
	}
	roots := o.rules().Roots
	if r.Demo {
		roots = append(slices.Clone(roots), o.o.Demo.Folder)
	}
	cwd, err := o.runner.ResolveFolder(ctx, roots, r.CWD)
	if err != nil {
		return session.Session{}, problem.InField("cwd", err)
	}
	if r.PermissionMode == "" {
		r.PermissionMode = "default"
	}
	if r.PermissionMode != bypass || r.Permit == nil {
		if err := checkPermissionMode(r.PermissionMode); err != nil {
			return session.Session{}, err
		}
	}
	if r.Permit != nil {
		if err := r.Permit(cwd, r.PermissionMode); err != nil {
			return session.Session{}, err
		}
	}
	if err := checkModel(r.Model); err != nil {
		return session.Session{}, err
	}
	id := r.SessionID
	if r.Resume != "" {
		if _, err := uuid.Parse(r.Resume); err != nil {
			return session.Session{}, problem.For("resume", "resume_id")
		}
		if !r.Fork {
			id = r.Resume // Claude keeps its id
		}
	}
	if id == "" {
		id = uuid.NewString()
	}
	var origin session.Origin
	if r.Fork {
		origin.SessionID = r.Resume
	}
	now := time.Now()
	return session.Session{
		SessionID: id, ProjectID: session.ProjectOf(cwd), Title: titleOf(r, cwd), CWD: cwd,
		Model: r.Model, PermissionMode: r.PermissionMode, AllowedTools: r.AllowedTools,
		OwnerID: r.By.UserID, RunnerID: o.o.RunnerID, Demo: r.Demo, Begun: r.Resume != "" && !r.Fork, Origin: origin,
		CreatedAt: now, UpdatedAt: now,
	}, nil
}
