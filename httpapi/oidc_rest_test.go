package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/oidc"
	"github.com/sayso-dev/sayso/internal/oidc/oidctest"
	"github.com/sayso-dev/sayso/wire"
)

// withProvider returns a harness whose people sign in at an identity provider: ops are
// admins, dev are members.
func withProvider(t testing.TB, p *oidctest.Provider) *harness {
	t.Helper()
	return quietHarness(t, func(o *apitest.Options) {
		o.PublicURL = "https://sayso.example"
		o.OIDC = &httpapi.OIDC{
			Name: "Example", RoleOf: func(values []string) account.Role {
				switch {
				case slices.Contains(values, "ops"):
					return account.Admin
				case slices.Contains(values, "dev"):
					return account.Member
				}
				return ""
			},
			Provider: oidc.New(oidc.Config{
				Issuer: p.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret,
				RedirectURL: "https://sayso.example/sign-in/oidc", RoleClaim: "groups",
			}),
		}
	})
}

var publicHost = host("sayso.example")

// visit goes to the provider and comes back with what it gave.
func visit(h *harness, p *oidctest.Provider) (wire.OIDCLogin, apitest.RequestOption) {
	h.T.Helper()
	begun := h.Call("POST", "/api/login/oidc/begin", "{}", publicHost)
	var at wire.OIDCBegun
	begun.Decode(h.T, &at)
	if begun.Status != 200 || !strings.HasPrefix(at.Address, p.URL+"/authorize?") {
		h.T.Fatalf("begin: got %d %s", begun.Status, begun.Body)
	}
	for _, c := range (&http.Response{Header: begun.Header}).Cookies() {
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || !strings.HasPrefix(c.Name, "__Host-") {
			h.T.Errorf("cookie %+v", c)
		}
	}
	back := p.SignIn(at.Address)
	return wire.OIDCLogin{Code: back.Get("code"), State: back.Get("state")}, cookiesOf(begun)
}

func enterBy(h *harness, p *oidctest.Provider, ways ...apitest.RequestOption) apitest.Response {
	h.T.Helper()
	body, cookie := visit(h, p)
	return h.Call("POST", "/api/login/oidc", body, append(ways, publicHost, cookie)...)
}

func groups(p *oidctest.Provider, subject, name string, values ...string) {
	p.Update(func(p *oidctest.Provider) {
		p.Claims = map[string]any{"sub": subject, "preferred_username": name, "email": "ada@example.org", "groups": values}
	})
}

func meOf(h *harness, a apitest.Response) wire.Me {
	h.T.Helper()
	var me wire.Me
	a.Decode(h.T, &me)
	if a.Status != 200 {
		h.T.Fatalf("got %d %s", a.Status, a.Body)
	}
	return me
}

// TestSignInAtAProviderEndsAtAnotherServer: the provider may send a browser back to any server.
func TestSignInAtAProviderEndsAtAnotherServer(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	h := withProvider(t, p)
	groups(p, "1", "Ada", "dev")
	other := &harness{&apitest.Harness{T: t, Server: h.NewServer(t)}}
	body, cookie := visit(h, p)
	meOf(h, other.Call("POST", "/api/login/oidc", body, publicHost, cookie))
	checkUncookied(t, h.Call("POST", "/api/login/oidc", body, publicHost, cookie), 400, "begin_again")
}

func TestSignInAtAProvider(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	h := withProvider(t, p)
	h.person("Ada", account.Member) // is another Ada

	groups(p, "1", "Ada", "dev", "other")
	first := enterBy(h, p, from("192.0.2.5"))
	me := meOf(h, first)
	if me.User.Name != "Ada 2" || me.User.Role != account.Member || me.SetUp {
		t.Errorf("got %+v, want a member who is not the Ada that was there", me)
	}
	var list wire.SignInList
	h.Call("GET", "/api/sign_ins", nil, publicHost, cookiesOf(first)).Decode(t, &list)
	if len(list.SignIns) != 1 || list.SignIns[0].Method != account.ByOIDC {
		t.Errorf("got %+v", list.SignIns)
	}

	// The same person under another name, with another role; and somebody else who
	// was given her name and address.
	groups(p, "1", "Ada Lovelace", "ops")
	if again := meOf(h, enterBy(h, p)); again.UserID != me.UserID || again.User.Role != account.Admin || again.User.Name != "Ada 2" {
		t.Errorf("got %+v, want the same user as an admin", again)
	}
	groups(p, "2", "Ada 2", "dev")
	if other := meOf(h, enterBy(h, p)); other.UserID == me.UserID || other.User.Role != account.Member {
		t.Errorf("got %+v, want another user", other)
	}

	// Without a role she is out, with what she had open.
	groups(p, "1", "Ada")
	checkUncookied(t, enterBy(h, p), 403, "no_role")
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, publicHost, cookiesOf(first)), 401, "not_signed_in")
	groups(p, "3", "Eve")
	checkUncookied(t, enterBy(h, p), 403, "no_role")
	groups(p, "1", "Ada", "ops")
	meOf(h, enterBy(h, p))
	if err := h.Directory.SetDisabled(t.Context(), me.UserID, true); err != nil {
		t.Fatal(err)
	}
	checkUncookied(t, enterBy(h, p), 403, "shut_out")
	users, err := h.Directory.Users(t.Context())
	if err != nil || len(users) != 4 {
		t.Errorf("there are %d users, want the first admin and three Adas (%v)", len(users), err)
	}
}

func TestSignInsAtAProviderThatAreRefused(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	h := withProvider(t, p)
	groups(p, "1", "Ada", "dev")
	mine, cookie := visit(h, p)
	other, otherCookie := visit(h, p)
	checkUncookied(t, h.Call("POST", "/api/login/oidc", mine, publicHost), 400, "begin_again")
	checkUncookied(t, h.Call("POST", "/api/login/oidc", mine, publicHost, otherCookie, from("192.0.2.1")), 401, "oidc_invalid")
	checkUncookied(t, h.Call("POST", "/api/login/oidc", other, publicHost, otherCookie), 400, "begin_again")
	meOf(h, h.Call("POST", "/api/login/oidc", mine, publicHost, cookie))
	checkUncookied(t, h.Call("POST", "/api/login/oidc", mine, publicHost, cookie), 400, "begin_again")

	p.Update(func(p *oidctest.Provider) {
		p.AlterToken = func(_, claims map[string]any) { claims["aud"] = "another" }
	})
	for range account.DefaultLimits.PerAddress {
		checkUncookied(t, enterBy(h, p, from("192.0.2.2")), 401, "oidc_invalid")
	}
	checkUncookied(t, enterBy(h, p, from("192.0.2.2")), 429, "too_many_attempts")
	apitest.CheckRefusal(t, h.Call("POST", "/api/login/oidc/begin", "{}", host("localhost:8787")), 409, "no_oidc_here")
}

// TestADeadProviderStopsNobody: other ways in go on.
func TestADeadProviderStopsNobody(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	p.SetDown(true)
	h := withProvider(t, p)
	h.person("Ada", account.Member)
	apitest.CheckRefusal(t, h.Call("POST", "/api/login/oidc/begin", "{}", publicHost), 502, "oidc_unreachable")
	h.signIn("Ada")
	var ways wire.SignInWays
	h.Call("GET", "/api/login", nil, publicHost).Decode(t, &ways)
	if ways.OIDC == nil || ways.OIDC.Name != "Example" {
		t.Errorf("got %+v", ways)
	}
	without := quietHarness(t)
	apitest.CheckRefusal(t, without.Call("POST", "/api/login/oidc/begin", "{}"), 404, "not_found")
	apitest.CheckRefusal(t, without.Call("POST", "/api/login/oidc", wire.OIDCLogin{Code: "x", State: "y"}), 404, "not_found")
}

// TestProviderClaimsTheServer: whoever came by a provider can come again.
func TestProviderClaimsTheServer(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	h := withProvider(t, p)
	groups(p, "1", "Ada", "ops")
	if me := meOf(h, enterBy(h, p, from("192.0.2.1"))); me.SetUp || me.User.Role != account.Admin {
		t.Errorf("got %+v", me)
	}
	if unclaimed, err := h.Directory.Unclaimed(t.Context()); err != nil || unclaimed {
		t.Errorf("got %v %v", unclaimed, err)
	}
}

// link goes to the provider for who is signed in, and comes back.
func link(h *harness, p *oidctest.Provider, body any, who apitest.RequestOption) (apitest.Response, wire.OIDCLogin, apitest.RequestOption) {
	h.T.Helper()
	begun := h.Call("POST", "/api/links/begin", body, publicHost, who)
	if begun.Status != 200 {
		return begun, wire.OIDCLogin{}, nil
	}
	var at wire.OIDCBegun
	begun.Decode(h.T, &at)
	back := p.SignIn(at.Address)
	return begun, wire.OIDCLogin{Code: back.Get("code"), State: back.Get("state")}, cookiesOf(begun)
}

// TestLinkingAnIdentity: who has an account adds an identity to it, signs in with
// either, and takes it back. Nothing is linked by a name or an e-mail address.
func TestLinkingAnIdentity(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	h := withProvider(t, p)
	h.person("Ada", account.Member)
	h.person("Bob", account.Member)
	known := map[string]string{"current_password": password}
	ada, bob := h.signIn("Ada", publicHost), h.signIn("Bob", publicHost)
	me := meOf(h, h.Call("GET", "/api/me", nil, publicHost, ada))
	groups(p, "1", "Ada")

	// Not before it was proved who asks, and not by a token.
	refused, _, _ := link(h, p, map[string]string{"current_password": "a wrong one of mine"}, ada)
	apitest.CheckRefusal(t, refused, 403, "wrong_password")
	refused, _, _ = link(h, p, "{}", apitest.Bearer(h.Token(account.Member)))
	apitest.CheckRefusal(t, refused, 403, "forbidden")

	// What one began, nobody else ends, and no sign-in: neither in another browser
	// nor with what belongs to another flow.
	_, mine, cookie := link(h, p, known, ada)
	checkUncookied(t, h.Call("POST", "/api/links", mine, publicHost, bob, cookie), 403, "begun_by_another")
	_, mine, cookie = link(h, p, known, ada)
	apitest.CheckRefusal(t, h.Call("POST", "/api/links", mine, publicHost, ada), 400, "begin_again")
	checkUncookied(t, h.Call("POST", "/api/login/oidc", mine, publicHost, cookie), 400, "begin_again")
	other, otherCookie := visit(h, p)
	apitest.CheckRefusal(t, h.Call("POST", "/api/links", other, publicHost, ada, otherCookie), 400, "begin_again")
	checkUncookied(t, h.Call("POST", "/api/links", other, publicHost, ada, cookie), 401, "oidc_invalid")

	_, mine, cookie = link(h, p, known, ada)
	made := h.Call("POST", "/api/links", mine, publicHost, ada, cookie)
	var l wire.Link
	made.Decode(t, &l)
	if made.Status != 201 || l.Issuer != p.URL || !l.ByHand {
		t.Fatalf("got %d %s", made.Status, made.Body)
	}
	checkUncookied(t, h.Call("POST", "/api/links", mine, publicHost, ada, cookie), 400, "begin_again")

	// She signs in with either and stays who and what she is, whatever it says of her.
	groups(p, "1", "Somebody", "ops")
	through := enterBy(h, p)
	if got := meOf(h, through); got.UserID != me.UserID || got.User.Role != account.Member {
		t.Errorf("got %+v, want Ada as a member", got)
	}
	groups(p, "1", "Somebody")
	meOf(h, enterBy(h, p))

	// Nobody else gets it, and she gets no second one there.
	_, his, hisCookie := link(h, p, known, bob)
	checkUncookied(t, h.Call("POST", "/api/links", his, publicHost, bob, hisCookie), 400, "invalid")
	groups(p, "2", "Ada")
	_, mine, cookie = link(h, p, known, ada)
	checkUncookied(t, h.Call("POST", "/api/links", mine, publicHost, ada, cookie), 400, "invalid")

	// Taken back by its owner alone; what it opened ends, she does not.
	apitest.CheckRefusal(t, h.Call("DELETE", "/api/links/"+l.LinkID, nil, publicHost, bob), 404, "not_found")
	if a := h.Call("DELETE", "/api/links/"+l.LinkID, nil, publicHost, ada); a.Status != 204 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, publicHost, cookiesOf(through)), 401, "not_signed_in")
	meOf(h, h.Call("GET", "/api/me", nil, publicHost, ada))
	groups(p, "1", "Ada", "dev")
	if got := meOf(h, enterBy(h, p)); got.UserID == me.UserID || got.User.Name != "Ada 2" {
		t.Errorf("got %+v, want somebody new: names link nobody", got)
	}
	entries, err := h.AuditEntries("identity_")
	if err != nil || len(entries) != 2 || !strings.Contains(string(entries[0].Body), `"what":"identity_linked"`) ||
		!strings.Contains(string(entries[0].Body), `"name":"Ada"`) || !strings.Contains(string(entries[1].Body), `"what":"identity_unlinked"`) {
		t.Errorf("on record are %+v (%v)", entries, err)
	}
}

// TestLastSignInMethodStays: who came from a provider cannot leave it, and who has
// nothing else cannot take the last one.
func TestLastSignInMethodStays(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	h := withProvider(t, p)
	groups(p, "1", "Ada", "dev")
	ada := cookiesOf(enterBy(h, p))
	var list wire.LinkList
	h.Call("GET", "/api/links", nil, publicHost, ada).Decode(t, &list)
	if len(list.Links) != 1 || list.Links[0].ByHand || list.Provider == nil || *list.Provider != "Example" {
		t.Fatalf("got %+v", list)
	}
	apitest.CheckRefusal(t, h.Call("DELETE", "/api/links/"+list.Links[0].LinkID, nil, publicHost, ada), 400, "invalid")

	// The first admin has no password: signed in just now, they may link, and not unlink.
	secret, err := h.Directory.NewSignInLink(t.Context(), h.Admin.UserID)
	if err != nil {
		t.Fatal(err)
	}
	admin := cookiesOf(h.Call("POST", "/api/login", wire.Login{Token: secret}, publicHost))
	groups(p, "2", "Admin")
	_, mine, cookie := link(h, p, "{}", admin)
	made := h.Call("POST", "/api/links", mine, publicHost, admin, cookie)
	var l wire.Link
	made.Decode(t, &l)
	apitest.CheckRefusal(t, h.Call("DELETE", "/api/links/"+l.LinkID, nil, publicHost, admin), 400, "invalid")
}
