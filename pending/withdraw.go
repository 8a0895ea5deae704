package pending

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Withdraw ends a request whose answer is no longer needed, with a reason for people. It
// leaves a withdrawn request unchanged; it returns a [NotOpenError] for one that ended
// otherwise.
func (r *Registry) Withdraw(ctx context.Context, requestID, reason string) error {
	row, err := r.store.Request(ctx, requestID)
	if err == nil {
		ctx, cancel := withSettleTimeout(ctx)
		defer cancel()
		row, _, err = r.resolve(ctx, row.SessionID, requestID, Resolution{Status: Withdrawn, Reason: reason, At: time.Now()})
	}
	switch {
	case err != nil:
		return fmt.Errorf("pending: withdraw %s: %w", requestID, err)
	case row.Status != Withdrawn:
		return &NotOpenError{Request: row}
	}
	return nil
}

// WithdrawAll withdraws all answerable requests of one session, including orphaned ones, and
// returns their number.
func (r *Registry) WithdrawAll(ctx context.Context, sessionID, reason string) (int, error) {
	if sessionID == "" {
		return 0, fmt.Errorf("pending: withdraw all: %w", ErrNotFound) // "" would mean every session
	}
	rows, err := r.store.AnswerableRequests(ctx, sessionID)
	if err != nil {
		return 0, fmt.Errorf("pending: withdraw all of %s: %w", sessionID, err)
	}
	ctx, cancel := withSettleTimeout(ctx)
	defer cancel()
	var n int
	var failed []error
	for _, row := range rows {
		_, mine, err := r.resolve(ctx, sessionID, row.RequestID, Resolution{Status: Withdrawn, Reason: reason, At: time.Now()})
		switch {
		case mine:
			n++
		case err != nil && !errors.Is(err, ErrNotFound):
			failed = append(failed, fmt.Errorf("pending: withdraw %s: %w", row.RequestID, err))
		}
	}
	return n, errors.Join(failed...)
}

// Orphan marks the open requests of a session whose process has died and returns their
// number. They stay answerable and their Asks continue.
func (r *Registry) Orphan(ctx context.Context, sessionID, reason string) (int, error) {
	n, err := r.store.OrphanRequests(ctx, sessionID, reason)
	if n > 0 || err != nil {
		r.notifier.Notify(sessionID) // after an error too, because the change may be stored
	}
	if err != nil {
		return n, fmt.Errorf("pending: orphan requests of %s: %w", sessionID, err)
	}
	return n, nil
}
