package orchestrator

import (
	"context"
	"log/slog"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// storePause is between two attempts to write what must be written, while the
// store cannot take it: the disk is full, or the database away.
const storePause = time.Second

// retryStore does what the store must take, again and again while it cannot; what is
// left undone when ctx ends is done by the next server. The error is that of the
// last attempt.
func retryStore(ctx context.Context, log *slog.Logger, what string, do func() error) error {
	for told := false; ; told = true {
		err := do()
		if err == nil || !pending.IsTemporary(err) || ctx.Err() != nil {
			return err
		}
		if !told {
			log.ErrorContext(ctx, "the store cannot take it now; trying again until it can", "what", what, "error", err)
		}
		select {
		case <-time.After(storePause):
		case <-ctx.Done():
			return err
		}
	}
}
