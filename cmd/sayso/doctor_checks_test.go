package main

import (
	"errors"
	"strings"
	"testing"
)

// TestAccessFix expects a command that gives this user a folder, and never takes one away from
// another user or a folder above it.
func TestAccessFix(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		dir, at   string
		owner, me uint32
		want      string
	}{
		{"/var/lib/sayso", "/var/lib", 0, 4242, `sudo install -d -m 700 -o "$(id -un)" /var/lib/sayso`},
		{"/srv/my state", "/srv/my state", 4242, 4242, "chmod u+rwx '/srv/my state'"},
		{"/var/lib/sayso", "/var/lib/sayso", 0, 4242, "sudo -u root sayso doctor --state-dir /var/lib/sayso"},
		{"/var/lib/sayso", "/var/lib/sayso", 4294967, 4242, "sudo -u '#4294967' sayso doctor --state-dir /var/lib/sayso"},
	} {
		if got := accessFix(row.dir, row.at, row.owner, row.me); got != row.want {
			t.Errorf("%+v: got %s", row, got)
		}
	}
}

// TestProblemOf expects one line that says nothing twice.
func TestProblemOf(t *testing.T) {
	t.Parallel()
	got := problemOf(errors.New("cannot connect:\n\t127.0.0.1:1: refused\n\t127.0.0.1:1: refused"))
	if got != "cannot connect: 127.0.0.1:1: refused" {
		t.Errorf("got %q", strings.ReplaceAll(got, "\n", "|"))
	}
}
