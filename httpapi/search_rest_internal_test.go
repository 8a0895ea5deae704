package httpapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
)

// slowStore searches until it is told to stop.
type slowStore struct{ searchStore }

func (slowStore) IndexBehind(context.Context) (bool, error) { return true, nil }

func (slowStore) SearchTranscripts(ctx context.Context, _ session.Search) ([]session.Match, int64, error) {
	<-ctx.Done()
	return nil, 0, ctx.Err()
}

func TestSearchEndsInTimeAndWithItsClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &searchHandlers{store: slowStore{}}
		q := session.Search{Words: []string{"the"}, Before: 7}
		list, err := s.search(t.Context(), q, 20, account.Identity{})
		if err != nil || !list.Incomplete || !list.Indexing || list.Next == nil || *list.Next != "7" {
			t.Errorf("got %+v, %v", list, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.search(ctx, q, 20, account.Identity{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a search whose client is gone: got %v", err)
		}
	})
}
