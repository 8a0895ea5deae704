package httpapi_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// comes signs a browser in by a link, on the machine itself, and returns its
// cookie and what it was told.
func (h *harness) comes(link string) (apitest.RequestOption, wire.Me) {
	h.T.Helper()
	a := h.Call("POST", "/api/login", wire.Login{Token: link}, host("localhost:8787"), apitest.Header("Origin", localOrigin), from("127.0.0.1"))
	if a.Status != 200 {
		h.T.Fatalf("sign in by link: got %d %s", a.Status, a.Body)
	}
	var me wire.Me
	a.Decode(h.T, &me)
	return apitest.SignedIn(a), me
}

// TestSetUpByPasskey: the first admin needs no password, ever; without one they
// are refused as everybody is whose password is wrong, and a link brings them
// back when the device is lost.
func TestSetUpByPasskey(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	k := &keyring{harness: h, at: host("localhost:8787"), device: newAuthenticator(t, localOrigin, "localhost")}
	other, _ := h.comes(h.link())
	cookie, me := h.comes(h.link())
	if !me.SetUp || me.NeedsWay {
		t.Fatalf("got %+v, want to be asked to set up", me)
	}
	late := h.link()
	const challenge, end = "/api/set_up/passkey/challenge", "/api/set_up/passkey"
	apitest.CheckRefusal(t, k.post(challenge, wire.PasskeySetUp{Name: "\n"}, cookie), 400, "invalid")
	apitest.CheckRefusal(t, h.Call("POST", challenge, wire.PasskeySetUp{Name: "Ada"}, cookie), 409, "no_passkeys_here") // 127.0.0.1
	theirs := k.post(challenge, wire.PasskeySetUp{Name: "Eve"}, other)
	begun := k.post(challenge, wire.PasskeySetUp{Name: " Ada "}, cookie)
	o := readChallenge(t, begun)
	if !strings.Contains(string(begun.Body), `"name":"Ada"`) || o.Selection.Resident != "required" || o.Selection.Verification != "required" {
		t.Errorf("got %s, want a discoverable passkey of Ada that verifies its user", begun.Body)
	}
	// The challenge of another ceremony, or of another browser, is none of this one.
	made := wire.PasskeyCreate{Name: "laptop", Credential: k.device.create(o)}
	checkUncookied(t, k.post("/api/passkeys", made, cookiesOf(begun, cookie)), 400, "begin_again")
	checkUncookied(t, k.post(end, made, cookie), 400, "begin_again")

	a := k.post(end, made, cookiesOf(begun, cookie))
	a.Decode(t, &me)
	if a.Status != 200 || me.User.Name != "Ada" || me.User.Role != account.Admin || me.HasPassword || me.SetUp || me.NeedsWay {
		t.Fatalf("got %d %s, want Ada", a.Status, a.Body)
	}
	// Of two one wins: the other browser is out, and so is a link from before.
	device := newAuthenticator(t, localOrigin, "localhost")
	lost := wire.PasskeyCreate{Name: "Eve's", Credential: device.create(readChallenge(t, theirs))}
	apitest.CheckRefusal(t, k.post(end, lost, cookiesOf(theirs, other)), 401, "not_signed_in")
	apitest.CheckRefusal(t, k.post(challenge, wire.PasskeySetUp{Name: "Eve"}, cookie), 409, "changed")
	apitest.CheckRefusal(t, k.post("/api/set_up", wire.SetUp{Name: "Eve", Password: password}, cookie), 409, "changed")
	apitest.CheckRefusal(t, h.Call("POST", "/api/login", wire.Login{Token: late}), 401, "not_signed_in")

	in := k.enter(from("192.0.2.1"))
	in.Decode(t, &me)
	if in.Status != 200 || me.User.Name != "Ada" {
		t.Errorf("got %d %s, want Ada", in.Status, in.Body)
	}
	nobody := h.Call("POST", "/api/login", wire.Login{Username: "Nobody", Password: password}, from("192.0.2.2"))
	hers := h.Call("POST", "/api/login", wire.Login{Username: "Ada", Password: password}, from("192.0.2.3"))
	if hers.Status != 401 || string(hers.Body) != string(nobody.Body) {
		t.Errorf("by password: got %d %s, want %s", hers.Status, hers.Body, nobody.Body)
	}
	empty := h.Call("POST", "/api/login", wire.Login{Username: "Ada"}, from("192.0.2.4"))
	if empty.Status < 400 {
		t.Errorf("by an empty password: got %d %s", empty.Status, empty.Body)
	}
	var keys wire.PasskeyList
	h.Call("GET", "/api/passkeys", nil, k.at, cookie).Decode(t, &keys)
	if len(keys.Passkeys) != 1 || keys.Passkeys[0].Name != "laptop" {
		t.Fatalf("got %+v", keys)
	}
	apitest.CheckRefusal(t, h.Call("DELETE", "/api/passkeys/"+keys.Passkeys[0].PasskeyID, nil, k.at, cookie), 400, "invalid") // the last way in

	apitest.CheckRefusal(t, k.post(challenge, wire.PasskeySetUp{Name: "Eve"}, apitest.Bearer(h.Token(account.Admin))), 403, "forbidden")

	// What `sayso token --sign-in` prints brings Ada back without the device.
	back, me := h.comes(h.link())
	if me.User.Name != "Ada" || me.SetUp || me.NeedsWay {
		t.Errorf("got %+v, want Ada", me)
	}
	if a := h.Call("POST", "/api/me/password", wire.NewPassword{Password: password}, k.at, back); a.Status != 204 {
		t.Errorf("a password later: got %d %s", a.Status, a.Body)
	}
	h.signIn("Ada", from("192.0.2.5"))
}

// TestInvitedUserMustChooseASignInMethod: a person who came by the address that an admin
// made is told that there is no other way, until there is one.
func TestInvitedUserMustChooseASignInMethod(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.person("Ada", account.Admin)
	invited := func(name string) (apitest.RequestOption, wire.Me) {
		u, err := h.Directory.CreateUser(t.Context(), name, account.Viewer, "")
		if err != nil {
			t.Fatal(err)
		}
		link, err := h.Directory.NewSignInLink(t.Context(), u.UserID)
		if err != nil {
			t.Fatal(err)
		}
		return h.comes(link)
	}
	needs := func(cookie apitest.RequestOption) bool {
		var me wire.Me
		h.Call("GET", "/api/me", nil, cookie).Decode(t, &me)
		return me.NeedsWay
	}
	bob, me := invited("Bob")
	if me.SetUp || !me.NeedsWay {
		t.Errorf("got %+v, want Bob asked for a way", me)
	}
	k := &keyring{harness: h, at: host("localhost:8787"), device: newAuthenticator(t, localOrigin, "localhost"), cookie: bob}
	apitest.CheckRefusal(t, k.post("/api/set_up/passkey/challenge", wire.PasskeySetUp{Name: "Eve"}, bob), 403, "forbidden")
	k.register("phone")
	if needs(bob) {
		t.Error("Bob has a passkey and is asked for a way")
	}
	if a := k.enter(); a.Status != 200 {
		t.Errorf("by it: got %d %s", a.Status, a.Body)
	}
	lin, _ := invited("Lin")
	if a := h.Call("POST", "/api/me/password", wire.NewPassword{Password: password}, lin); a.Status != 204 || needs(lin) {
		t.Errorf("Lin has a password: got %d, asked: %v", a.Status, needs(lin))
	}
	kim, _ := invited("Kim")
	if a := h.Call("POST", "/api/tokens", wire.TokenCreate{Name: "ci"}, kim); a.Status != 201 || needs(kim) {
		t.Errorf("Kim has a token: got %d, asked: %v", a.Status, needs(kim))
	}
}
