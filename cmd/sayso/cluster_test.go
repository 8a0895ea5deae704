package main_test

import (
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// serverPair starts two servers on one database, each with a machine of its own.
func serverPair(t *testing.T, script claudetest.Script) (a, b *server) {
	t.Helper()
	dsn := postgrestest.Database(t)
	first, second := newHarness(t, script), newHarness(t, script)
	return first.start("--database", dsn, "--node-id", "a"), second.start("--database", dsn, "--node-id", "b")
}

// TestServersTellEachOther: what changes on one server besides sessions reaches the tabs of another.
func TestServersTellEachOther(t *testing.T) {
	t.Parallel()
	a, b := serverPair(t, claudetest.Script{Turn: []claudetest.Step{{Text: "done"}}})
	id := a.session("one")
	a.reaches(id, "user_turn")

	here, there := a.tab(), b.tab()
	there.until(t, waitLimit, "the tab is served", ofType("active_processes"))
	here.say(t, map[string]any{"type": "draft", "session_id": id, "value": "half a"})
	draft := func(value any) func(map[string]any) bool {
		return func(f map[string]any) bool {
			return f["type"] == "draft" && f["session_id"] == id && f["value"] == value
		}
	}
	there.until(t, waitLimit, "the draft is on the other server", draft("half a"))
	here.say(t, map[string]any{"type": "draft", "session_id": id, "value": nil})
	there.until(t, waitLimit, "the draft is cleared on the other server", draft(nil))

	a.do("PATCH", "/api/bookmarks", map[string]any{"bookmarks": []any{map[string]any{"session_id": id, "pinned": true}}}, nil)
	there.until(t, waitLimit, "the bookmark is on the other server", func(f map[string]any) bool {
		list, _ := f["bookmarks"].([]any)
		one, _ := append(list, nil)[0].(map[string]any)
		return f["type"] == "bookmarks" && one["session_id"] == id && one["pinned_at"] != nil
	})

	a.do("PATCH", "/api/settings", map[string]any{"name": "audit_days", "value": "91"}, nil)
	eventually(t, "the setting applies on the other server", func() bool {
		var list struct {
			Settings []struct{ Name, Value string } `json:"settings"`
		}
		b.do("GET", "/api/settings", nil, &list)
		for _, s := range list.Settings {
			if s.Name == "audit_days" {
				return s.Value == "91"
			}
		}
		return false
	})

	var made struct {
		Token   string `json:"token"`
		TokenID string `json:"token_id"`
	}
	a.do("POST", "/api/tokens", map[string]any{"name": "script"}, &made)
	guest := b.as(made.Token).tab()
	guest.until(t, waitLimit, "the tab of the token is served", ofType("active_processes"))
	a.do("DELETE", "/api/tokens/"+made.TokenID, nil, nil)
	if err := guest.close(t, waitLimit); err == nil {
		t.Error("the tab of a revoked token ended without a reason")
	}
}
