package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func TestExportOfASession(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("Fix: the / limiter")
	if err := h.Store.PutItems(t.Context(), id, []session.Item{
		{Key: "a", At: time.Unix(1, 0), Kind: session.ItemUser, Body: json.RawMessage(`{"text":"Why?","by":"ana"}`)},
		{Key: "b", At: time.Unix(2, 0), Kind: session.ItemText, Body: json.RawMessage(`{"text":"**Because**"}`)},
	}); err != nil {
		t.Fatal(err)
	}
	api := "/api/sessions/" + id + "/export"

	got := h.CallAs(account.Viewer, "POST", api, wire.Export{Format: "markdown"})
	if got.Status != 200 || !strings.Contains(string(got.Body), "> **Because**") || !strings.Contains(got.Header.Get("Content-Disposition"), ".md") {
		t.Errorf("markdown: %d %v %s", got.Status, got.Header, got.Body)
	}
	got = h.CallAs(account.Viewer, "POST", api, wire.Export{Format: "html", Language: "de"})
	if got.Status != 200 || !strings.Contains(string(got.Body), "<strong>Because</strong>") || !strings.Contains(got.Header.Get("Content-Security-Policy"), "sandbox") ||
		got.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("html: %d %v %s", got.Status, got.Header, got.Body)
	}
	calls := strings.Join(h.Driver.Calls(), "\n")
	if !strings.Contains(calls, "export "+id+" as markdown by ") || !strings.Contains(calls, "export "+id+" as html by ") {
		t.Errorf("the exports are not on record: %s", calls)
	}

	// What is not recorded is not sent.
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "POST", api, wire.Export{Format: "pdf"}), 400, "invalid")
	h.Driver.FailWith(session.ErrNotFound)
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "POST", api, wire.Export{Format: "html"}), 404, "not_found")
}
