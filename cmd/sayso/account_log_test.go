package main_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestAccountEventsAreInTheLog: who changed what, from where, and no secret.
func TestAccountEventsAreInTheLog(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	var made struct{ Token string }
	s.do("POST", "/api/tokens", map[string]any{"name": "ci", "role": "member"}, &made)
	if status := s.status("POST", "/api/login", map[string]any{"username": "nobody-of-this-name", "password": "hunter2hunter2"}, nil); status != 401 {
		t.Fatalf("a wrong password got %d", status)
	}
	said := s.said.String()
	for _, want := range []string{"event=token_created", "credential=ci", "address=127.0.0.1", "event=sign_in_failed"} {
		if !strings.Contains(said, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	for _, secret := range []string{made.Token, "hunter2", "nobody-of-this-name"} {
		if strings.Contains(said, secret) {
			t.Errorf("the log contains %q", secret)
		}
	}
}
