package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// Tab is the browser's end of a WebSocket.
type Tab struct {
	t      testing.TB
	Conn   *websocket.Conn
	queue  []map[string]any // received frames that were not returned yet
	Frames []map[string]any // every frame so far
}

// NewTab returns the tab at the other end of a connection.
func NewTab(t testing.TB, conn *websocket.Conn) *Tab { return &Tab{t: t, Conn: conn} }

// Dial opens a WebSocket with the token of a role; it fails the test when it is
// refused.
func (h *Harness) Dial(role account.Role) *Tab {
	h.T.Helper()
	b, resp, err := h.TryDial(h.T.Context(), Bearer(h.Token(role)))
	if err != nil {
		h.T.Fatalf("dial: %v (%v)", err, resp)
	}
	return b
}

func (h *Harness) TryDial(ctx context.Context, ways ...RequestOption) (*Tab, *http.Response, error) {
	h.T.Helper()
	r := &http.Request{Header: http.Header{}}
	for _, w := range ways {
		w(r)
	}
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.Web.URL, "http")+"/ws", &websocket.DialOptions{
		HTTPClient: h.Client, HTTPHeader: r.Header, Host: r.Host,
	})
	if err != nil {
		return nil, resp, err
	}
	conn.SetReadLimit(64 << 20)
	h.T.Cleanup(func() { _ = conn.CloseNow() })
	return NewTab(h.T, conn), resp, nil
}

// OpenTab dials and reads hello, active_processes and bookmarks.
func (h *Harness) OpenTab(role account.Role) *Tab {
	h.T.Helper()
	b := h.Dial(role)
	for _, want := range []string{"hello", "active_processes"} {
		if f := b.Next(); f["type"] != want {
			h.T.Fatalf("got %v, want %s first", f, want)
		}
	}
	b.pick("the bookmarks", func(f map[string]any) bool { return f["type"] == "bookmarks" })
	return b
}

// Next returns the next frame; it fails the test when the connection ends.
func (b *Tab) Next() map[string]any {
	b.t.Helper()
	f, err := b.tryNext(b.t.Context())
	if err != nil {
		b.t.Fatalf("read: %v", err)
	}
	return f
}

func (b *Tab) tryNext(ctx context.Context) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for len(b.queue) == 0 {
		_, data, err := b.Conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		var f map[string]any
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, err
		}
		if f["type"] != "batch" {
			b.queue = append(b.queue, f)
			continue
		}
		for _, inner := range f["frames"].([]any) {
			b.queue = append(b.queue, inner.(map[string]any))
		}
	}
	f := b.queue[0]
	b.queue = b.queue[1:]
	b.Frames = append(b.Frames, f)
	return f, nil
}

// Until reads until a frame fits, and returns that frame.
func (b *Tab) Until(what string, fits func(map[string]any) bool) map[string]any {
	b.t.Helper()
	for {
		f, err := b.tryNext(b.t.Context())
		if err != nil {
			b.t.Fatalf("waiting for %s: %v", what, err)
		}
		if fits(f) {
			return f
		}
	}
}

// AwaitState reads until a process_state of a session with this number of open requests.
func (b *Tab) AwaitState(sessionID string, requests int) map[string]any {
	b.t.Helper()
	return b.Until(fmt.Sprintf("a state with %d requests", requests), func(f map[string]any) bool {
		return f["type"] == "process_state" && f["session_id"] == sessionID && len(f["pending_requests"].([]any)) == requests
	})
}

// Send sends a command without waiting for its ack, and returns its id.
func (b *Tab) Send(kind string, fields map[string]any) string {
	b.t.Helper()
	c := map[string]any{"type": kind, "command_id": uuid.NewString()}
	for k, v := range fields {
		c[k] = v
	}
	if err := b.Conn.Write(b.t.Context(), websocket.MessageText, wire.Encode(c)); err != nil {
		b.t.Fatal(err)
	}
	return c["command_id"].(string)
}

// Do sends a command and returns its ack.
func (b *Tab) Do(kind string, fields map[string]any) wire.Ack {
	b.t.Helper()
	return b.AwaitAck(b.Send(kind, fields))
}

// AwaitAck reads until the ack of a command. Next still returns the frames before it.
func (b *Tab) AwaitAck(commandID string) wire.Ack {
	b.t.Helper()
	f := b.pick("the ack", func(f map[string]any) bool { return f["type"] == "ack" && f["command_id"] == commandID })
	var a wire.Ack
	if err := json.Unmarshal(wire.Encode(f), &a); err != nil {
		b.t.Fatal(err)
	}
	return a
}

// pick reads until a frame fits, and returns it. Next still returns the frames before it.
func (b *Tab) pick(what string, fits func(map[string]any) bool) map[string]any {
	b.t.Helper()
	var before []map[string]any
	f := b.Until(what, func(f map[string]any) bool {
		if !fits(f) {
			before = append(before, f)
		}
		return fits(f)
	})
	b.queue = append(before, b.queue...)
	return f
}

// AwaitClose reads to the end and returns the close code and the last frame.
func (b *Tab) AwaitClose() (websocket.StatusCode, map[string]any) {
	b.t.Helper()
	for {
		if _, err := b.tryNext(b.t.Context()); err != nil {
			var last map[string]any
			if len(b.Frames) > 0 {
				last = b.Frames[len(b.Frames)-1]
			}
			return websocket.CloseStatus(err), last
		}
	}
}
