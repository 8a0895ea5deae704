package orchestrator

import (
	"context"
	"fmt"

	"github.com/sayso-dev/sayso/session"
)

// eachPage calls each with the items of a transcript whose Rev is above after, page by page, roughly
// in their order.
func (o *Orchestrator) eachPage(ctx context.Context, sessionID string, after int64, each func([]session.Item) error) error {
	const pageSize = 500
	for more := true; more; {
		page, err := o.o.Store.Transcript(ctx, sessionID, after, pageSize)
		if err != nil {
			return fmt.Errorf("orchestrator: read transcript: %w", err)
		}
		if err := each(page.Items); err != nil {
			return err
		}
		after, more = page.Next, page.More
	}
	return nil
}

// eachItem calls each for all items of a transcript, in the order of [Orchestrator.eachPage].
func (o *Orchestrator) eachItem(ctx context.Context, sessionID string, each func(session.Item) error) error {
	return o.eachItemAfter(ctx, sessionID, 0, each)
}

// eachItemAfter calls each for the items of a transcript with a Rev above after.
func (o *Orchestrator) eachItemAfter(ctx context.Context, sessionID string, after int64, each func(session.Item) error) error {
	return o.eachPage(ctx, sessionID, after, func(items []session.Item) error {
		for _, it := range items {
			if err := each(it); err != nil {
				return err
			}
		}
		return nil
	})
}
