package main_test

import (
	"database/sql"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestAuditTrail: attack 87. What a person answered is on record with where they
// were; whoever changes the record, or cuts off its end, is seen.
func TestAuditTrail(t *testing.T) {
	t.Parallel()
	h := newHouse(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	audit := func(args ...string) (string, error) {
		cmd := exec.Command(h.program, append([]string{"audit"}, append(args, "--state-dir", h.state)...)...)
		cmd.Env = h.env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	s := h.start()
	if out, err := audit("verify"); err != nil || !strings.Contains(out, "is empty") {
		t.Fatalf("of nothing: %v, %s", err, out)
	}
	for range 3 {
		id := s.session("one")
		s.allow(s.asks(id))
		s.reaches(id, "user_turn")
	}
	out, err := audit("verify")
	head := regexp.MustCompile(`3:[0-9a-f]{64}`).FindString(out)
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
	must(t, json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &first))
	if e := first.Entry; e.What != "answered" || e.By.Name != "admin" || e.By.Address != "127.0.0.1" || e.Tool != "Bash" {
		t.Errorf("the first entry is %+v", e)
	}
	s.stop()

	db, err := sql.Open("sqlite", filepath.Join(h.state, "sayso.db"))
	must(t, err)
	defer db.Close()
	if _, err := db.Exec(`UPDATE audit SET body = replace(body, 'admin', 'nobody') WHERE seq = 2`); err == nil {
		t.Error("an entry was changed as any other row")
	}
	_, err = db.Exec(`DROP TRIGGER audit_stays_delete`)
	must(t, err)
	_, err = db.Exec(`DELETE FROM audit WHERE seq = 3`)
	must(t, err)
	if out, err := audit("verify", "--head", head); err == nil || !strings.Contains(out, "is not there any more") {
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
