package main

import (
	"fmt"
	"testing"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/wsapi"
)

// TestMissingOptions: a part that is wired without what it needs is not made, so that
// nothing that is nil is found only when it is used.
func TestMissingOptions(t *testing.T) {
	t.Parallel()
	check := func(err error, pkg, field string) {
		t.Helper()
		if got, want := fmt.Sprint(err), pkg+": Options."+field+" is missing"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	_, err := alert.New(alert.Options{})
	check(err, "alert", "Store")
	_, err = httpapi.New(httpapi.Options{})
	check(err, "httpapi", "Store")
	_, err = mcpapi.New(mcpapi.Options{})
	check(err, "mcpapi", "Requests")
	_, err = orchestrator.New(orchestrator.Options{})
	check(err, "orchestrator", "Store")
	_, err = wsapi.New(wsapi.Options{})
	check(err, "wsapi", "Store")
}
