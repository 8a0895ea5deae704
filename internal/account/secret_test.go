package account_test

import (
	"context"
	"encoding/hex"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
)

// Attack 44. Of a thousand secrets each is 256 bits long and none is another; each
// bit is set about half of the time, so that none is always the same. With fair bits
// one of them lies outside of these bounds in one of millions of runs.
func TestSecretsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := account.NewDirectory(&memory{})
	user, err := d.Prepare(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for what, secret := range map[string]func() (string, error){
		"sign-in link": func() (string, error) { return d.NewSignInLink(ctx, user.UserID) },
		"agent token":  func() (string, error) { return d.MintAgent(ctx, "s1", "builder", 0) },
		"API token": func() (string, error) {
			_, made, err := d.CreateToken(ctx, user, "token", "", 0)
			return made, err
		},
	} {
		const made = 1000
		seen := map[string]bool{}
		var set [256]int
		for range made {
			s, err := secret()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			b, err := hex.DecodeString(s)
			if err != nil || len(b) != 32 || seen[s] {
				t.Fatalf("%s: got %d bytes, %v, seen before: %v", what, len(b), err, seen[s])
			}
			seen[s] = true
			for i := range set {
				set[i] += int(b[i/8] >> (i % 8) & 1)
			}
		}
		for i, n := range set {
			if n < 390 || n > 610 { // seven standard deviations
				t.Errorf("%s: bit %d is set in %d of %d", what, i, n, made)
			}
		}
	}
}
