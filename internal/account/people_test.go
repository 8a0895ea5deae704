package account_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
)

const goodPassword = "four words of mine"

func TestPasswords(t *testing.T) {
	t.Parallel()
	d, store, _ := prepared(t, "")
	ada, err := d.CreateUser(t.Context(), " Ada ", account.Member, goodPassword)
	if err != nil || ada.Name != "Ada" || !ada.HasPassword {
		t.Fatalf("got %+v, %v, want Ada with a password", ada, err)
	}
	stored := store.passwords[ada.UserID]
	if !strings.HasPrefix(stored, "$argon2id$v=19$m=7168,t=5,p=1$") || strings.Contains(stored, goodPassword) {
		t.Fatalf("stored %q, want argon2id with OWASP's parameters", stored)
	}
	id, cookie, err := d.SignInByPassword(t.Context(), "ada", goodPassword, "Chrome on Linux", "192.0.2.1")
	if err != nil || id.User.UserID != ada.UserID || id.Credential.Address != "192.0.2.1" {
		t.Fatalf("got %+v, %v, want Ada", id, err)
	}
	if _, err := d.Identify(t.Context(), account.Cookie, cookie); err != nil {
		t.Fatal(err)
	}
	if _, err := d.CreateUser(t.Context(), "Bob", account.Viewer, ""); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range [][2]string{{"Ada", goodPassword + " "}, {"Ada", ""}, {"Eve", goodPassword}, {"Bob", ""}, {"Bob", goodPassword}, {"", ""}} {
		if _, _, err := d.SignInByPassword(t.Context(), wrong[0], wrong[1], "", ""); !errors.Is(err, account.ErrRefused) {
			t.Errorf("%q: got %v, want ErrRefused", wrong, err)
		}
	}
	if err := d.SetDisabled(t.Context(), ada.UserID, true); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.SignInByPassword(t.Context(), "Ada", goodPassword, "", ""); !errors.Is(err, account.ErrRefused) {
		t.Errorf("disabled: got %v, want ErrRefused", err)
	}
	if _, err := d.Renew(t.Context(), id); !errors.Is(err, account.ErrRefused) {
		t.Errorf("a sign-in of a disabled user: got %v, want ErrRefused", err)
	}
}

func TestInvalidUsers(t *testing.T) {
	t.Parallel()
	d, _, _ := prepared(t, "")
	for _, row := range []struct {
		name, password string
		role           account.Role
		field          string
	}{
		{"", goodPassword, account.Member, "name"},
		{"ADMIN", goodPassword, account.Member, "name"},
		{"a\nb", goodPassword, account.Member, "name"},
		{"a\u202eb", goodPassword, account.Member, "name"},
		{strings.Repeat("a", 101), goodPassword, account.Member, "name"},
		{"Ada", goodPassword, "root", "role"},
		{"Ada", "eleven char", account.Member, "password"},
		{"Ada", strings.Repeat("a", 20), account.Member, "password"},
		{"Ada Lovelace", "ada lovelace", account.Member, "password"},
		{"Ada", strings.Repeat("ab", 501), account.Member, "password"},
		{"Ada", strings.Repeat("ab", 10) + "\xff", account.Member, "password"},
	} {
		_, err := d.CreateUser(t.Context(), row.name, row.role, row.password)
		var invalid *problem.Error
		if !errors.As(err, &invalid) || invalid.Field != row.field {
			t.Errorf("%+v: got %v, want the field %s refused", row, err, row.field)
		}
	}
}

// TestSetUp: of several browsers that came by links to an unclaimed server, one
// makes the first admin, by password or by passkey, and the others are out.
func TestSetUp(t *testing.T) {
	t.Parallel()
	d, _, admin := prepared(t, "")
	if free, err := d.Unclaimed(t.Context()); err != nil || !free {
		t.Fatalf("got %v, %v, want an unclaimed server", free, err)
	}
	var ids []account.Identity
	for range 4 {
		link, err := d.NewSignInLink(t.Context(), admin.UserID)
		if err != nil {
			t.Fatal(err)
		}
		id, _, err := d.SignIn(t.Context(), link, "", "")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	late, err := d.NewSignInLink(t.Context(), admin.UserID)
	if err != nil {
		t.Fatal(err)
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			name := "Ada " + string(rune('A'+i))
			setUp := func() (account.User, error) { return d.SetUp(t.Context(), id, name, goodPassword) }
			if i%2 == 1 {
				setUp = func() (account.User, error) {
					return d.SetUpByPasskey(t.Context(), id, name, "laptop", account.Passkey{KeyID: []byte(name)})
				}
			}
			u, err := setUp()
			switch {
			case err == nil:
				won.Add(1)
				if u.Name != name || u.UserID != admin.UserID {
					t.Errorf("got %+v, want %s", u, name)
				}
				if _, err := d.Renew(t.Context(), id); err != nil {
					t.Errorf("the sign-in that set up: %v", err)
				}
			case !errors.Is(err, account.ErrChanged):
				t.Errorf("got %v, want ErrChanged", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d set the server up, want 1", won.Load())
	}
	if list, err := d.SignIns(t.Context(), admin.UserID); err != nil || len(list) != 1 {
		t.Errorf("%d sign-ins are left, %v, want 1", len(list), err)
	}
	if _, _, err := d.SignIn(t.Context(), late, "", ""); !errors.Is(err, account.ErrRefused) {
		t.Errorf("a link from before: got %v, want ErrRefused", err)
	}
	if free, err := d.Unclaimed(t.Context()); err != nil || free {
		t.Errorf("got %v, %v, want a claimed server", free, err)
	}
}

func TestATokenOfAnAdminClaimsTheServer(t *testing.T) {
	t.Parallel()
	d, _, _ := prepared(t, strings.Repeat("a", 32))
	if free, err := d.Unclaimed(t.Context()); err != nil || free {
		t.Fatalf("got %v, %v, want a claimed server", free, err)
	}
}

func TestChangeOfPasswordEndsOtherSignIns(t *testing.T) {
	t.Parallel()
	d, _, _ := prepared(t, "")
	if _, err := d.CreateUser(t.Context(), "Ada", account.Member, goodPassword); err != nil {
		t.Fatal(err)
	}
	var ids [2]account.Identity
	for i := range ids {
		var err error
		if ids[i], _, err = d.SignInByPassword(t.Context(), "Ada", goodPassword, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	const next = "five more words of mine"
	if err := d.ChangePassword(t.Context(), ids[0], "wrong", next); !errors.Is(err, account.ErrRefused) {
		t.Fatalf("with a wrong password: got %v, want ErrRefused", err)
	}
	if err := d.ChangePassword(t.Context(), ids[0], goodPassword, "short"); !errors.Is(err, problem.Invalid) {
		t.Fatalf("to a short one: got %v, want problem.Invalid", err)
	}
	if err := d.ChangePassword(t.Context(), ids[0], goodPassword, next); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Renew(t.Context(), ids[0]); err != nil {
		t.Errorf("the sign-in that changed it: %v", err)
	}
	if _, err := d.Renew(t.Context(), ids[1]); !errors.Is(err, account.ErrRefused) {
		t.Errorf("another sign-in: got %v, want ErrRefused", err)
	}
	if _, _, err := d.SignInByPassword(t.Context(), "Ada", goodPassword, "", ""); !errors.Is(err, account.ErrRefused) {
		t.Errorf("the former password: got %v, want ErrRefused", err)
	}
	if _, err := d.ResetPassword(t.Context(), ids[0].User.UserID, goodPassword); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Renew(t.Context(), ids[0]); !errors.Is(err, account.ErrRefused) {
		t.Errorf("a sign-in after a reset: got %v, want ErrRefused", err)
	}
}

func TestSignInsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	d, _, admin := prepared(t, "")
	ada, err := d.CreateUser(t.Context(), "Ada", account.Member, goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := d.SignInByPassword(t.Context(), "Ada", goodPassword, "Firefox", "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.SignIns(t.Context(), ada.UserID)
	if err != nil || len(list) != 1 || list[0].Name != "Firefox" {
		t.Fatalf("got %+v, %v, want one in Firefox", list, err)
	}
	if err := d.EndSignIn(t.Context(), admin.UserID, list[0].CredentialID); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("of somebody else: got %v, want ErrNotFound", err)
	}
	if err := d.EndSignIn(t.Context(), ada.UserID, list[0].CredentialID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Renew(t.Context(), id); !errors.Is(err, account.ErrRefused) {
		t.Errorf("an ended sign-in: got %v, want ErrRefused", err)
	}
}

// TestScope: what a scoped token makes can do no more than itself.
func TestScope(t *testing.T) {
	t.Parallel()
	d, _, admin := prepared(t, "")
	whole := account.Identity{User: admin}
	_, secret, err := d.CreateOwnToken(t.Context(), whole, "looker", account.Viewer, 0)
	if err != nil {
		t.Fatal(err)
	}
	token, err := d.Identify(t.Context(), account.APIToken, secret)
	if err != nil || token.User.Role != account.Viewer || token.User.UserID != admin.UserID {
		t.Fatalf("got %+v, %v, want the admin as a viewer", token.User, err)
	}
	_, cookie, err := d.SignInByToken(t.Context(), secret, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := d.Identify(t.Context(), account.Cookie, cookie); err != nil || id.User.Role != account.Viewer {
		t.Errorf("a cookie of the token: got %+v, %v, want a viewer", id.User, err)
	}
	if _, _, err := d.CreateOwnToken(t.Context(), token, "more", account.Member, 0); !errors.Is(err, problem.Invalid) {
		t.Errorf("a token above its maker: got %v, want problem.Invalid", err)
	}
	_, secret, err = d.CreateOwnToken(t.Context(), token, "same", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := d.Identify(t.Context(), account.APIToken, secret); err != nil || id.User.Role != account.Viewer {
		t.Errorf("a token of the token: got %+v, %v, want a viewer", id.User, err)
	}
	if _, err := d.CreateUser(t.Context(), "Ada", account.Admin, ""); err != nil {
		t.Fatal(err)
	}
	_, secret, err = d.CreateOwnToken(t.Context(), whole, "runner", account.Member, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SetRole(t.Context(), admin.UserID, account.Viewer); err != nil {
		t.Fatal(err)
	}
	if id, err := d.Identify(t.Context(), account.APIToken, secret); err != nil || id.User.Role != account.Viewer {
		t.Errorf("a member's token of a user who is a viewer now: got %+v, %v, want a viewer", id.User, err)
	}
}
