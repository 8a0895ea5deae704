package main

import (
	"context"
	"log/slog"
	"time"
)

// transcriptIndexer makes what transcripts say searchable, behind those who write them.
// Searches themselves index nothing.
type transcriptIndexer struct {
	index func(ctx context.Context, items int) (more bool, err error)
	log   *slog.Logger
	wake  chan struct{} // with one place
}

func newTranscriptIndexer(index func(context.Context, int) (bool, error), log *slog.Logger) *transcriptIndexer {
	return &transcriptIndexer{index: index, log: log, wake: make(chan struct{}, 1)}
}

// Touch says that a session has changed. It never blocks.
func (x *transcriptIndexer) Touch(string) {
	select {
	case x.wake <- struct{}{}:
	default: // it is known already
	}
}

// Run indexes, after each change and beginning with what an earlier server left, until ctx
// ends.
func (x *transcriptIndexer) Run(ctx context.Context) error {
	const (
		itemsPerStep = 100
		afterStart   = 2 * time.Second        // which has other work first
		settling     = 200 * time.Millisecond // after a change others follow
		retry        = 10 * time.Second
	)
	wait := afterStart
	for {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		start := time.Now()
		more, err := x.index(ctx, itemsPerStep)
		if more && err == nil {
			// Others write too, and half of a processor is enough for what nobody waits for.
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
		wait = settling
	}
}
