package httpapi_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// keyring is a harness, a person, and their authenticator, all at localhost.
type keyring struct {
	*harness
	at     apitest.RequestOption
	cookie apitest.RequestOption
	device *authenticator
}

const localOrigin = "http://localhost:8787"

func (k *keyring) post(path string, body any, ways ...apitest.RequestOption) apitest.Response {
	k.T.Helper()
	return k.Call("POST", path, body, append([]apitest.RequestOption{k.at, apitest.Header("Origin", k.device.origin)}, ways...)...)
}

// cookiesOf are the cookies that an answer sets, for the next request, beside
// others.
func cookiesOf(a apitest.Response, beside ...apitest.RequestOption) apitest.RequestOption {
	return func(r *http.Request) {
		for _, b := range beside {
			b(r)
		}
		for _, c := range (&http.Response{Header: a.Header}).Cookies() {
			if c.MaxAge >= 0 {
				r.AddCookie(c)
			}
		}
		apitest.WithPageKey(a)(r)
	}
}

func newKeyring(t testing.TB, h *harness, name string) *keyring {
	t.Helper()
	h.person(name, account.Member)
	k := &keyring{harness: h, at: host("localhost:8787"), device: newAuthenticator(t, localOrigin, "localhost")}
	k.cookie = h.signIn(name)
	return k
}

// register makes a passkey and returns it.
func (k *keyring) register(name string) wire.Passkey {
	k.T.Helper()
	begun := k.post("/api/passkeys/challenge", wire.PasskeyNew{CurrentPassword: password}, k.cookie)
	o := readChallenge(k.T, begun)
	made := k.post("/api/passkeys", wire.PasskeyCreate{Name: name, Credential: k.device.create(o)}, cookiesOf(begun, k.cookie))
	if made.Status != http.StatusCreated {
		k.T.Fatalf("register: got %d %s", made.Status, made.Body)
	}
	var p wire.Passkey
	made.Decode(k.T, &p)
	return p
}

// enter signs in with the passkey, counting as its device does.
func (k *keyring) enter(ways ...apitest.RequestOption) apitest.Response {
	k.T.Helper()
	begun := k.post("/api/login/passkey/challenge", "{}", ways...)
	o := readChallenge(k.T, begun)
	return k.post("/api/login/passkey", wire.PasskeyLogin{Credential: k.device.get(o)}, append(ways, cookiesOf(begun))...)
}

func TestPasskey(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	k := newKeyring(t, h, "Ada")
	apitest.CheckRefusal(t, k.post("/api/passkeys/challenge", wire.PasskeyNew{CurrentPassword: "another password"}, k.cookie), 403, "wrong_password")
	begun := k.post("/api/passkeys/challenge", wire.PasskeyNew{CurrentPassword: password}, k.cookie)
	if o := readChallenge(t, begun); o.RP.ID != "localhost" || o.Selection.Resident != "required" || o.Selection.Verification != "required" {
		t.Errorf("got %s, want a discoverable passkey that verifies its user", begun.Body)
	}
	p := k.register(" Ada's laptop ")
	if p.Name != "Ada's laptop" || p.Domain != "localhost" || p.LastUsedAt != nil {
		t.Errorf("got %+v", p)
	}
	again := readChallenge(t, k.post("/api/passkeys/challenge", wire.PasskeyNew{CurrentPassword: password}, k.cookie))
	if len(again.Exclude) != 1 || again.Exclude[0].ID != b64.EncodeToString(k.device.id) {
		t.Errorf("got %+v, want the one that is there excluded", again.Exclude)
	}

	in := k.enter(from("192.0.2.7"))
	var me wire.Me
	in.Decode(t, &me)
	if in.Status != 200 || me.User.Name != "Ada" || me.User.Role != account.Member {
		t.Fatalf("got %d %s, want Ada", in.Status, in.Body)
	}
	mine := cookiesOf(in)
	var list wire.SignInList
	h.Call("GET", "/api/sign_ins", nil, k.at, mine).Decode(t, &list)
	if last := list.SignIns[len(list.SignIns)-1]; last.Method != account.ByPasskey || !last.Current || last.Address != "192.0.2.7" || list.SignIns[0].Method != account.ByPassword {
		t.Errorf("got %+v", list.SignIns)
	}
	var keys wire.PasskeyList
	h.Call("GET", "/api/passkeys", nil, k.at, mine).Decode(t, &keys)
	if len(keys.Passkeys) != 1 || keys.Passkeys[0].LastUsedAt == nil || keys.Problem != nil {
		t.Errorf("got %+v", keys)
	}

	// Nobody else removes it. Removed, what it made ends, and it opens nothing.
	h.person("Bob", account.Admin)
	apitest.CheckRefusal(t, h.Call("DELETE", "/api/passkeys/"+p.PasskeyID, nil, h.signIn("Bob")), 404, "not_found")
	if a := h.Call("DELETE", "/api/passkeys/"+p.PasskeyID, nil, k.cookie); a.Status != 204 {
		t.Fatalf("remove: got %d %s", a.Status, a.Body)
	}
	apitest.CheckRefusal(t, h.Call("GET", "/api/me", nil, k.at, mine), 401, "not_signed_in")
	checkUncookied(t, k.enter(from("192.0.2.8")), 401, "not_signed_in")
}

// TestPasskeysThatAreRefused: nothing that is wrong with a sign-in says what it is.
func TestPasskeysThatAreRefused(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	k := newKeyring(t, h, "Ada")
	k.register("laptop")
	bob := newKeyring(t, h, "Bob")
	bob.register("phone")
	right := *k.device
	want, row := "", 0
	for name, change := range map[string]func(*authenticator){
		"an unknown key":            func(a *authenticator) { a.id = make([]byte, 32) },
		"an unknown user":           func(a *authenticator) { a.user = make([]byte, 16) },
		"the user of another key":   func(a *authenticator) { a.user = bob.device.user },
		"no user":                   func(a *authenticator) { a.user = nil },
		"nobody was verified":       func(a *authenticator) { a.verified = false },
		"another site":              func(a *authenticator) { a.rpID = "evil.example" },
		"a page of another origin":  func(a *authenticator) { a.origin = "http://localhost:1" },
		"a signature over another":  func(a *authenticator) { a.spoiled = true },
		"the signature of another":  func(a *authenticator) { a.key = bob.device.key },
		"a page that looks like us": func(a *authenticator) { a.origin = localOrigin + ".evil.example" },
	} {
		other := right
		change(&other)
		// The limits of each row are its own.
		row++
		here := from(fmt.Sprint("192.0.2.", row))
		begun := k.post("/api/login/passkey/challenge", "{}", here)
		credential := other.get(readChallenge(t, begun))
		a := k.post("/api/login/passkey", wire.PasskeyLogin{Credential: credential}, cookiesOf(begun), here)
		if a.Status != 401 || a.Refusal(t).Code != "not_signed_in" {
			t.Errorf("%s: got %d %s", name, a.Status, a.Body)
		}
		if want == "" {
			want = string(a.Body)
		}
		if string(a.Body) != want {
			t.Errorf("%s: got %s, want %s", name, a.Body, want)
		}
		for _, c := range (&http.Response{Header: a.Header}).Cookies() {
			if c.MaxAge >= 0 {
				t.Errorf("%s: a refusal sets %s", name, c.Name)
			}
		}
	}
	if a := k.enter(); a.Status != 200 {
		t.Errorf("the right one: got %d %s", a.Status, a.Body)
	}
}

// TestChallengesAreUsedOnce: a challenge is good in the browser that asked for it,
// for one of the two ceremonies, once, for some minutes.
func TestChallengesAreUsedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	h := openHarness(t, path)
	k := newKeyring(t, h, "Ada")
	k.register("laptop")
	begun := k.post("/api/login/passkey/challenge", "{}")
	body := wire.PasskeyLogin{Credential: k.device.get(readChallenge(t, begun))}
	checkBegin := func(what string, a apitest.Response) {
		t.Helper()
		if a.Status != 400 || a.Refusal(t).Code != "begin_again" {
			t.Errorf("%s: got %d %s", what, a.Status, a.Body)
		}
	}
	checkBegin("another browser", k.post("/api/login/passkey", body))
	other := k.post("/api/login/passkey/challenge", "{}")
	if a := k.post("/api/login/passkey", body, cookiesOf(other)); a.Status != 401 {
		t.Errorf("the challenge of another browser: got %d %s", a.Status, a.Body)
	}
	value := cookiesOf(begun)
	renamed := func(r *http.Request) { value(r); swap(r, "sayso-passkey-sign-in", "sayso-passkey-new") }
	checkBegin("the other ceremony", k.post("/api/passkeys", wire.PasskeyCreate{Name: "x", Credential: k.device.create(challenge{Challenge: "eA"})}, k.cookie, renamed))
	if a := k.post("/api/login/passkey", body, value); a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	checkBegin("again", k.post("/api/login/passkey", body, value))
	restarted := *k
	restarted.harness = openHarness(t, filepath.Join(t.TempDir(), "other.db"))
	checkBegin("of another server", restarted.post("/api/login/passkey", body, cookiesOf(other)))
}

// TestSignInEndsAtAnotherServer: of two servers on one database, each finishes what the other began, and
// only one of them does.
func TestSignInEndsAtAnotherServer(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	k := newKeyring(t, h, "Ada")
	k.register("laptop")
	other := *k
	other.harness = &harness{&apitest.Harness{T: t, Server: h.NewServer(t)}}
	begun := k.post("/api/login/passkey/challenge", "{}")
	body := wire.PasskeyLogin{Credential: k.device.get(readChallenge(t, begun))}
	if a := other.post("/api/login/passkey", body, cookiesOf(begun)); a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	for what, at := range map[string]*keyring{"where it began": k, "where it ended": &other} {
		if a := at.post("/api/login/passkey", body, cookiesOf(begun)); a.Status != 400 || a.Refusal(t).Code != "begin_again" {
			t.Errorf("again %s: got %d %s", what, a.Status, a.Body)
		}
	}
}

func swap(r *http.Request, from, to string) {
	r.Header.Set("Cookie", strings.ReplaceAll(r.Header.Get("Cookie"), from, to))
}

func TestChallengesRunOut(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	synctest.Test(t, func(t *testing.T) {
		k := &keyring{harness: &harness{&apitest.Harness{T: t, Server: h.NewServer(t)}}, at: host("localhost:8787"), device: newAuthenticator(t, localOrigin, "localhost")}
		begun := k.post("/api/login/passkey/challenge", "{}")
		body := wire.PasskeyLogin{Credential: k.device.get(readChallenge(t, begun))}
		time.Sleep(5*time.Minute + time.Second)
		checkUncookied(t, k.post("/api/login/passkey", body, cookiesOf(begun)), 400, "begin_again")
	})
}

// checkUncookied is checkRefusal for an answer that clears the cookie of a ceremony.
func checkUncookied(t *testing.T, got apitest.Response, status int, code string) {
	t.Helper()
	got.Header = got.Header.Clone()
	got.Header.Del("Set-Cookie")
	apitest.CheckRefusal(t, got, status, code)
}

// TestACopiedPasskeyIsRefused: a counter that does not grow is on record.
func TestACopiedPasskeyIsRefused(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	k := newKeyring(t, h, "Ada")
	k.register("laptop")
	k.device.count = 7
	if a := k.enter(); a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	for _, count := range []uint32{7, 3} {
		k.device.count = count
		checkUncookied(t, k.enter(from("192.0.2.9")), 403, "passkey_copied")
	}
	entries, err := h.AuditEntries("passkey_refused")
	if err != nil || len(entries) != 2 || !strings.Contains(string(entries[1].Body), `"what":"passkey_refused"`) ||
		!strings.Contains(string(entries[1].Body), `"address":"192.0.2.9"`) || !strings.Contains(string(entries[1].Body), "was 7 and is now 3") {
		t.Errorf("on record are %v (%v)", entries, err)
	}
	// The limit holds for them like for every failure.
	k.device.count = 8
	checkUncookied(t, k.enter(from("192.0.2.9")), 429, "too_many_attempts")
}

func TestWherePasskeysWork(t *testing.T) {
	t.Parallel()
	local := quietHarness(t)
	public := openHarness(t, filepath.Join(t.TempDir(), "public.db"), func(o *apitest.Options) {
		o.PublicURL, o.AllowedHosts = "https://sayso.example", []string{"other.example", "intranet"}
	})
	named := openHarness(t, filepath.Join(t.TempDir(), "named.db"), func(o *apitest.Options) { o.AllowedHosts = []string{"sayso.example", "192.0.2.1"} })
	secret := openHarness(t, filepath.Join(t.TempDir(), "tls.db"), func(o *apitest.Options) { o.TLS, o.AllowedHosts = true, []string{"sayso.example", "intranet"} })
	for _, row := range []struct {
		h          *harness
		host, says string
	}{
		{local, "localhost:8787", ""},
		{local, "127.0.0.1:8787", "open http://localhost:8787 instead."},
		{local, "[::1]:8787", "open http://localhost:8787 instead."},
		{public, "sayso.example", ""},
		{public, "localhost:8787", "Passkeys belong to https://sayso.example."},
		{public, "other.example", "Passkeys belong to https://sayso.example."},
		{named, "sayso.example", "need HTTPS"},
		{named, "192.0.2.1", "Give the server a name"},
		{secret, "sayso.example", ""},
		{secret, "sayso.example:8443", ""},
		{secret, "intranet", "Use a domain"},
	} {
		var ways wire.SignInWays
		row.h.Call("GET", "/api/login", nil, host(row.host)).Decode(t, &ways)
		problem := ""
		if ways.Passkey.Problem != nil {
			problem = *ways.Passkey.Problem
		}
		if ways.Passkey.Available != (row.says == "") || !strings.Contains(problem, row.says) || row.says == "" && problem != "" {
			t.Errorf("at %s: got %v %q, want %q", row.host, ways.Passkey.Available, problem, row.says)
		}
		if row.says != "" {
			apitest.CheckRefusal(t, row.h.Call("POST", "/api/login/passkey/challenge", "{}", host(row.host)), 409, "no_passkeys_here")
		}
	}
}

// TestWhoMayCreatePasskeys: a token cannot, and without a password the sign-in must be
// fresh.
func TestWhoMayCreatePasskeys(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	at := host("localhost:8787")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/passkeys/challenge", "{}", at), 403, "forbidden")
	cookie := h.Cookie()
	if a := h.Call("POST", "/api/passkeys/challenge", "{}", at, cookie); a.Status != 200 {
		t.Errorf("just signed in, without a password: got %d %s", a.Status, a.Body)
	}
	list, err := h.Store.Credentials(t.Context(), h.Admin.UserID)
	if err != nil {
		t.Fatal(err)
	}
	old := account.Identity{User: h.Admin, Credential: list[len(list)-1]}
	old.Credential.CreatedAt = time.Now().Add(-account.FreshSignIn - time.Second)
	if err := h.Directory.ProveOwner(t.Context(), old, ""); err == nil || !strings.Contains(err.Error(), "recent sign-in") {
		t.Errorf("an old sign-in without a password: got %v", err)
	}
}

// TestServerWithAPasskeyIsClaimed: whoever has only a passkey can sign in.
func TestServerWithAPasskeyIsClaimed(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	if unclaimed, err := h.Directory.Unclaimed(t.Context()); err != nil || !unclaimed {
		t.Fatalf("got %v %v", unclaimed, err)
	}
	_, err := h.Directory.AddPasskey(t.Context(), account.Identity{User: h.Admin}, "laptop", account.Passkey{KeyID: []byte("k"), Data: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if unclaimed, err := h.Directory.Unclaimed(t.Context()); err != nil || unclaimed {
		t.Errorf("got %v %v, want it claimed", unclaimed, err)
	}
}

// TestPasskeyEndsOnOpenSockets: a passkey that is removed closes what it opened.
func TestPasskeyEndsOnOpenSockets(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	k := newKeyring(t, h, "Ada")
	p := k.register("laptop")
	in := k.enter()
	tab, _, err := h.TryDial(t.Context(), cookiesOf(in), apitest.Header("Origin", h.Web.URL))
	if err != nil {
		t.Fatal(err)
	}
	if a := h.Call("DELETE", "/api/passkeys/"+p.PasskeyID, nil, k.cookie); a.Status != 204 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	if code, last := tab.AwaitClose(); code != wire.CloseSignedOut || last["code"] != "signed_out" {
		t.Errorf("got close %d after %v, want %d", code, last, wire.CloseSignedOut)
	}
}
