package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func search(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	said := func(key, text string) session.Item {
		body, err := json.Marshal(session.TextBody{Text: text})
		if err != nil {
			panic(err) // a string always has JSON
		}
		return session.Item{Key: key, At: begin, Kind: session.ItemText, Body: body}
	}
	index := func(t *testing.T, st store.Store) {
		t.Helper()
		for more := true; more; {
			var err error
			more, err = st.IndexTranscripts(ctx, 100)
			must(t, err)
		}
	}
	find := func(t *testing.T, st store.Store, words string, q session.Search) ([]string, int64) {
		t.Helper()
		q.Words = session.SearchWords(words)
		if q.Limit == 0 {
			q.Limit = 100
		}
		matches, next, err := st.SearchTranscripts(ctx, q)
		must(t, err)
		return ids(matches, func(m session.Match) string {
			item, err := st.MatchedItem(ctx, m.ID)
			must(t, err)
			return item.Key
		}), next
	}
	finds := func(t *testing.T, st store.Store, words string, want ...string) {
		t.Helper()
		got, _ := find(t, st, words, session.Search{})
		slices.Sort(got)
		equal(t, "found by "+words, got, append([]string{}, want...))
	}

	s.run("FindStored", func(t *testing.T, st store.Store) {
		one, other := newSession(t, st), newSession(t, st)
		must(t, st.PutItems(ctx, one, []session.Item{said("a", "The heron stands in cmd/sayso/main.go"), said("b", "parseHTTPRequest and Größe"), said("", "heron of an empty key")}))
		must(t, st.PutItems(ctx, other, []session.Item{said("c", "HERON\x00 and \xff a crane"), {Key: "d", At: begin, Kind: session.ItemNote}, {Key: "e", Kind: "new", Body: []byte("no JSON")}}))
		finds(t, st, "heron") // nothing is indexed yet
		index(t, st)
		finds(t, st, "heron", "", "a", "c")
		finds(t, st, "her", "", "a", "c")
		finds(t, st, "heron crane", "c")
		finds(t, st, "eron")
		finds(t, st, "main.go", "a")
		finds(t, st, "HTTPrequest", "b")
		finds(t, st, "größe", "b")
		finds(t, st, "")
		finds(t, st, "!!!")

		matches, _, err := st.SearchTranscripts(ctx, session.Search{Words: []string{"crane"}, Limit: 1})
		must(t, err)
		equal(t, "the session of the match", matches[0].SessionID, other)
		item, err := st.MatchedItem(ctx, matches[0].ID)
		must(t, err)
		page, err := st.Transcript(ctx, other, 0, 10)
		must(t, err)
		equal(t, "the item of the match", item, page.Items[0])
		must(t, st.DeleteSession(ctx, other))
		_, err = st.MatchedItem(ctx, matches[0].ID)
		if !errors.Is(err, session.ErrNotFound) {
			t.Errorf("the item of a match in a deleted session: %v", err)
		}
	})

	s.run("FollowWhatChanges", func(t *testing.T, st store.Store) {
		id, other := newSession(t, st), newSession(t, st)
		must(t, st.PutItems(ctx, id, []session.Item{said("a", "first"), said("b", "second")}))
		must(t, st.PutItems(ctx, other, []session.Item{said("z", "second too")}))
		index(t, st)
		must(t, st.PutItems(ctx, id, []session.Item{said("a", "changed")}))
		index(t, st)
		finds(t, st, "first")
		finds(t, st, "changed", "a")
		finds(t, st, "second", "b", "z")
		archived := true
		_, err := st.UpdateSession(ctx, id, session.Patch{Archived: &archived})
		must(t, err)
		finds(t, st, "second", "z")
		all, _ := find(t, st, "second", session.Search{Archived: true})
		slices.Sort(all)
		equal(t, "with the archive", all, []string{"b", "z"})
		must(t, st.DeleteSession(ctx, id))
		all, _ = find(t, st, "second", session.Search{Archived: true})
		equal(t, "of a deleted session", all, []string{"z"})
		more, err := st.IndexTranscripts(ctx, 10)
		must(t, err)
		equal(t, "more to take in", more, false)
	})

	s.run("Pages", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		var items []session.Item
		for i := range 25 {
			items = append(items, said(fmt.Sprintf("k%02d", i), "needle "+strings.Repeat("hay ", i)))
		}
		must(t, st.PutItems(ctx, id, items))
		index(t, st)
		var got []string
		q := session.Search{Limit: 10}
		for {
			page, next := find(t, st, "needle", q)
			got = append(got, page...)
			if next == 0 {
				break
			}
			q.Before = next
		}
		equal(t, "found", len(got), 25)
		equal(t, "the newest first", []string{got[0], got[24]}, []string{"k24", "k00"})
	})

	s.run("IndexAfterTheTurn", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		put := func(key string) { must(t, st.PutItems(ctx, id, []session.Item{said(key, "heron "+key)})) }
		behind := func(want bool) {
			t.Helper()
			got, err := st.IndexBehind(ctx)
			must(t, err)
			equal(t, "behind", got, want)
		}
		set := func(state session.State) {
			_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: state})
			must(t, err)
		}
		behind(false)
		set(session.AssistantTurn)
		put("a")
		behind(true)
		index(t, st)
		finds(t, st, "heron")
		behind(true)
		set(session.UserTurn)
		index(t, st)
		finds(t, st, "heron", "a")
		behind(false)
		set(session.AssistantTurn)
		for i := range 201 {
			put(fmt.Sprint("long", i))
		}
		index(t, st)
		finds(t, st, "long0", "long0") // turns may last for hours
	})

	s.run("CanceledWithItsContext", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		must(t, st.PutItems(ctx, id, []session.Item{said("a", "heron")}))
		index(t, st)
		for i := range 50 {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(i)*20*time.Microsecond)
			_, _, err := st.SearchTranscripts(ctx, session.Search{Words: []string{"heron"}, Limit: 5})
			if err != nil {
				wantError(t, "a search whose time is over", err, context.DeadlineExceeded)
			}
			cancel()
			finds(t, st, "heron", "a")
		}
	})

	s.run("NoQueryIsAnError", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		must(t, st.PutItems(ctx, id, []session.Item{said("a", "heron AND NOT OR NEAR words rowid")}))
		index(t, st)
		for _, words := range []string{`"`, `'`, `\`, `*`, `a*b"`, `NEAR(heron, 2)`, `heron" OR "x`, `words:heron`, `-heron`, `^heron`, `'; DROP TABLE sessions; --`, `heron & ! |`, "he\x00ron", "\xff", `(((`, `%_`, `{}[]`, "<->", "heron:*A"} {
			find(t, st, words, session.Search{})
		}
		finds(t, st, `"heron" AND`, "a")
		finds(t, st, "NOT heron", "a")
		rapid.Check(t, func(rt *rapid.T) {
			words := rapid.StringN(0, 40, -1).Draw(rt, "words")
			if _, _, err := st.SearchTranscripts(ctx, session.Search{Words: session.SearchWords(words), Limit: 5}); err != nil {
				rt.Fatalf("%q: %v", words, err)
			}
		})
	})

	s.run("ManyBlocks", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		blocks := 2000 // four transactions
		if os.Getenv("SAYSO_TEST_ALL") != "" {
			blocks = 10_000
		}
		for i := 0; i < blocks; i += 500 {
			var items []session.Item
			for j := i; j < i+500; j++ {
				items = append(items, said(fmt.Sprintf("k%d", j), fmt.Sprintf("block %d says common words and word%d", j, j)))
			}
			must(t, st.PutItems(ctx, id, items))
		}
		index(t, st)
		last := fmt.Sprint("k", blocks-1)
		finds(t, st, fmt.Sprint("word", blocks-1), last)
		finds(t, st, "common word1777", "k1777")
		got, next := find(t, st, "common", session.Search{Limit: 50})
		equal(t, "the newest", []any{got[0], len(got), next > 0}, []any{last, 50, true})
	})
}
