package httpapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

func TestGrantsBelongToWhoMadeThem(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("Granting")
	ada, bob := h.person("Ada", account.Member), h.person("Bob", account.Member)
	const rules = `[{"type":"addRules","behavior":"allow","destination":"localSettings","rules":[{"toolName":"Bash","ruleContent":"make *"}]}]`
	r, _ := h.Ask(id, "asker", func(r *pending.Request) { r.PermissionSuggestions = json.RawMessage(rules) })
	adas, bobs := h.signIn("Ada"), h.signIn("Bob")
	if a := h.Call("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow", "updated_permissions": json.RawMessage(rules)}, adas); a.Status != 200 {
		t.Fatalf("answer: %d %s", a.Status, a.Body)
	}
	_, _ = ada, bob

	var hers, his, all wire.GrantList
	h.Call("GET", "/api/grants", nil, adas).Decode(t, &hers)
	h.Call("GET", "/api/grants", nil, bobs).Decode(t, &his)
	h.CallAs(account.Admin, "GET", "/api/grants", nil).Decode(t, &all)
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
		way    apitest.RequestOption
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
		"a file's, as admin":   {wire.GrantRevoke{Found: &all.Found[0]}, apitest.Bearer(h.Token(account.Admin)), http.StatusOK},
		"another's, as admin":  {wire.GrantRevoke{GrantID: g.GrantID}, apitest.Bearer(h.Token(account.Admin)), http.StatusOK},
		"as one who only sees": {wire.GrantRevoke{GrantID: g.GrantID}, apitest.Bearer(h.Token(account.Viewer)), http.StatusForbidden},
	} {
		if a := h.Call("POST", "/api/grants/revoke", c.body, c.way); a.Status != c.status {
			t.Errorf("%s: got %d %s, want %d", name, a.Status, a.Body, c.status)
		}
	}
	asked := h.Driver.Calls()
	for _, want := range []string{"revoke " + g.GrantID + " by Ada", "revoke answer " + r.RequestID + " by Ada", "revoke found Bash(make *) by admin-user"} {
		if !slices.Contains(asked, want) {
			t.Errorf("not asked for: %s, but %q", want, asked)
		}
	}

	if _, err := h.Store.RevokeGrant(t.Context(), pending.Grant{
		GrantID: g.GrantID, Kind: g.Kind, Rule: g.Rule, Scope: g.Scope, Folder: g.Folder, RequestID: r.RequestID,
	}, pending.Actor{Name: "Ada"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	h.Call("GET", "/api/grants?revoked=true", nil, adas).Decode(t, &hers)
	if len(hers.Grants) != 1 || hers.Grants[0].State != wire.GrantRevoked || *hers.Grants[0].RevokedBy != "Ada" {
		t.Errorf("got %+v", hers)
	}
}
