package wsapi_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

func TestGrantsBelongToWhoMadeThem(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	id := h.session("Granting")
	ada, bob := h.person("Ada", account.Member), h.person("Bob", account.Member)
	const rules = `[{"type":"addRules","behavior":"allow","destination":"localSettings","rules":[{"toolName":"Bash","ruleContent":"make *"}]}]`
	r, _ := h.ask(id, "asker", func(r *pending.Request) { r.PermissionSuggestions = json.RawMessage(rules) })
	adas, bobs := h.signIn("Ada"), h.signIn("Bob")
	if a := h.call("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow", "updated_permissions": json.RawMessage(rules)}, adas); a.status != 200 {
		t.Fatalf("answer: %d %s", a.status, a.body)
	}
	_, _ = ada, bob

	var hers, his, all wire.GrantList
	h.call("GET", "/api/grants", nil, adas).into(t, &hers)
	h.call("GET", "/api/grants", nil, bobs).into(t, &his)
	h.as(account.Admin, "GET", "/api/grants", nil).into(t, &all)
	if len(hers.Grants) != 1 || len(his.Grants) != 0 || len(all.Grants) != 1 || len(hers.Found) != 0 || len(all.Found) != 1 {
		t.Fatalf("hers %+v, his %+v, all %+v", hers, his, all)
	}
	g := hers.Grants[0]
	// The file does not hold it: the driver of these tests has another.
	if g.Rule != "Bash(make *)" || g.By != "Ada" || g.SessionTitle != "Granting" || g.State != wire.GrantMissing || g.RequestID != r.RequestID {
		t.Errorf("got %+v", g)
	}
	for name, c := range map[string]struct {
		body   any
		way    way
		status int
	}{
		"another's":            {wire.GrantRevoke{GrantID: g.GrantID}, bobs, http.StatusNotFound},
		"another's answer":     {wire.GrantRevoke{RequestID: r.RequestID}, bobs, http.StatusNotFound},
		"none":                 {wire.GrantRevoke{GrantID: "none"}, adas, http.StatusNotFound},
		"a file's, no admin":   {wire.GrantRevoke{Found: &wire.FoundGrant{Rule: "x"}}, adas, http.StatusForbidden},
		"nothing named":        {wire.GrantRevoke{}, adas, http.StatusBadRequest},
		"two named":            {wire.GrantRevoke{GrantID: "a", RequestID: "b"}, adas, http.StatusBadRequest},
		"hers":                 {wire.GrantRevoke{GrantID: g.GrantID}, adas, http.StatusOK},
		"her answer's":         {wire.GrantRevoke{RequestID: r.RequestID}, adas, http.StatusOK},
		"a file's, as admin":   {wire.GrantRevoke{Found: &all.Found[0]}, bearer(h.token(account.Admin)), http.StatusOK},
		"another's, as admin":  {wire.GrantRevoke{GrantID: g.GrantID}, bearer(h.token(account.Admin)), http.StatusOK},
		"as one who only sees": {wire.GrantRevoke{GrantID: g.GrantID}, bearer(h.token(account.Viewer)), http.StatusForbidden},
	} {
		if a := h.call("POST", "/api/grants/revoke", c.body, c.way); a.status != c.status {
			t.Errorf("%s: got %d %s, want %d", name, a.status, a.body, c.status)
		}
	}
	asked := h.driver.asked()
	for _, want := range []string{"revoke " + g.GrantID + " by Ada", "revoke answer " + r.RequestID + " by Ada", "revoke found Bash(make *) by admin-user"} {
		if !slices.Contains(asked, want) {
			t.Errorf("not asked for: %s, but %q", want, asked)
		}
	}

	if _, err := h.store.RevokeGrant(t.Context(), pending.Grant{
		GrantID: g.GrantID, Kind: g.Kind, Rule: g.Rule, Scope: g.Scope, Folder: g.Folder, RequestID: r.RequestID,
	}, pending.Actor{Name: "Ada"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	h.call("GET", "/api/grants?revoked=true", nil, adas).into(t, &hers)
	if len(hers.Grants) != 1 || hers.Grants[0].State != wire.GrantRevoked || *hers.Grants[0].RevokedBy != "Ada" {
		t.Errorf("got %+v", hers)
	}
}
