package main_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestUsersFromTheCommandLine makes a person while the server runs, who signs in
// by password and is shut out again.
func TestUsersFromTheCommandLine(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := h.command("user")
		cmd.Args = append([]string{cmd.Args[0], "user"}, append(args, "--state-dir", h.state)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("user %s: %v", args, err)
		}
		return string(out)
	}
	if out := run("", "add", "Ada", "--role", "viewer"); !strings.Contains(out, "/sign-in#") {
		t.Errorf("add said %q, want a sign-in link", out)
	}
	run("", "add", "--role", "member", "Bob")
	run("four words of mine\n", "passwd", "ada")
	if out := run("", "list"); !strings.Contains(out, "Ada") || !strings.Contains(out, "viewer") {
		t.Errorf("list said %q", out)
	}
	login := map[string]string{"username": "Ada", "password": "four words of mine"}
	if status := s.status("POST", "/api/login", login, nil); status != 200 {
		t.Fatalf("sign in: %d", status)
	}
	run("", "disable", "Ada")
	if status := s.status("POST", "/api/login", login, nil); status != 401 {
		t.Fatalf("sign in of somebody who is shut out: %d", status)
	}
}
