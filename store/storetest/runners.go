package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// Runner registers a runner and returns its hello.
func Runner(t testing.TB, st session.RunnerStore) session.Hello {
	t.Helper()
	h := session.Hello{RunnerID: uuid.NewString(), InstallationID: uuid.NewString(), Name: "atlas", Server: "a", Release: "1.0"}
	if err := st.RegisterRunner(context.Background(), session.Runner{RunnerID: h.RunnerID, InstallationID: h.InstallationID, Name: h.Name}); err != nil {
		t.Fatal(err)
	}
	return h
}

// TakeLease takes the lease of a runner.
func TakeLease(t testing.TB, st session.RunnerStore, h session.Hello) session.Lease {
	t.Helper()
	l, err := st.TakeLease(context.Background(), h)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func runners(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("RegisterKeepsAKnownOne", func(t *testing.T, st store.Store) {
		_, err := st.Runner(ctx, "nobody")
		wantError(t, "an unknown runner", err, session.ErrNoRunner)
		_, err = st.TakeLease(ctx, session.Hello{RunnerID: "nobody"})
		wantError(t, "the lease of an unknown runner", err, session.ErrNoRunner)
		h := Runner(t, st)
		must(t, st.RegisterRunner(ctx, session.Runner{RunnerID: h.RunnerID, InstallationID: "another", Name: "another"}))
		all, err := st.Runners(ctx)
		must(t, err)
		equal(t, "runners", all, []session.Runner{{RunnerID: h.RunnerID, InstallationID: h.InstallationID, Name: "atlas", Labels: []string{}, Roots: []string{}, CLIs: []session.RunnerCLI{}}})
	})

	s.run("SessionsKeepTheirRunner", func(t *testing.T, st store.Store) {
		h := Runner(t, st)
		id := uuid.NewString()
		must(t, st.CreateSession(ctx, session.Session{SessionID: id, RunnerID: h.RunnerID, CreatedAt: begin}))
		other := newSession(t, st)
		_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.UserTurn, RunnerID: "another", NodeID: "another"})
		must(t, err)
		Runner(t, st) // takes over no session
		found, err := st.Session(ctx, id)
		must(t, err)
		equal(t, "runner", found.RunnerID, h.RunnerID)
		state, err := st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "runner of the process", []string{state.RunnerID, state.NodeID}, []string{h.RunnerID, "atlas"})
		state, err = st.ProcessState(ctx, other)
		must(t, err)
		equal(t, "no runner", []string{state.RunnerID, state.NodeID}, []string{"", ""})
	})

	s.run("LeaseStoresTheHello", func(t *testing.T, st store.Store) {
		h := Runner(t, st)
		h.Name, h.Machine, h.Server, h.Release = "build", "machine", "b", "2.0"
		l := TakeLease(t, st, h)
		r, err := st.Runner(ctx, h.RunnerID)
		must(t, err)
		if r.SeenAt.IsZero() || r.ExpiresAt.Sub(r.SeenAt) != session.LeaseTTL {
			t.Errorf("seen at %s, valid until %s", r.SeenAt, r.ExpiresAt)
		}
		r.SeenAt, r.ExpiresAt = time.Time{}, time.Time{}
		equal(t, "runner", r, session.Runner{RunnerID: h.RunnerID, Name: "build", InstallationID: h.InstallationID,
			Machine: "machine", Release: "2.0", Epoch: l.Epoch, Server: "b", Leased: true, Labels: []string{}, Roots: []string{}, CLIs: []session.RunnerCLI{}})
	})

	s.run("AnotherInstallationIsRefused", func(t *testing.T, st store.Store) {
		h := Runner(t, st)
		h.Machine = "machine"
		l := TakeLease(t, st, h)
		for what, change := range map[string]func(*session.Hello){
			"another installation": func(h *session.Hello) { h.InstallationID = uuid.NewString() },
			"another machine":      func(h *session.Hello) { h.Machine = "another" },
		} {
			other := h
			change(&other)
			_, err := st.TakeLease(ctx, other)
			wantError(t, what, err, session.ErrOtherInstallation)
		}
		must(t, st.RenewLease(ctx, l)) // the refused calls changed nothing
		h.Machine = ""                 // the runner does not know its machine id
		TakeLease(t, st, h)
		r, err := st.Runner(ctx, h.RunnerID)
		must(t, err)
		equal(t, "machine", r.Machine, "machine")
	})

	s.run("LeaseIsAboveTheFence", func(t *testing.T, st store.Store) {
		h := Runner(t, st)
		const ahead = 9_000_000_000_000_000
		h.Fence = ahead
		equal(t, "epoch", TakeLease(t, st, h).Epoch, uint64(ahead+1))
		h.Fence = 0
		equal(t, "next epoch", TakeLease(t, st, h).Epoch, uint64(ahead+2))
	})

	s.run("RenewAndRelease", func(t *testing.T, st store.Store) {
		h := Runner(t, st)
		former := TakeLease(t, st, h)
		l := TakeLease(t, st, h)
		must(t, st.RenewLease(ctx, l))
		wantError(t, "renewing a former lease", st.RenewLease(ctx, former), session.ErrLeaseLost)
		wantError(t, "releasing a former lease", st.ReleaseLease(ctx, former), session.ErrLeaseLost)
		must(t, st.ReleaseLease(ctx, l))
		r, err := st.Runner(ctx, h.RunnerID)
		must(t, err)
		if r.Server != "" || r.Leased || r.ExpiresAt.Sub(r.SeenAt) >= session.LeaseTTL {
			t.Errorf("after the release: %+v", r)
		}
		must(t, store.WithLease(st, l).SetLifecycle(ctx, newSession(t, st), session.Lifecycle{EventType: "x"})) // nobody has a newer one
		equal(t, "epoch after the release", TakeLease(t, st, h).Epoch > l.Epoch, true)
	})

	s.run("AdminsDecideAboutRunners", func(t *testing.T, st store.Store) {
		ada := pending.Actor{UserID: "u1", Name: "Ada"}
		h := Runner(t, st)
		for _, use := range []session.RunnerUse{session.RunnerPaused, session.RunnerDraining, session.RunnerActive} {
			must(t, st.SetRunnerUse(ctx, h.RunnerID, use, ada))
			r, err := st.Runner(ctx, h.RunnerID)
			must(t, err)
			equal(t, string(use), []bool{r.Paused, r.Draining}, []bool{use == session.RunnerPaused, use == session.RunnerDraining})
		}
		h.Labels = []string{"said"}
		labels := func(what string, want ...string) {
			t.Helper()
			TakeLease(t, st, h) // its hello does not change labels that an admin has set
			r, err := st.Runner(ctx, h.RunnerID)
			must(t, err)
			equal(t, what, r.Labels, want)
		}
		labels("at first", "said")
		must(t, st.SetRunnerLabels(ctx, h.RunnerID, []string{"gpu", "big"}, ada))
		labels("given", "gpu", "big")
		must(t, st.SetRunnerLabels(ctx, h.RunnerID, []string{}, ada))
		labels("given none", []string{}...)
		must(t, st.SetRunnerLabels(ctx, h.RunnerID, nil, ada))
		labels("no longer given", "said")

		far, other := session.Runner{RunnerID: uuid.NewString(), Name: "build"}, session.Runner{RunnerID: uuid.NewString(), Name: "laptop"}
		must(t, st.CreateRunner(ctx, far, sha256.Sum256([]byte("one")), ada))
		must(t, st.CreateRunner(ctx, other, sha256.Sum256([]byte("two")), ada))
		rename := func(runnerID, name string) error {
			_, err := st.RenameRunner(ctx, runnerID, name, ada)
			return err
		}
		must(t, rename(far.RunnerID, "build-02"))
		must(t, rename(far.RunnerID, "build-02")) // its own name is not taken
		wantError(t, "the name of another", rename(far.RunnerID, "laptop"), session.ErrRunnerExists)
		wantError(t, "renaming the runner of a server", rename(h.RunnerID, "other"), session.ErrNoRunner)
		r, err := st.Runner(ctx, far.RunnerID)
		must(t, err)
		equal(t, "name", r.Name, "build-02")

		wantError(t, "pausing nobody", st.SetRunnerUse(ctx, "nobody", session.RunnerPaused, ada), session.ErrNoRunner)
		wantError(t, "labels of nobody", st.SetRunnerLabels(ctx, "nobody", nil, ada), session.ErrNoRunner)
		wantError(t, "renaming nobody", rename("nobody", "x"), session.ErrNoRunner)
		entries, err := st.Audit(ctx, 0, 20)
		must(t, err)
		equal(t, "audit entries", ids(entries, func(e account.AuditEntry) string {
			var entry struct{ What string }
			must(t, json.Unmarshal(e.Body, &entry))
			return entry.What
		}), []string{"runner_paused", "runner_draining", "runner_resumed", "runner_labeled", "runner_labeled", "runner_labeled",
			"runner_created", "runner_created", "runner_renamed", "runner_renamed"})
	})

	s.run("SessionsFollowARename", func(t *testing.T, st store.Store) {
		ada := pending.Actor{UserID: "u1", Name: "Ada"}
		far := session.Runner{RunnerID: uuid.NewString(), Name: "build"}
		must(t, st.CreateRunner(ctx, far, sha256.Sum256([]byte("one")), ada))
		ended := uuid.NewString()
		must(t, st.CreateSession(ctx, session.Session{SessionID: ended, RunnerID: far.RunnerID, CreatedAt: begin}))
		newSession(t, st)
		before, err := st.ProcessState(ctx, ended)
		must(t, err)
		named, err := st.RenameRunner(ctx, far.RunnerID, "atlas", ada)
		must(t, err)
		equal(t, "sessions", named, []string{ended})
		after, err := st.ProcessState(ctx, ended)
		must(t, err)
		equal(t, "state", []any{after.State, after.NodeID, after.Version > before.Version}, []any{session.Dead, "atlas", true})
	})

	s.run("RunningByRunner", func(t *testing.T, st store.Store) {
		h := Runner(t, st)
		for _, state := range []session.State{session.UserTurn, session.AssistantTurn, session.Dead} {
			id := uuid.NewString()
			must(t, st.CreateSession(ctx, session.Session{SessionID: id, RunnerID: h.RunnerID, CreatedAt: begin}))
			_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: state})
			must(t, err)
		}
		running, err := st.RunningByRunner(ctx)
		must(t, err)
		equal(t, "running", running, map[string]int{h.RunnerID: 2})
	})

	s.run("RemoteRunnersHaveATokenEach", func(t *testing.T, st store.Store) {
		ada := pending.Actor{UserID: "u1", Name: "Ada"}
		local := Runner(t, st)
		TakeLease(t, st, local)
		hash := func(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }
		one := session.Runner{RunnerID: uuid.NewString(), Name: "build"}
		must(t, st.CreateRunner(ctx, one, hash("one"), ada))
		wantError(t, "the same name", st.CreateRunner(ctx, session.Runner{RunnerID: uuid.NewString(), Name: "build"}, hash("two"), ada), session.ErrRunnerExists)
		found, err := st.RunnerByToken(ctx, hash("one"))
		must(t, err)
		equal(t, "the new runner", found, session.Runner{RunnerID: one.RunnerID, Name: "build", Remote: true, HasToken: true, Labels: []string{}, Roots: []string{}, CLIs: []session.RunnerCLI{}})
		_, err = st.RunnerByToken(ctx, hash("another"))
		wantError(t, "another token", err, session.ErrNoRunner)

		// The first hello determines the installation.
		h := session.Hello{RunnerID: one.RunnerID, InstallationID: uuid.NewString(), Machine: "machine", Server: "a", Release: "1.0",
			Labels: []string{"gpu"}, Roots: []string{"/work"}, Capacity: session.Capacity{Processes: 4, Memory: 1 << 34, Cores: 8},
			CLIs: []session.RunnerCLI{{Path: "/usr/bin/claude", Version: "2.1.329", SignedIn: true}}, Clock: time.Now().Add(time.Hour)}
		lease := TakeLease(t, st, h)
		found, err = st.Runner(ctx, one.RunnerID)
		must(t, err)
		if d := found.ClockSkew - time.Hour; d.Abs() > 10*time.Minute {
			t.Errorf("clock skew %s", found.ClockSkew)
		}
		found.ClockSkew, found.SeenAt, found.ExpiresAt = 0, time.Time{}, time.Time{}
		equal(t, "after the hello", found, session.Runner{RunnerID: one.RunnerID, Name: "build", InstallationID: h.InstallationID, Machine: "machine",
			Release: "1.0", Epoch: lease.Epoch, Server: "a", Leased: true, Remote: true, HasToken: true, Labels: h.Labels, Roots: h.Roots, Capacity: h.Capacity, CLIs: h.CLIs})
		other := h
		other.InstallationID = uuid.NewString()
		_, err = st.TakeLease(ctx, other)
		wantError(t, "another installation with the token", err, session.ErrOtherInstallation)

		two := hash("two")
		must(t, st.SetRunnerToken(ctx, one.RunnerID, &two, ada))
		_, err = st.RunnerByToken(ctx, hash("one"))
		wantError(t, "the former token", err, session.ErrNoRunner)
		_, err = st.RunnerByToken(ctx, two)
		must(t, err)
		must(t, st.SetRunnerToken(ctx, one.RunnerID, nil, ada))
		_, err = st.RunnerByToken(ctx, two)
		wantError(t, "a revoked token", err, session.ErrNoRunner)
		for what, id := range map[string]string{"an unknown runner": "nobody", "the runner of a server": local.RunnerID} {
			wantError(t, "the token of "+what, st.SetRunnerToken(ctx, id, &two, ada), session.ErrNoRunner)
			_, err := st.RemoveRunner(ctx, id, ada)
			wantError(t, "removing "+what, err, session.ErrNoRunner)
		}

		must(t, st.SetRunnerToken(ctx, one.RunnerID, &two, ada))
		theirs, archived := uuid.NewString(), uuid.NewString()
		for _, id := range []string{theirs, archived} {
			must(t, st.CreateSession(ctx, session.Session{SessionID: id, RunnerID: one.RunnerID, Archived: id == archived, CreatedAt: begin}))
		}
		another := newSession(t, st)
		_, err = st.SaveProcess(ctx, session.ProcessState{SessionID: archived, State: session.UserTurn})
		must(t, err)
		touched, err := st.TouchRunner(ctx, one.RunnerID)
		must(t, err)
		equal(t, "touched sessions", len(touched), 0)
		_, err = st.SaveProcess(ctx, session.ProcessState{SessionID: theirs, State: session.UserTurn})
		must(t, err)
		atRest, running := version(t, st, another), version(t, st, theirs)
		touched, err = st.TouchRunner(ctx, one.RunnerID)
		must(t, err)
		equal(t, "touched sessions", touched, []string{theirs})
		equal(t, "versions", []bool{version(t, st, another) > atRest, version(t, st, theirs) > running}, []bool{false, true})
		before := version(t, st, theirs)
		ended, err := st.RemoveRunner(ctx, one.RunnerID, ada)
		must(t, err)
		equal(t, "archived sessions", ended, []string{theirs})
		equal(t, "version", version(t, st, theirs) > before, true)
		for id, want := range map[string]bool{theirs: true, another: false} {
			s, err := st.Session(ctx, id)
			must(t, err)
			equal(t, "archived", s.Archived, want)
		}
		_, err = st.RunnerByToken(ctx, two)
		wantError(t, "the token of a removed runner", err, session.ErrNoRunner)
		_, err = st.TakeLease(ctx, h)
		wantError(t, "the lease of a removed runner", err, session.ErrRunnerRemoved)
		wantError(t, "a token for a removed runner", st.SetRunnerToken(ctx, one.RunnerID, &two, ada), session.ErrNoRunner)
		must(t, st.CreateRunner(ctx, session.Runner{RunnerID: uuid.NewString(), Name: "build"}, two, ada)) // the name is free again
		entries, err := st.Audit(ctx, 0, 20)
		must(t, err)
		equal(t, "audit entries", ids(entries, func(e account.AuditEntry) string {
			var entry struct{ What string }
			must(t, json.Unmarshal(e.Body, &entry))
			return entry.What
		}), []string{"runner_created", "runner_token_created", "runner_token_revoked", "runner_token_created", "runner_removed", "runner_created"})
	})

	s.run("RunnersOfServersThatAreGone", func(t *testing.T, st store.Store) {
		ada := pending.Actor{UserID: "u1", Name: "Ada"}
		used, unused, never := Runner(t, st), Runner(t, st), Runner(t, st)
		lease := TakeLease(t, st, used)
		must(t, st.ReleaseLease(ctx, TakeLease(t, st, unused)))
		sessionID := uuid.NewString()
		must(t, st.CreateSession(ctx, session.Session{SessionID: sessionID, RunnerID: used.RunnerID, CreatedAt: begin}))
		remote := session.Runner{RunnerID: uuid.NewString(), Name: "build"}
		must(t, st.CreateRunner(ctx, remote, sha256.Sum256([]byte("one")), ada))
		TakeLease(t, st, session.Hello{RunnerID: remote.RunnerID, InstallationID: uuid.NewString()})

		must(t, st.ForgetRunners(ctx, time.Now().Add(-time.Hour)))
		must(t, st.ForgetRunners(ctx, time.Now().Add(time.Hour)))
		all, err := st.Runners(ctx)
		must(t, err)
		want := []string{used.RunnerID, never.RunnerID, remote.RunnerID}
		slices.Sort(want)
		got := ids(all, func(r session.Runner) string { return r.RunnerID })
		slices.Sort(got)
		equal(t, "what is not forgotten", got, want)

		must(t, st.ReleaseLease(ctx, lease))
		archived, err := st.RemoveRunner(ctx, used.RunnerID, ada)
		must(t, err)
		equal(t, "archived sessions", archived, []string{sessionID})
		wantError(t, "writing as its driver", store.WithLease(st, lease).SetLifecycle(ctx, sessionID, session.Lifecycle{EventType: "x"}), session.ErrLeaseLost)
		_, err = st.TakeLease(ctx, used)
		wantError(t, "its lease", err, session.ErrRunnerRemoved)
	})

	s.run("EpochsGrow", func(t *testing.T, st store.Store) {
		h := Runner(t, st)
		next := func() uint64 {
			l, err := st.TakeLease(ctx, h)
			if err != nil {
				t.Error(err)
			}
			return l.Epoch
		}
		last := next()
		if last == 0 {
			t.Fatal("the first epoch is 0")
		}
		var epochs [32][4]uint64
		concurrently(32, func(i int) {
			for j := range epochs[i] {
				epochs[i][j] = next()
			}
		})
		unique := map[uint64]bool{}
		for _, mine := range epochs {
			before := last
			for _, e := range mine {
				unique[e] = true
				if e <= before {
					t.Errorf("epoch %d comes after %d", e, before)
				}
				before = e
			}
		}
		equal(t, "epochs given", len(unique), 32*4)
		e := next()
		for given := range unique {
			if e <= given {
				t.Errorf("epoch %d comes after %d", e, given)
			}
		}
	})

	s.run("OutdatedWritesAreRefused", func(t *testing.T, st store.Store) {
		h := Runner(t, st)
		before, now := store.WithLease(st, TakeLease(t, st, h)), store.WithLease(st, TakeLease(t, st, h))
		id := newSession(t, st)
		sent := message(id, "sent", 0)
		_, err := st.QueueMessage(ctx, sent)
		must(t, err)
		_, err = st.MarkSent(ctx, sent.MessageID, after(1))
		must(t, err)
		waiting := message(id, "waiting", 2)
		_, err = st.QueueMessage(ctx, waiting)
		must(t, err)
		given := undeliveredRequest(t, st, id)
		timed := requestOf(id, "one")
		timed.ExpiresAt = after(60)
		for _, r := range []*pending.Request{&timed} {
			*r = openRequest(t, st, *r)
		}
		title := "new"
		writes := map[string]func(st store.Store) error{
			"CreateSession": func(st store.Store) error {
				return st.CreateSession(ctx, session.Session{SessionID: "s", CreatedAt: begin})
			},
			"UpdateSession": func(st store.Store) error {
				_, err := st.UpdateSession(ctx, id, session.Patch{Title: &title})
				return err
			},
			"SaveProcess": func(st store.Store) error {
				_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.UserTurn})
				return err
			},
			"SaveProgress": func(st store.Store) error {
				_, err := st.SaveProgress(ctx, id, session.Progress{Process: &session.ProcessState{State: session.UserTurn},
					Items: []session.Item{item("k", "x")}, Mark: &session.Mark{ProcessID: "one", Offset: 1}})
				return err
			},
			"PutItems":     func(st store.Store) error { return st.PutItems(ctx, id, []session.Item{item("l", "x")}) },
			"SetLifecycle": func(st store.Store) error { return st.SetLifecycle(ctx, id, session.Lifecycle{EventType: "x"}) },
			"QueueMessage": func(st store.Store) error { _, err := st.QueueMessage(ctx, message(id, "x", 3)); return err },
			"MarkSent":     func(st store.Store) error { _, err := st.MarkSent(ctx, waiting.MessageID, after(4)); return err },
			"Unsend":       func(st store.Store) error { _, err := st.Unsend(ctx, sent.MessageID); return err },
			"Requeue":      func(st store.Store) error { _, err := st.Requeue(ctx, id); return err },
			"OpenRequest":  func(st store.Store) error { _, _, err := st.OpenRequest(ctx, requestOf(id, "one")); return err },
			"ResolveRequest": func(st store.Store) error {
				_, _, err := st.ResolveRequest(ctx, timed.RequestID, pending.Resolution{Status: pending.Withdrawn, At: after(5)})
				return err
			},
			"ResolveRequest by a person": func(st store.Store) error {
				_, _, err := st.ResolveRequest(ctx, timed.RequestID, approval("c"))
				return err
			},
			"ApproveRequest": func(st store.Store) error {
				_, _, err := st.ApproveRequest(ctx, timed.RequestID, pending.Approval{Actor: pending.Actor{UserID: "u1"}, At: after(5)})
				return err
			},
			"OrphanRequests": func(st store.Store) error { _, err := st.OrphanRequests(ctx, id, "x"); return err },
			"CarryAnswer": func(st store.Store) error {
				_, _, err := st.CarryAnswer(ctx, requestOf(id, "two"), given.RequestID)
				return err
			},
			"SetDelivery":   func(st store.Store) error { return st.SetDelivery(ctx, given.RequestID, pending.Delivered) },
			"ExtendRequest": func(st store.Store) error { _, _, err := st.ExtendRequest(ctx, timed.RequestID, after(90)); return err },
			"LeaveOut":      func(st store.Store) error { return st.LeaveOut(ctx, id, true) },
			"AddIncident":   func(st store.Store) error { return st.AddIncident(ctx, []byte(`{"what":"x"}`)) },
			"DeleteSession": func(st store.Store) error { return st.DeleteSession(ctx, id) },
		}
		expectNoVersionBump(t, st, id, func() {
			for name, write := range writes {
				err := write(before)
				wantError(t, name, err, store.ErrLeaseLost)
				wantError(t, name, err, store.ErrUnavailable)
			}
		})
		select {
		case <-st.Recovered():
			t.Error("a lost lease counts as an outage of the database")
		default:
		}
		page, err := st.Transcript(ctx, id, 0, 10)
		must(t, err)
		equal(t, "items", len(page.Items), 0)
		row, err := st.Request(ctx, given.RequestID)
		must(t, err)
		equal(t, "the answer", row, given)
		_, err = st.Session(ctx, "s")
		wantError(t, "the session", err, session.ErrNotFound)
		if _, err := before.ProcessState(ctx, id); err != nil { // reading needs no lease
			t.Error(err)
		}
		for name, write := range writes {
			if name != "DeleteSession" {
				if err := write(now); err != nil {
					t.Errorf("%s with the lease: %v", name, err)
				}
			}
		}
		must(t, writes["DeleteSession"](now))
	})

	// Many callers write while the lease is taken again and again. Once a call has taken a newer
	// lease, no write of an earlier one may appear.
	s.run("NoWriteAfterANewerLease", func(t *testing.T, st store.Store) {
		h := Runner(t, st)
		id := newSession(t, st)
		const rounds, writers = 8, 6
		lease := TakeLease(t, st, h)
		for round := range rounds {
			var writing sync.WaitGroup
			ready := make(chan struct{}, writers)
			view := store.WithLease(st, lease)
			for range writers {
				writing.Go(func() {
					for n := 0; ; n++ {
						_, err := view.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.UserTurn, PID: round})
						if n == 0 {
							ready <- struct{}{}
						}
						if errors.Is(err, store.ErrLeaseLost) {
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			for range writers {
				<-ready
			}
			lease = TakeLease(t, st, h)
			taken := version(t, st, id)
			writing.Wait()
			equal(t, "version after the lease was taken", version(t, st, id), taken)
		}
	})
}
