package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

func TestSettingsOfAProvider(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	const public = "https://sayso.example"
	h.serve("--oidc-client-id", "x").refused("need --oidc-issuer")
	h.serve("--oidc-issuer", "http://login.example", "--public-url", public).refused("is not encrypted")
	h.serve("--oidc-issuer", "login", "--public-url", public).refused("give the address")
	h.serve("--oidc-issuer", "https://login.example", "--public-url", public).refused("--oidc-client-id")
	h.serve("--oidc-issuer", "https://login.example", "--oidc-client-id", "x", "--oidc-default-role", "viewer").refused("--public-url")
	given := []string{"--oidc-issuer", "https://login.example", "--oidc-client-id", "x", "--public-url", public}
	with := func(more ...string) []string { return append(given[:len(given):len(given)], more...) }
	h.serve(with()...).refused("nobody could sign in")
	h.serve(with("--oidc-default-role", "owner")...).refused("viewer, member or admin")
	h.serve(with("--oidc-role", "ops=admin")...).refused("--oidc-role-claim")
	h.serve(with("--oidc-role-claim", "groups", "--oidc-role", "ops")...).refused("such as ops=admin")
	h.serve(with("--oidc-default-role", "viewer", "--oidc-client-secret-file", "/nowhere")...).refused("/nowhere")

	// A provider that there is not stops no start.
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("s\n"), 0o600))
	s := h.serve(with("--oidc-role-claim", "groups", "--oidc-role", "ops=admin", "--oidc-client-secret-file", secret)...)
	eventually(t, "it runs", s.logged("sayso is running at "+public))
}
