package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func contexts(t *testing.T, open func(t *testing.T) store.Store) {
	s := suite{t, open}

	s.run("CanceledBeforehandDoesNothing", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "ls"))
		given := undeliveredRequest(t, st, id)
		u := newUser(t, st, "Ada")
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		title := "new"
		calls := map[string]func() error{
			"OpenRequest":    func() error { _, _, err := st.OpenRequest(ended, bashRequest(id, "more")); return err },
			"ResolveRequest": func() error { _, _, err := st.ResolveRequest(ended, r.RequestID, approval("c")); return err },
			"OrphanRequests": func() error { _, err := st.OrphanRequests(ended, id, "x"); return err },
			"Request":        func() error { _, err := st.Request(ended, r.RequestID); return err },
			"CreateSession":  func() error { return st.CreateSession(ended, session.Session{SessionID: "s"}) },
			"UpdateSession":  func() error { _, err := st.UpdateSession(ended, id, session.Patch{Title: &title}); return err },
			"DeleteSession":  func() error { return st.DeleteSession(ended, id) },
			"SaveProcess": func() error {
				_, err := st.SaveProcess(ended, session.ProcessState{SessionID: id, State: session.Starting})
				return err
			},
			"ProcessState":  func() error { _, err := st.ProcessState(ended, id); return err },
			"PutItems":      func() error { return st.PutItems(ended, id, []session.Item{item("k", "x")}) },
			"QueueMessage":  func() error { _, err := st.QueueMessage(ended, message(id, "x", 0)); return err },
			"PutUser":       func() error { u.Name = "Bob"; return st.PutUser(ended, u) },
			"SaveCommand":   func() error { _, err := st.SaveCommand(ended, "u", "c", []byte("a"), begin); return err },
			"Ping":          func() error { return st.Ping(ended) },
			"ExtendRequest": func() error { _, _, err := st.ExtendRequest(ended, r.RequestID, after(60)); return err },
			"SetLifecycle":  func() error { return st.SetLifecycle(ended, id, session.Lifecycle{EventType: "phase-started"}) },
			"AddAgentToken": func() error { return st.AddAgentToken(ended, agentToken(id, 1)) },
			"AgentToken":    func() error { _, err := st.AgentToken(ended, make([]byte, 32), begin); return err },
			"CarryAnswer":   func() error { _, _, err := st.CarryAnswer(ended, requestOf(id, "two"), given.RequestID); return err },
			"SaveProgress": func() error {
				_, err := st.SaveProgress(ended, id, session.Progress{Process: &session.ProcessState{State: session.Starting}})
				return err
			},
			"Mark":      func() error { _, err := st.Mark(ended, id); return err },
			"TakeLease": func() error { _, err := st.TakeLease(ended, session.Hello{}); return err },
			"Runners":   func() error { _, err := st.Runners(ended); return err },
			"Unsend":    func() error { _, err := st.Unsend(ended, message(id, "x", 0).MessageID); return err },
			"Requeue":   func() error { _, err := st.Requeue(ended, id); return err },
		}
		expectNoVersionBump(t, st, id, func() {
			for name, call := range calls {
				wantError(t, name, call(), context.Canceled)
			}
		})
		state, err := st.ProcessState(context.Background(), id)
		must(t, err)
		equal(t, "requests", requestIDs(state.Requests), []string{r.RequestID})
		read, err := st.User(context.Background(), u.UserID)
		must(t, err)
		equal(t, "user", read.Name, "Ada")
		must(t, st.Ping(context.Background()))
	})

	// Contexts end at arbitrary moments of a write. Every write reported as stored must be stored
	// completely, and the version must count exactly those writes.
	s.run("CanceledAnytimeLeavesNoPart", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := bashRequest(id, "warm up")
		start := time.Now()
		openRequest(t, st, r)
		span := time.Since(start)
		told := 1
		for i := range 60 {
			ctx, cancel := context.WithTimeout(context.Background(), span*time.Duration(i)/30)
			if _, _, err := st.OpenRequest(ctx, bashRequest(id, fmt.Sprint(i))); err == nil {
				told++
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("open: %v", err)
			}
			cancel()
		}
		state, err := st.ProcessState(context.Background(), id)
		must(t, err)
		if len(state.Requests) < told {
			t.Fatalf("%d requests were said to be stored, %d are", told, len(state.Requests))
		}
		equal(t, "version", state.Version, uint64(1+len(state.Requests)))
	})

	s.run("Closed", func(t *testing.T, st store.Store) {
		ctx := context.Background()
		id := newSession(t, st)
		must(t, st.Ping(ctx))
		must(t, st.Close())
		must(t, st.Close())
		_, err := st.ProcessState(ctx, id)
		wantError(t, "read", err, store.ErrClosed)
		_, _, err = st.OpenRequest(ctx, bashRequest(id, "ls"))
		wantError(t, "write", err, store.ErrClosed)
		wantError(t, "ping", st.Ping(ctx), store.ErrClosed)
	})
}
