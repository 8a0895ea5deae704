package httpapi_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/wire"
)

// TestTerminalSessions: they are those of folders where one may start sessions.
func TestTerminalSessions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana, ben := h.someone("ana", account.Member), h.someone("ben", account.Member)
	h.project("secret", "/work/secret", member(ana, account.Member))
	for _, where := range []string{"open", "secret"} {
		h.Driver.Saved = append(h.Driver.Saved, orchestrator.SavedSession{SessionID: where, Title: "Fix it", CWD: "/work/" + where, ChangedAt: time.Unix(7, 0), Size: 42, Running: where == "open"})
	}
	for _, row := range []struct {
		who  someone
		want int
	}{{ana, 2}, {ben, 1}} {
		var list wire.TerminalSessionList
		h.Call("GET", "/api/terminal_sessions", nil, row.who.way).Decode(t, &list)
		if len(list.Sessions) != row.want || list.Sessions[0] != (wire.TerminalSession{SessionID: "open", Title: "Fix it", CWD: "/work/open", ChangedAt: 7, Size: 42, Running: true}) {
			t.Errorf("got %+v, want %d", list, row.want)
		}
	}
	for _, path := range []string{"/api/terminal_sessions/secret", "/api/terminal_sessions/secret/transcript", "/api/terminal_sessions/none/transcript"} {
		apitest.CheckRefusal(t, h.Call("GET", path, nil, ben.way), 404, "not_found")
	}
	var page map[string]any
	h.Call("GET", "/api/terminal_sessions/secret/transcript?before=9", nil, ana.way).Decode(t, &page)
	if items, _ := page["items"].([]any); len(items) != 1 || page["before"] != 8.0 {
		t.Errorf("got %+v", page)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/terminal_sessions", nil), 403, "forbidden")
	apitest.CheckRefusal(t, h.Call("GET", "/api/terminal_sessions/open/transcript?before=x", nil, ana.way), 400, "invalid")
}
