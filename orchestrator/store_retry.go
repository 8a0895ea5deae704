package orchestrator

import (
	"context"
	"log/slog"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// storeRetryDelay is the delay between two attempts while the store fails, for example because
// the disk is full or the database is unavailable.
const storeRetryDelay = time.Second

// retryStore calls do until it succeeds, fails with an error that is not temporary, or ctx ends;
// in the last case the next server has to catch up. It returns the error of the last attempt.
// what names the data in the log.
func retryStore(ctx context.Context, log *slog.Logger, what string, do func() error) error {
	for told := false; ; told = true {
		err := do()
		if err == nil || !pending.IsTemporary(err) || ctx.Err() != nil {
			return err
		}
		if !told {
			log.ErrorContext(ctx, "the store is not available; retrying until it is", "what", what, "error", err)
		}
		select {
		case <-time.After(storeRetryDelay):
		case <-ctx.Done():
			return err
		}
	}
}
