package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// TestWhichClaudeToSignInWith: who is to sign in is told the program to run, also where
// typing claude would find none, or another one.
func TestWhichClaudeToSignInWith(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claude.exe")
	script := "#!/bin/sh\ntest \"$1\" = --version && echo '2.1.329 (Claude Code)'\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := (&launch.CLI{Path: path, Environ: os.Environ()}).Installation(t.Context())
	if err != nil || e.SignedIn || !strings.Contains(e.Problem, "Run "+path+" there once and sign in") {
		t.Errorf("signed in: %t, problem: %s", e.SignedIn, e.Problem)
	}
}
