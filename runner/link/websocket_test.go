package link_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/runner/link"
)

func TestWebSocket(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, nil)
		if err != nil {
			ended <- err
			return
		}
		welcome := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
		c, err := link.Accept(r.Context(), link.WebSocket(r.Context(), socket), welcome, link.Options{Serve: serve})
		if err == nil {
			err = c.Run(r.Context())
		}
		ended <- err
	}))
	defer web.Close()
	socket, _, err := websocket.Dial(t.Context(), web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := link.Greet(t.Context(), link.WebSocket(t.Context(), socket), "hello", nil, link.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	run := make(chan error, 1)
	go func() { run <- c.Run(ctx) }()
	var got string
	want := strings.Repeat("x", 3<<20)
	if err := c.Call(t.Context(), "echo", want, &got); err != nil || got != want {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	cancel()
	if err := <-run; err != context.Canceled {
		t.Errorf("Run returned %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the other side's Run returned nil")
	}
}
