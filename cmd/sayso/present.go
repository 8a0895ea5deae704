package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// presentStore is a store that shows the present state of processes: one that has ended is dead, even
// before the store records that. It remembers the last state of each running session in case the
// store cannot be read.
type presentStore struct {
	store.Store
	present func(stored session.ProcessState) session.ProcessState

	mu   sync.Mutex
	last map[string]session.ProcessState // by session
}

func newPresentStore(s store.Store, present func(session.ProcessState) session.ProcessState) *presentStore {
	return &presentStore{Store: s, present: present, last: map[string]session.ProcessState{}}
}

func (s *presentStore) ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error) {
	stored, err := s.Store.ProcessState(ctx, sessionID)
	unreadable := err != nil && !errors.Is(err, session.ErrNotFound)
	s.mu.Lock()
	before, known := s.last[sessionID]
	switch {
	case err == nil && stored.Running():
		s.last[sessionID] = stored
	case !unreadable:
		delete(s.last, sessionID)
	}
	s.mu.Unlock()
	if unreadable && known {
		if now := s.present(before); !now.Running() {
			return now, nil
		}
	}
	if err != nil {
		return session.ProcessState{}, err
	}
	return s.present(stored), nil
}

func (s *presentStore) ActiveProcesses(ctx context.Context) ([]session.ProcessState, error) {
	states, err := s.Store.ActiveProcesses(ctx)
	for i := range states {
		states[i] = s.present(states[i])
	}
	return slices.DeleteFunc(states, func(p session.ProcessState) bool { return !p.Running() && len(p.Requests) == 0 }), err
}
