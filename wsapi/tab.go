package wsapi

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// Times and sizes of one tab.
const (
	writeDeadline = 10 * time.Second // a message the tab has not taken by then ends the connection
	cutAfter      = 2 * time.Second  // how long an end may take that the tab does not answer
	pingEvery     = 20 * time.Second
	pongDeadline  = 10 * time.Second
	batchBytes    = 1 << 20 // of frames in one message, unless one is larger
	ackQueue      = 64      // acks the tab has not taken; then its commands wait
	slowCommands  = 16      // at once; then the tab's commands wait
)

// A tab is one browser connection. Its outbox holds the newest frame of each
// session that changed, and where it is in each transcript it reads; both are
// bounded by what there is, not by what has happened.
type tab struct {
	hub  *Hub
	conn *websocket.Conn
	wire net.Conn // below conn
	who  account.Identity

	wake chan struct{} // capacity 1: the outbox has something
	acks chan []byte   // taken by the writer

	slots  chan struct{}            // slow commands that run
	behind map[string]chan struct{} // by session: the last ordered command; of the reader alone
	work   sync.WaitGroup           // commands
	taking atomic.Bool              // something large waits for its turn or comes in

	cancel  context.CancelFunc // cuts the connection
	endOnce sync.Once
	ending  chan struct{} // closed when the tab is to be closed
	code    websocket.StatusCode
	last    []byte // the error frame before the close, or nil

	hidden string // the projects that it may not see; the hub's mutex protects it

	mu       sync.Mutex // protects following
	snapshot []byte     // active_processes, until it is sent
	notice   []byte     // until it is sent
	// snapshotFailed: what runs could not be read for this tab yet.
	snapshotFailed bool
	toasts         []byte // until they are sent
	states         map[string][]byte
	order          []string // of states
	presence       map[string][]byte
	private        map[string][]byte // about what is the person's alone
	progress       map[string]progress
	readings       map[string]*reading
}

// progress is a lifecycle frame.
type progress struct {
	at    time.Time
	frame []byte
}

func newProgress(sessionID string, l *session.Lifecycle) progress {
	return progress{at: l.At, frame: wire.Encode(wire.NewLifecycle(sessionID, l))}
}

// serve runs the tab until it ends and leaves nothing behind.
func (t *tab) serve(ctx context.Context) {
	defer t.hub.leave(t)
	defer t.hub.o.Alerts.RemoveTab(t)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.cancel = cancel
	var own sync.WaitGroup
	own.Go(func() { defer cancel(); t.write(ctx) })
	own.Go(func() { t.ping(ctx) })
	own.Go(func() { t.queueDrafts(ctx) })
	t.read(ctx)
	t.end(wire.CloseGoingAway, wire.ErrorFrame{}) // the writer stops; the connection is gone
	own.Wait()
	t.work.Wait()
}

// end asks the writer to close the connection. A message that the tab does not
// take cannot keep it open.
func (t *tab) end(code websocket.StatusCode, why wire.ErrorFrame) {
	t.endOnce.Do(func() {
		t.code = code
		if why.Type != "" {
			t.last = wire.Encode(why)
		}
		close(t.ending)
	})
}

// close ends the connection with the code and, before it, the last frame.
func (t *tab) close() {
	t.end(wire.CloseGoingAway, wire.ErrorFrame{}) // unless there is a better reason
	cut := time.AfterFunc(cutAfter, t.cancel)     // the last frame and the close together
	defer cut.Stop()
	if t.last != nil {
		ctx, cancel := context.WithTimeout(context.Background(), cutAfter)
		defer cancel()
		_ = t.conn.Write(ctx, websocket.MessageText, t.last) // the close follows either way
	}
	t.shut(t.code, "")
}

// shut closes the WebSocket with a number. The library then waits for the answer
// of the other end and reads whatever comes before it, without end when a frame
// has none; so what it reads from is cut.
func (t *tab) shut(code websocket.StatusCode, reason string) {
	cut := time.AfterFunc(cutAfter, func() {
		t.cancel()
		_ = t.wire.Close()
	})
	defer cut.Stop()
	_ = t.conn.Close(code, reason)
}

// ping finds out whether the other end is still there.
func (t *tab) ping(ctx context.Context) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if t.taking.Load() {
			continue // its pong would stand behind what is large, which has its own time
		}
		pong, cancel := context.WithTimeout(ctx, pongDeadline)
		err := t.conn.Ping(pong)
		cancel()
		if err != nil && !t.taking.Load() {
			_ = t.conn.CloseNow()
			return
		}
	}
}
