package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The standard variables that name a collector and the headers that it needs.
// OTEL_EXPORTER_OTLP_ENDPOINT is a base address, to which the path of traces is added.
const (
	endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesVariable   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	headersVariable  = "OTEL_EXPORTER_OTLP_HEADERS"
)

const (
	collectorTimeout = 10 * time.Second // for one batch
	maxCollectorBody = 64 << 10         // of a response
)

// collectorOf returns the address to which traces are sent, "" without a collector.
func collectorOf(s settings, getenv func(string) string) (string, error) {
	given, from := s.OTLPEndpoint, "--otlp-endpoint"
	if given == "" {
		given, from = getenv(tracesVariable), tracesVariable
	}
	if given == "" {
		given, from = getenv(endpointVariable), endpointVariable
	}
	if given == "" {
		return "", nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s %s: use an address such as http://localhost:4318", from, given)
	}
	if from != tracesVariable {
		u = u.JoinPath("v1", "traces")
	}
	return u.String(), nil
}

// collector sends spans to an OpenTelemetry collector by OTLP over HTTP, as JSON.
type collector struct {
	url     string
	headers http.Header
	client  *http.Client
	log     *slog.Logger
	failing atomic.Bool
}

// newCollector returns the collector at an address. headers is the value of the variable: NAME=VALUE
// pairs, separated by commas, with percent-encoded values.
func newCollector(address, headers string, log *slog.Logger) (*collector, error) {
	c := &collector{url: address, headers: http.Header{}, log: log, client: &http.Client{
		Timeout:       collectorTimeout,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers may be secret
	}}
	for pair := range strings.SplitSeq(headers, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil {
			return nil, fmt.Errorf("%s: use NAME=VALUE, separated by commas", headersVariable)
		}
		c.headers.Set(name, text)
	}
	return c, nil
}

// ExportSpans implements [sdktrace.SpanExporter]. Spans that the collector does not accept are lost;
// the log records when that begins and ends.
func (c *collector) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.send(ctx, spans)
	switch failing := err != nil; {
	case failing && !c.failing.Swap(true):
		c.log.WarnContext(ctx, "the collector rejects traces", "error", err)
	case !failing && c.failing.Swap(false):
		c.log.InfoContext(ctx, "the collector accepts traces again")
	}
	return nil
}

func (c *collector) send(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := json.Marshal(encodeSpans(spans))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = c.headers.Clone()
	r.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxCollectorBody))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", c.url, response.Status)
	}
	var partial struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(text, &partial) != nil {
		return nil // a collector may answer without a body
	}
	if n, err := partial.PartialSuccess.RejectedSpans.Int64(); err == nil && n > 0 {
		return fmt.Errorf("%s rejected %d spans: %s", c.url, n, partial.PartialSuccess.ErrorMessage)
	}
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (c *collector) Shutdown(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// The messages of OTLP in JSON, as mapped from Protocol Buffers: 64-bit numbers are strings, and ids
// are hexadecimal.
type (
	otlpTraces struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpScopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID      string          `json:"traceId"`
		SpanID       string          `json:"spanId"`
		ParentSpanID string          `json:"parentSpanId,omitempty"`
		Name         string          `json:"name"`
		Kind         int             `json:"kind"`
		Start        string          `json:"startTimeUnixNano"`
		End          string          `json:"endTimeUnixNano"`
		Attributes   []otlpAttribute `json:"attributes,omitempty"`
		Status       *otlpStatus     `json:"status,omitempty"`
	}
	otlpStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	otlpAttribute struct {
		Key   string `json:"key"`
		Value struct {
			String string `json:"stringValue"`
		} `json:"value"`
	}
)

const (
	otlpInternal = 1 // the kind of a span: neither sent nor received
	otlpError    = 2 // the code of a status
)

// encodeSpans returns the message for spans that one tracer recorded. There must be at least one.
func encodeSpans(spans []sdktrace.ReadOnlySpan) otlpTraces {
	var resource otlpResourceSpans
	var scope otlpScopeSpans
	resource.Resource.Attributes = encodeAttributes(spans[0].Resource().Attributes())
	scope.Scope.Name = spans[0].InstrumentationScope().Name
	for _, s := range spans {
		span := otlpSpan{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: otlpInternal,
			Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
			Attributes: encodeAttributes(s.Attributes()),
		}
		if s.Parent().IsValid() {
			span.ParentSpanID = s.Parent().SpanID().String()
		}
		if description := s.Status().Description; description != "" {
			span.Status = &otlpStatus{otlpError, description}
		}
		scope.Spans = append(scope.Spans, span)
	}
	resource.ScopeSpans = []otlpScopeSpans{scope}
	return otlpTraces{[]otlpResourceSpans{resource}}
}

func encodeAttributes(list []attribute.KeyValue) (out []otlpAttribute) {
	for _, kv := range list {
		a := otlpAttribute{Key: string(kv.Key)}
		a.Value.String = kv.Value.AsString() // all attributes are strings
		out = append(out, a)
	}
	return out
}
