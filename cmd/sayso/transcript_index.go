package main

import (
	"context"
	"time"
)

// indexTranscripts adds transcripts to the search index until ctx ends, beginning with
// what an older sayso has stored. It may lag: each search indexes the rest itself.
func (a *app) indexTranscripts(ctx context.Context) error {
	const step, pause = 100, 10 * time.Second
	for {
		more, err := a.store.IndexTranscripts(ctx, step)
		if err != nil && ctx.Err() == nil {
			a.log.Debug("cannot index transcripts for searches; trying again", "error", err)
		}
		wait := pause
		if more {
			wait = 20 * time.Millisecond // others write too
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}
