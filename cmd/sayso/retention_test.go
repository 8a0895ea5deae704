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
	for flags, want := range map[string]string{"--session-days 5": "Would delete 1 sessions", "--session-days 20": "Would delete 0 sessions", "--session-size 1": "Would delete 0 sessions"} {
		if said, err := verbOf(h, "retention --audit-days 5 --audit-entries 1 "+flags); err != nil || !strings.Contains(said, "Sessions: 4, ") || !strings.Contains(said, want) || !strings.Contains(said, "Would remove ") {
			t.Errorf("%s: %v: %s", flags, err, said)
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

// When sessions are too large together, those longest without activity are deleted until the others
// fit. Admins see before what that would be.
func TestSessionRetentionBySize(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Text: "It is there."}}})
	s := h.start()
	oldest, old, recent := s.session("oldest"), s.session("old"), s.session("recent")
	for _, id := range []string{oldest, old, recent} {
		s.reaches(id, "user_turn")
		s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": true}, nil)
		s.reaches(id, "dead")
	}
	s.stop()
	db := h.openDatabase()
	for days, id := range map[int]string{3: oldest, 2: old} {
		_, err := db.Exec("UPDATE processes SET updated_at = ? WHERE session_id = ?", time.Now().AddDate(0, 0, -days).UnixMicro(), id)
		must(t, err)
	}
	_, err := db.Exec("UPDATE transcript SET body = json_object('text', ?) WHERE rowid IN (SELECT min(rowid) FROM transcript GROUP BY session_id)", strings.Repeat("x", 800<<10))
	must(t, err)
	s = h.start()
	type storage struct {
		Sessions        int
		TranscriptBytes int64 `json:"transcript_bytes"`
		ExpiredSessions int   `json:"expired_sessions"`
		ExpiredBytes    int64 `json:"expired_bytes"`
		FreeBytes       int64 `json:"free_bytes"`
		Limits          map[string]int
	}
	var now, tried storage
	s.do("GET", "/api/storage", nil, &now)
	s.do("GET", "/api/storage?session_size=2", nil, &tried)
	if now.Sessions != 3 || now.TranscriptBytes < 2400<<10 || now.ExpiredSessions != 0 || now.FreeBytes == 0 || now.Limits["session_size"] != 0 {
		t.Errorf("storage: %+v", now)
	}
	if tried.ExpiredSessions != 1 || tried.ExpiredBytes < 800<<10 || tried.ExpiredBytes > 900<<10 || tried.Limits["session_size"] != 2 {
		t.Errorf("with a limit: %+v", tried)
	}
	if status := s.status("GET", "/api/storage?audit_days=-1", nil, nil); status != 400 {
		t.Errorf("a negative number: %d", status)
	}
	s.stop()
	s = h.start("--session-size", "1")
	for _, id := range []string{oldest, old} {
		eventually(t, "an old session is deleted", func() bool { return s.status("GET", "/api/sessions/"+id, nil, nil) == 404 })
	}
	if status := s.status("GET", "/api/sessions/"+recent, nil, nil); status != 200 {
		t.Errorf("the recent session: %d", status)
	}
}
