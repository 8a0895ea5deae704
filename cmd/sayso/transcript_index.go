package main

import (
	"context"
	"log/slog"
	"time"
)

// transcriptIndexer indexes transcripts for searches in the background. Searches themselves
// do not index.
type transcriptIndexer struct {
	index func(ctx context.Context, items int) (more bool, err error)
	log   *slog.Logger
	wake  chan struct{} // capacity 1
}

func newTranscriptIndexer(index func(context.Context, int) (bool, error), log *slog.Logger) *transcriptIndexer {
	return &transcriptIndexer{index: index, log: log, wake: make(chan struct{}, 1)}
}

// Touch marks that a session has changed. It never blocks.
func (x *transcriptIndexer) Touch(string) {
	select {
	case x.wake <- struct{}{}:
	default: // already marked
	}
}

// Run indexes after each change, starting with what an earlier server left, until ctx ends.
func (x *transcriptIndexer) Run(ctx context.Context) error {
	const (
		itemsPerStep = 100
		startDelay   = 2 * time.Second        // the server has other work first
		changeDelay  = 200 * time.Millisecond // more changes usually follow one
		retry        = 10 * time.Second
	)
	wait := startDelay
	for {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		start := time.Now()
		more, err := x.index(ctx, itemsPerStep)
		if more && err == nil {
			// Other writers need the database too, and this work is not urgent, so it takes
			// at most half of a processor.
			wait = max(time.Since(start), 20*time.Millisecond)
			continue
		}
		var again <-chan time.Time
		if err != nil && ctx.Err() == nil {
			x.log.Debug("cannot index transcripts for searches; trying again", "error", err)
			again = time.After(retry)
		}
		select {
		case <-x.wake:
		case <-again:
		case <-ctx.Done():
			return nil
		}
		wait = changeDelay
	}
}
