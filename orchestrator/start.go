package orchestrator

import (
	"cmp"
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
// stored; the process starts asynchronously. If there is no capacity for the process any more, the
// session waits for it. Starting a known SessionID again only completes what an interrupted Start
// left undone.
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
	if again { // a repeated command: a server may have died halfway through it
		s, err = o.startedBefore(ctx, r, s)
	}
	if err != nil {
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
	hasMessage := prompt != "" || len(r.Attachments) > 0
	if hasMessage {
		if _, err := o.o.Store.QueueMessage(ctx, session.Message{
			MessageID: firstMessageID(cmp.Or(r.SessionID, s.SessionID)), SessionID: s.SessionID, Text: prompt,
			Attachments: r.Attachments, By: r.By, CreatedAt: s.CreatedAt,
		}); err != nil {
			return "", fmt.Errorf("orchestrator: queue first message: %w", err)
		}
	}
	if again {
		if started, err := o.wasStarted(ctx, s); err != nil || started {
			return s.SessionID, err
		}
	}
	l := launchOf(s)
	l.By = r.By
	err = o.launch(ctx, s, l)
	switch {
	case again && errors.Is(err, ErrRunning):
		err = nil
	case hasMessage && (errors.Is(err, problem.LimitReached) || errors.Is(err, problem.NoDescriptors)):
		// The session belongs to this runner now, and its message is queued.
		err = o.waitForCapacity(ctx, s.SessionID, problem.Message(err))
	}
	if err != nil {
		return "", err
	}
	return s.SessionID, nil
}

// startedBefore is like storedBefore, for a repeated start. For an imported conversation, it returns
// a [problem.Error] unless the stored session is the one that an interrupted import left.
func (o *Orchestrator) startedBefore(ctx context.Context, r StartRequest, s session.Session) (session.Session, error) {
	stored, err := o.storedBefore(ctx, s)
	if r.Resume == "" || r.Fork {
		return stored, err
	}
	listed := problem.For("resume", "resume_listed")
	switch {
	case errors.Is(err, problem.RunnerUnreachable):
		return s, listed
	case err != nil:
		return s, err
	}
	started, err := o.wasStarted(ctx, s)
	same := stored.Kind == s.Kind && stored.OwnerID == s.OwnerID && stored.Begun && stored.CWD == s.CWD &&
		stored.PermissionMode == s.PermissionMode && slices.Equal(stored.AllowedTools, s.AllowedTools)
	if err == nil && (started || !same) {
		return s, listed
	}
	return stored, err
}

// storedBefore returns the stored session with the id of s. It returns a [problem.Error] if another
// runner has the session, which may run it already.
func (o *Orchestrator) storedBefore(ctx context.Context, s session.Session) (session.Session, error) {
	stored, err := o.o.Store.Session(ctx, s.SessionID)
	if err == nil {
		err = o.checkRunner(ctx, stored)
	}
	return stored, err
}

// wasStarted reports whether a session has or had a process.
func (o *Orchestrator) wasStarted(ctx context.Context, s session.Session) (bool, error) {
	state, err := o.o.Store.ProcessState(ctx, s.SessionID)
	return state.ProcessID != "", err
}

// firstMessageID derives the id of a session's first message from the id that the caller of Start
// chose, so that repeated starts send it once. A conversation may be imported again with another
// message, after its first import was interrupted.
func firstMessageID(chosenID string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("first message of "+chosenID)).String()
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
	if r.Resume != "" {
		if _, err := uuid.Parse(r.Resume); err != nil {
			return session.Session{}, problem.For("resume", "resume_id")
		}
	}
	id := r.storedID()
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
