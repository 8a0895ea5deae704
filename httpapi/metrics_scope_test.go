package httpapi_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// TestMetricsScope: a token with this scope reads the metrics and reaches no other route, only
// an admin can give it, and it ends with the rights of its admin.
func TestMetricsScope(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	ada := h.person("Ada", account.Admin)
	h.person("Bob", account.Member)
	token := apitest.Bearer(h.madeToken(wire.TokenCreate{Name: "prometheus", Scope: account.MetricsScope}, h.signIn("Ada")).Secret)
	if a := h.Call("GET", "/metrics", nil, token); a.Status != 200 || !strings.Contains(string(a.Body), "sayso_tabs") {
		t.Fatalf("metrics: %d %s", a.Status, a.Body)
	}
	for _, rt := range httpapi.Routes() {
		if rt.Policy == "anybody" || rt.Pattern == "/metrics" {
			continue
		}
		path := strings.NewReplacer("{id}", "x", "{message_id}", "y").Replace(rt.Pattern)
		if a := h.Call(rt.Method, path, map[string]any{}, token); a.Status != 403 && a.Status != 404 {
			t.Errorf("%s %s: %d %s", rt.Method, path, a.Status, a.Body)
		}
	}
	if a := h.Call("POST", "/api/tokens", wire.TokenCreate{Name: "mine", Scope: account.MetricsScope}, h.signIn("Bob")); a.Status != 400 && a.Status != 403 {
		t.Errorf("a member gave the scope: %d %s", a.Status, a.Body)
	}
	viewer := account.Viewer
	h.person("Eve", account.Admin)
	if a := h.Call("PATCH", "/api/users/"+ada.UserID, map[string]any{"role": viewer}, h.signIn("Eve")); a.Status >= 300 {
		t.Fatalf("demote Ada: %d %s", a.Status, a.Body)
	}
	for _, path := range []string{"/metrics", "/api/sessions", "/api/me"} {
		if a := h.Call("GET", path, nil, token); a.Status < 400 {
			t.Errorf("after Ada is a viewer, %s: %d", path, a.Status)
		}
	}
}
