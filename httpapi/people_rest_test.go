package httpapi_test

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

const password = "four words of mine"

// from makes a request come from another address.
func from(address string) apitest.RequestOption {
	return func(r *http.Request) { r.RemoteAddr = net.JoinHostPort(address, "50000") }
}

// person makes a user with [password].
func (h *harness) person(name string, role account.Role) account.User {
	h.T.Helper()
	u, err := h.Directory.CreateUser(h.T.Context(), name, role, password)
	if err != nil {
		h.T.Fatal(err)
	}
	return u
}

// signIn signs a user in and returns the Cookie header.
func (h *harness) signIn(name string, ways ...apitest.RequestOption) apitest.RequestOption {
	h.T.Helper()
	a := h.Call("POST", "/api/login", wire.Login{Username: name, Password: password}, ways...)
	if a.Status != 200 {
		h.T.Fatalf("sign in as %s: got %d %s", name, a.Status, a.Body)
	}
	return apitest.SignedIn(a)
}

func TestSignInByPassword(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Member)
	cookie := h.signIn("ada", from("192.0.2.1"), apitest.Header("User-Agent", "Firefox/140.0 (X11; Linux)"))
	var me wire.Me
	h.Call("GET", "/api/me", nil, cookie).Decode(t, &me)
	if me.User.Name != "Ada" || me.User.Role != account.Member || !me.HasPassword || me.SetUp {
		t.Fatalf("got %+v, want Ada", me)
	}
	var list wire.SignInList
	h.Call("GET", "/api/sign_ins", nil, cookie).Decode(t, &list)
	if len(list.SignIns) != 1 || list.SignIns[0].Device != "Firefox on Linux" || list.SignIns[0].Address != "192.0.2.1" || !list.SignIns[0].Current {
		t.Fatalf("got %+v, want this browser", list)
	}
}

// TestFailedSignInsAreIndistinguishable: a wrong password, a user without one, one who is
// shut out and a name that nobody has are refused with the same bytes.
func TestFailedSignInsAreIndistinguishable(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Member)
	gone := h.person("Gone", account.Member)
	if err := h.Directory.SetDisabled(t.Context(), gone.UserID, true); err != nil {
		t.Fatal(err)
	}
	want := ""
	for i, login := range []wire.Login{
		{Username: "Ada", Password: "not my password"}, {Username: "admin", Password: password},
		{Username: "Gone", Password: password}, {Username: "Nobody", Password: password},
	} {
		a := h.Call("POST", "/api/login", login, from(fmt.Sprintf("192.0.2.%d", i)))
		apitest.CheckRefusal(t, a, 401, "not_signed_in")
		if want == "" {
			want = string(a.Body)
		}
		if string(a.Body) != want {
			t.Errorf("%+v: got %s, want %s", login, a.Body, want)
		}
	}
}

// TestAnAccountIsLimitedFromManyAddresses: whoever has many addresses guesses no
// faster.
func TestAnAccountIsLimitedFromManyAddresses(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Member)
	for i := range account.DefaultLimits.PerAccount * account.AccountFactor {
		a := h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: "guess"}, from(fmt.Sprintf("192.0.2.%d", i)))
		apitest.CheckRefusal(t, a, 401, "not_signed_in")
	}
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", wire.Login{Username: "ADA", Password: password}, from("192.0.2.100")), 429, "too_many_attempts")
	h.person("Bob", account.Member)
	h.signIn("Bob", from("192.0.2.100"))
}

func TestSetUp(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	link := wire.Login{Token: h.link()}
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", link, from("192.0.2.1")), 403, "not_set_up")
	var cookies []apitest.RequestOption
	for _, l := range []wire.Login{link, {Token: h.link()}} {
		a := h.Call("POST", "/api/login", l, from("::1"))
		var me wire.Me
		a.Decode(t, &me)
		if a.Status != 200 || !me.SetUp || me.HasPassword {
			t.Fatalf("got %d %s, want to be asked to set up", a.Status, a.Body)
		}
		cookies = append(cookies, apitest.SignedIn(a))
	}
	late := wire.Login{Token: h.link()}
	apitest.CheckRefusal(t, h.Call("POST", "/api/set_up", wire.SetUp{Name: "Ada", Password: "short"}, cookies[0]), 400, "invalid")
	a := h.Call("POST", "/api/set_up", wire.SetUp{Name: "Ada", Password: password}, cookies[0])
	var me wire.Me
	a.Decode(t, &me)
	if a.Status != 200 || me.User.Name != "Ada" || me.User.Role != account.Admin || !me.HasPassword || me.SetUp {
		t.Fatalf("got %d %s, want Ada", a.Status, a.Body)
	}
	apitest.CheckRefusal(t, h.Call("POST", "/api/set_up", wire.SetUp{Name: "Eve", Password: password}, cookies[1]), 401, "not_signed_in")
	apitest.CheckRefusal(t, h.Call("POST", "/api/set_up", wire.SetUp{Name: "Eve", Password: password}, cookies[0]), 409, "changed")
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", late), 401, "not_signed_in")
	h.signIn("Ada", from("192.0.2.1"))
}

func TestATokenDoesNotSetUp(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	a := h.CallAs(account.Admin, "POST", "/api/set_up", wire.SetUp{Name: "Eve", Password: password})
	apitest.CheckRefusal(t, a, 403, "forbidden")
}

func TestPasswordChange(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Member)
	mine, other := h.signIn("Ada"), h.signIn("Ada")
	change := func(present, next string) apitest.Response {
		return h.Call("POST", "/api/me/password", wire.NewPassword{CurrentPassword: present, Password: next}, mine)
	}
	apitest.CheckRefusal(t, change("wrong", "five more words of mine"), 403, "wrong_password")
	apitest.CheckRefusal(t, change(password, "short"), 400, "invalid")
	if a := change(password, "five more words of mine"); a.Status != 204 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, other), 401, "not_signed_in")
	if a := h.Call("GET", "/api/me", nil, mine); a.Status != 200 {
		t.Fatalf("this browser: got %d", a.Status)
	}
	apitest.CheckRefusal(t, change("wrong", password), 403, "wrong_password")
	apitest.CheckRefusal(t, change("five more words of mine", password), 429, "too_many_attempts")
}

func TestSignInsAreOnesOwn(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Member)
	h.person("Bob", account.Admin)
	ada, ada2, bob := h.signIn("Ada"), h.signIn("Ada"), h.signIn("Bob")
	var list wire.SignInList
	h.Call("GET", "/api/sign_ins", nil, ada).Decode(t, &list)
	if len(list.SignIns) != 2 {
		t.Fatalf("got %+v, want two", list)
	}
	for _, s := range list.SignIns {
		if s.Current {
			continue
		}
		apitest.CheckRefusal(t, h.Call("DELETE", "/api/sign_ins/"+s.SignInID, nil, bob), 404, "not_found")
		if a := h.Call("DELETE", "/api/sign_ins/"+s.SignInID, nil, ada); a.Status != 204 {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, ada2), 401, "not_signed_in")
}

func TestPeople(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	var ada wire.Person
	a := h.CallAs(account.Admin, "POST", "/api/users", wire.PersonCreate{Name: "Ada", Role: account.Member, Password: password})
	a.Decode(t, &ada)
	if a.Status != 201 || !ada.HasPassword || strings.Contains(string(a.Body), password) {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/users", wire.PersonCreate{Name: "ada", Role: account.Member}), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/users", `{"name":"Eve","role":"root"}`), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "PATCH", "/api/users/none", `{"role":"viewer"}`), 404, "not_found")
	cookie := h.signIn("Ada")
	patch := func(body string) {
		t.Helper()
		if a := h.CallAs(account.Admin, "PATCH", "/api/users/"+ada.UserID, body); a.Status != 200 {
			t.Fatalf("%s: got %d %s", body, a.Status, a.Body)
		}
	}
	patch(`{"role":"viewer"}`)
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions", `{"cwd":"/","prompt":"x"}`, cookie), 403, "forbidden")
	patch(`{"disabled":true}`)
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, cookie), 401, "not_signed_in")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/users/"+ada.UserID+"/sign_in_link", nil), 409, "disabled")
	patch(`{"disabled":false,"password":"five more words of mine"}`)
	var link wire.SignInLink
	a = h.CallAs(account.Admin, "POST", "/api/users/"+ada.UserID+"/sign_in_link", nil)
	a.Decode(t, &link)
	if a.Status != 201 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	var me wire.Me
	h.Call("POST", "/api/login", wire.Login{Token: link.Token}).Decode(t, &me)
	if me.User.Name != "Ada" || me.User.Role != account.Viewer {
		t.Fatalf("the link signs in as %+v", me)
	}
}

func TestTheLastAdminStays(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	cookie := h.Cookie()
	for _, body := range []string{`{"role":"member"}`, `{"disabled":true}`} {
		a := h.Call("PATCH", "/api/users/"+h.Admin.UserID, body, cookie)
		apitest.CheckRefusal(t, a, 400, "invalid")
	}
}

func TestOwnTokens(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Member)
	h.person("Bob", account.Member)
	ada, bob := h.signIn("Ada"), h.signIn("Bob")
	var made wire.TokenCreated
	a := h.Call("POST", "/api/tokens", wire.TokenCreate{Name: "phone", Scope: account.Viewer, ExpiresIn: 60}, ada)
	a.Decode(t, &made)
	if a.Status != 201 || made.User != "Ada" || made.Role != account.Viewer || made.ExpiresAt == nil {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	scoped := apitest.Bearer(made.Secret)
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions", `{"cwd":"/","prompt":"x"}`, scoped), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("POST", "/api/tokens", wire.TokenCreate{Name: "x", Scope: account.Member}, scoped), 400, "invalid")
	apitest.CheckRefusal(t, h.Call("POST", "/api/tokens", wire.TokenCreate{Name: "x", Role: account.Viewer}, ada), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("POST", "/api/tokens", wire.TokenCreate{Name: "x", Role: account.Viewer, Scope: account.Viewer}, ada), 400, "invalid")
	apitest.CheckRefusal(t, h.Call("POST", "/api/me/password", wire.NewPassword{CurrentPassword: password, Password: "five more words"}, scoped), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("DELETE", "/api/tokens/"+made.TokenID, nil, scoped), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("DELETE", "/api/tokens/"+made.TokenID, nil, bob), 404, "not_found")
	var list wire.TokenList
	h.Call("GET", "/api/tokens", nil, bob).Decode(t, &list)
	if len(list.Tokens) != 0 {
		t.Errorf("Bob sees %+v", list)
	}
	h.Call("GET", "/api/tokens", nil, ada).Decode(t, &list)
	if len(list.Tokens) != 1 {
		t.Errorf("Ada sees %+v, want her one", list)
	}
	if a := h.Call("DELETE", "/api/tokens/"+made.TokenID, nil, ada); a.Status != 204 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, scoped), 401, "not_signed_in")
}

// TestAuditOverREST: an admin reads who answered what, from where, and can hold
// the entries against each other.
func TestAuditOverREST(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.person("Ada", account.Member)
	id := h.NewSession("one")
	cookie := h.signIn("Ada")
	for _, name := range []string{"a", "b"} {
		r, _ := h.Ask(id, name, nil)
		a := h.Call("POST", "/api/pending/"+r.RequestID+"/response", apitest.Allow(r), cookie)
		if a.Status != 200 {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
	var page wire.AuditPage
	h.CallAs(account.Admin, "GET", "/api/audit", nil).Decode(t, &page)
	last := page.Next
	var previous []byte
	answered := 0
	for _, e := range page.Entries {
		previous = account.AuditHash(previous, e.Entry)
		if e.Hash != hex.EncodeToString(previous) {
			t.Errorf("entry %d does not follow", e.Seq)
		}
		if !strings.Contains(string(e.Entry), `"what":"answered"`) {
			continue
		}
		answered++
		if !strings.Contains(string(e.Entry), `"name":"Ada"`) || !strings.Contains(string(e.Entry), `"address":"127.0.0.1"`) {
			t.Errorf("entry %d is %s", e.Seq, e.Entry)
		}
	}
	if answered != 2 || last != int64(len(page.Entries)) {
		t.Errorf("got %d answers of %d entries, the last %d, want two answers", answered, len(page.Entries), last)
	}
	h.CallAs(account.Admin, "GET", fmt.Sprint("/api/audit?after=", last), nil).Decode(t, &page)
	if len(page.Entries) != 0 || page.Next != last {
		t.Errorf("after the end: %+v", page)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "GET", "/api/audit?after=x", nil), 400, "invalid")
}

func TestAdminsSeeAndEndTheSignInsOfOthers(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	ada, bob := h.person("Ada", account.Member), h.person("Bob", account.Member)
	adas, bobs := h.signIn("Ada"), h.signIn("Bob")
	var list wire.SignInList
	h.CallAs(account.Admin, "GET", "/api/sign_ins?user_id="+ada.UserID, nil).Decode(t, &list)
	if len(list.SignIns) != 1 || list.SignIns[0].Current {
		t.Fatalf("got %+v, want hers", list)
	}
	hers := "/api/sign_ins/" + list.SignIns[0].SignInID
	for name, c := range map[string]struct {
		method, path string
		way          apitest.RequestOption
	}{
		"another's":            {"GET", "/api/sign_ins?user_id=" + ada.UserID, bobs},
		"to end another's":     {"DELETE", hers + "?user_id=" + ada.UserID, bobs},
		"to end it as one's":   {"DELETE", hers, bobs},
		"of another person":    {"DELETE", hers + "?user_id=" + bob.UserID, apitest.Bearer(h.Token(account.Admin))},
		"of nobody, as admins": {"GET", "/api/sign_ins?user_id=none", apitest.Bearer(h.Token(account.Admin))},
	} {
		if a := h.Call(c.method, c.path, nil, c.way); a.Status != http.StatusNotFound {
			t.Errorf("%s: got %d %s", name, a.Status, a.Body)
		}
	}
	if a := h.CallAs(account.Admin, "DELETE", hers+"?user_id="+ada.UserID, nil); a.Status != http.StatusNoContent {
		t.Fatalf("end hers: %d %s", a.Status, a.Body)
	}
	if a := h.Call("GET", "/api/me", nil, adas); a.Status != http.StatusUnauthorized {
		t.Errorf("she is signed in still: %d", a.Status)
	}
}
