package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

func TestAlertsOfAPerson(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	status := http.StatusOK
	place := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer place.Close()

	var before wire.Alerts
	h.CallAs(account.Viewer, "GET", "/api/alerts", nil).Decode(t, &before)
	if before.PushKey == "" || len(before.Targets) != 0 || len(before.Choices.Wanted.Waiting) != 3 || before.Choices.Quiet != nil {
		t.Fatalf("got %+v, want what nobody chose yet", before)
	}
	chosen := before.Choices
	chosen.ShowText, chosen.RemindAfter, chosen.Language = true, 5, "de"
	chosen.Wanted.Waiting = []alert.Way{alert.Webhook}
	chosen.Quiet = &wire.AlertQuiet{From: "22:00", To: "07:00", Zone: "Europe/Berlin"}
	if a := h.CallAs(account.Member, "PATCH", "/api/alerts/choices", chosen); a.Status != http.StatusNoContent {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	const secret = "a secret of sixteen or more"
	made := h.CallAs(account.Member, "POST", "/api/alerts/targets", wire.AlertTargetCreate{Way: alert.Webhook, URL: place.URL + "/hidden", Secret: secret})
	var target wire.AlertTarget
	made.Decode(t, &target)
	var after wire.Alerts
	shown := h.CallAs(account.Member, "GET", "/api/alerts", nil)
	shown.Decode(t, &after)
	if !reflect.DeepEqual(after.Choices, chosen) || len(after.Targets) != 1 || after.Targets[0].Name != strings.TrimPrefix(place.URL, "http://") {
		t.Fatalf("got %+v", after)
	}
	for _, a := range []apitest.Response{made, shown} {
		if strings.Contains(string(a.Body), secret) || strings.Contains(string(a.Body), "hidden") {
			t.Errorf("shown again: %s", a.Body)
		}
	}

	test := func() (out wire.AlertTest) {
		h.CallAs(account.Member, "POST", "/api/alerts/targets/"+target.TargetID+"/test", nil).Decode(t, &out)
		return out
	}
	if got := test(); got.Problem != "" {
		t.Errorf("problem %q", got.Problem)
	}
	status = http.StatusForbidden
	if got := test(); got.Problem != "It answered 403 Forbidden." {
		t.Errorf("problem %q", got.Problem)
	}

	// Nothing of it is anybody else's.
	var other wire.Alerts
	h.CallAs(account.Admin, "GET", "/api/alerts", nil).Decode(t, &other)
	if len(other.Targets) != 0 || other.Choices.ShowText {
		t.Errorf("an admin sees %+v", other)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "DELETE", "/api/alerts/targets/"+target.TargetID, nil), 404, "not_found")
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "POST", "/api/alerts/targets/"+target.TargetID+"/test", nil), 404, "not_found")
	if a := h.CallAs(account.Member, "DELETE", "/api/alerts/targets/"+target.TargetID, nil); a.Status != http.StatusNoContent {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

func TestAlertsOfTheServerAreForAdmins(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/api/alerts", nil},
		{"PATCH", "/api/alerts/choices", wire.AlertChoices{}},
		{"POST", "/api/alerts/targets", wire.AlertTargetCreate{Way: alert.Ntfy, URL: "https://ntfy.example.org/t"}},
		{"DELETE", "/api/alerts/targets/x", nil},
		{"POST", "/api/alerts/targets/x/test", nil},
	} {
		apitest.CheckRefusal(t, h.CallAs(account.Member, c.method, c.path+"?of=server", c.body), 403, "forbidden")
		apitest.CheckRefusal(t, h.CallAs(account.Admin, c.method, c.path+"?of=everybody", c.body), 400, "invalid")
	}
	if a := h.CallAs(account.Admin, "POST", "/api/alerts/targets?of=server", wire.AlertTargetCreate{Way: alert.Ntfy, URL: "https://ntfy.example.org/t"}); a.Status != http.StatusCreated {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

func TestAlertsThatCannotBe(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	for _, body := range []wire.AlertTargetCreate{
		{Way: alert.Webhook, URL: "https://example.org/", Secret: "short"},
		{Way: alert.Webhook, URL: "gopher://example.org/", Secret: "a secret of sixteen or more"},
		{Way: alert.Push, URL: "https://push.example.org/", P256DH: "AAAA", Auth: "AAAA"},
		{Way: alert.Push, URL: "https://push.example.org/", P256DH: "!", Auth: "AAAA"},
	} {
		if a := h.CallAs(account.Member, "POST", "/api/alerts/targets", body); a.Status != 400 {
			t.Errorf("%+v: got %d %s", body, a.Status, a.Body)
		}
	}
	for _, c := range []wire.AlertChoices{
		{RemindAfter: -1}, {EscalateAfter: 1 << 20}, {Wanted: wire.AlertWanted{Died: []alert.Way{"pigeon"}}},
		{Quiet: &wire.AlertQuiet{From: "22:00", To: "25:00", Zone: "Europe/Berlin"}},
		{Quiet: &wire.AlertQuiet{From: "22:00", To: "07:00", Zone: "../../etc/passwd"}},
	} {
		apitest.CheckRefusal(t, h.CallAs(account.Member, "PATCH", "/api/alerts/choices", c), 400, "invalid")
	}
}
