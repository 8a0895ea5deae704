package httpapi_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// TestPreferencesFollow: what a person chose is theirs on every device, and what a
// change does not name stays.
func TestPreferencesFollow(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	of := func(role account.Role) (p wire.Preferences) {
		t.Helper()
		h.CallAs(role, "GET", "/api/preferences", nil).Decode(t, &p)
		return p
	}
	if p := of(account.Viewer); !p.SingleKeys || len(p.Keys) != 0 || p.Language != "" {
		t.Errorf("of who chose nothing: %+v", p)
	}
	off, german := false, "de"
	h.CallAs(account.Member, "PATCH", "/api/preferences", wire.PreferencesChange{Keys: map[string]string{"approve": "j"}, Language: &german})
	h.CallAs(account.Member, "PATCH", "/api/preferences", wire.PreferencesChange{SingleKeys: &off})
	if p := of(account.Member); p.SingleKeys || p.Keys["approve"] != "j" || p.Language != "de" {
		t.Errorf("got %+v", p)
	}
	if p := of(account.Admin); !p.SingleKeys {
		t.Errorf("another has %+v", p)
	}
	many := map[string]string{}
	for i := range 101 {
		many[fmt.Sprint(i)] = "x"
	}
	for name, keys := range map[string]map[string]string{"too many": many, "no name": {"": "x"}, "too long": {"approve": string(make([]byte, 41))}} {
		if a := h.CallAs(account.Member, "PATCH", "/api/preferences", wire.PreferencesChange{Keys: keys}); a.Status != 400 {
			t.Errorf("%s: got %d", name, a.Status)
		}
	}
}

// TestOwnTemplates: one with a name is made by hand; what was said as an answer is
// learned for answers.
func TestOwnTemplates(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	name, blank, place := " Tests ", "  ", account.MessagePlace
	var list wire.TemplateList
	h.CallAs(account.Member, "POST", "/api/templates", wire.TemplateText{Name: &name, Text: " Run the tests ", Place: place}).Decode(t, &list)
	if len(list.Templates) != 1 || list.Templates[0].Name != "Tests" || list.Templates[0].Text != "Run the tests" || list.Templates[0].Place != place {
		t.Fatalf("got %+v", list)
	}
	path := "/api/templates/" + list.Templates[0].TemplateID
	h.CallAs(account.Member, "PATCH", path, wire.TemplateText{Text: "Run all tests"}).Decode(t, &list)
	if got := list.Templates[0]; got.Name != "Tests" || got.Text != "Run all tests" {
		t.Errorf("without a name it keeps its own: %+v", got)
	}
	if a := h.CallAs(account.Member, "POST", "/api/templates", wire.TemplateText{Name: &blank, Text: "x"}); a.Status != 400 {
		t.Errorf("without a name: %d", a.Status)
	}
	h.CallAs(account.Member, "POST", "/api/templates", wire.TemplateText{Text: "As you like", Place: account.AnswerPlace}).Decode(t, &list)
	h.CallAs(account.Member, "POST", "/api/templates", wire.TemplateText{Text: "As you like"}).Decode(t, &list)
	if len(list.Templates) != 3 || list.Templates[0].Place != account.ReasonPlace || list.Templates[1].Place != account.AnswerPlace {
		t.Errorf("the same words at two places: %+v", list)
	}
}

// TestWhileAway: what happened and how long Claude waited, of sessions that one
// may see.
func TestWhileAway(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	before := float64(time.Now().Add(-time.Minute).Unix())
	if err := h.Store.PutItems(t.Context(), id, []session.Item{
		{Key: "a", At: time.Now(), Kind: session.ItemToolCall, Body: json.RawMessage(`{"tool_name":"Write","input":{"file_path":"a.go"}}`)},
		{Key: "b", At: time.Now(), Kind: session.ItemResult, Body: json.RawMessage(`{}`)},
	}); err != nil {
		t.Fatal(err)
	}
	h.Ask(id, "q", nil)
	var caughtUp wire.CatchUpList
	h.CallAs(account.Viewer, "GET", fmt.Sprintf("/api/catch_up?since=%f", before), nil).Decode(t, &caughtUp)
	if len(caughtUp.Sessions) != 1 || caughtUp.Sessions[0].SessionID != id || caughtUp.Sessions[0].Edits != 1 || caughtUp.Sessions[0].Turns != 1 || caughtUp.Sessions[0].First != "a" {
		t.Errorf("got %+v", caughtUp)
	}
	h.CallAs(account.Viewer, "GET", fmt.Sprintf("/api/catch_up?since=%f", before+3600), nil).Decode(t, &caughtUp)
	if len(caughtUp.Sessions) != 0 {
		t.Errorf("later: %+v", caughtUp)
	}
	var waits wire.WaitList
	h.CallAs(account.Viewer, "GET", fmt.Sprintf("/api/waits?since=%f", before), nil).Decode(t, &waits)
	if len(waits.Waits) != 1 || waits.Waits[0].SessionID != id || waits.Waits[0].Waited <= 0 {
		t.Errorf("got %+v", waits)
	}
	for _, bad := range []string{"", "x", "NaN", "-1", "1e99"} {
		for _, path := range []string{"/api/catch_up", "/api/lately", "/api/waits"} {
			if a := h.CallAs(account.Viewer, "GET", path+"?since="+bad, nil); a.Status != 400 {
				t.Errorf("%s since %q: got %d", path, bad, a.Status)
			}
		}
	}
}
