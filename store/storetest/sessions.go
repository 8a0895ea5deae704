package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func ptr[T any](v T) *T { return &v }

func sessions(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	full := session.Session{
		SessionID: uuid.NewString(), ProjectID: "p1", Title: "A title", CWD: "/work/here", Model: "opus", PermissionMode: "acceptEdits",
		AllowedTools: []string{"Bash(git log:*)", "Read"}, OwnerID: "u1", Archived: true, Demo: true, Begun: true,
		CreatedAt: begin, UpdatedAt: after(3), Kind: session.Terminal,
		Lifecycle: &session.Lifecycle{EventType: "plan-started", PhaseName: "Hook Bridge", PhaseNumber: "33", Step: ptr(1.0), TotalSteps: ptr(2.5), At: begin},
	}

	s.run("CreateKeepsEveryField", func(t *testing.T, st store.Store) {
		must(t, st.CreateSession(ctx, full))
		read, err := st.Session(ctx, full.SessionID)
		must(t, err)
		equal(t, "session", read, full)
		wantError(t, "create again", st.CreateSession(ctx, full), session.ErrExists)
	})

	s.run("CreatedDead", func(t *testing.T, st store.Store) {
		must(t, st.CreateSession(ctx, full))
		p, err := st.ProcessState(ctx, full.SessionID)
		must(t, err)
		equal(t, "state", p, session.ProcessState{SessionID: full.SessionID, ProjectID: "p1", OwnerID: full.OwnerID, Title: "A title", CWD: "/work/here",
			Version: 1, State: session.Dead, StateChangedAt: begin, Model: "opus", PermissionMode: "acceptEdits", Demo: true, Archived: true,
			Kind: session.Terminal, Lifecycle: full.Lifecycle})
	})

	s.run("LastLifecycleIsKept", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		for _, l := range []session.Lifecycle{{EventType: "phase-started", PhaseName: "Build", PhaseNumber: "33", At: begin},
			{EventType: "task-started", Step: ptr(0.0), TotalSteps: ptr(4.0), At: after(1)}} {
			expectVersionBump(t, st, id, func() { must(t, st.SetLifecycle(ctx, id, l)) })
			read, err := st.Session(ctx, id)
			must(t, err)
			equal(t, "session", read.Lifecycle, &l)
			p, err := st.ProcessState(ctx, id)
			must(t, err)
			equal(t, "state", p.Lifecycle, &l)
		}
		wantError(t, "unknown session", st.SetLifecycle(ctx, uuid.NewString(), session.Lifecycle{EventType: "x"}), session.ErrNotFound)
	})

	s.run("NullAndEmptyTools", func(t *testing.T, st store.Store) {
		for _, tools := range [][]string{nil, {}} {
			n := full
			n.SessionID, n.AllowedTools = uuid.NewString(), tools
			must(t, st.CreateSession(ctx, n))
			read, err := st.Session(ctx, n.SessionID)
			must(t, err)
			equal(t, "tools", read.AllowedTools, tools)
		}
	})

	s.run("UpdateChangesGivenFields", func(t *testing.T, st store.Store) {
		must(t, st.CreateSession(ctx, full))
		want := full
		steps := []struct {
			patch session.Patch
			apply func()
			seen  bool
		}{
			{session.Patch{Title: ptr("Another")}, func() { want.Title = "Another" }, true},
			{session.Patch{Title: ptr("")}, func() { want.Title = "" }, true},
			{session.Patch{Archived: ptr(false)}, func() { want.Archived = false }, true},
			{session.Patch{Model: ptr("haiku")}, func() { want.Model = "haiku" }, true},
			{session.Patch{PermissionMode: ptr("plan")}, func() { want.PermissionMode = "plan" }, true},
			{session.Patch{Begun: ptr(false)}, func() { want.Begun = false }, false},
			{session.Patch{}, func() {}, false},
		}
		for i, step := range steps {
			step.apply()
			before := version(t, st, full.SessionID)
			now, err := st.UpdateSession(ctx, full.SessionID, step.patch)
			must(t, err)
			equal(t, fmt.Sprint("returned by step ", i), now, want)
			read, err := st.Session(ctx, full.SessionID)
			must(t, err)
			equal(t, fmt.Sprint("read after step ", i), read, want)
			state, err := st.ProcessState(ctx, full.SessionID)
			must(t, err)
			equal(t, fmt.Sprint("archived after step ", i), state.Archived, want.Archived)
			if grown := version(t, st, full.SessionID) > before; grown != step.seen {
				t.Fatalf("step %d: version grew %v, want %v", i, grown, step.seen)
			}
		}
		p, err := st.ProcessState(ctx, full.SessionID)
		must(t, err)
		equal(t, "what a tab sees", []string{p.Title, p.Model, p.PermissionMode}, []string{"", "haiku", "plan"})
		_, err = st.UpdateSession(ctx, uuid.NewString(), session.Patch{Title: ptr("x")})
		wantError(t, "unknown session", err, session.ErrNotFound)
	})

	s.run("DeleteRemovesEverything", func(t *testing.T, st store.Store) {
		id, kept := newSession(t, st), newSession(t, st)
		r, keptRequest := openRequest(t, st, bashRequest(id, "a")), openRequest(t, st, bashRequest(kept, "b"))
		m := session.Message{MessageID: uuid.NewString(), SessionID: id, Text: "x", CreatedAt: begin}
		_, err := st.QueueMessage(ctx, m)
		must(t, err)
		must(t, st.PutItems(ctx, id, []session.Item{{Key: "k", At: begin, Kind: session.ItemText}}))
		must(t, st.DeleteSession(ctx, id))

		_, err = st.Session(ctx, id)
		wantError(t, "session", err, session.ErrNotFound)
		_, err = st.ProcessState(ctx, id)
		wantError(t, "process", err, session.ErrNotFound)
		_, err = st.Request(ctx, r.RequestID)
		wantError(t, "request", err, pending.ErrNotFound)
		_, err = st.Transcript(ctx, id, 0, 10)
		wantError(t, "transcript", err, session.ErrNotFound)
		sent, err := st.MarkSent(ctx, m.MessageID, begin)
		must(t, err)
		equal(t, "message was there", sent, false)
		wantError(t, "delete again", st.DeleteSession(ctx, id), session.ErrNotFound)

		_, err = st.Request(ctx, keptRequest.RequestID)
		must(t, err)

		again := full
		again.SessionID = id
		must(t, st.CreateSession(ctx, again))
		page, err := st.Transcript(ctx, id, 0, 10)
		must(t, err)
		equal(t, "transcript of the new session", page.Total, int64(0))
		list, err := st.QueuedMessages(ctx, id)
		must(t, err)
		equal(t, "messages of the new session", len(list), 0)
	})

	s.run("Unknown", func(t *testing.T, st store.Store) {
		for _, id := range []string{uuid.NewString(), "", "\x00", "\xff"} {
			_, err := st.Session(ctx, id)
			wantError(t, "session", err, session.ErrNotFound)
			_, err = st.ProcessState(ctx, id)
			wantError(t, "process state", err, session.ErrNotFound)
		}
	})

	s.run("ListPagesNewestFirst", func(t *testing.T, st store.Store) {
		var want []string
		for i := range 7 {
			n := session.Session{SessionID: uuid.NewString(), Title: "t", CWD: "/", CreatedAt: begin, UpdatedAt: after(i / 2)} // pairs with the same time
			must(t, st.CreateSession(ctx, n))
			want = append(want, n.SessionID)
		}
		var got []string
		cursor, pages := "", 0
		for {
			page, next, err := st.Sessions(ctx, session.Query{Cursor: cursor, Limit: 3})
			must(t, err)
			got = append(got, sessionIDs(page)...)
			for i := 1; i < len(page); i++ {
				if page[i].UpdatedAt.After(page[i-1].UpdatedAt) {
					t.Fatalf("%v comes after %v", page[i].UpdatedAt, page[i-1].UpdatedAt)
				}
			}
			if pages++; next == "" {
				break
			}
			cursor = next
		}
		equal(t, "pages", pages, 3)
		slices.Sort(want)
		slices.Sort(got)
		equal(t, "each once", got, want)

		page, next, err := st.Sessions(ctx, session.Query{Limit: 7})
		must(t, err)
		equal(t, "a page that is just full", []any{len(page), next}, []any{7, ""})
		_, _, err = st.Sessions(ctx, session.Query{Cursor: "made up"})
		wantError(t, "bad cursor", err, session.ErrCursor)
	})

	s.run("ListPageIsFifty", func(t *testing.T, st store.Store) {
		for i := range 51 {
			must(t, st.CreateSession(ctx, session.Session{SessionID: uuid.NewString(), CWD: "/", CreatedAt: after(i)}))
		}
		page, next, err := st.Sessions(ctx, session.Query{})
		must(t, err)
		equal(t, "page", len(page), 50)
		page, next, err = st.Sessions(ctx, session.Query{Cursor: next})
		must(t, err)
		equal(t, "rest", []any{len(page), next}, []any{1, ""})
	})

	s.run("ListHidesArchived", func(t *testing.T, st store.Store) {
		shown, hidden := newSession(t, st), newSession(t, st)
		_, err := st.UpdateSession(ctx, hidden, session.Patch{Archived: ptr(true)})
		must(t, err)
		page, _, err := st.Sessions(ctx, session.Query{})
		must(t, err)
		equal(t, "without", sessionIDs(page), []string{shown})
		page, _, err = st.Sessions(ctx, session.Query{Archived: true})
		must(t, err)
		equal(t, "with", len(page), 2)
	})

	s.run("LastActivityOrdersTheList", func(t *testing.T, st store.Store) {
		signs := map[string]func(id string) error{
			"a request": func(id string) error { _, _, err := st.OpenRequest(ctx, bashRequest(id, "ls")); return err },
			"a message": func(id string) error { _, err := st.QueueMessage(ctx, message(id, "go", 0)); return err },
			"an item":   func(id string) error { return st.PutItems(ctx, id, []session.Item{{Key: "k", Kind: session.ItemText}}) },
			"progress": func(id string) error {
				_, err := st.SaveProgress(ctx, id, session.Progress{Items: []session.Item{{Key: "k", Kind: session.ItemText}}})
				return err
			},
			"a change of state": func(id string) error {
				_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.Starting})
				return err
			},
		}
		for what, sign := range signs {
			id := newSession(t, st)
			must(t, sign(id))
			page, _, err := st.Sessions(ctx, session.Query{Limit: 1})
			must(t, err)
			equal(t, "first after "+what, sessionIDs(page), []string{id})
		}

		idle := newSession(t, st)
		_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: idle, State: session.Dead, Memory: 1})
		must(t, err)
		_, err = st.UpdateSession(ctx, idle, session.Patch{Title: ptr("renamed")})
		must(t, err)
		read, err := st.Session(ctx, idle)
		must(t, err)
		equal(t, "no sign of life", read.UpdatedAt, begin)
	})

	s.run("Search", func(t *testing.T, st store.Store) {
		put := func(title, cwd string) string {
			n := session.Session{SessionID: uuid.NewString(), Title: title, CWD: cwd, CreatedAt: begin}
			must(t, st.CreateSession(ctx, n))
			return n.SessionID
		}
		percent := put("100% done", "/a")
		under := put("snake_case", "/b")
		umlaut := put("Über Größe", "/c")
		greek := put("ΟΔΥΣΣΕΥΣ", "/d")
		folder := put("plain", "/home/Ada/Projekt")
		quoted := put(`it's "quoted" \ back`, "/e")
		japanese := put("日本語の題", "/f")
		all := []string{percent, under, umlaut, greek, folder, quoted, japanese}
		for _, c := range []struct {
			text string
			want []string
		}{
			{"", all}, {"%", []string{percent}}, {"0% D", []string{percent}}, {"_", []string{under}}, {"SNAKE_", []string{under}},
			{"über", []string{umlaut}}, {"GRÖ", []string{umlaut}}, {"οδυσσευς", []string{greek}}, {"σευσ", []string{greek}},
			{"ada/PROJ", []string{folder}}, {"'S \"Q", []string{quoted}}, {`\ B`, []string{quoted}}, {"本語", []string{japanese}},
			{"*", nil}, {"nothing", nil}, {"a\x00", nil}, {"/a", []string{percent, folder}},
		} {
			page, _, err := st.Sessions(ctx, session.Query{Text: c.text})
			must(t, err)
			got, want := sessionIDs(page), append([]string{}, c.want...)
			slices.Sort(got)
			slices.Sort(want)
			equal(t, "search for "+quote(c.text), got, want)
		}
		_, err := st.UpdateSession(ctx, percent, session.Patch{Title: ptr("Renamed")})
		must(t, err)
		page, _, err := st.Sessions(ctx, session.Query{Text: "RENAMED"})
		must(t, err)
		equal(t, "after a new title", sessionIDs(page), []string{percent})
		page, _, err = st.Sessions(ctx, session.Query{Text: "%"})
		must(t, err)
		equal(t, "by the old title", len(page), 0)
	})
}

func processes(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("SaveKeepsEveryField", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		p := session.ProcessState{
			SessionID: id, State: session.AssistantTurn, StartedAt: after(1), StateChangedAt: after(2), Model: "claude-opus",
			PermissionMode: "plan", Memory: 5 << 40, CPU: 1.25, PID: 4711, ProcessID: uuid.NewString(),
			Error: "it died", KillReason: "idle", Stuck: "waits for the network", Throttled: "too dear today",
		}
		given := p
		given.Title, given.CWD, given.ProjectID, given.Version = "not this", "/nor/this", "nor this", 77
		given.QueuedMessages, given.Requests, given.Demo = 9, []pending.Request{bashRequest(id, "ls")}, true
		v, err := st.SaveProcess(ctx, given)
		must(t, err)
		equal(t, "version", v, uint64(2))
		p.Title, p.CWD, p.ProjectID, p.OwnerID, p.Version = "Title", "/work/here", "project", "owner", v
		read, err := st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "state", read, p)

		v, err = st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.Dead})
		must(t, err)
		read, err = st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "cleared", read, session.ProcessState{SessionID: id, ProjectID: "project", OwnerID: "owner", Title: "Title", CWD: "/work/here",
			Version: v, State: session.Dead})
		_, err = st.SaveProcess(ctx, session.ProcessState{SessionID: uuid.NewString(), State: session.Dead})
		wantError(t, "unknown session", err, session.ErrNotFound)
	})

	s.run("VersionIsSharedByAllProcesses", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		last := version(t, st, id)
		for range 3 {
			for _, state := range []session.State{session.Starting, session.AssistantTurn, session.Dead} {
				v, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: state, ProcessID: uuid.NewString()})
				must(t, err)
				if v <= last {
					t.Fatalf("version went from %d to %d", last, v)
				}
				equal(t, "version read", version(t, st, id), v)
				last = v
			}
		}
	})

	s.run("Active", func(t *testing.T, st store.Store) {
		start := func(second int, state session.State) string {
			id := newSession(t, st)
			_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: state, StartedAt: after(second)})
			must(t, err)
			return id
		}
		late := start(9, session.UserTurn)
		dead := start(5, session.Dead)
		deadWithQuestion := start(4, session.Dead)
		early := start(1, session.Starting)
		newSession(t, st)
		first, second := bashRequest(late, "b"), bashRequest(late, "a")
		second.CreatedAt = after(-1)
		openRequest(t, st, first)
		openRequest(t, st, second)
		openRequest(t, st, bashRequest(deadWithQuestion, "ls"))
		_, err := st.OrphanRequests(ctx, deadWithQuestion, "died")
		must(t, err)
		answered := openRequest(t, st, bashRequest(dead, "ls"))
		resolveRequest(t, st, answered.RequestID, approval("c1"))

		list, err := st.ActiveProcesses(ctx)
		must(t, err)
		equal(t, "active", stateIDs(list), []string{early, deadWithQuestion, late})
		for _, p := range list {
			one, err := st.ProcessState(ctx, p.SessionID)
			must(t, err)
			equal(t, "the same as alone", p, one)
		}
		equal(t, "requests of the last", requestIDs(list[2].Requests), []string{second.RequestID, first.RequestID})

		for _, p := range []session.ProcessState{{SessionID: dead, State: session.Dead}, {SessionID: late, State: session.UserTurn}} {
			p.Throttled = "There is no room."
			_, err := st.SaveProcess(ctx, p)
			must(t, err)
		}
		held, err := st.ThrottledSessions(ctx)
		must(t, err)
		equal(t, "held", held, []string{dead})
	})

	s.run("Answered", func(t *testing.T, st store.Store) {
		const runner = "r1"
		// start stores a session with an answer to its process, which has the given state.
		start := func(runnerID string, kind session.Kind, state session.State, d pending.Delivery) string {
			id := uuid.NewString()
			must(t, st.CreateSession(ctx, session.Session{SessionID: id, RunnerID: runnerID, Kind: kind, CreatedAt: begin}))
			r := openRequest(t, st, bashRequest(id, "ls"))
			_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: state})
			must(t, err)
			resolveRequest(t, st, r.RequestID, approval("c1"))
			if d != pending.Queued {
				must(t, st.SetDelivery(ctx, r.RequestID, d))
			}
			return id
		}
		want := start(runner, session.Ours, session.Dead, pending.Queued)
		archived := start(runner, session.Ours, session.Dead, pending.Queued)
		_, err := st.UpdateSession(ctx, archived, session.Patch{Archived: ptr(true)})
		must(t, err)
		start(runner, session.Ours, session.UserTurn, pending.Queued)
		start(runner, session.Ours, session.Dead, pending.Delivered)
		start(runner, session.Terminal, session.Dead, pending.Queued)
		start("r2", session.Ours, session.Dead, pending.Queued)
		unanswered := uuid.NewString()
		must(t, st.CreateSession(ctx, session.Session{SessionID: unanswered, RunnerID: runner, CreatedAt: begin}))
		openRequest(t, st, bashRequest(unanswered, "ls"))

		for since, sessionIDs := range map[time.Time][]string{time.Now().Add(-time.Hour): {want}, time.Now().Add(time.Hour): nil} {
			got, err := st.AnsweredSessions(ctx, runner, since)
			must(t, err)
			equal(t, "answered", got, sessionIDs)
		}
	})
}
