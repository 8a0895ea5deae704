package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sayso-dev/sayso/internal/tracing"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store"
)

// traceDrain bounds how long a stopping server waits for the collector.
const traceDrain = 2 * time.Second

// newTracer returns the tracer of the server and the function that ends it. The tracer is nil if no
// collector is configured; then nothing is measured.
//
// The id of a trace is the id of its request, without the hyphens. Every server that handles the
// request thus adds to the same trace, even after a restart, and either id leads to the other.
func newTracer(s settings, getenv func(string) string, log *slog.Logger) (*tracing.Tracer, func() error, error) {
	address, err := collectorOf(s, getenv)
	if err != nil || address == "" {
		return nil, func() error { return nil }, err
	}
	to, err := newCollector(address, getenv(headersVariable), log)
	if err != nil {
		return nil, nil, err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(to),
		sdktrace.WithIDGenerator(spanIDs{}),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", cmp.Or(getenv("OTEL_SERVICE_NAME"), "sayso")),
			attribute.String("service.version", versionText()), attribute.String("service.instance.id", s.NodeID))),
	)
	tracer := provider.Tracer("github.com/sayso-dev/sayso")
	end := func() error {
		draining, cancel := context.WithTimeout(context.Background(), traceDrain)
		defer cancel()
		return provider.Shutdown(draining)
	}
	return tracing.New(func(step tracing.Span) { send(tracer, step) }), end, nil
}

// send passes a finished step to the SDK, which sends it later.
func send(tracer trace.Tracer, step tracing.Span) {
	id := traceID(step.RequestID)
	ctx := context.Background()
	if step.Step == tracing.Request {
		ctx = context.WithValue(ctx, rootKey{}, id)
	} else {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: rootSpan(id), TraceFlags: trace.FlagsSampled}))
	}
	_, span := tracer.Start(ctx, string(step.Step), trace.WithTimestamp(step.Start), trace.WithAttributes(attribute.String("sayso.request_id", step.RequestID)))
	if step.Err != nil && !errors.Is(step.Err, context.Canceled) {
		span.SetStatus(codes.Error, step.Err.Error())
	}
	span.End(trace.WithTimestamp(step.End))
}

// traceID returns the trace of a request. The ids of requests are UUIDs.
func traceID(requestID string) trace.TraceID {
	if id, err := uuid.Parse(requestID); err == nil {
		return trace.TraceID(id)
	}
	sum := sha256.Sum256([]byte(requestID))
	return trace.TraceID(sum[:16])
}

// rootSpan returns the span of the whole request, which is the parent of the others.
func rootSpan(id trace.TraceID) trace.SpanID { return trace.SpanID(id[8:]) }

// rootKey is the context key of the id of a trace whose root span is being created.
type rootKey struct{}

// spanIDs generates the ids of spans.
type spanIDs struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (g spanIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, known := ctx.Value(rootKey{}).(trace.TraceID)
	if !known {
		id = trace.TraceID(uuid.New())
	}
	return id, rootSpan(id)
}

// NewSpanID implements [sdktrace.IDGenerator].
func (spanIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	id := uuid.New()
	return trace.SpanID(id[8:])
}

// tracedNotifier measures how long it takes to notify the parts of the server of a new request.
type tracedNotifier struct {
	store.Notifier
	tracer *tracing.Tracer
}

// NotifyOpened announces a new request.
func (n tracedNotifier) NotifyOpened(sessionID, requestID string) {
	start := n.tracer.Begin()
	n.Notify(sessionID)
	n.tracer.End(requestID, tracing.Notify, start, nil)
}

// tracedRequests measures the answers of people.
type tracedRequests struct {
	*pending.Registry
	tracer *tracing.Tracer
}

// Answer passes an answer to the registry.
func (r tracedRequests) Answer(ctx context.Context, s pending.Submission) (pending.Request, error) {
	start := r.tracer.Begin()
	now, err := r.Registry.Answer(ctx, s)
	r.tracer.End(s.RequestID, tracing.Answer, start, err)
	return now, err
}
