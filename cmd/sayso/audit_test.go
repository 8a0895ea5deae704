package main_test

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/account"
)

// TestAuditTrail: attack 87. What a person answered is on record with where they
// were; whoever changes the record, or cuts off its end, is seen.
func TestAuditTrail(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	audit := func(args ...string) (string, error) {
		cmd := exec.Command(h.program, append([]string{"audit"}, append(args, "--state-dir", h.state)...)...)
		cmd.Env = h.env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	s := h.start()
	// The first admin and the token with which this server began.
	if out, err := audit("verify"); err != nil || !strings.Contains(out, "intact: 2 entries") {
		t.Fatalf("of a fresh server: %v, %s", err, out)
	}
	for range 3 {
		id := s.session("one")
		s.allow(s.asks(id))
		s.reaches(id, "user_turn")
	}
	out, err := audit("verify")
	head := regexp.MustCompile(`5:[0-9a-f]{64}`).FindString(out)
	if err != nil || head == "" {
		t.Fatalf("verify: %v, %s", err, out)
	}
	out, err = audit("export")
	must(t, err)
	var first struct {
		Entry struct {
			What string `json:"what"`
			By   struct{ Name, Address string }
			Tool string `json:"tool_name"`
		}
	}
	must(t, json.Unmarshal([]byte(strings.SplitN(out, "\n", 4)[2]), &first))
	if e := first.Entry; e.What != "answered" || e.By.Name != "admin" || e.By.Address != "127.0.0.1" || e.Tool != "Bash" {
		t.Errorf("the first answer is %+v", e)
	}
	s.stop()

	db := h.openDatabase()
	if _, err := db.Exec(`UPDATE audit SET body = replace(body, 'admin', 'nobody') WHERE seq = 2`); err == nil {
		t.Error("an entry was changed as any other row")
	}
	_, err = db.Exec(`DROP TRIGGER audit_stays_delete`)
	must(t, err)
	_, err = db.Exec(`DELETE FROM audit WHERE seq = 5`)
	must(t, err)
	if out, err := audit("verify", "--head", head); err == nil || !strings.Contains(out, "is missing or different") {
		t.Errorf("without its end: %v, %s", err, out)
	}
	_, err = db.Exec(`DROP TRIGGER audit_stays_update`)
	must(t, err)
	_, err = db.Exec(`UPDATE audit SET body = replace(body, 'admin', 'nobody') WHERE seq = 1`)
	must(t, err)
	if out, err := audit("verify"); err == nil || !strings.Contains(out, "entry 1 does not follow") {
		t.Errorf("changed: %v, %s", err, out)
	}
}

// TestAuditRetention: what is older than the setting says goes, which is on record
// and seen by verify; a beginning that goes otherwise is no retention.
func TestAuditRetention(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	audit := func(args ...string) (string, error) {
		cmd := exec.Command(h.program, append([]string{"audit"}, append(args, "--state-dir", h.state)...)...)
		cmd.Env = h.env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	s := h.start()
	for range 2 {
		id := s.session("one")
		s.allow(s.asks(id))
		s.reaches(id, "user_turn")
	}
	head := regexp.MustCompile(`4:[0-9a-f]{64}`)
	out, err := audit("verify")
	must(t, err)
	first := strings.Replace(head.FindString(out), "4:", "1:", 1)
	s.stop()

	// They are of long ago; the chain is made anew as it would have been.
	db := h.openDatabase()
	_, err = db.Exec(`DROP TRIGGER audit_stays_update`)
	must(t, err)
	var hash []byte
	for seq := 1; seq <= 4; seq++ {
		var body string
		must(t, db.QueryRow(`SELECT body FROM audit WHERE seq = ?`, seq).Scan(&body))
		body = regexp.MustCompile(`"at":"\d{4}`).ReplaceAllString(body, `"at":"2001`)
		hash = account.AuditHash(hash, []byte(body))
		_, err = db.Exec(`UPDATE audit SET body = ?, hash = ? WHERE seq = ?`, body, hash, seq)
		must(t, err)
	}
	_, err = db.Exec(`CREATE TRIGGER audit_stays_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is not changed'); END`)
	must(t, err)

	s = h.start()
	s.do("PATCH", "/api/settings", map[string]any{"name": "audit_days", "value": "90"}, nil)
	var list struct {
		Settings []struct {
			Name, Value string
			ChangedBy   string `json:"changed_by"`
		}
	}
	s.do("GET", "/api/settings", nil, &list)
	for _, one := range list.Settings {
		if one.Name == "audit_days" && (one.Value != "90" || one.ChangedBy == "") {
			t.Errorf("got %+v", one)
		}
	}
	if status := s.status("PATCH", "/api/settings", map[string]any{"name": "audit_days", "value": "-1"}, nil); status != 400 && status != 422 {
		t.Errorf("minus one day: %d", status)
	}
	if status := s.status("PATCH", "/api/settings", map[string]any{"name": "listen", "value": "0.0.0.0:1"}, nil); status != 404 {
		t.Errorf("an address: %d", status)
	}
	eventually(t, "the old entries are removed", func() bool {
		out, err = audit("verify")
		return err == nil && strings.Contains(out, "up to 4 were removed")
	})
	if !strings.Contains(out, "intact: 2 entries") { // the setting, and the removal
		t.Errorf("verify: %s", out)
	}
	if out, err := audit("verify", "--head", first); err == nil || !strings.Contains(out, "was removed after its retention") {
		t.Errorf("a head that is gone: %v, %s", err, out)
	}
	var state struct {
		Verified, First int64
		Problem         string
	}
	s.do("GET", "/api/audit/state", nil, &state)
	if state.Verified != 6 || state.First != 5 || state.Problem != "" {
		t.Errorf("got %+v", state)
	}
	s.stop()

	// Whoever cuts the beginning off has no entry that says so.
	for _, statement := range []string{
		`UPDATE audit_base SET seq = 5, hash = (SELECT hash FROM audit WHERE seq = 5)`, `DELETE FROM audit WHERE seq = 5`,
	} {
		_, err = db.Exec(statement)
		must(t, err)
	}
	if out, err := audit("verify"); err == nil || !strings.Contains(out, "no entry says that they were removed") {
		t.Errorf("cut at the beginning: %v, %s", err, out)
	}
}
