package orchestrator

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/claude"
)

// signedIn reports whether the CLI that answered has an account to work with.
func signedIn(a claude.AccountInfo) bool {
	return a.Email != "" || a.APIKeySource != "" && a.APIKeySource != "none" ||
		a.TokenSource != "" && a.TokenSource != "none" ||
		a.APIProvider != "" && a.APIProvider != "firstParty"
}

// signedIn asks the CLI whether it has an account; it says so by its exit status
// within half a second. A good answer is kept a while, a bad one is asked anew,
// so that a sign-in is seen at once.
func (c *CLI) signedIn(ctx context.Context, path string) bool {
	const keep = time.Minute
	c.mu.Lock()
	fresh := time.Since(c.account) < keep
	c.mu.Unlock()
	if fresh {
		return true
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := c.output(ctx, path, "auth", "status"); err != nil {
		return false
	}
	c.mu.Lock()
	c.account = time.Now()
	c.mu.Unlock()
	return true
}
