package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func item(key, text string) session.Item {
	return session.Item{Key: key, At: begin, Kind: session.ItemText, Body: json.RawMessage(`{"text":` + quote(text) + `}`)}
}

func transcript(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	read := func(t *testing.T, st store.Store, id string, after int64, limit int) session.Page {
		t.Helper()
		page, err := st.Transcript(ctx, id, after, limit)
		must(t, err)
		return page
	}
	keys := func(page session.Page) []string {
		return ids(page.Items, func(i session.Item) string { return i.Key })
	}

	s.run("ItemsKeepEveryField", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		want := session.Item{Key: "toolu_1", At: after(1), Kind: session.ItemToolCall, AgentID: "agent", Body: json.RawMessage(` {"a" : 1} `)}
		given := want
		given.Seq, given.Rev = 40, 50
		must(t, st.PutItems(ctx, id, []session.Item{given}))
		page := read(t, st, id, 0, 10)
		want.Seq, want.Rev = 1, page.Next
		equal(t, "page", page, session.Page{Items: []session.Item{want}, Next: page.Next, Total: 1})
		if page.Next <= 0 {
			t.Fatalf("the first rev is %d", page.Next)
		}
	})

	s.run("StateCountsItems", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		of := func() (counts [3]int64) {
			p, err := st.ProcessState(ctx, id)
			must(t, err)
			one, err := st.Session(ctx, id)
			must(t, err)
			list, _, err := st.Sessions(ctx, session.Query{Limit: 1})
			must(t, err)
			return [3]int64{p.Items, one.Items, list[0].Items}
		}
		equal(t, "none", of(), [3]int64{})
		must(t, st.PutItems(ctx, id, []session.Item{item("a", "1"), item("b", "1")}))
		must(t, st.PutItems(ctx, id, []session.Item{item("b", "2"), item("c", "1")}))
		equal(t, "three", of(), [3]int64{3, 3, 3})
		p, err := st.ProcessState(ctx, id)
		must(t, err)
		p.Items = 9
		_, err = st.SaveProcess(ctx, p)
		must(t, err)
		equal(t, "it is the store that counts", of(), [3]int64{3, 3, 3})
	})

	s.run("UpsertKeepsThePosition", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		must(t, st.PutItems(ctx, id, []session.Item{item("a", "1"), item("b", "1"), item("c", "1")}))
		before := read(t, st, id, 0, 10)
		equal(t, "order", keys(before), []string{"a", "b", "c"})

		changed := session.Item{Key: "b", At: after(7), Kind: session.ItemNote, AgentID: "x", Body: json.RawMessage(`2`)}
		must(t, st.PutItems(ctx, id, []session.Item{changed}))
		news := read(t, st, id, before.Next, 10)
		equal(t, "news", keys(news), []string{"b"})
		equal(t, "total", news.Total, int64(3))
		got := news.Items[0]
		if got.Rev <= before.Next || news.Next != got.Rev {
			t.Fatalf("rev %d, next %d after %d", got.Rev, news.Next, before.Next)
		}
		changed.Seq, changed.Rev = 2, got.Rev
		equal(t, "item", got, changed)
		whole := read(t, st, id, 0, 10)
		equal(t, "order after", keys(whole), []string{"a", "b", "c"})

		must(t, st.PutItems(ctx, id, []session.Item{item("d", "1")}))
		equal(t, "next place", read(t, st, id, news.Next, 10).Items[0].Seq, int64(4))
	})

	s.run("OneKeyTwiceInOneCall", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		must(t, st.PutItems(ctx, id, []session.Item{item("a", "1"), item("b", "1"), item("a", "2"), item("c", "1"), item("a", "3")}))
		page := read(t, st, id, 0, 10)
		equal(t, "order", keys(page), []string{"a", "b", "c"})
		equal(t, "the last one counts", string(page.Items[0].Body), `{"text":"3"}`)
		equal(t, "places", []int64{page.Items[0].Seq, page.Items[1].Seq, page.Items[2].Seq}, []int64{1, 2, 3})
		if a, b, c := page.Items[0].Rev, page.Items[1].Rev, page.Items[2].Rev; a <= c || c <= b {
			t.Fatalf("revs %d %d %d are not in the order of writing", a, b, c)
		}
	})

	s.run("Paging", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		var list []session.Item
		for i := range 25 {
			list = append(list, item(fmt.Sprint("k", i), "1"))
		}
		must(t, st.PutItems(ctx, id, list))
		must(t, st.PutItems(ctx, id, []session.Item{item("k3", "2")})) // the most recently changed item
		seen := map[string]bool{}
		var cursor int64
		for turn := 0; ; turn++ {
			page := read(t, st, id, cursor, 10)
			equal(t, "total", page.Total, int64(25))
			for i, it := range page.Items {
				seen[it.Key] = true
				if i > 0 && it.Seq <= page.Items[i-1].Seq {
					t.Fatalf("seq %d comes after %d", it.Seq, page.Items[i-1].Seq)
				}
				if it.Rev <= cursor || it.Rev > page.Next {
					t.Fatalf("rev %d is not in (%d, %d]", it.Rev, cursor, page.Next)
				}
			}
			cursor = page.Next
			if !page.More {
				equal(t, "turns", turn, 2)
				break
			}
			equal(t, "items of a page with more", len(page.Items), 10)
		}
		equal(t, "items seen", len(seen), 25)
		equal(t, "at the end", read(t, st, id, cursor, 10), session.Page{Next: cursor, Total: 25})
		if read(t, st, id, 0, 25).More || !read(t, st, id, 0, 24).More {
			t.Fatal("More is wrong at the edge of a page")
		}
		equal(t, "beyond the end", read(t, st, id, cursor+100, 10), session.Page{Next: cursor + 100, Total: 25})
	})

	s.run("OwnCursor", func(t *testing.T, st store.Store) {
		id, other := newSession(t, st), newSession(t, st)
		expectNoVersionBump(t, st, id, func() { must(t, st.PutItems(ctx, id, []session.Item{item("a", "1")})) })
		must(t, st.PutItems(ctx, other, []session.Item{item("a", "other")}))
		equal(t, "of the other", string(read(t, st, other, 0, 10).Items[0].Body), `{"text":"other"}`)
		equal(t, "of the first", string(read(t, st, id, 0, 10).Items[0].Body), `{"text":"1"}`)
	})

	s.run("Empty", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		must(t, st.PutItems(ctx, id, nil))
		equal(t, "page", read(t, st, id, 0, 10), session.Page{})
		wantError(t, "put to an unknown session", st.PutItems(ctx, uuid.NewString(), []session.Item{item("a", "1")}), session.ErrNotFound)
		_, err := st.Transcript(ctx, uuid.NewString(), 0, 10)
		wantError(t, "unknown session", err, session.ErrNotFound)
	})

	s.run("ManyItems", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		list := make([]session.Item, 5000)
		for i := range list {
			list[i] = item(fmt.Sprint("k", i), "some words")
		}
		must(t, st.PutItems(ctx, id, list))
		page := read(t, st, id, 0, 6000)
		equal(t, "items", len(page.Items), 5000)
		equal(t, "last", page.Items[4999].Key, "k4999")
	})
}
