package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func TestProcessesShowWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	now := time.Now()
	running := map[string]string{} // by title
	for _, title := range []string{"well", "stuck", "lost", "silent"} {
		id := h.NewSession(title)
		h.SetState(id, session.AssistantTurn)
		running[title] = id
	}
	h.Driver.Mu.Lock()
	h.Driver.Printed = map[string]string{running["well"]: "the last words"}
	h.Driver.Measured = map[string]orchestrator.Vitals{
		running["well"]:  {Reached: true, HeardAt: now, Samples: []orchestrator.Sample{{At: now, Memory: 7, CPU: 0.5}}, CostUSD: new(1.5), ContextTokens: 100, ContextWindow: 200},
		running["stuck"]: {Reached: true}, running["silent"]: {},
	}
	h.Driver.Mu.Unlock()
	state, err := h.Store.ProcessState(t.Context(), running["stuck"])
	if err != nil {
		t.Fatal(err)
	}
	state.Stuck = "The tool Bash has been running."
	if _, err := h.Store.SaveProcess(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	gone := h.NewSession("gone")
	h.Ask(gone, "a", nil)
	if _, err := h.Registry.Orphan(t.Context(), gone, "it died"); err != nil {
		t.Fatal(err)
	}
	h.SetState(gone, session.Dead)

	var list wire.ProcessList
	h.CallAs(account.Admin, "GET", "/api/processes?samples=true", nil).Decode(t, &list)
	got := map[string]wire.Process{}
	for _, p := range list.Processes {
		got[p.Title] = p
	}
	if p := got["well"]; p.Trouble != nil || len(p.Samples) != 1 || p.Samples[0].Memory != 7 || p.HeardAt == nil || *p.CostUSD != 1.5 || p.ContextTokens != 100 || p.ContextWindow != 200 {
		t.Errorf("well: %+v", p)
	}
	for title, want := range map[string]wire.TroubleKind{"stuck": wire.Stuck, "lost": wire.Unreachable, "silent": wire.Unreachable, "gone": wire.Orphan} {
		if p := got[title]; p.Trouble == nil || p.Trouble.Kind != want || p.Trouble.Reason == "" {
			t.Errorf("%s: %+v, want %s", title, p.Trouble, want)
		}
	}
	var plain wire.ProcessList
	h.CallAs(account.Admin, "GET", "/api/processes", nil).Decode(t, &plain)
	for _, p := range plain.Processes {
		if len(p.Samples) > 0 {
			t.Error("samples that nobody asked for")
		}
	}

	var report wire.Diagnostics
	h.CallAs(account.Admin, "GET", "/api/processes/"+running["well"]+"/diagnostics", nil).Decode(t, &report)
	for _, want := range []string{"sayso: ", running["well"], "assistant_turn", "the last words", "journal taken in"} {
		if !strings.Contains(report.Text, want) {
			t.Errorf("%q is not in\n%s", want, report.Text)
		}
	}
	h.CallAs(account.Admin, "GET", "/api/processes/"+gone+"/diagnostics", nil).Decode(t, &report)
	if !strings.Contains(report.Text, "orphaned tool_approval Bash") || strings.Contains(report.Text, "touch") {
		t.Errorf("got\n%s", report.Text)
	}
	h.Driver.Mu.Lock()
	h.Driver.Views = map[string]orchestrator.RequestViews{gone: {State: session.Dead, Rows: []pending.Request{{RequestID: "a", ToolName: "Bash", Status: pending.Open}}, Waiting: []string{}, Differences: []string{"They differ."}}}
	h.Driver.Mu.Unlock()
	var views wire.RequestViews
	h.CallAs(account.Admin, "GET", "/api/processes/"+gone+"/requests", nil).Decode(t, &views)
	if views.SessionID != gone || len(views.Rows) != 1 || views.Rows[0].RequestID != "a" || views.Waiting == nil || views.Claude != nil || len(views.Differences) != 1 {
		t.Errorf("got %+v", views)
	}
	if a := h.CallAs(account.Admin, "GET", "/api/processes/none/requests", nil); a.Status != 404 {
		t.Errorf("none: %d", a.Status)
	}
	if a := h.CallAs(account.Admin, "GET", "/api/processes/none/diagnostics", nil); a.Status != 404 {
		t.Errorf("none: %d", a.Status)
	}
}
