package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/session"
)

// getHealth says that the server runs, and nothing else to anybody.
func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request, _ account.Identity) error {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

// getReady says whether the server can do its work: the hub runs and the store
// answers.
func (s *Server) getReady(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	if !s.o.Live.Running() {
		return refusal.GoingAway()
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if _, _, err := s.o.Store.Sessions(ctx, session.Query{Limit: 1}); err != nil {
		ref := refusal.New(http.StatusServiceUnavailable, "unavailable", "The database does not answer.")
		ref.Retry, ref.Cause = time.Second, err
		return ref
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	return nil
}

// getMetrics shows figures in the text format of Prometheus.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	states, err := s.o.Store.ActiveProcesses(r.Context())
	if err != nil {
		return err
	}
	byState := map[session.State]int{}
	requests := 0
	var memory uint64
	for _, p := range states {
		byState[p.State]++
		requests += len(p.Requests)
		memory += p.Memory
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)

	var b bytes.Buffer
	head := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	one := func(name, kind, help string, value any) {
		head(name, kind, help)
		fmt.Fprintf(&b, "%s %v\n", name, value)
	}
	head("sayso_sessions", "gauge", "Sessions that run or have an open request, by state.")
	for _, state := range []session.State{session.Starting, session.AssistantTurn, session.UserTurn, session.Dead} {
		fmt.Fprintf(&b, "sayso_sessions{state=%q} %d\n", state, byState[state])
	}
	one("sayso_open_requests", "gauge", "Requests that a person can answer.", requests)
	one("sayso_sessions_memory_bytes", "gauge", "Memory of all Claude process trees.", memory)
	one("sayso_tabs", "gauge", "Open WebSockets.", s.o.Live.Tabs())
	head("sayso_answers_total", "counter", "Answers people sent, by result.")
	for _, result := range command.Results {
		fmt.Fprintf(&b, "sayso_answers_total{result=%q} %d\n", result, s.o.Commands.Answers(result))
	}
	one("sayso_refusals_total", "counter", "HTTP requests refused.", s.refused.Load())
	one("sayso_faults_total", "counter", "HTTP requests that failed inside the server.", s.faults.Load())
	one("sayso_slow_tabs_total", "counter", "WebSockets cut because they were too slow.", s.o.Live.SlowTabs())
	stores := 0
	if s.o.Live.CanStore() {
		stores = 1
	}
	one("sayso_storing", "gauge", "1 while answers can be stored, 0 while the disk is full or the database away.", stores)
	one("sayso_uptime_seconds", "counter", "Since the server started.", time.Since(s.started).Seconds())
	one("go_goroutines", "gauge", "Goroutines of the server.", runtime.NumGoroutine())
	one("go_memstats_heap_inuse_bytes", "gauge", "Heap in use.", mem.HeapInuse)
	one("go_memstats_sys_bytes", "gauge", "Memory obtained from the system.", mem.Sys)

	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes())
	return nil
}
