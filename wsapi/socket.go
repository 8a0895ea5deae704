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
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// Sizes of the buffers of one tab. Most tabs are idle most of the time.
const (
	readBuffer  = 512
	writeBuffer = 256 // of the library, for its control frames
)

// upgrade keeps the connection that the library takes over.
type upgrade struct {
	http.ResponseWriter
	wire *frameConn
}

// Hijack implements [http.Hijacker]. It replaces the buffers of the HTTP server by smaller
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

// ServeTab turns a request into a tab and returns; [Hub.Run] owns the tab until it ends. So
// nothing of the request is kept as long as the tab. The caller has authenticated who and
// checked the origin. An error is the refusal of a request that was not answered.
func (h *Hub) ServeTab(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if r.Header.Get("Upgrade") == "" {
		ref := refusal.New("upgrade_required")
		w.Header().Set("Upgrade", "websocket")
		return ref
	}
	if !h.Running() {
		return refusal.GoingAway()
	}
	// The caller has checked the origin, exactly; compression costs more than it saves,
	// because the library compresses for each connection anew.
	up := &upgrade{ResponseWriter: w}
	conn, err := websocket.Accept(up, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, Subprotocols: []string{wire.SocketProtocol}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		h.o.Log.DebugContext(r.Context(), "upgrade failed", "error", err)
		return nil // Accept has answered
	}
	conn.SetReadLimit(command.SpeechLimit + command.SmallLimit)
	t := &tab{
		hub: h, conn: conn, wire: up.wire, who: who,
		ackSlots: make(chan struct{}, ackQueue),
		slots:    make(chan struct{}, slowCommands), behind: map[string]chan struct{}{},
		ending: make(chan struct{}), closed: make(chan struct{}), cut: func() { _ = up.wire.Close() },
		pinged: time.Now(), flushing: true, // until serve begins
		states: map[string][]byte{}, presence: map[string][]byte{}, private: map[string][]byte{}, progress: map[string]progress{}, readings: map[string]*reading{},
	}
	if p := r.URL.Query().Get("protocol"); p != "" && p != "1" {
		t.end(wire.CloseOldVersion, errorFrame("old_protocol"))
		t.close()
		t.cut()
		return nil
	}
	if !h.join(t) {
		t.end(wire.CloseGoingAway, errorFrame("too_many_connections"))
		t.close()
		t.cut()
		return nil
	}
	go t.serve(context.WithoutCancel(r.Context())) // until leave
	return nil
}

// errorFrame returns the frame that says before a close why the connection ends.
func errorFrame(reason string) wire.ErrorFrame {
	p := problem.New(reason)
	return wire.ErrorFrame{Type: "error", Code: p.Class().Code, Message: p.Message}
}
