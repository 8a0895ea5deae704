package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// words stores a text in a session whose turn has ended, and has it indexed.
func (h *harness) words(id, key, text string) {
	h.T.Helper()
	body, err := json.Marshal(session.TextBody{Text: text})
	if err != nil {
		h.T.Fatal(err)
	}
	if err := h.Store.PutItems(h.T.Context(), id, []session.Item{{Key: key, At: time.Unix(5, 0), Kind: session.ItemText, Body: body}}); err != nil {
		h.T.Fatal(err)
	}
	h.SetState(id, session.UserTurn)
	for more := true; more; {
		var err error
		if more, err = h.Store.IndexTranscripts(h.T.Context(), 1000); err != nil {
			h.T.Fatal(err)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, other := h.NewSession("one"), h.NewSession("other")
	for i := range 5 {
		h.words(one, fmt.Sprint("k", i), fmt.Sprintf("The heron number %d <b>stands</b>.", i))
	}
	h.words(other, "k", strings.Repeat("long ", 100)+"a heron"+strings.Repeat(" after", 100))
	find := func(query string) wire.SearchResults {
		t.Helper()
		a := h.CallAs(account.Viewer, "GET", "/api/search?"+query, nil)
		if a.Status != 200 {
			t.Fatalf("%s: got %d %s", query, a.Status, a.Body)
		}
		var list wire.SearchResults
		a.Decode(t, &list)
		return list
	}
	list := find("q=HER")
	if len(list.Results) != 2 || list.Next != nil || list.Incomplete || list.Indexing {
		t.Fatalf("got %+v", list)
	}
	by := map[string]wire.SearchResult{}
	for _, r := range list.Results {
		by[r.SessionID] = r
	}
	if r := by[one]; len(r.Hits) != 3 || !r.More || r.Title != "one" || r.Hits[0].Key != "k4" || r.Hits[0].Excerpt != "The heron number 4 <b>stands</b>." || r.Hits[0].Seq != 5 {
		t.Errorf("got %+v", r)
	}
	if r := by[other]; len(r.Hits) != 1 || r.More || !strings.Contains(r.Hits[0].Excerpt, "a heron after") || len(r.Hits[0].Excerpt) > 250 {
		t.Errorf("got %+v", r)
	}
	for _, query := range []string{"q=", "q=%22", "q=%27%3B--", "q=crane", "", "q=heron+crane", "q=%00", "q=%FF"} {
		if list := find(query); len(list.Results) != 0 {
			t.Errorf("%s: got %+v", query, list)
		}
	}
	body, err := json.Marshal(session.TextBody{Text: "a crane"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Store.PutItems(t.Context(), one, []session.Item{{Key: "new", At: time.Unix(5, 0), Kind: session.ItemText, Body: body}}); err != nil {
		t.Fatal(err)
	}
	if list := find("q=crane"); len(list.Results) != 0 || !list.Indexing {
		t.Errorf("a search that must not index: got %+v", list)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/search?q="+url.QueryEscape(strings.Repeat("x", 501)), nil), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/search?q=x&cursor=y", nil), 400, "invalid")
}

// TestSearchFindsNothingOfOthers: what was said in a project that a person is not in
// is not found, and an attachment said there is not served.
func TestSearchFindsNothingOfOthers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben := h.someone("ana", account.Member), h.someone("ben", account.Member)
	h.project("secret", "/work/secret", member(ana, account.Member))
	hidden, open := h.NewSession("secret"), h.NewSession("open")
	h.words(hidden, "k", "the heron of the secret")
	h.words(open, "k", "the heron of everybody")
	for _, row := range []struct {
		who  someone
		want int
	}{{ana, 2}, {ben, 1}} {
		var list wire.SearchResults
		h.Call("GET", "/api/search?q=heron", nil, row.who.way).Decode(t, &list)
		if len(list.Results) != row.want {
			t.Errorf("%s finds %+v, want %d", row.who.id, list, row.want)
		}
	}
	var info session.AttachmentInfo
	h.Call("POST", "/api/attachments", wire.Upload{Name: "a.png", Data: picture}, ana.way).Decode(t, &info)
	if a := h.Call("POST", "/api/sessions/"+hidden+"/messages", map[string]any{"text": "x", "attachments": []wire.Attachment{{AttachmentID: info.AttachmentID}}}, ana.way); a.Status != 202 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	apitest.CheckRefusal(t, h.Call("GET", "/api/attachments/"+info.AttachmentID, nil, ben.way), 404, "no_attachment")
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions/"+open+"/messages", map[string]any{"text": "x", "attachments": []wire.Attachment{{AttachmentID: info.AttachmentID}}}, ben.way), 404, "no_attachment")
}

// A word that one session says thousands of times does not keep an older session from
// being found.
func TestSearchGoesBeyondASessionThatSaysItOften(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	old, loud := h.NewSession("old"), h.NewSession("loud")
	h.words(old, "k", "a heron")
	body, err := json.Marshal(session.TextBody{Text: "heron"})
	if err != nil {
		t.Fatal(err)
	}
	items := make([]session.Item, 5000)
	for i := range items {
		items[i] = session.Item{Key: fmt.Sprint("k", i), At: time.Unix(5, 0), Kind: session.ItemText, Body: body}
	}
	if err := h.Store.PutItems(t.Context(), loud, items); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		if more, err = h.Store.IndexTranscripts(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]bool{}
	for cursor := ""; ; {
		var list wire.SearchResults
		h.CallAs(account.Viewer, "GET", "/api/search?q=heron&cursor="+cursor, nil).Decode(t, &list)
		for _, r := range list.Results {
			found[r.SessionID] = true
		}
		if list.Next == nil {
			break
		}
		cursor = *list.Next
	}
	if !found[old] || !found[loud] {
		t.Errorf("found %v", found)
	}
}
