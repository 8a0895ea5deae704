package httpapi

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/session"
)

// newRegistry returns the metrics that need no store. Each value is read when it is
// scraped.
func (s *Server) newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	counter := func(name, help string, labels prometheus.Labels, value func() float64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	gauge("sayso_tabs", "Open WebSockets.", func() float64 { return float64(s.o.Live.Tabs()) })
	counter("sayso_failed_sign_ins_total", "Sign-ins that failed, or were refused after too many failures.", nil, func() float64 { return float64(s.failedSignIns.Load()) })
	gauge("sayso_storing", "1 while answers can be stored, 0 while the disk is full or the database is unreachable.", func() float64 {
		if s.o.Live.CanStore() {
			return 1
		}
		return 0
	})
	for _, result := range command.Results {
		counter("sayso_answers_total", "Answers from people, by result.", prometheus.Labels{"result": string(result)},
			func() float64 { return float64(s.o.Commands.Answers(result)) })
	}
	counter("sayso_refusals_total", "HTTP requests refused.", nil, func() float64 { return float64(s.refusals.Load()) })
	counter("sayso_faults_total", "HTTP requests that failed inside the server.", nil, func() float64 { return float64(s.faults.Load() + s.o.Live.Faults()) })
	counter("sayso_slow_tabs_total", "WebSockets closed because they were too slow.", nil, func() float64 { return float64(s.o.Live.SlowTabs()) })
	counter("sayso_uptime_seconds", "Time since the server started.", nil, func() float64 { return time.Since(s.started).Seconds() })
	return r
}

// getMetrics serves metrics in the text format of Prometheus: those of newRegistry, of
// Options.Metrics, and of the sessions in the store.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	states, err := s.o.Store.ActiveProcesses(r.Context())
	if err != nil {
		return err
	}
	sessions := prometheus.NewRegistry()
	if err := sessions.Register(sessionCollector(states)); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	all := prometheus.Gatherers{s.registry, s.o.Metrics, sessions}
	promhttp.HandlerFor(all, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	return nil
}

var (
	sessionsDesc     = prometheus.NewDesc("sayso_sessions", "Sessions that run or have an open request, by state.", []string{"state"}, nil)
	openRequestsDesc = prometheus.NewDesc("sayso_open_requests", "Requests that a person can answer.", nil, nil)
	oldestDesc       = prometheus.NewDesc("sayso_oldest_open_request_seconds", "Age of the oldest request that a person can answer, 0 without one.", nil, nil)
	memoryDesc       = prometheus.NewDesc("sayso_sessions_memory_bytes", "Memory of all Claude process trees.", nil, nil)
)

// sessionCollector counts the sessions of one snapshot.
type sessionCollector []session.ProcessState

// Describe implements [prometheus.Collector].
func (c sessionCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- sessionsDesc
	descs <- openRequestsDesc
	descs <- oldestDesc
	descs <- memoryDesc
}

// Collect implements [prometheus.Collector].
func (c sessionCollector) Collect(metrics chan<- prometheus.Metric) {
	byState := map[session.State]int{}
	requests, memory, oldest := 0, uint64(0), time.Duration(0)
	for _, p := range c {
		byState[p.State]++
		requests += len(p.Requests)
		memory += p.Memory
		for _, r := range p.Requests {
			oldest = max(oldest, time.Since(r.CreatedAt))
		}
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, state := range []session.State{session.Starting, session.AssistantTurn, session.UserTurn, session.Dead} {
		gauge(sessionsDesc, float64(byState[state]), string(state))
	}
	gauge(openRequestsDesc, float64(requests))
	gauge(oldestDesc, oldest.Seconds())
	gauge(memoryDesc, float64(memory))
}
