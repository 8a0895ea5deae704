package wsapi

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// Sizes of the buffers of one tab. Most tabs are idle most of the time.
const (
	readBuffer  = 512
	writeBuffer = 256 // of the library, for its control frames
)

// upgrade keeps the connection that the library hijacks.
type upgrade struct {
	http.ResponseWriter
	wire *frameConn
}

// Hijack implements [http.Hijacker]. It replaces the buffers of the HTTP server with smaller
// ones.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.wire = &frameConn{Conn: conn, turn: make(chan struct{}, 1)}
	if buffered.Reader.Buffered() == 0 { // else the client has sent more than the request
		buffered.Reader = bufio.NewReaderSize(conn, readBuffer)
	}
	buffered.Writer = bufio.NewWriterSize(u.wire, writeBuffer)
	return u.wire, buffered, nil
}

// ServeTab turns a request into a tab and returns, so that the request does not stay in memory.
// [Hub.Run] owns the tab until it ends. The caller has authenticated who and checked the origin.
// If ServeTab has not answered the request, it returns the refusal.
func (h *Hub) ServeTab(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if r.Header.Get("Upgrade") == "" {
		ref := refusal.New("upgrade_required")
		w.Header().Set("Upgrade", "websocket")
		return ref
	}
	if !h.Running() {
		return refusal.GoingAway()
	}
	// The caller has checked the exact origin. Compression is off because the library would
	// keep a compressor for each connection.
	up := &upgrade{ResponseWriter: w}
	conn, err := websocket.Accept(up, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, Subprotocols: []string{wire.SocketProtocol}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		h.o.Log.DebugContext(r.Context(), "upgrade failed", "error", err)
		return nil // Accept has answered
	}
	conn.SetReadLimit(command.MessageLimit + command.SmallLimit)
	t := &tab{
		conn: conn, wire: up.wire, who: who,
		ackSlots: make(chan struct{}, ackQueue),
		slots:    make(chan struct{}, slowCommands), behind: map[string]chan struct{}{},
		ending: make(chan struct{}), closed: make(chan struct{}), abort: func() { _ = up.wire.Close() },
		pinged: time.Now(), flushing: true, // until serve starts
		states: map[string][]byte{}, presence: map[string][]byte{}, private: map[string][]byte{}, progress: map[string]progress{}, readings: map[string]*reading{},
		hello: func() []byte {
			return wire.Encode(wire.Hello{
				Type: "hello", Protocol: wire.Protocol, ServerVersion: h.o.Version, NodeID: h.o.NodeID,
				User: wire.User{Name: who.User.Name, Role: who.User.Role}, UserID: who.User.UserID, ServerTime: wire.Seconds(time.Now()), LiveAppend: true,
			})
		},
	}
	if p := r.URL.Query().Get("protocol"); p != "" && p != "1" {
		t.end(wire.CloseOldVersion, errorFrame("old_protocol"))
		t.close()
		t.abort()
		return nil
	}
	if !h.join(t) {
		t.end(wire.CloseGoingAway, errorFrame("too_many_connections"))
		t.close()
		t.abort()
		return nil
	}
	go h.serveTab(context.WithoutCancel(r.Context()), t) // until leave
	return nil
}

// queuePersonal queues the bookmarks and drafts of the user of a new tab. It tries again until the
// store can be read or ctx ends: nothing else would send them to this tab.
func (h *Hub) queuePersonal(ctx context.Context, t *tab) {
	for _, queue := range []func(context.Context, *tab) error{h.queueBookmarks, h.queueDrafts} {
		for pause := retryAfter; ; pause = min(2*pause, maxRetryAfter) {
			err := queue(ctx, t)
			if err == nil || ctx.Err() != nil {
				break
			}
			if pause == retryAfter {
				h.o.Log.ErrorContext(ctx, "read bookmarks and drafts for a tab", "error", err)
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// serveTab runs a tab until it ends, and waits for its goroutines.
func (h *Hub) serveTab(ctx context.Context, t *tab) {
	defer h.leave(t)
	defer h.o.Alerts.RemoveTab(t)
	defer func() { _ = t.conn.CloseNow() }()
	defer h.recoverTab(ctx, t)
	ctx, cancel := context.WithCancel(ctx)
	t.abort = func() {
		cancel()
		_ = t.wire.Close()
	}
	defer t.abort()
	t.flush = func() { t.sendOutbox(ctx) }
	go t.flush() // one at a time; the last one closes t.closed
	t.work.Go(func() {
		defer h.recoverTab(ctx, t)
		h.queuePersonal(ctx, t)
	})
	h.readCommands(ctx, t)
	t.end(wire.CloseGoingAway, wire.ErrorFrame{}) // the connection is gone
	<-t.closed
	t.work.Wait()
}
