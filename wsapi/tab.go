package wsapi

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/wire"
)

// Times and sizes of one tab.
const (
	writeDeadline = 10 * time.Second // a message the tab has not taken by then ends the connection
	closeTimeout  = 2 * time.Second  // how long an end may take that the tab does not answer
	pingEvery     = 20 * time.Second
	pongDeadline  = 10 * time.Second
	tabsEvery     = 500 * time.Millisecond // how often these are checked
	pingsAtOnce   = 64                     // so that tabs that came together are pinged in turn
	batchBytes    = 1 << 20                // of frames in one message, unless one is larger
	ackQueue      = 64                     // acks the tab has not taken; then its commands wait
	slowCommands  = 16                     // at once; then the tab's commands wait
	retryAfter    = 250 * time.Millisecond // after the store failed
)

// A tab is one browser connection. Its outbox holds the newest frame of each
// session that changed, and where it is in each transcript it reads; both are
// bounded by what there is, not by what has happened.
type tab struct {
	conn *websocket.Conn
	wire *frameConn // below conn
	who  account.Identity

	hello func() []byte // returns the first frame

	ackSlots chan struct{} // acks in the outbox; the reader waits for a free slot

	slots  chan struct{}            // slow commands that run
	behind map[string]chan struct{} // by session: the last ordered command; of the reader alone
	work   sync.WaitGroup           // commands
	busy   atomic.Bool              // a large message waits or is read, or a command runs

	abort   context.CancelFunc // ends the connection at once
	endOnce sync.Once
	ending  chan struct{} // closed when the tab is to be closed
	code    websocket.StatusCode
	last    []byte        // the error frame before the close, or nil
	closed  chan struct{} // closed by the last flush

	writing atomic.Int64 // when the current write began, in Unix ns; 0 between writes
	tooSlow bool         // it did not receive a message in time; only watchTabs uses it
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

// stage is what a tab has been sent first.
type stage int

const (
	beforeHello stage = iota
	afterHello
	afterSnapshot
)

// end requests that the connection is closed. It never blocks. A message that the tab does
// not receive cannot keep the connection open.
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

// isEnding reports whether the connection will be closed.
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
	t.end(wire.CloseGoingAway, wire.ErrorFrame{})    // unless there is a better reason
	timeout := time.AfterFunc(closeTimeout, t.abort) // the last frame and the close together
	defer timeout.Stop()
	if t.last != nil {
		_ = t.wire.writeText(t.last) // the close follows either way
	}
	t.closeWith(t.code, "")
}

// closeWith closes the WebSocket with a status. The library then waits for the answer of
// the other end and reads everything before it, possibly forever; so the connection is
// closed after closeTimeout.
func (t *tab) closeWith(code websocket.StatusCode, reason string) {
	timeout := time.AfterFunc(closeTimeout, t.abort)
	defer timeout.Stop()
	_ = t.conn.Close(code, reason)
}

// ping checks whether the other end is still connected.
func (t *tab) ping() {
	ctx, cancel := context.WithTimeout(context.Background(), pongDeadline)
	defer cancel()
	if err := t.conn.Ping(ctx); err != nil && !t.busy.Load() {
		_ = t.conn.CloseNow()
	}
}

// queue changes the outbox and has it sent.
func (t *tab) queue(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
	if t.flushing {
		t.again = true
		return
	}
	t.flushing = true
	go t.flush()
}

// errorFrame returns the frame that says before a close why the connection ends.
func errorFrame(reason string) wire.ErrorFrame {
	p := problem.New(reason)
	return wire.ErrorFrame{Type: "error", Code: p.Class().Code, Message: p.Message}
}
