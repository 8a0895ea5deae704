package main_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator/admission"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// databaseServers are the view of one server on a database. Its first Use returns only when all others have used it.
type databaseServers struct {
	*postgres.Store
	once sync.Once
	all  *sync.WaitGroup
}

func (s *databaseServers) Use(ctx context.Context) (use map[string]project.SessionUse, mark int64, err error) {
	use, mark, err = s.Store.Use(ctx, nil)
	s.once.Do(func() { s.all.Done(); s.all.Wait() })
	return use, mark, err
}

func (s *databaseServers) Reserve(ctx context.Context, mark int64, sessionID string, use project.SessionUse) (bool, error) {
	return s.ReserveSession(ctx, mark, sessionID, use)
}

func (s *databaseServers) Release(ctx context.Context, sessionID string) error {
	return s.ReleaseSession(ctx, sessionID)
}

// TestServersShareTheLastSlot: four servers that saw the same free slots at the same instant give away two
// together, and one that is released is free for all.
func TestServersShareTheLastSlot(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	var all sync.WaitGroup
	var controls []*admission.Control
	for range 4 {
		st, err := postgres.Open(t.Context(), dsn)
		must(t, err)
		t.Cleanup(func() { _ = st.Close() })
		all.Add(1)
		controls = append(controls, admission.New(admission.Options{
			Store: st, EachPerson: func() project.Limits { return project.Limits{Sessions: 2} },
			Running: func() map[string]project.SessionUse { return nil }, Servers: &databaseServers{Store: st, all: &all},
		}))
	}
	releases := make(chan func(), len(controls))
	var callers sync.WaitGroup
	for i, c := range controls {
		callers.Go(func() {
			release, err := c.Reserve(t.Context(), fmt.Sprint("session ", i), "/a", "ada")
			if err == nil {
				releases <- release
			} else if !errors.Is(err, problem.LimitReached) {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if len(releases) != 2 {
		t.Fatalf("%d sessions got the 2 slots", len(releases))
	}
	if _, taken, err := controls[0].Bounds(t.Context()); err != nil || len(taken) != 2 {
		t.Errorf("%v is taken, %v", taken, err)
	}
	(<-releases)()
	if _, err := controls[3].Reserve(t.Context(), "later", "/a", "ada"); err != nil {
		t.Errorf("a released slot is not given again: %v", err)
	}
	if _, err := controls[2].Reserve(t.Context(), "too late", "/a", "ada"); !errors.Is(err, problem.LimitReached) {
		t.Errorf("a third slot: %v", err)
	}
}
