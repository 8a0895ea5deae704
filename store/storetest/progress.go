package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func progress(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	save := func(t *testing.T, st store.Store, id string, p session.Progress) uint64 {
		t.Helper()
		v, err := st.SaveProgress(ctx, id, p)
		must(t, err)
		equal(t, "version returned", v, version(t, st, id))
		return v
	}
	mark := func(t *testing.T, st store.Store, id string) session.Mark {
		t.Helper()
		m, err := st.Mark(ctx, id)
		must(t, err)
		return m
	}

	s.run("KeepsEveryField", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		p := session.ProcessState{
			SessionID: id, State: session.AssistantTurn, StartedAt: after(1), StateChangedAt: after(2), Model: "claude-opus",
			PermissionMode: "plan", Memory: 5 << 40, CPU: 1.25, PID: 4711, ProcessID: uuid.NewString(),
			Error: "it died", KillReason: "idle", Stuck: "waits for the network", Throttled: "too dear today",
		}
		given := p
		given.Title, given.CWD, given.ProjectID, given.Version = "not this", "/nor/this", "nor this", 77
		want := session.Item{Key: "toolu_1", At: after(1), Kind: session.ItemToolCall, AgentID: "agent", Body: json.RawMessage(` {"a" : 1} `)}
		first := want
		first.Seq, first.Rev = 40, 50
		m := session.Mark{ProcessID: p.ProcessID, Offset: 4711, Memo: []byte(`{"turn":1}`)}
		v := save(t, st, id, session.Progress{Items: []session.Item{first, item("b", "1")}, Process: &given, Mark: &m})
		equal(t, "version", v, uint64(2))

		page, err := st.Transcript(ctx, id, 0, 10)
		must(t, err)
		equal(t, "items", []any{page.Total, page.Items[1].Key}, []any{int64(2), "b"})
		want.Seq, want.Rev = 1, page.Items[0].Rev
		equal(t, "item", page.Items[0], want)
		one, err := st.TranscriptItem(ctx, id, "toolu_1")
		must(t, err)
		equal(t, "item by its key", one, want)
		if _, err := st.TranscriptItem(ctx, id, "toolu_2"); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("an unknown key: %v", err)
		}
		p.Title, p.CWD, p.ProjectID, p.OwnerID, p.Version, p.Items = "Title", "/work/here", "project", "owner", v, 2
		read, err := st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "state", read, p)
		equal(t, "mark", mark(t, st, id), m)
	})

	s.run("LongItemsShortenAPage", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		const n, size = 9, 1 << 20
		long := make([]session.Item, n)
		for i := range long {
			long[i] = item(fmt.Sprint(i), strings.Repeat("x", size))
		}
		must(t, st.PutItems(ctx, id, long))
		var keys []string
		for at, pages := int64(0), 0; ; pages++ {
			page, err := st.Transcript(ctx, id, at, 500)
			must(t, err)
			if got := len(page.Items); got == 0 || got == n || page.More != (len(keys)+got < n) {
				t.Fatalf("page %d has %d items, and more: %v", pages, got, page.More)
			}
			for _, it := range page.Items {
				keys = append(keys, it.Key)
			}
			if at = page.Next; !page.More {
				break
			}
		}
		equal(t, "keys", strings.Join(keys, ""), "012345678")
	})

	s.run("ItemsAsForPutItems", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		must(t, st.PutItems(ctx, id, []session.Item{item("a", "1"), item("b", "1")}))
		save(t, st, id, session.Progress{Items: []session.Item{item("b", "2"), item("c", "1"), item("b", "3")}})
		page, err := st.Transcript(ctx, id, 0, 10)
		must(t, err)
		equal(t, "order", ids(page.Items, func(i session.Item) string { return fmt.Sprint(i.Seq, i.Key) }), []string{"1a", "2b", "3c"})
		equal(t, "the last one counts", string(page.Items[1].Body), `{"text":"3"}`)
		if page.Items[1].Rev <= page.Items[2].Rev {
			t.Fatalf("revs %d and %d are not in the order of writing", page.Items[1].Rev, page.Items[2].Rev)
		}
	})

	s.run("VersionGrowsWithTheProcess", func(t *testing.T, st store.Store) {
		id, other := newSession(t, st), newSession(t, st)
		before := version(t, st, id)
		m := &session.Mark{ProcessID: "p", Offset: 1}
		for _, p := range []session.Progress{{}, {Items: []session.Item{item("a", "1")}}, {Mark: m}, {Items: []session.Item{item("b", "1")}, Mark: m}} {
			equal(t, "version", save(t, st, id, p), before)
		}
		// The session is the one that the call names, not the one in the state.
		state := session.ProcessState{SessionID: other, State: session.Starting}
		for i, p := range []session.Progress{{Process: &state}, {Items: []session.Item{item("c", "1")}, Process: &state, Mark: m}} {
			equal(t, "version with a process", save(t, st, id, p), before+uint64(i)+1)
		}
		equal(t, "version of another session", version(t, st, other), uint64(1))
	})

	s.run("Mark", func(t *testing.T, st store.Store) {
		id, other := newSession(t, st), newSession(t, st)
		equal(t, "before the first", mark(t, st, id), session.Mark{})
		noise := make([]byte, 300_000)
		if _, err := rand.NewChaCha8([32]byte{2}).Read(noise); err != nil {
			t.Fatal(err)
		}
		marks := []session.Mark{
			{ProcessID: "one", Offset: 700, Memo: noise}, {ProcessID: "one", Offset: 700}, {ProcessID: "two", Offset: 3, Memo: []byte{}},
			{ProcessID: "two", Offset: math.MaxInt64, Memo: noise[:299_999]}, {ProcessID: "two", Offset: -1}, {Offset: math.MinInt64}, {},
		}
		for i, text := range awkwardTexts {
			marks = append(marks, session.Mark{ProcessID: text, Offset: int64(i), Memo: []byte(text)})
		}
		for _, m := range marks {
			save(t, st, id, session.Progress{Mark: &m})
			equal(t, fmt.Sprintf("mark %q at %d", m.ProcessID, m.Offset), mark(t, st, id), m)
			save(t, st, id, session.Progress{Items: []session.Item{item("a", "1")}, Process: &session.ProcessState{State: session.Dead}})
			equal(t, "after progress without one", mark(t, st, id), m)
		}
		equal(t, "of another session", mark(t, st, other), session.Mark{})
	})

	s.run("NeedsItsSession", func(t *testing.T, st store.Store) {
		id := uuid.NewString()
		m := &session.Mark{ProcessID: "p", Offset: 1}
		for _, p := range []session.Progress{{}, {Mark: m}, {Items: []session.Item{item("a", "1")}, Mark: m}, {Process: &session.ProcessState{State: session.Dead}}} {
			v, err := st.SaveProgress(ctx, id, p)
			wantError(t, "save", err, session.ErrNotFound)
			equal(t, "version", v, uint64(0))
		}
		_, err := st.Mark(ctx, id)
		wantError(t, "mark", err, session.ErrNotFound)
	})

	s.run("DeletedWithItsSession", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		save(t, st, id, session.Progress{Mark: &session.Mark{ProcessID: "p", Offset: 1, Memo: []byte("x")}})
		must(t, st.DeleteSession(ctx, id))
		_, err := st.Mark(ctx, id)
		wantError(t, "mark", err, session.ErrNotFound)
		must(t, st.CreateSession(ctx, session.Session{SessionID: id, CreatedAt: begin}))
		equal(t, "mark of the new session", mark(t, st, id), session.Mark{})
	})

	// Each step adds one item, so a mark read between two reads of the transcript must lie between
	// them.
	s.run("MarkAndItemsAreAtomic", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		var done atomic.Bool
		concurrently(3, func(i int) {
			if i == 0 {
				defer done.Store(true)
				for n := range 60 {
					p := session.Progress{Items: []session.Item{item(fmt.Sprint(n), "x")}, Mark: &session.Mark{ProcessID: "p", Offset: int64(n + 1)}}
					if _, err := st.SaveProgress(ctx, id, p); err != nil {
						t.Error(err)
					}
				}
				return
			}
			for !done.Load() {
				page, err := st.Transcript(ctx, id, 0, 1)
				if err != nil {
					t.Error(err)
					return
				}
				m, err := st.Mark(ctx, id)
				if err != nil {
					t.Error(err)
					return
				}
				after, err := st.Transcript(ctx, id, 0, 1)
				if err != nil {
					t.Error(err)
					return
				}
				if m.Offset < page.Total || m.Offset > after.Total {
					t.Errorf("mark %d between %d and %d items", m.Offset, page.Total, after.Total)
				}
			}
		})
	})

	s.run("ProgressHasNoGaps", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		before := version(t, st, id)
		var versions [32]uint64
		concurrently(32, func(i int) {
			v, err := st.SaveProgress(ctx, id, session.Progress{Items: []session.Item{item(fmt.Sprint(i), "x"), item("shared", fmt.Sprint(i))},
				Process: &session.ProcessState{State: session.Starting, PID: i}, Mark: &session.Mark{ProcessID: "p", Offset: int64(i)}})
			if err != nil {
				t.Error(err)
			}
			versions[i] = v
		})
		unique := map[uint64]int{}
		for i, v := range versions {
			unique[v] = i
		}
		equal(t, "versions given", len(unique), 32)
		page, err := st.Transcript(ctx, id, 0, 100)
		must(t, err)
		equal(t, "items", page.Total, int64(33))
		for i, it := range page.Items {
			equal(t, "place", it.Seq, int64(i+1))
		}
		last, known := unique[before+32]
		equal(t, "the last version was given", known, true)
		equal(t, "the mark is of the last", mark(t, st, id).Offset, int64(last))
		state, err := st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "the state is of the last", state.PID, last)
	})
}
