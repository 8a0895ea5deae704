package launch

import (
	"context"
	"os/exec"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
)

// HasAccount reports whether the CLI that answered initialize has an account.
func HasAccount(a claude.AccountInfo) bool {
	return a.Email != "" || a.APIKeySource != "" && a.APIKeySource != "none" ||
		a.TokenSource != "" && a.TokenSource != "none" ||
		a.APIProvider != "" && a.APIProvider != "firstParty"
}

// SignedIn reports whether the CLI at path has an account. It runs the CLI, whose exit status
// tells within half a second. A positive answer is cached for a minute; a negative one is not, so
// that a sign-in takes effect at once.
func (c *CLI) SignedIn(ctx context.Context, path string) bool {
	const ttl, timeout = time.Minute, 10 * time.Second
	c.mu.Lock()
	fresh := time.Since(c.signedInAt) < ttl
	c.mu.Unlock()
	if fresh {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := c.output(ctx, path, "auth", "status"); err != nil {
		return false
	}
	c.mu.Lock()
	c.signedInAt = time.Now()
	c.mu.Unlock()
	return true
}

// SignInSentence returns a sentence that tells a person how to sign in to the CLI.
func (c *CLI) SignInSentence(context.Context) (string, error) {
	path, err := c.Find()
	return NotSignedIn(path), err
}

// NotSignedIn returns a sentence that tells a person how to sign in to the CLI at path. It gives
// the full path unless the command claude runs that CLI.
func NotSignedIn(path string) string {
	program := "claude"
	if found, err := exec.LookPath(program); err != nil || found != path {
		program = path
	}
	return statement.New("cli_signed_out", "command", program)
}
