package account_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

func TestAgentTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d := account.NewDirectory(&memory{})
		mine, err := d.MintAgent(ctx, "s1", "builder", 0)
		if err != nil {
			t.Fatal(err)
		}
		short, err := d.MintAgent(ctx, "s2", "", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Agent(ctx, mine)
		if err != nil || got.SessionID != "s1" || got.Name != "builder" {
			t.Fatalf("got %+v, %v", got, err)
		}
		// It asks; it is nobody that could sign in.
		for _, kind := range []account.CredentialKind{account.APIToken, account.Cookie, account.SignInLink} {
			if _, err := d.Identify(ctx, kind, mine); !errors.Is(err, account.ErrRefused) {
				t.Errorf("taken as a %s: %v", kind, err)
			}
		}
		refuse := func(what, secret string) {
			t.Helper()
			if _, err := d.Agent(ctx, secret); !errors.Is(err, account.ErrRefused) {
				t.Errorf("%s: %v", what, err)
			}
		}
		refuse("nothing", "")
		refuse("unknown", mine+"0")
		if _, err := d.Agent(ctx, short); err != nil {
			t.Errorf("before its end: %v", err)
		}
		time.Sleep(time.Hour)
		refuse("run out", short)
		if err := d.RevokeAgents(ctx, "s1"); err != nil {
			t.Fatal(err)
		}
		refuse("revoked", mine)
		if err := d.RevokeAgents(ctx, "s1"); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}
