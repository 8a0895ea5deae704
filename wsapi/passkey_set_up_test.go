package wsapi_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// comes signs a browser in by a link, on the machine itself, and returns its
// cookie and what it was told.
func (h *house) comes(link string) (way, wire.Me) {
	h.t.Helper()
	a := h.call("POST", "/api/login", wire.Login{Token: link}, host("localhost:8787"), header("Origin", localOrigin), from("127.0.0.1"))
	if a.status != 200 {
		h.t.Fatalf("sign in by link: got %d %s", a.status, a.body)
	}
	var me wire.Me
	a.into(h.t, &me)
	return signedIn(a), me
}

// TestSetUpByPasskey: the first admin needs no password, ever; without one they
// are refused as everybody is whose password is wrong, and a link brings them
// back when the device is lost.
func TestSetUpByPasskey(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	k := &keyring{house: h, at: host("localhost:8787"), device: newAuthenticator(t, localOrigin, "localhost")}
	other, _ := h.comes(h.link())
	cookie, me := h.comes(h.link())
	if !me.SetUp || me.NeedsWay {
		t.Fatalf("got %+v, want to be asked to set up", me)
	}
	late := h.link()
	const challenge, end = "/api/set_up/passkey/challenge", "/api/set_up/passkey"
	checkRefusal(t, k.post(challenge, wire.PasskeySetUp{Name: "\n"}, cookie), 400, "invalid")
	checkRefusal(t, h.call("POST", challenge, wire.PasskeySetUp{Name: "Ada"}, cookie), 409, "no_passkeys_here") // 127.0.0.1
	theirs := k.post(challenge, wire.PasskeySetUp{Name: "Eve"}, other)
	begun := k.post(challenge, wire.PasskeySetUp{Name: " Ada "}, cookie)
	o := readChallenge(t, begun)
	if !strings.Contains(string(begun.body), `"name":"Ada"`) || o.Selection.Resident != "required" || o.Selection.Verification != "required" {
		t.Errorf("got %s, want a discoverable passkey of Ada that verifies its user", begun.body)
	}
	// The challenge of another ceremony, or of another browser, is none of this one.
	made := wire.PasskeyCreate{Name: "laptop", Credential: k.device.create(o)}
	checkUncookied(t, k.post("/api/passkeys", made, cookiesOf(begun, cookie)), 400, "begin_again")
	checkUncookied(t, k.post(end, made, cookie), 400, "begin_again")

	a := k.post(end, made, cookiesOf(begun, cookie))
	a.into(t, &me)
	if a.status != 200 || me.User.Name != "Ada" || me.User.Role != account.Admin || me.HasPassword || me.SetUp || me.NeedsWay {
		t.Fatalf("got %d %s, want Ada", a.status, a.body)
	}
	// Of two one wins: the other browser is out, and so is a link from before.
	device := newAuthenticator(t, localOrigin, "localhost")
	lost := wire.PasskeyCreate{Name: "Eve's", Credential: device.create(readChallenge(t, theirs))}
	checkRefusal(t, k.post(end, lost, cookiesOf(theirs, other)), 401, "not_signed_in")
	checkRefusal(t, k.post(challenge, wire.PasskeySetUp{Name: "Eve"}, cookie), 409, "changed")
	checkRefusal(t, k.post("/api/set_up", wire.SetUp{Name: "Eve", Password: password}, cookie), 409, "changed")
	checkRefusal(t, h.call("POST", "/api/login", wire.Login{Token: late}), 401, "not_signed_in")

	in := k.enter(from("192.0.2.1"))
	in.into(t, &me)
	if in.status != 200 || me.User.Name != "Ada" {
		t.Errorf("got %d %s, want Ada", in.status, in.body)
	}
	nobody := h.call("POST", "/api/login", wire.Login{Username: "Nobody", Password: password}, from("192.0.2.2"))
	hers := h.call("POST", "/api/login", wire.Login{Username: "Ada", Password: password}, from("192.0.2.3"))
	if hers.status != 401 || string(hers.body) != string(nobody.body) {
		t.Errorf("by password: got %d %s, want %s", hers.status, hers.body, nobody.body)
	}
	empty := h.call("POST", "/api/login", wire.Login{Username: "Ada"}, from("192.0.2.4"))
	if empty.status < 400 {
		t.Errorf("by an empty password: got %d %s", empty.status, empty.body)
	}
	var keys wire.PasskeyList
	h.call("GET", "/api/passkeys", nil, k.at, cookie).into(t, &keys)
	if len(keys.Passkeys) != 1 || keys.Passkeys[0].Name != "laptop" {
		t.Fatalf("got %+v", keys)
	}
	checkRefusal(t, h.call("DELETE", "/api/passkeys/"+keys.Passkeys[0].PasskeyID, nil, k.at, cookie), 400, "invalid") // the last way in

	checkRefusal(t, k.post(challenge, wire.PasskeySetUp{Name: "Eve"}, bearer(h.token(account.Admin))), 403, "forbidden")

	// What `sayso token --sign-in` prints brings Ada back without the device.
	back, me := h.comes(h.link())
	if me.User.Name != "Ada" || me.SetUp || me.NeedsWay {
		t.Errorf("got %+v, want Ada", me)
	}
	if a := h.call("POST", "/api/me/password", wire.NewPassword{Password: password}, k.at, back); a.status != 204 {
		t.Errorf("a password later: got %d %s", a.status, a.body)
	}
	h.signIn("Ada", from("192.0.2.5"))
}

// TestWhoIsInvitedIsAskedForAWay: a person who came by the address that an admin
// made is told that there is no other way, until there is one.
func TestWhoIsInvitedIsAskedForAWay(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	h.person("Ada", account.Admin)
	invited := func(name string) (way, wire.Me) {
		u, err := h.directory.CreateUser(t.Context(), name, account.Viewer, "")
		if err != nil {
			t.Fatal(err)
		}
		link, err := h.directory.NewSignInLink(t.Context(), u.UserID)
		if err != nil {
			t.Fatal(err)
		}
		return h.comes(link)
	}
	needs := func(cookie way) bool {
		var me wire.Me
		h.call("GET", "/api/me", nil, cookie).into(t, &me)
		return me.NeedsWay
	}
	bob, me := invited("Bob")
	if me.SetUp || !me.NeedsWay {
		t.Errorf("got %+v, want Bob asked for a way", me)
	}
	k := &keyring{house: h, at: host("localhost:8787"), device: newAuthenticator(t, localOrigin, "localhost"), cookie: bob}
	checkRefusal(t, k.post("/api/set_up/passkey/challenge", wire.PasskeySetUp{Name: "Eve"}, bob), 403, "forbidden")
	k.register("phone")
	if needs(bob) {
		t.Error("Bob has a passkey and is asked for a way")
	}
	if a := k.enter(); a.status != 200 {
		t.Errorf("by it: got %d %s", a.status, a.body)
	}
	lin, _ := invited("Lin")
	if a := h.call("POST", "/api/me/password", wire.NewPassword{Password: password}, lin); a.status != 204 || needs(lin) {
		t.Errorf("Lin has a password: got %d, asked: %v", a.status, needs(lin))
	}
	kim, _ := invited("Kim")
	if a := h.call("POST", "/api/tokens", wire.TokenCreate{Name: "ci"}, kim); a.status != 201 || needs(kim) {
		t.Errorf("Kim has a token: got %d, asked: %v", a.status, needs(kim))
	}
}
