package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// Old sessions are deleted, except those that run or have a request; a dry run tells before.
func TestSessionRetention(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash}})
	s := h.start()
	old, asking, orphaned, recent := s.session("old"), s.session("asks"), s.session("died"), s.session("recent")
	for _, id := range []string{old, asking, orphaned, recent} {
		s.asks(id)
	}
	for _, id := range []string{old, recent} {
		s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": true}, nil)
		s.reaches(id, "dead")
	}
	s.stop()
	_, err := h.openDatabase().Exec("UPDATE processes SET updated_at = ? WHERE session_id <> ?", time.Now().AddDate(0, 0, -10).UnixMicro(), recent)
	must(t, err)
	for days, want := range map[string]string{"5": "would delete 1, with ", "20": "would delete 0, with 0 "} {
		if said, err := verbOf(h, "retention --audit-days 5 --session-days", days); err != nil || !strings.Contains(said, "Sessions: 4\n") || !strings.Contains(said, want) || !strings.Contains(said, "--audit-days 5 would remove 0") {
			t.Errorf("%s days: %v: %s", days, err, said)
		}
	}
	s = h.start("--session-days", "5")
	eventually(t, "the old session is deleted", func() bool { return s.status("GET", "/api/sessions/"+old, nil, nil) == 404 })
	eventually(t, "the log says so", s.logged("old sessions were deleted"))
	for _, id := range []string{asking, orphaned, recent} {
		if status := s.status("GET", "/api/sessions/"+id, nil, nil); status != 200 {
			t.Errorf("another session: %d", status)
		}
	}
}
