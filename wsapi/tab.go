package wsapi

import (
	"context"
	"runtime/debug"
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
	tabsEvery     = 500 * time.Millisecond // how often these are checked
	pingsAtOnce   = 64                     // so that tabs that came together are pinged in turn
	batchBytes    = 1 << 20                // of frames in one message, unless one is larger
	ackQueue      = 64                     // acks the tab has not taken; then its commands wait
	slowCommands  = 16                     // at once; then the tab's commands wait
)

// A tab is one browser connection. Its outbox holds the newest frame of each
// session that changed, and where it is in each transcript it reads; both are
// bounded by what there is, not by what has happened.
type tab struct {
	hub  *Hub
	conn *websocket.Conn
	wire *frameConn // below conn
	who  account.Identity

	ackSlots chan struct{} // acks in the outbox; the reader waits for a free slot

	slots  chan struct{}            // slow commands that run
	behind map[string]chan struct{} // by session: the last ordered command; of the reader alone
	work   sync.WaitGroup           // commands
	taking atomic.Bool              // something large waits for its turn or comes in, or a command is carried out

	cut     context.CancelFunc // ends the connection at once
	endOnce sync.Once
	ending  chan struct{} // closed when the tab is to be closed
	code    websocket.StatusCode
	last    []byte        // the error frame before the close, or nil
	closed  chan struct{} // closed by the last flush

	writing atomic.Int64 // when the current write began, in Unix ns; 0 between writes
	tooSlow bool         // it did not take a message in time; of watchTabs alone
	pinged  time.Time    // of watchTabs alone
	stage   stage        // of flush alone

	hidden string // the projects that it may not see; the hub's mutex protects it

	mu       sync.Mutex // protects following
	flush    func()     // sends the outbox
	flushing bool       // flush runs, or must not
	again    bool       // flush must look again
	acks     [][]byte   // until they are sent
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

// stage is how far the greeting of a tab has come.
type stage int

const (
	beforeHello stage = iota
	afterHello
	afterSnapshot
)

// serve runs the tab until it ends and leaves nothing behind.
func (t *tab) serve(ctx context.Context) {
	defer t.hub.leave(t)
	defer t.hub.o.Alerts.RemoveTab(t)
	defer func() { _ = t.conn.CloseNow() }()
	defer t.recover(ctx)
	ctx, cancel := context.WithCancel(ctx)
	t.cut = func() {
		cancel()
		_ = t.wire.Close()
	}
	defer t.cut()
	t.flush = func() { t.sendOutbox(ctx) }
	go t.flush() // of which there is one at a time; the last closes t.closed
	t.work.Go(func() {
		t.queueBookmarks(ctx)
		t.queueDrafts(ctx)
	})
	t.read(ctx)
	t.end(wire.CloseGoingAway, wire.ErrorFrame{}) // the connection is gone
	<-t.closed
	t.work.Wait()
}

// recover ends the tab, and not the server, when a command fails in an unexpected way.
func (t *tab) recover(ctx context.Context) {
	if fault := recover(); fault != nil {
		t.hub.faults.Add(1)
		t.hub.o.Log.ErrorContext(ctx, "tab failed", "panic", fault, "stack", string(debug.Stack()))
	}
}

// end asks for the connection to be closed. It does not block. A message that the tab
// does not take cannot keep the connection open.
func (t *tab) end(code websocket.StatusCode, why wire.ErrorFrame) {
	t.endOnce.Do(func() {
		t.code = code
		if why.Type != "" {
			t.last = wire.Encode(why)
		}
		close(t.ending)
		t.queue(func() {})
	})
}

// isEnding reports whether the connection is to be closed.
func (t *tab) isEnding() bool {
	select {
	case <-t.ending:
		return true
	default:
		return false
	}
}

// close ends the connection with the code and, before it, the last frame.
func (t *tab) close() {
	t.end(wire.CloseGoingAway, wire.ErrorFrame{}) // unless there is a better reason
	cut := time.AfterFunc(cutAfter, t.cut)        // the last frame and the close together
	defer cut.Stop()
	if t.last != nil {
		_ = t.wire.writeText(t.last) // the close follows either way
	}
	t.shut(t.code, "")
}

// shut closes the WebSocket with a number. The library then waits for the answer
// of the other end and reads whatever comes before it, without end when a frame
// has none; so what it reads from is cut.
func (t *tab) shut(code websocket.StatusCode, reason string) {
	cut := time.AfterFunc(cutAfter, t.cut)
	defer cut.Stop()
	_ = t.conn.Close(code, reason)
}

// watchTabs closes the tabs that take no messages or answer no pings. One ticker for all
// of them costs less than a timer for each message.
func (h *Hub) watchTabs(ctx context.Context) {
	ticker := time.NewTicker(tabsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, pings := time.Now(), 0
		h.mu.Lock()
		for t := range h.tabs {
			switch began := t.writing.Load(); {
			case t.tooSlow:
			case began != 0 && now.Sub(time.Unix(0, began)) >= writeDeadline:
				t.tooSlow = true
				h.slow.Add(1)
				t.end(wire.CloseTooSlow, wire.ErrorFrame{})
				h.served.Go(func() { t.shut(wire.CloseTooSlow, "") }) // waits for its turn behind the message
			case pings < pingsAtOnce && now.Sub(t.pinged) >= pingEvery:
				t.pinged = now
				if !t.taking.Load() { // else its pong would stand behind what is large or slow
					pings++
					h.served.Go(t.ping)
				}
			}
		}
		h.mu.Unlock()
	}
}

// ping finds out whether the other end is still there.
func (t *tab) ping() {
	ctx, cancel := context.WithTimeout(context.Background(), pongDeadline)
	defer cancel()
	if err := t.conn.Ping(ctx); err != nil && !t.taking.Load() {
		_ = t.conn.CloseNow()
	}
}
