package main_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestAllPartsKnowTheSameRequests holds the check of all other tests to what it must find: a row that is
// gone while Claude still waits for it.
func TestAllPartsKnowTheSameRequests(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	s := h.start()
	id := s.session("one")
	request := s.asks(id)
	s.agree()

	db := h.openDatabase()
	_, err := db.Exec("CREATE TABLE kept AS SELECT * FROM requests")
	must(t, err)
	_, err = db.Exec("DELETE FROM requests")
	must(t, err)
	apart := s.apart(t.Context())
	for _, want := range []string{
		"fresh tab", "database  []", "memory    [\"" + request, "journal   [\"" + request, "Claude    [\"" + request,
		request + " is known to Claude, and not open in the database.",
		request + " is known to the journal, and not open in the database.",
		request + " is known to the registry, and not open in the database.",
	} {
		if !strings.Contains(apart, want) {
			t.Errorf("%q is not in\n%s", want, apart)
		}
	}
	_, err = db.Exec("INSERT INTO requests SELECT * FROM kept")
	must(t, err)
	s.agree()
	s.allow(request)
	s.reaches(id, "user_turn")
	s.agree()
}
