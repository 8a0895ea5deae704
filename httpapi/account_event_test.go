package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// TestAccountEventsAreOnRecord: attack 120. Who gave whom which way in, took it away,
// or came in, stands in the audit log, with from where.
func TestAccountEventsAreOnRecord(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Admin)
	ada := h.signIn("Ada", from("192.0.2.7"))
	at := from("192.0.2.7")
	var bob wire.Person
	h.Call("POST", "/api/users", wire.PersonCreate{Name: "Bob", Role: account.Viewer, Password: password}, ada, at).Decode(t, &bob)
	path := "/api/users/" + bob.UserID
	role, words, yes, no := account.Member, "another four words", true, false
	for _, change := range []wire.PersonChange{{Role: &role}, {Password: &words}, {Disabled: &yes}, {Disabled: &no}} {
		if a := h.Call("PATCH", path, change, ada, at); a.Status != 200 {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
	link := h.linkFor(bob.UserID, ada, at)
	bobs := apitest.SignedIn(h.Call("POST", "/api/login", wire.Login{Token: link.Token}, from("192.0.2.8")))
	token := h.madeToken(wire.TokenCreate{Name: "build", ExpiresIn: 60}, bobs)
	h.Call("DELETE", "/api/tokens/"+token.Token.TokenID, nil, ada, at)
	h.Call("POST", "/api/logout", "{}", bobs)
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", wire.Login{Username: "bob", Password: "a wrong password"}, from("203.0.113.1")), 401, "not_signed_in")
	for _, want := range []struct{ what, by, whom, from string }{
		{"user_created", "Ada", "Bob", "192.0.2.7"},
		{"role_changed", "Ada", "Bob", "192.0.2.7"},
		{"password_set", "Ada", "Bob", "192.0.2.7"},
		{"user_disabled", "Ada", "Bob", "192.0.2.7"},
		{"user_enabled", "Ada", "Bob", "192.0.2.7"},
		{"sign_in_link_created", "Ada", "Bob", "192.0.2.7"},
		{"signed_in", "Bob", "Bob", "192.0.2.8"},
		{"token_created", "Bob", "Bob", "127.0.0.1"},
		{"token_revoked", "Ada", "Bob", "192.0.2.7"},
		{"sign_in_ended", "Bob", "Bob", "127.0.0.1"},
		{"sign_in_failed", "unknown", "Bob", "203.0.113.1"},
	} {
		entries, err := h.AuditEntries(want.what + `"`)
		if err != nil || len(entries) == 0 {
			t.Errorf("%s: %d entries, %v", want.what, len(entries), err)
			continue
		}
		var last account.Incident
		if err := json.Unmarshal(entries[len(entries)-1].Body, &last); err != nil {
			t.Fatal(err)
		}
		if last.By.Name != want.by || last.By.Address != want.from || last.User == nil || last.User.Name != want.whom {
			t.Errorf("%s: got %s, want it by %s from %s about %s", want.what, entries[len(entries)-1].Body, want.by, want.from, want.whom)
		}
	}
}

// TestGuessesDoNotFillTheTrail: attack 121. Whoever guesses writes few entries, and
// what was typed in the wrong field is in none.
func TestGuessesDoNotFillTheTrail(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Admin)
	before, err := h.AuditEntries("")
	if err != nil {
		t.Fatal(err)
	}
	const typed = "canary of a password"
	for i := range 100 { // each from another address: far more than the trail takes in an hour
		h.Call("POST", "/api/login", wire.Login{Username: fmt.Sprint(typed, i), Password: "x"}, from(fmt.Sprintf("203.0.%d.%d", i/250, i%250)))
		h.Call("GET", "/api/me", nil, apitest.Bearer(typed), from("203.0.113.9"))
		h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: typed}, from("203.0.113.9"))
	}
	after, err := h.AuditEntries("")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(after) - len(before); n == 0 || n > 60 {
		t.Errorf("300 guesses wrote %d entries, want some and at most 60", n)
	}
	for _, e := range after {
		if strings.Contains(string(e.Body), "canary") {
			t.Errorf("what was typed is on record: %s", e.Body)
		}
	}
}
