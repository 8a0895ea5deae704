package account_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
)

// Whatever Ada gives Bob to come in with, she may be who comes: for a day, or with a
// token for as long as it is good.
func TestCredentialMakers(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]func(ctx context.Context, d *account.Directory, bob account.User) error{
		"a password": func(ctx context.Context, d *account.Directory, bob account.User) error {
			_, err := d.ResetPassword(ctx, bob.UserID, goodPassword)
			return err
		},
		"a sign-in link": func(ctx context.Context, d *account.Directory, bob account.User) error {
			_, err := d.NewSignInLink(ctx, bob.UserID)
			return err
		},
		"a passkey and a token behind a link": func(ctx context.Context, d *account.Directory, bob account.User) error {
			link, err := d.NewSignInLink(ctx, bob.UserID)
			if err != nil {
				return err
			}
			as, _, err := d.SignIn(ctx, link, "", "")
			if err != nil {
				return err
			}
			time.Sleep(20 * time.Hour)
			p, err := d.AddPasskey(ctx, as, "key", account.Passkey{KeyID: []byte("key")})
			if err != nil {
				return err
			}
			time.Sleep(20 * time.Hour)
			// By now the link is forgotten, and the passkey is not.
			_, _, err = d.SignInByPasskey(ctx, p, 1, nil, "", "")
			return err
		},
		"a password behind a password": func(ctx context.Context, d *account.Directory, bob account.User) error {
			if _, err := d.ResetPassword(ctx, bob.UserID, goodPassword); err != nil {
				return err
			}
			as, _, err := d.SignInByPassword(ctx, "bob", goodPassword, "", "")
			if err != nil {
				return err
			}
			return d.ChangePassword(ctx, as, goodPassword, goodPassword+"2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := account.NewDirectory(&memory{})
				ada, err := d.CreateUser(t.Context(), "Ada", account.Admin, goodPassword)
				if err != nil {
					t.Fatal(err)
				}
				bob, err := d.CreateUser(t.Context(), "Bob", account.Member, "")
				if err != nil {
					t.Fatal(err)
				}
				makers := func(want ...string) {
					t.Helper()
					got, err := d.CredentialMakers(t.Context(), bob.UserID)
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("makers: got %q and %v, want %q", got, err, want)
					}
				}
				makers()
				who, _, err := d.SignInByPassword(t.Context(), "Ada", goodPassword, "", "")
				if err != nil {
					t.Fatal(err)
				}
				if err := give(account.WithActor(t.Context(), who), d, bob); err != nil {
					t.Fatal(err)
				}
				makers(ada.UserID)
				time.Sleep(24*time.Hour + time.Second)
				makers()
			})
		})
	}
	t.Run("a token with a role", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := account.NewDirectory(&memory{})
			ada, err := d.CreateUser(t.Context(), "Ada", account.Admin, goodPassword)
			if err != nil {
				t.Fatal(err)
			}
			ctx := account.WithActor(t.Context(), account.Identity{User: ada})
			made, _, err := d.CreateToken(ctx, ada, "robot", account.Member, 0)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(1000 * time.Hour)
			got, err := d.CredentialMakers(t.Context(), made.User.UserID)
			if err != nil || !slices.Equal(got, []string{ada.UserID}) {
				t.Errorf("makers of a token that is good: got %q and %v, want Ada", got, err)
			}
			if err := d.RevokeToken(ctx, made.Credential.CredentialID); err != nil {
				t.Fatal(err)
			}
			if got, err := d.CredentialMakers(t.Context(), made.User.UserID); err != nil || len(got) > 0 {
				t.Errorf("makers of a token that has ended: got %q and %v, want none", got, err)
			}
		})
	})
	if _, err := account.NewDirectory(&memory{}).CredentialMakers(t.Context(), "nobody"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("makers of nobody: got %v, want ErrNotFound", err)
	}
}

// A name has one form, however it is typed, and a second user of that form cannot
// be made.
func TestNamesWithTheSameCanonicalForm(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"Ada", "ada", " ADA ", "ａｄａ", "ＡＤＡ", "a\u200bda", "ad\u2060a", "ada\ufe0f", "𝐚𝐝𝐚", "𝖠𝖽𝖺", "ⓐⓓⓐ", "A\u00adDA"} {
		if got := account.CanonicalName(typed); got != "ada" {
			t.Errorf("%q: got the form %q, want ada", typed, got)
		}
	}
	for a, b := range map[string]string{"Straße": "STRASSE", "ΣΊΣΥΦΟΣ": "σίσυφος", "K": "\u212a", "Ada  Lovelace": "ada lovelace", "é": "e\u0301", "ﬁ": "fi"} {
		if account.CanonicalName(a) != account.CanonicalName(b) {
			t.Errorf("%q and %q: got the forms %q and %q, want one", a, b, account.CanonicalName(a), account.CanonicalName(b))
		}
	}
	for a, b := range map[string]string{"ada": "adam", "a b": "ab", "é": "e"} {
		if account.CanonicalName(a) == account.CanonicalName(b) {
			t.Errorf("%q and %q have one form, want two", a, b)
		}
	}
}

// Nobody is made whose name could be taken for somebody else's.
func TestNamesThatCannotBeMade(t *testing.T) {
	t.Parallel()
	d := account.NewDirectory(&memory{})
	if _, err := d.CreateUser(t.Context(), "Ada", account.Member, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ada", "ＡＤＡ", "𝐀da", "A\u0434a", "\u0410da", "Αda"} {
		if _, err := d.CreateUser(t.Context(), name, account.Member, ""); !errors.Is(err, problem.Invalid) {
			t.Errorf("a user %q beside Ada: got %v, want problem.Invalid", name, err)
		}
	}
	for _, name := range []string{"Алиса", "Ελένη", "李雷", "Ada Lovelace", "O'Brien", "zoë"} {
		if _, err := d.CreateUser(t.Context(), name, account.Member, ""); err != nil {
			t.Errorf("a user %q: got %v", name, err)
		}
	}
}
