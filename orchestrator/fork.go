package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
)

// Fork starts a new session that continues from this one's conversation.
func (o *Orchestrator) Fork(ctx context.Context, sessionID string, by pending.Actor) (string, error) {
	from, err := o.ownSession(ctx, sessionID)
	if err != nil {
		return "", err
	}
	if !from.Begun {
		return "", problem.For("session_id", "fork_empty")
	}
	settings, err := o.nextSettings(ctx, from)
	if err != nil {
		return "", err
	}
	s := from
	s.SessionID, s.OwnerID = uuid.NewString(), by.UserID
	s.Title = "Fork of " + from.Title
	s.CreatedAt = time.Now()
	s.UpdatedAt, s.Archived = s.CreatedAt, false
	release, err := o.reserve(ctx, s)
	if err != nil {
		return "", err
	}
	defer release()
	if err := o.o.Store.CreateSession(ctx, s); err != nil {
		return "", fmt.Errorf("orchestrator: create fork: %w", err)
	}
	if settings.leaveOut {
		if err := o.o.Store.LeaveOut(ctx, s.SessionID, true); err != nil {
			return "", fmt.Errorf("orchestrator: leave out settings: %w", err)
		}
	}
	if err := o.copyTranscript(ctx, from.SessionID, s.SessionID); err != nil {
		return "", err
	}
	if err := o.o.Store.ShareAttachments(ctx, from.SessionID, s.SessionID); err != nil {
		return "", fmt.Errorf("orchestrator: share attachments with fork: %w", err)
	}
	l := launchOf(s)
	l.SessionID, l.Resume, l.Fork, l.By = s.SessionID, from.SessionID, true, by
	return s.SessionID, o.launch(ctx, s, l)
}

func (o *Orchestrator) copyTranscript(ctx context.Context, from, to string) error {
	const pageSize = 500
	for after := int64(0); ; {
		page, err := o.o.Store.Transcript(ctx, from, after, pageSize)
		if err != nil {
			return fmt.Errorf("orchestrator: read transcript to fork: %w", err)
		}
		if len(page.Items) > 0 {
			if err := o.o.Store.PutItems(ctx, to, page.Items); err != nil {
				return fmt.Errorf("orchestrator: copy transcript: %w", err)
			}
		}
		if !page.More {
			return nil
		}
		after = page.Next
	}
}
