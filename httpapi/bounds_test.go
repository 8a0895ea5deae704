package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

// madeToken makes a token and returns it with its secret.
func (h *harness) madeToken(body wire.TokenCreate, ways ...apitest.RequestOption) wire.TokenCreated {
	h.T.Helper()
	a := h.Call("POST", "/api/tokens", body, ways...)
	if a.Status != http.StatusCreated {
		h.T.Fatalf("make a token: got %d %s", a.Status, a.Body)
	}
	var made wire.TokenCreated
	a.Decode(h.T, &made)
	return made
}

// linkFor makes a sign-in link for a user.
func (h *harness) linkFor(userID string, ways ...apitest.RequestOption) wire.SignInLink {
	h.T.Helper()
	a := h.Call("POST", "/api/users/"+userID+"/sign_in_link", "{}", ways...)
	if a.Status != http.StatusCreated {
		h.T.Fatalf("make a sign-in link: got %d %s", a.Status, a.Body)
	}
	var made wire.SignInLink
	a.Decode(h.T, &made)
	return made
}

// TestTokensCannotCreateStrongerTokens: attack 116. Whatever is made with a token, over
// however many steps, may do no more, lives no longer, and cannot leave behind what
// would: users, passwords, passkeys, roles.
func TestTokensCannotCreateStrongerTokens(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]wire.TokenCreate{
		"scope":               {Name: "scope", Scope: account.Admin},
		"expiry":              {Name: "expiry", ExpiresIn: 300},
		"a lesser scope":      {Name: "lesser", Scope: account.Member},
		"scope and expiry":    {Name: "both", Scope: account.Admin, ExpiresIn: 300},
		"a viewer's, a while": {Name: "viewer", Scope: account.Viewer, ExpiresIn: 300},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := quietHarness(t)
			ada, bob := h.person("Ada", account.Admin), h.person("Bob", account.Member)
			root := h.madeToken(limits, h.signIn("Ada"))
			most := limits.Scope
			if most == "" {
				most = account.Admin
			}
			bounded := func(what string, ways ...apitest.RequestOption) {
				t.Helper()
				var me wire.Me
				a := h.Call("GET", "/api/me", nil, ways...)
				if a.Status != 200 {
					t.Errorf("%s: got %d %s", what, a.Status, a.Body)
					return
				}
				a.Decode(t, &me)
				if !most.AtLeast(me.User.Role) {
					t.Errorf("%s: acts as %s, more than %s", what, me.User.Role, most)
				}
				yes := true
				no, admin, words := false, account.Admin, "four words of somebody"
				_ = yes
				for call, body := range map[string]any{
					"POST /api/users":                          wire.PersonCreate{Name: "Eve " + what, Role: account.Member, Password: words},
					"PATCH /api/users/" + bob.UserID:           wire.PersonChange{Password: &words},
					"PATCH /api/users/" + ada.UserID:           wire.PersonChange{Password: &words},
					"PATCH /api/users/" + ada.UserID + "?":     wire.PersonChange{Role: &admin},
					"PATCH /api/users/" + bob.UserID + "?":     wire.PersonChange{Disabled: &no},
					"POST /api/me/password":                    wire.NewPassword{CurrentPassword: password, Password: words},
					"POST /api/tokens":                         wire.TokenCreate{Name: "robot " + what, Role: account.Viewer},
					"POST /api/passkeys/challenge":             wire.PasskeyNew{CurrentPassword: password},
					"POST /api/links/begin":                    wire.LinkNew{CurrentPassword: password},
					"POST /api/set_up":                         wire.SetUp{Name: "Eve", Password: words},
					"DELETE /api/tokens/" + root.Token.TokenID: nil,
				} {
					method, path, _ := strings.Cut(call, " ")
					if a := h.Call(method, path, body, ways...); a.Status != http.StatusForbidden {
						t.Errorf("%s: %s: got %d %s, want 403", what, call, a.Status, a.Body)
					}
				}
			}
			ends := func(what string, at *float64) {
				t.Helper()
				if limits.ExpiresIn == 0 {
					return
				}
				if at == nil || *at > *root.Token.ExpiresAt+0.001 {
					t.Errorf("%s: ends at %v, its root at %v", what, at, *root.Token.ExpiresAt)
				}
			}
			mine := apitest.Bearer(root.Secret)
			bounded("the token", mine)
			child := h.madeToken(wire.TokenCreate{Name: "child"}, mine)
			ends("a token of the token", child.Token.ExpiresAt)
			bounded("a token of the token", apitest.Bearer(child.Secret))
			if most != account.Admin {
				if a := h.Call("POST", "/api/tokens", wire.TokenCreate{Name: "more", Scope: account.Admin}, mine); a.Status < 400 {
					t.Errorf("a token with a wider scope: got %d", a.Status)
				}
			}
			in := h.Call("POST", "/api/login", wire.Login{Token: child.Secret})
			cookie := apitest.SignedIn(in)
			bounded("a cookie of that", cookie)
			var list wire.SignInList
			h.Call("GET", "/api/sign_ins", nil, cookie).Decode(t, &list)
			for _, one := range list.SignIns {
				if one.Current {
					ends("a cookie of that", one.ExpiresAt)
				}
			}
			third := h.madeToken(wire.TokenCreate{Name: "third", ExpiresIn: 86_400}, cookie)
			ends("a token of the cookie", third.Token.ExpiresAt)
			bounded("a token of the cookie", apitest.Bearer(third.Secret))
			if most == account.Admin {
				link := h.linkFor(ada.UserID, apitest.Bearer(third.Secret))
				ends("a link of that", &link.ExpiresAt)
				theirs := apitest.SignedIn(h.Call("POST", "/api/login", wire.Login{Token: link.Token}))
				bounded("who came by the link", theirs)
			}
		})
	}
}

// TestRevokingATokenRevokesThoseItCreated: attack 117. Revoked, or with its user disabled, it
// ends all that was made with it, on open tabs too.
func TestRevokingATokenRevokesThoseItCreated(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *harness, admin apitest.RequestOption, tokenID, userID string) apitest.Response{
		"revoked": func(h *harness, admin apitest.RequestOption, tokenID, _ string) apitest.Response {
			return h.Call("DELETE", "/api/tokens/"+tokenID, nil, admin)
		},
		"its user disabled": func(h *harness, admin apitest.RequestOption, _, userID string) apitest.Response {
			return h.Call("PATCH", "/api/users/"+userID, `{"disabled":true}`, admin)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			ada, bob := h.person("Ada", account.Admin), h.person("Bob", account.Member)
			admin := apitest.Bearer(h.Token(account.Admin))
			hers, his := h.signIn("Ada"), h.signIn("Bob")
			root := h.madeToken(wire.TokenCreate{Name: "root"}, hers)
			child := h.madeToken(wire.TokenCreate{Name: "child"}, apitest.Bearer(root.Secret))
			cookie := apitest.SignedIn(h.Call("POST", "/api/login", wire.Login{Token: child.Secret}))
			bobs := apitest.SignedIn(h.Call("POST", "/api/login", wire.Login{Token: h.linkFor(bob.UserID, cookie).Token}))
			grandchild := h.madeToken(wire.TokenCreate{Name: "grandchild"}, bobs)
			unused := h.linkFor(bob.UserID, apitest.Bearer(child.Secret))
			tree := map[string]apitest.RequestOption{"the token": apitest.Bearer(root.Secret), "its token": apitest.Bearer(child.Secret), "a cookie of that": cookie, "who came by its link": bobs, "a token of theirs": apitest.Bearer(grandchild.Secret)}
			own := apitest.Header("Origin", h.Web.URL)
			tab := h.openAs(someone{way: func(r *http.Request) { bobs(r); own(r) }})
			for what, way := range tree {
				if a := h.Call("GET", "/api/me", nil, way); a.Status != 200 {
					t.Fatalf("%s before: got %d", what, a.Status)
				}
			}
			if a := end(h, admin, root.Token.TokenID, ada.UserID); a.Status >= 300 {
				t.Fatalf("got %d %s", a.Status, a.Body)
			}
			began := time.Now()
			for what, way := range tree {
				apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, way), 401, "not_signed_in")
				_ = what
			}
			if a := h.Call("POST", "/api/login", wire.Login{Token: unused.Token}, from("198.51.100.7")); a.Status < 400 {
				t.Errorf("its unused link: got %d", a.Status)
			}
			if code, word := tab.AwaitClose(); code != wire.CloseSignedOut {
				t.Errorf("the tab: closed with %d %s", code, word)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("the tab was open for %s more", took)
			}
			if a := h.Call("GET", "/api/me", nil, his); a.Status != 200 {
				t.Errorf("Bob's own sign-in: got %d", a.Status)
			}
		})
	}
}

// TestHeldAnswerEndsWithItsCredential: attack 119. An answer that is held,
// and the first of two approvals, come to nothing when the token or sign-in they
// were given with is revoked before they count.
func TestHeldAnswerEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.counting()
	ana, ben, cleo := h.someone("Ana", account.Member), h.someone("Ben", account.Member), h.someone("Cleo", account.Member)
	admin := apitest.Bearer(h.Token(account.Admin))
	held, _ := h.Ask(h.NewSession("api"), "one", nil)
	token := h.madeToken(wire.TokenCreate{Name: "short"}, ana.way)
	yes := func(ms int) map[string]any {
		return map[string]any{"request_type": "tool_approval", "decision": "allow", "command_id": uuid.NewString(), "undo_ms": ms}
	}
	answer := func(r pending.Request, who apitest.RequestOption, ms int) apitest.Response {
		return h.Call("POST", "/api/pending/"+r.RequestID+"/response", yes(ms), who)
	}
	tab := h.openAs(ben)
	if a := answer(held, apitest.Bearer(token.Secret), 1000); a.Status >= 300 {
		t.Fatalf("hold: got %d %s", a.Status, a.Body)
	}
	if a := h.Call("DELETE", "/api/tokens/"+token.Token.TokenID, nil, admin); a.Status != 204 {
		t.Fatalf("revoke: got %d %s", a.Status, a.Body)
	}
	tab.Until("that it was dropped, and why", func(f map[string]any) bool {
		held := heldOf(f)
		return held != nil && held["dropped"] == "The sign-in or token used for it has ended."
	})
	if r, err := h.Store.Request(t.Context(), held.RequestID); err != nil || r.Status.Final() {
		t.Fatalf("got %+v and %v, want it open", r, err)
	}

	p := h.project("web", "/work/web")
	members := []wire.ProjectMember{member(ana, account.Member), member(ben, account.Member), member(cleo, account.Member)}
	h.changed(p, wire.ProjectChange{Members: &members, Rules: &[]wire.ProjectRule{{Tool: "Bash", Effect: project.TwoPeople}}})
	two, _ := h.Ask(h.NewSession("web"), "two", nil)
	token = h.madeToken(wire.TokenCreate{Name: "first"}, ana.way)
	if a := answer(two, apitest.Bearer(token.Secret), 0); a.Status >= 300 {
		t.Fatalf("first approval: got %d %s", a.Status, a.Body)
	}
	if a := h.Call("DELETE", "/api/tokens/"+token.Token.TokenID, nil, admin); a.Status != 204 {
		t.Fatalf("revoke: got %d %s", a.Status, a.Body)
	}
	if a := answer(two, ben.way, 0); a.Status >= 300 {
		t.Fatalf("an approval after that: got %d %s", a.Status, a.Body)
	}
	r, err := h.Store.Request(t.Context(), two.RequestID)
	if err != nil || r.Status.Final() || r.Approval == nil || r.Approval.Actor.Name != "Ben" {
		t.Fatalf("got %+v and %v, want Ben's to be the first", r, err)
	}
	if a := answer(two, cleo.way, 0); a.Status >= 300 {
		t.Fatalf("second approval: got %d %s", a.Status, a.Body)
	}
	if r, err = h.Store.Request(t.Context(), two.RequestID); err != nil || r.Status != pending.Answered {
		t.Errorf("got %s and %v, want it approved by two whose credentials are good", fmt.Sprint(r.Status), err)
	}
}
