package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Fork starts a new session that continues this session's conversation: from its end or, given the
// id of a person's message, from before that message. It returns the id of the new session, which is
// forkID unless that is "". Forking to a known forkID again only completes what an interrupted Fork
// left undone.
func (o *Orchestrator) Fork(ctx context.Context, sessionID, messageID string, by pending.Actor, forkID string) (string, error) {
	from, err := o.ownSession(ctx, sessionID)
	if err == nil {
		err = o.checkPaused(ctx)
	}
	if err != nil {
		return "", err
	}
	if !from.Begun && from.Origin.SessionID == "" {
		return "", problem.For("session_id", "fork_empty")
	}
	settings, err := o.nextSettings(ctx, from)
	if err != nil {
		return "", err
	}
	before := int64(math.MaxInt64)
	s := from
	// The CLI saves the copy only with its first message. Until then, each process must fork again.
	s.Begun = false
	if from.Begun {
		s.Origin = session.Origin{SessionID: sessionID}
	}
	if messageID != "" {
		if before, s.Origin, err = o.placeBefore(ctx, sessionID, messageID); err != nil {
			return "", err
		}
	}
	s.SessionID, s.OwnerID = forkID, by.UserID
	if forkID == "" {
		s.SessionID = uuid.NewString()
	}
	s.Title = "Fork of " + from.Title
	s.CreatedAt = time.Now()
	s.UpdatedAt, s.Archived = s.CreatedAt, false
	release, err := o.reserve(ctx, s)
	if err != nil {
		return "", err
	}
	defer release()
	err = o.o.Store.CreateSession(ctx, s)
	again := errors.Is(err, session.ErrExists) // a repeated command: a server may have died halfway through it
	if again {
		s, err = o.storedBefore(ctx, s)
	}
	if err != nil {
		return "", fmt.Errorf("orchestrator: create fork: %w", err)
	}
	if again {
		if started, err := o.wasStarted(ctx, s); err != nil || started {
			return s.SessionID, err
		}
	}
	if settings.leaveOut {
		if err := o.o.Store.LeaveOut(ctx, s.SessionID, true); err != nil {
			return "", fmt.Errorf("orchestrator: leave out settings: %w", err)
		}
	}
	if err := o.copyTranscript(ctx, from.SessionID, s.SessionID, before); err != nil {
		return "", err
	}
	if err := o.o.Store.ShareAttachments(ctx, from.SessionID, s.SessionID); err != nil {
		return "", fmt.Errorf("orchestrator: share attachments with fork: %w", err)
	}
	l := launchOf(s)
	l.By = by
	if err := o.launch(ctx, s, l); err != nil && !(again && errors.Is(err, ErrRunning)) {
		return s.SessionID, err
	}
	return s.SessionID, nil
}

// placeBefore returns the place of a message in the transcript, and the origin of a conversation that
// continues from before the message.
func (o *Orchestrator) placeBefore(ctx context.Context, sessionID, messageID string) (seq int64, origin session.Origin, err error) {
	message, err := o.personsMessage(ctx, sessionID, messageID)
	if err != nil {
		return 0, origin, err
	}
	entry, err := o.runner.SavedEntryBefore(ctx, sessionID, messageID)
	switch {
	case errors.Is(err, claude.ErrNotSaved):
		return 0, origin, problem.For("message_id", "fork_message_unknown")
	case err != nil:
		return 0, origin, fmt.Errorf("orchestrator: find the place to fork: %w", err)
	case entry == "": // no entry precedes the message
		return message.Seq, origin, nil
	}
	return message.Seq, session.Origin{SessionID: sessionID, EntryID: entry}, nil
}

// copyTranscript copies the items of a transcript whose Seq is below before.
func (o *Orchestrator) copyTranscript(ctx context.Context, from, to string, before int64) error {
	return o.eachPage(ctx, from, 0, func(items []session.Item) error {
		wanted := slices.DeleteFunc(items, func(it session.Item) bool { return it.Seq >= before })
		if len(wanted) == 0 {
			return nil
		}
		if err := o.o.Store.PutItems(ctx, to, wanted); err != nil {
			return fmt.Errorf("orchestrator: copy transcript: %w", err)
		}
		return nil
	})
}
