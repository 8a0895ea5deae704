package main_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestMetrics has a person allow a call and reads how long everything took. Each metric
// that docs/operating/metrics.md lists is there.
func TestMetrics(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	s := h.start()
	tab := s.tab()
	id := s.session("one")
	// A request that is answered before a tab was sent it has no time to a frame.
	tab.until(t, waitLimit, "the tab shows the request", func(f map[string]any) bool {
		requests, _ := f["pending_requests"].([]any)
		return f["session_id"] == id && len(requests) == 1
	})
	go func() {
		for range tab.frames { // else the server cuts it off
		}
	}()
	s.allow(s.asks(id))
	s.reaches(id, "user_turn")
	metrics := func() string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/metrics", nil)
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+s.Token)
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		return string(body)
	}
	var got string
	for _, line := range []string{
		"sayso_ask_to_frame_seconds_count 1", "sayso_answer_to_stdin_seconds_count 1",
		`sayso_store_seconds_count{call="open_request"} 1`, `sayso_store_seconds_count{call="resolve_request"} 1`,
	} {
		// Claude can go on before the server has measured how long the answer took.
		eventually(t, "the line "+line, func() bool {
			got = metrics()
			return strings.Contains(got, "\n"+line+"\n")
		})
	}
	page, err := os.ReadFile("../../docs/operating/metrics.md")
	must(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)(?:\\{\\w+\\})?` \\| (\\w+) \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 14 {
		t.Errorf("read %d rows of the documentation", len(rows))
	}
	listed := map[string]bool{}
	for _, row := range rows {
		listed[row[1]] = true
		if want := fmt.Sprintf("# TYPE %s %s\n", row[1], row[2]); row[1] != "sayso_alert_delivery_seconds" && !strings.Contains(got, want) {
			t.Errorf("no line %q", want)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (sayso_\w+) `).FindAllStringSubmatch(got, -1) {
		if !listed[m[1]] {
			t.Errorf("docs/operating/metrics.md does not list %s", m[1])
		}
	}
}
