package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// countingContext counts the functions that wait for its end.
type countingContext struct {
	context.Context
	done    chan struct{}
	waiting atomic.Int32
}

func (c *countingContext) Done() <-chan struct{} { return c.done }

// AfterFunc is what [context.AfterFunc] calls.
func (c *countingContext) AfterFunc(func()) (stop func() bool) {
	c.waiting.Add(1)
	return func() bool {
		c.waiting.Add(-1)
		return true
	}
}

// TestACMERequestsLeaveNothing: a request to the ACME directory, which ends with the server, leaves
// nothing in the context of the server.
func TestACMERequestsLeaveNothing(t *testing.T) {
	t.Parallel()
	directory := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "directory")
	}))
	defer directory.Close()
	ctx := &countingContext{Context: context.Background(), done: make(chan struct{})}
	certificates, err := newACMECertificates(ctx, settings{StateDir: t.TempDir(), ACME: acmeSettings{Domains: []string{"sayso.example.test"}}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client := certificates.manager.Client.HTTPClient
	answer, err := client.Get(directory.URL)
	if err != nil {
		t.Fatal(err)
	}
	if n := ctx.waiting.Load(); n != 1 {
		t.Errorf("%d functions wait during a request, want 1", n)
	}
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "directory" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if n := ctx.waiting.Load(); n != 0 {
		t.Errorf("%d functions wait after a request", n)
	}
	directory.Close()
	if answer, err := client.Get(directory.URL); err == nil {
		answer.Body.Close()
		t.Error("a server that is closed has answered")
	}
	if n := ctx.waiting.Load(); n != 0 {
		t.Errorf("%d functions wait after a request that failed", n)
	}
}
