package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store"
)

func newUser(t *testing.T, st store.Store, name string) account.User {
	t.Helper()
	u := account.User{UserID: uuid.NewString(), Name: name, Role: account.Member, CreatedAt: begin}
	must(t, st.PutUser(context.Background(), u))
	return u
}

func credential(u account.User, kind account.CredentialKind, secret int) account.Credential {
	hash := sha256.Sum256([]byte(fmt.Sprint(secret)))
	return account.Credential{CredentialID: uuid.NewString(), Kind: kind, UserID: u.UserID, Name: "laptop", Hash: hash[:], CreatedAt: begin}
}

func agentToken(sessionID string, secret int) account.AgentToken {
	hash := sha256.Sum256([]byte(fmt.Sprint(secret)))
	return account.AgentToken{TokenID: uuid.NewString(), SessionID: sessionID, Name: "Builder", Hash: hash[:], CreatedAt: begin}
}

func accounts(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("Users", func(t *testing.T, st store.Store) {
		ada := newUser(t, st, "Ada")
		bob := account.User{UserID: uuid.NewString(), Name: "Bob", Role: account.Admin, CreatedAt: after(1)}
		must(t, st.PutUser(ctx, bob))
		list, err := st.Users(ctx)
		must(t, err)
		equal(t, "users", list, []account.User{ada, bob})

		ada.Role, ada.Name = account.Viewer, "Ada L."
		must(t, st.PutUser(ctx, ada))
		read, err := st.User(ctx, ada.UserID)
		must(t, err)
		equal(t, "changed", read, ada)
		wantError(t, "a name that is taken", st.PutUser(ctx, account.User{UserID: uuid.NewString(), Name: "Bob", Role: account.Member}), account.ErrExists)
		bob.Name = "Ada L."
		wantError(t, "renamed to a name that is taken", st.PutUser(ctx, bob), account.ErrExists)
		_, err = st.User(ctx, uuid.NewString())
		wantError(t, "unknown user", err, account.ErrNotFound)
	})

	s.run("OneFirstSignInMethod", func(t *testing.T, st store.Store) {
		ada, bob := newUser(t, st, "Ada"), newUser(t, st, "Bob")
		mine, other, link := credential(ada, account.Cookie, 1), credential(ada, account.Cookie, 2), credential(ada, account.SignInLink, 3)
		token, his := credential(ada, account.APIToken, 4), credential(bob, account.Cookie, 5)
		for _, c := range []account.Credential{mine, other, link, token, his} {
			must(t, st.AddCredential(ctx, c))
		}
		name, taken := "Ada L.", "Bob"
		first := func(name *string, p account.Passkey) account.UserChange {
			return account.UserChange{Name: name, Unclaimed: true, Passkey: &account.FirstPasskey{Passkey: p, KeepCredentialID: mine.CredentialID}}
		}
		p := passkey(ada, "a")
		_, err := st.ChangeUser(ctx, ada.UserID, first(&taken, p))
		wantError(t, "a name that is taken", err, account.ErrExists)
		none, err := st.Passkeys(ctx, ada.UserID)
		must(t, err)
		equal(t, "passkeys after that", len(none), 0)
		_, err = st.ChangeUser(ctx, uuid.NewString(), account.UserChange{Unclaimed: true})
		wantError(t, "unknown user", err, account.ErrNotFound)

		// Of several simultaneous calls, half of them with a password, exactly one wins.
		var wg sync.WaitGroup
		var errs [6]error
		for i := range errs {
			c := first(&name, passkey(ada, string(rune('a'+i))))
			if i%2 == 1 {
				c.Passkey, c.Password = nil, &account.PasswordChange{To: "hash " + string(rune('a'+i)), KeepCredentialID: mine.CredentialID}
			}
			wg.Go(func() { _, errs[i] = st.ChangeUser(ctx, ada.UserID, c) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				wantError(t, "the others", err, account.ErrChanged)
			}
		}
		equal(t, "winners", won, 1)
		keys, err := st.Passkeys(ctx, ada.UserID)
		must(t, err)
		password, err := st.Password(ctx, ada.UserID)
		must(t, err)
		if (len(keys) == 1) == (password != "") {
			t.Errorf("got %d passkeys and the password %q, want one of them", len(keys), password)
		}
		u, err := st.User(ctx, ada.UserID)
		must(t, err)
		equal(t, "name", u.Name, name)
		for c, want := range map[*account.Credential]error{&mine: nil, &token: nil, &his: nil, &other: account.ErrNotFound, &link: account.ErrNotFound} {
			_, _, err := st.Credential(ctx, c.Kind, c.Hash, begin)
			wantError(t, string(c.Kind), err, want)
		}
	})

	s.run("FirstPasskey", func(t *testing.T, st store.Store) {
		ada := newUser(t, st, "Ada")
		mine, other := credential(ada, account.Cookie, 1), credential(ada, account.Cookie, 2)
		must(t, st.AddCredential(ctx, mine))
		must(t, st.AddCredential(ctx, other))
		name, p := "Ada L.", passkey(ada, "a")
		got, err := st.ChangeUser(ctx, ada.UserID, account.UserChange{Name: &name, Unclaimed: true, Passkey: &account.FirstPasskey{Passkey: p, KeepCredentialID: mine.CredentialID}})
		must(t, err)
		ada.Name = name
		equal(t, "changed", got, ada)
		keys, err := st.Passkeys(ctx, ada.UserID)
		must(t, err)
		equal(t, "passkeys", keys, []account.Passkey{p})
		_, _, err = st.Credential(ctx, other.Kind, other.Hash, begin)
		wantError(t, "the other browser", err, account.ErrNotFound)
		_, err = st.ChangeUser(ctx, ada.UserID, account.UserChange{Unclaimed: true, Password: &account.PasswordChange{To: "hash"}})
		wantError(t, "a password beside it, as the first way", err, account.ErrChanged)
	})

	s.run("ChangeUser", func(t *testing.T, st store.Store) {
		ada, bob := newUser(t, st, "Ada"), newUser(t, st, "Bob")
		name, role, yes, no := "Ada L.", account.Admin, true, false
		got, err := st.ChangeUser(ctx, ada.UserID, account.UserChange{Name: &name, Role: &role})
		must(t, err)
		ada.Name, ada.Role = name, role
		equal(t, "changed", got, ada)
		_, err = st.ChangeUser(ctx, uuid.NewString(), account.UserChange{Role: &role})
		wantError(t, "unknown user", err, account.ErrNotFound)
		_, err = st.ChangeUser(ctx, bob.UserID, account.UserChange{Name: &name})
		wantError(t, "a name that is taken", err, account.ErrExists)

		viewer := account.Viewer
		for what, c := range map[string]account.UserChange{"demoted": {Role: &viewer}, "disabled": {Disabled: &yes}} {
			_, err = st.ChangeUser(ctx, ada.UserID, c)
			wantError(t, "the last admin "+what, err, account.ErrLastAdmin)
		}
		_, err = st.ChangeUser(ctx, bob.UserID, account.UserChange{Role: &role})
		must(t, err)
		token, cookie := credential(ada, account.APIToken, 1), credential(ada, account.Cookie, 2)
		must(t, st.AddCredential(ctx, token))
		must(t, st.AddCredential(ctx, cookie))
		got, err = st.ChangeUser(ctx, ada.UserID, account.UserChange{Disabled: &yes})
		must(t, err)
		ada.Disabled = true
		equal(t, "disabled", got, ada)
		read, err := st.User(ctx, ada.UserID)
		must(t, err)
		equal(t, "stored", read, ada)
		_, err = st.ChangeUser(ctx, bob.UserID, account.UserChange{Role: &viewer})
		wantError(t, "the last admin beside a disabled one", err, account.ErrLastAdmin)
		link := credential(ada, account.SignInLink, 3)
		must(t, st.AddCredential(ctx, link))
		for _, c := range []account.Credential{token, cookie, link} {
			_, _, err = st.Credential(ctx, c.Kind, c.Hash, begin)
			wantError(t, string(c.Kind)+" of a disabled user", err, account.ErrNotFound)
		}
		_, _, err = st.UseOnce(ctx, link.Kind, link.Hash, begin)
		wantError(t, "link of a disabled user", err, account.ErrNotFound)
		_, err = st.ChangeUser(ctx, ada.UserID, account.UserChange{Disabled: &no})
		must(t, err)
		_, _, err = st.Credential(ctx, token.Kind, token.Hash, begin)
		wantError(t, "an old token of a user who is back", err, account.ErrNotFound)
	})

	s.run("OneAdminAlwaysRemains", func(t *testing.T, st store.Store) {
		role, viewer := account.Admin, account.Viewer
		for round := range 10 {
			var ids [2]string
			for i := range ids {
				u := newUser(t, st, fmt.Sprint("admin ", round, i))
				ids[i] = u.UserID
				_, err := st.ChangeUser(ctx, u.UserID, account.UserChange{Role: &role})
				must(t, err)
			}
			var wg sync.WaitGroup
			var errs [2]error
			for i, id := range ids {
				wg.Go(func() { _, errs[i] = st.ChangeUser(ctx, id, account.UserChange{Role: &viewer}) })
			}
			wg.Wait()
			for i, err := range errs {
				if err != nil {
					wantError(t, "the loser", err, account.ErrLastAdmin)
					must(t, errs[1-i])
				}
			}
			if errs[0] == nil && errs[1] == nil {
				t.Fatal("both admins are gone")
			}
			// The remaining admin must not be an admin in the next round.
			for _, id := range ids {
				u, err := st.User(ctx, id)
				must(t, err)
				u.Role = account.Viewer
				must(t, st.PutUser(ctx, u))
			}
		}
	})

	s.run("Passwords", func(t *testing.T, st store.Store) {
		ada, bob := newUser(t, st, "Ada"), newUser(t, st, "Bob")
		password := func(want string) {
			t.Helper()
			got, err := st.Password(ctx, ada.UserID)
			must(t, err)
			equal(t, "password", got, want)
		}
		password("")
		_, err := st.Password(ctx, uuid.NewString())
		wantError(t, "of nobody", err, account.ErrNotFound)
		none, name := "", "Ada L."
		set := func(from *string, to, keep string) (account.User, error) {
			return st.ChangeUser(ctx, ada.UserID, account.UserChange{Password: &account.PasswordChange{From: from, To: to, KeepCredentialID: keep}})
		}
		kept, ended, link, token := credential(ada, account.Cookie, 1), credential(ada, account.Cookie, 2), credential(ada, account.SignInLink, 3), credential(ada, account.APIToken, 4)
		others := credential(bob, account.Cookie, 5)
		for _, c := range []account.Credential{kept, ended, link, token, others} {
			must(t, st.AddCredential(ctx, c))
		}
		got, err := st.ChangeUser(ctx, ada.UserID, account.UserChange{Name: &name, Password: &account.PasswordChange{From: &none, To: "first", KeepCredentialID: kept.CredentialID}})
		must(t, err)
		if !got.HasPassword || got.Name != name {
			t.Errorf("got %+v, want Ada L. with a password", got)
		}
		password("first")
		for c, live := range map[*account.Credential]bool{&kept: true, &ended: false, &link: false, &token: true, &others: true} {
			_, _, err := st.Credential(ctx, c.Kind, c.Hash, begin)
			if live {
				must(t, err)
			} else {
				wantError(t, string(c.Kind)+" after a new password", err, account.ErrNotFound)
			}
		}
		_, err = set(&none, "second", "")
		wantError(t, "another was stored", err, account.ErrChanged)
		_, _, err = st.Credential(ctx, kept.Kind, kept.Hash, begin)
		must(t, err)
		ada.Name = name
		must(t, st.PutUser(ctx, ada))
		password("first")
		_, err = set(nil, "third", "")
		must(t, err)
		password("third")
		_, _, err = st.Credential(ctx, kept.Kind, kept.Hash, begin)
		wantError(t, "cookie after a reset", err, account.ErrNotFound)
	})

	s.run("PutUserKeepsCredentials", func(t *testing.T, st store.Store) {
		u := newUser(t, st, "Ada")
		c := credential(u, account.Cookie, 1)
		must(t, st.AddCredential(ctx, c))
		u.Role = account.Admin
		must(t, st.PutUser(ctx, u))
		got, owner, err := st.Credential(ctx, c.Kind, c.Hash, begin)
		must(t, err)
		equal(t, "credential", got, c)
		equal(t, "owner", owner, u)
	})

	s.run("CredentialKeepsEveryField", func(t *testing.T, st store.Store) {
		u := newUser(t, st, "Ada")
		c := credential(u, account.APIToken, 1)
		c.ExpiresAt, c.LastUsedAt, c.Role, c.Address = after(60), after(1), account.Viewer, "192.0.2.1"
		c.Method, c.MethodID = account.ByToken, "the token"
		c.ParentID, c.CreatedBy, c.BoundUntil, c.PageKey = "the parent", "the maker", after(60), []byte("hash of a key")
		must(t, st.AddCredential(ctx, c))
		got, owner, err := st.Credential(ctx, c.Kind, c.Hash, begin)
		must(t, err)
		equal(t, "credential", got, c)
		equal(t, "owner", owner, u)
		list, err := st.Credentials(ctx, u.UserID)
		must(t, err)
		equal(t, "list", list, []account.Credential{c})
		one, err := st.CredentialByID(ctx, c.CredentialID)
		must(t, err)
		equal(t, "by its id", one, c)
		_, err = st.CredentialByID(ctx, uuid.NewString())
		wantError(t, "by another id", err, account.ErrNotFound)

		wantError(t, "the same again", st.AddCredential(ctx, c), account.ErrExists)
		twin := credential(u, account.Cookie, 1)
		wantError(t, "the same secret", st.AddCredential(ctx, twin), account.ErrExists)
		wantError(t, "of nobody", st.AddCredential(ctx, credential(account.User{UserID: uuid.NewString()}, account.Cookie, 2)), account.ErrNotFound)
	})

	s.run("CredentialsEndWithTheirParent", func(t *testing.T, st store.Store) {
		ada, bob := newUser(t, st, "Ada"), newUser(t, st, "Bob")
		yes, admin := true, account.Admin
		secret := 0
		for what, end := range map[string]func(c account.Credential) error{
			"revoked": func(c account.Credential) error { return st.RevokeCredential(ctx, c.CredentialID) },
			"its user disabled": func(account.Credential) error {
				_, err := st.ChangeUser(ctx, ada.UserID, account.UserChange{Disabled: &yes})
				return err
			},
		} {
			u, err := st.User(ctx, ada.UserID)
			must(t, err)
			u.Disabled = false
			must(t, st.PutUser(ctx, u))
			make := func(u account.User, kind account.CredentialKind, parent string, bound bool) account.Credential {
				secret++
				c := credential(u, kind, secret)
				c.ParentID, c.Bound = parent, bound
				must(t, st.AddCredential(ctx, c))
				return c
			}
			token := make(ada, account.APIToken, "", false)
			child := make(ada, account.APIToken, token.CredentialID, true)
			link := make(bob, account.SignInLink, child.CredentialID, true)
			unused := make(bob, account.SignInLink, token.CredentialID, true)
			_, _, err = st.UseOnce(ctx, link.Kind, link.Hash, begin)
			must(t, err)
			cookie := make(bob, account.Cookie, link.CredentialID, true)
			late := make(bob, account.Cookie, cookie.CredentialID, true)
			free := make(bob, account.APIToken, token.CredentialID, false)
			other := make(bob, account.Cookie, "", false)
			must(t, end(token))
			for c, live := range map[*account.Credential]bool{&token: false, &child: false, &unused: false, &cookie: false, &late: false, &free: true, &other: true} {
				_, _, err := st.Credential(ctx, c.Kind, c.Hash, begin)
				if live {
					must(t, err)
				} else {
					wantError(t, string(c.Kind)+" when its root was "+what, err, account.ErrNotFound)
				}
			}
			for _, parent := range []string{child.CredentialID, link.CredentialID, uuid.NewString()} {
				secret++
				c := credential(bob, account.Cookie, secret)
				c.ParentID, c.Bound = parent, true
				wantError(t, "made with what was "+what, st.AddCredential(ctx, c), account.ErrNotFound)
			}
		}
		// Names with the same canonical form are the same name, whatever the spelling.
		wantError(t, "a name of the same form", st.PutUser(ctx, account.User{UserID: uuid.NewString(), Name: "ＡDA", Role: admin, CreatedAt: begin}), account.ErrExists)
		wide := "ｂｏｂ"
		_, err := st.ChangeUser(ctx, ada.UserID, account.UserChange{Name: &wide})
		wantError(t, "renamed to a name of the same form", err, account.ErrExists)
		wantError(t, "added to the same form", st.AddLinkedUser(ctx, account.User{UserID: uuid.NewString(), Name: "BOB", Role: admin, CreatedAt: begin},
			account.Link{Issuer: "i", Subject: "s", CreatedAt: begin}), account.ErrExists)
	})

	s.run("PasswordSetterIsRecorded", func(t *testing.T, st store.Store) {
		ada := account.User{UserID: uuid.NewString(), Name: "Ada", Role: account.Member, CreatedAt: begin, CreatedBy: "an admin"}
		must(t, st.PutUser(ctx, ada))
		got, err := st.ChangeUser(ctx, ada.UserID, account.UserChange{Password: &account.PasswordChange{To: "hash", By: "an admin", At: after(5)}})
		must(t, err)
		ada.HasPassword, ada.PasswordBy, ada.PasswordAt = true, "an admin", after(5)
		equal(t, "changed", got, ada)
		name := "Ada L."
		got, err = st.ChangeUser(ctx, ada.UserID, account.UserChange{Name: &name})
		must(t, err)
		ada.Name = name
		equal(t, "renamed", got, ada)
		read, err := st.User(ctx, ada.UserID)
		must(t, err)
		equal(t, "stored", read, ada)
	})

	s.run("OnlyActiveCredentialsCount", func(t *testing.T, st store.Store) {
		u := newUser(t, st, "Ada")
		forever, short, revoked := credential(u, account.Cookie, 1), credential(u, account.Cookie, 2), credential(u, account.Cookie, 3)
		short.ExpiresAt = after(10)
		for _, c := range []account.Credential{forever, short, revoked} {
			must(t, st.AddCredential(ctx, c))
		}
		must(t, st.RevokeCredential(ctx, revoked.CredentialID))
		must(t, st.RevokeCredential(ctx, revoked.CredentialID))

		for _, c := range []struct {
			what string
			kind account.CredentialKind
			hash []byte
			now  time.Time
			live bool
		}{
			{"without end", account.Cookie, forever.Hash, begin.AddDate(100, 0, 0), true},
			{"of another kind", account.APIToken, forever.Hash, begin, false},
			{"before its end", account.Cookie, short.Hash, after(10).Add(-time.Microsecond), true},
			{"at its end", account.Cookie, short.Hash, after(10), false},
			{"after its end", account.Cookie, short.Hash, after(11), false},
			{"revoked", account.Cookie, revoked.Hash, begin, false},
			{"unknown", account.Cookie, make([]byte, 32), begin, false},
			{"empty", account.Cookie, nil, begin, false},
			{"part of a hash", account.Cookie, forever.Hash[:16], begin, false},
		} {
			got, _, err := st.Credential(ctx, c.kind, c.hash, c.now)
			if c.live {
				must(t, err)
				equal(t, c.what, got.Hash, c.hash)
				continue
			}
			wantError(t, c.what, err, account.ErrNotFound)
			equal(t, c.what+", returned", got, account.Credential{})
			_, _, err = st.UseOnce(ctx, c.kind, c.hash, c.now)
			wantError(t, c.what+", used", err, account.ErrNotFound)
		}
		wantError(t, "revoke unknown", st.RevokeCredential(ctx, uuid.NewString()), account.ErrNotFound)
	})

	s.run("UseOnce", func(t *testing.T, st store.Store) {
		u := newUser(t, st, "Ada")
		c := credential(u, account.SignInLink, 1)
		must(t, st.AddCredential(ctx, c))
		got, owner, err := st.UseOnce(ctx, c.Kind, c.Hash, after(3))
		must(t, err)
		equal(t, "credential", got.CredentialID, c.CredentialID)
		equal(t, "owner", owner, u)
		_, _, err = st.UseOnce(ctx, c.Kind, c.Hash, after(3))
		wantError(t, "again", err, account.ErrNotFound)
		_, _, err = st.Credential(ctx, c.Kind, c.Hash, after(3))
		wantError(t, "as a credential", err, account.ErrNotFound)
		list, err := st.Credentials(ctx, "")
		must(t, err)
		c.Revoked, c.LastUsedAt = true, after(3)
		equal(t, "list", list, []account.Credential{c})
	})

	s.run("ListsAndTouches", func(t *testing.T, st store.Store) {
		ada, bob := newUser(t, st, "Ada"), newUser(t, st, "Bob")
		first, second := credential(ada, account.Cookie, 1), credential(bob, account.APIToken, 2)
		second.CreatedAt = after(1)
		must(t, st.AddCredential(ctx, second))
		must(t, st.AddCredential(ctx, first))
		must(t, st.Touch(ctx, first.CredentialID, after(5)))
		must(t, st.Touch(ctx, first.CredentialID, after(4))) // an earlier time changes nothing
		first.LastUsedAt = after(5)
		list, err := st.Credentials(ctx, "")
		must(t, err)
		equal(t, "of all", list, []account.Credential{first, second})
		list, err = st.Credentials(ctx, bob.UserID)
		must(t, err)
		equal(t, "of one", list, []account.Credential{second})
		wantError(t, "touch unknown", st.Touch(ctx, uuid.NewString(), begin), account.ErrNotFound)
	})

	s.run("AgentTokens", func(t *testing.T, st store.Store) {
		one, two := newSession(t, st), newSession(t, st)
		forever, short, other := agentToken(one, 1), agentToken(one, 2), agentToken(two, 3)
		short.ExpiresAt, short.CreatedAt, other.CreatedAt = after(10), after(1), after(2)
		number := int64(5)
		short.StreamProject = &number // the event stream of project 5
		for _, a := range []account.AgentToken{forever, short, other} {
			must(t, st.AddAgentToken(ctx, a))
		}
		wantError(t, "the same again", st.AddAgentToken(ctx, forever), account.ErrExists)
		wantError(t, "the same secret", st.AddAgentToken(ctx, agentToken(two, 1)), account.ErrExists)
		wantError(t, "of no session", st.AddAgentToken(ctx, agentToken(uuid.NewString(), 4)), account.ErrNotFound)

		finds := func(what string, a account.AgentToken, now time.Time, live bool) {
			t.Helper()
			got, err := st.AgentToken(ctx, a.Hash, now)
			if live {
				must(t, err)
				equal(t, what, got, a)
				return
			}
			wantError(t, what, err, account.ErrNotFound)
			equal(t, what+", returned", got, account.AgentToken{})
		}
		finds("without end", forever, begin.AddDate(100, 0, 0), true)
		finds("before its end", short, after(10).Add(-time.Microsecond), true)
		finds("at its end", short, after(10), false)
		finds("unknown", account.AgentToken{Hash: make([]byte, 32)}, begin, false)
		finds("empty", account.AgentToken{}, begin, false)
		finds("part of a hash", account.AgentToken{Hash: forever.Hash[:16]}, begin, false)
		for _, kind := range []account.CredentialKind{account.APIToken, account.Cookie, account.SignInLink} {
			_, _, err := st.Credential(ctx, kind, forever.Hash, begin)
			wantError(t, "as a "+string(kind), err, account.ErrNotFound)
		}

		n, err := st.RevokeAgentTokens(ctx, one, after(20))
		must(t, err)
		equal(t, "revoked", n, 2)
		n, err = st.RevokeAgentTokens(ctx, one, after(30))
		must(t, err)
		equal(t, "revoked again", n, 0)
		forever.RevokedAt, short.RevokedAt = after(20), after(20)
		finds("revoked", forever, begin, false)
		finds("of another session", other, begin, true)
		list, err := st.AgentTokens(ctx, "")
		must(t, err)
		equal(t, "of all", list, []account.AgentToken{forever, short, other})
		list, err = st.AgentTokens(ctx, two)
		must(t, err)
		equal(t, "of one", list, []account.AgentToken{other})

		must(t, st.DeleteSession(ctx, two))
		finds("of a deleted session", other, begin, false)
	})

	s.run("Commands", func(t *testing.T, st store.Store) {
		_, err := st.Command(ctx, "u1", "c1")
		wantError(t, "before", err, account.ErrNotFound)
		kept, err := st.SaveCommand(ctx, "u1", "c1", []byte(`{"result": "applied"}`), begin)
		must(t, err)
		equal(t, "first", string(kept), `{"result": "applied"}`)
		kept, err = st.SaveCommand(ctx, "u1", "c1", []byte(`other`), after(1))
		must(t, err)
		equal(t, "second", string(kept), `{"result": "applied"}`)
		ack, err := st.Command(ctx, "u1", "c1")
		must(t, err)
		equal(t, "stored", string(ack), `{"result": "applied"}`)

		_, err = st.Command(ctx, "u2", "c1")
		wantError(t, "of another user", err, account.ErrNotFound)
		kept, err = st.SaveCommand(ctx, "u2", "c1", []byte(`mine`), begin)
		must(t, err)
		equal(t, "of another user", string(kept), "mine")
	})
}
