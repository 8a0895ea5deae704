package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sayso-dev/sayso/internal/tracing"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// metrics measures the steps of a request to people and of the answer back to Claude.
type metrics struct {
	registry      *prometheus.Registry
	askToFrame    prometheus.Histogram
	answerToStdin prometheus.Histogram
	storeCalls    *prometheus.HistogramVec // by call
	alerts        *prometheus.HistogramVec // by result
	tracer        *tracing.Tracer          // nil if nothing is traced
}

// newMetrics returns metrics with their own registry.
func newMetrics() *metrics {
	// From 0.5 ms to 8 s: shorter times are noise, and longer ones do not occur.
	buckets := prometheus.ExponentialBuckets(0.0005, 2, 15)
	options := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
	}
	m := &metrics{
		registry:      prometheus.NewRegistry(),
		askToFrame:    prometheus.NewHistogram(options("sayso_ask_to_frame_seconds", "Time from a request to the frame that shows it to the open tabs.")),
		answerToStdin: prometheus.NewHistogram(options("sayso_answer_to_stdin_seconds", "Time from an answer until Claude's process has it.")),
		storeCalls:    prometheus.NewHistogramVec(options("sayso_store_seconds", "Duration of the database calls that requests and sessions wait for, by call."), []string{"call"}),
		alerts:        prometheus.NewHistogramVec(options("sayso_alert_delivery_seconds", "Duration of attempts to deliver an alert, by result."), []string{"result"}),
	}
	m.registry.MustRegister(m.askToFrame, m.answerToStdin, m.storeCalls, m.alerts)
	return m
}

// watch adds gauges that are measured when metrics are read: the size of the database, and the free
// space of the disk with the state folder. A gauge that cannot be measured is left out.
func (m *metrics) watch(s store.Store, stateDir string) {
	m.registry.MustRegister(measuredAtRead{
		prometheus.NewDesc("sayso_database_bytes", "Size of the database on its disk.", nil, nil): func() (float64, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			size, err := s.Size(ctx)
			return float64(size), err
		},
		prometheus.NewDesc("sayso_free_disk_bytes", "Free space for the state folder.", nil, nil): func() (float64, error) {
			free, _, err := freeDisk(stateDir)
			return float64(free), err
		},
	})
}

// watchSessions adds a gauge of stalled sessions. stalled is called when metrics are read, and returns
// how many sessions wait because their output cannot be stored.
func (m *metrics) watchSessions(stalled func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sayso_stalled_sessions", Help: "Sessions that wait because their machine cannot store their output.",
	}, func() float64 { return float64(stalled()) }))
}

// measuredAtRead is a collector of gauges that are measured when they are read.
type measuredAtRead map[*prometheus.Desc]func() (float64, error)

// Describe implements [prometheus.Collector].
func (g measuredAtRead) Describe(descs chan<- *prometheus.Desc) {
	for desc := range g {
		descs <- desc
	}
}

// Collect implements [prometheus.Collector].
func (g measuredAtRead) Collect(values chan<- prometheus.Metric) {
	for desc, measure := range g {
		if value, err := measure(); err == nil {
			values <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
		}
	}
}

func (m *metrics) onFrame(requestID string, created time.Time) {
	m.askToFrame.Observe(time.Since(created).Seconds())
	m.tracer.End(requestID, tracing.Frame, created, nil)
}

func (m *metrics) onDelivered(took time.Duration) { m.answerToStdin.Observe(took.Seconds()) }

func (m *metrics) onAlertSent(took time.Duration, err error) {
	result := "delivered"
	if err != nil {
		result = "failed"
	}
	m.alerts.WithLabelValues(result).Observe(took.Seconds())
}

// measured wraps the store to measure the calls that requests and sessions wait for.
func (m *metrics) measured(s store.Store) store.Store {
	of := func(call string) prometheus.Observer { return m.storeCalls.WithLabelValues(call) }
	return &measuredStore{
		Store: s, open: of("open_request"), resolve: of("resolve_request"), hold: of("hold_request"),
		delivery: of("set_delivery"), save: of("save_process"), state: of("process_state"),
		put: of("put_items"), transcript: of("transcript"), search: of("search_transcripts"), tracer: m.tracer,
	}
}

// measuredStore measures some calls of a store.
type measuredStore struct {
	store.Store
	open, resolve, hold, delivery, save, state, put, transcript, search prometheus.Observer

	tracer *tracing.Tracer // traces the calls that handle a request
}

func observe(o prometheus.Observer, start time.Time) { o.Observe(time.Since(start).Seconds()) }

func (s *measuredStore) OpenRequest(ctx context.Context, r pending.Request) (stored pending.Request, opened bool, err error) {
	start := time.Now()
	stored, opened, err = s.Store.OpenRequest(ctx, r)
	observe(s.open, start)
	s.tracer.End(r.RequestID, tracing.Store, start, err)
	return stored, opened, err
}

func (s *measuredStore) ResolveRequest(ctx context.Context, requestID string, res pending.Resolution) (now pending.Request, won bool, err error) {
	start := time.Now()
	now, won, err = s.Store.ResolveRequest(ctx, requestID, res)
	observe(s.resolve, start)
	s.tracer.End(requestID, tracing.Commit, start, err)
	return now, won, err
}

func (s *measuredStore) HoldRequest(ctx context.Context, requestID string, h pending.Held) (now pending.Request, done bool, err error) {
	start := time.Now()
	now, done, err = s.Store.HoldRequest(ctx, requestID, h)
	observe(s.hold, start)
	s.tracer.End(requestID, tracing.Commit, start, err)
	return now, done, err
}

func (s *measuredStore) SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error {
	start := time.Now()
	err := s.Store.SetDelivery(ctx, requestID, d)
	observe(s.delivery, start)
	s.tracer.End(requestID, tracing.Deliver, start, err)
	return err
}

func (s *measuredStore) SaveProcess(ctx context.Context, p session.ProcessState) (version uint64, err error) {
	defer observe(s.save, time.Now())
	return s.Store.SaveProcess(ctx, p)
}

func (s *measuredStore) PutItems(ctx context.Context, sessionID string, items []session.Item) error {
	defer observe(s.put, time.Now())
	return s.Store.PutItems(ctx, sessionID, items)
}

func (s *measuredStore) ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error) {
	defer observe(s.state, time.Now())
	return s.Store.ProcessState(ctx, sessionID)
}

func (s *measuredStore) Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error) {
	defer observe(s.transcript, time.Now())
	return s.Store.Transcript(ctx, sessionID, after, limit)
}

func (s *measuredStore) SearchTranscripts(ctx context.Context, q session.Search) (matches []session.Match, next int64, err error) {
	defer observe(s.search, time.Now())
	return s.Store.SearchTranscripts(ctx, q)
}
