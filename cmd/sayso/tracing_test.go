package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// span is what a collector gets of one span.
type span struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string `json:"name"`
	Start        int64  `json:"startTimeUnixNano,string"`
	End          int64  `json:"endTimeUnixNano,string"`
}

// traceCollector takes spans as an OpenTelemetry collector does.
type traceCollector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []span
	service string
	headers []string // X-Tenant of each batch
}

func newTraceCollector(t *testing.T) *traceCollector {
	c := &traceCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
				ScopeSpans []struct{ Spans []span }
			}
		}
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&body) != nil {
			http.Error(w, "no traces", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.headers = append(c.headers, r.Header.Get("X-Tenant"))
		for _, resource := range body.ResourceSpans {
			for _, a := range resource.Resource.Attributes {
				if a.Key == "service.name" {
					c.service = a.Value.StringValue
				}
			}
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(c.Close)
	return c
}

// TestTraces has a person allow a call, and looks at the trace of the request: each step between
// Claude's line and the answer on its stdin, under the id of the request.
func TestTraces(t *testing.T) {
	t.Parallel()
	collector := newTraceCollector(t)
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	h.env = append(h.env, "OTEL_EXPORTER_OTLP_HEADERS=x-tenant=a%20b")
	s := h.start("--otlp-endpoint", collector.URL)
	tab := s.tab()
	id := s.session("one")
	tab.until(t, waitLimit, "the tab shows the request", func(f map[string]any) bool {
		requests, _ := f["pending_requests"].([]any)
		return f["session_id"] == id && len(requests) == 1
	})
	go func() {
		for range tab.frames { // else the server cuts it off
		}
	}()
	request := s.asks(id)
	s.allow(request)
	s.reaches(id, "user_turn")
	s.stop() // sends what was not sent

	collector.mu.Lock()
	defer collector.mu.Unlock()
	byName := map[string]span{}
	for _, one := range collector.spans {
		byName[one.Name] = one
		if want := strings.ReplaceAll(request, "-", ""); one.TraceID != want {
			t.Errorf("the trace of %s is %s, want %s", one.Name, one.TraceID, want)
		}
	}
	root := byName["request"]
	for _, name := range []string{"decode", "ask", "store", "notify", "frame", "answer", "commit", "write stdin", "deliver"} {
		one, there := byName[name]
		if !there || one.ParentSpanID != root.SpanID || one.Start > one.End || one.Start < root.Start || name != "deliver" && one.Start > root.End {
			t.Errorf("%s: %+v of %+v", name, one, root)
		}
	}
	if root.ParentSpanID != "" || root.SpanID == "" || collector.service != "sayso" || slices.Contains(collector.headers, "") || collector.headers[0] != "a b" {
		t.Errorf("root %+v of %s, headers %q", root, collector.service, collector.headers)
	}
}

// A collector that is away costs the request nothing, and the log says so once. A mistake in its
// address is found at the start.
func TestCollectorIsAway(t *testing.T) {
	t.Parallel()
	collector := newTraceCollector(t)
	collector.Close()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	h.env = append(h.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	s := h.start()
	id := s.session("one")
	s.allow(s.asks(id))
	s.reaches(id, "user_turn")
	s.stop()
	if said := s.said.String(); strings.Count(said, "the collector rejects traces") != 1 {
		t.Errorf("the log says:\n%s", said)
	}
	h.serve("--otlp-endpoint", "localhost:4318").refused("--otlp-endpoint localhost:4318: use an address such as http://localhost:4318")
}
