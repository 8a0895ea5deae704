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
	writeDeadline = 10 * time.Second // for one message; then the connection is closed
	closeTimeout  = 2 * time.Second  // for the client's reply to a close
	pingEvery     = 20 * time.Second
	pongDeadline  = 10 * time.Second
	tabsEvery     = 500 * time.Millisecond // how often these limits are checked
	pingsAtOnce   = 64                     // for each check, so that tabs that joined together are not all pinged at once
	batchBytes    = 1 << 20                // of frames in one message, unless one is larger
	ackQueue      = 64                     // maximum of unsent acks; more commands of the tab wait
	slowCommands  = 16                     // maximum of concurrent ones; more commands of the tab wait
	retryAfter    = 250 * time.Millisecond // after the store failed
	maxRetryAfter = 4 * time.Second        // of what each tab reads when it opens; thousands may open during an outage
)

// A tab is one browser connection. Its outbox holds the newest frame of each changed
// session, and the position in each transcript that the tab reads. Both are bounded by the
// number of sessions, not by the number of changes.
type tab struct {
	conn *websocket.Conn
	wire *frameConn // below conn
	who  account.Identity

	hello func() []byte // returns the first frame

	ackSlots chan struct{} // acks in the outbox; the reader waits for a free slot

	slots  chan struct{}            // of running slow commands
	behind map[string]chan struct{} // by session: the last ordered command; used only by the reader
	work   sync.WaitGroup           // commands
	busy   atomic.Bool              // a large message waits or is being read, or a command runs

	abort   context.CancelFunc // ends the connection at once
	endOnce sync.Once
	ending  chan struct{} // closed when the tab must end
	code    websocket.StatusCode
	last    []byte        // the error frame before the close, or nil
	closed  chan struct{} // closed by the last flush

	writing atomic.Int64 // when the current write began, in Unix ns; 0 between writes
	tooSlow bool         // it did not receive a message in time; only watchTabs uses it
	pinged  time.Time    // used only by watchTabs
	stage   stage        // used only by flush

	hidden string // hiddenKey of the last snapshot; the hub's mutex protects it

	mu       sync.Mutex // protects following
	flush    func()     // sends the outbox
	flushing bool       // flush is running, or must not run
	again    bool       // flush must run again
	acks     [][]byte   // until they are sent
	snapshot []byte     // active_processes, until it is sent
	notice   []byte     // until it is sent
	machines []byte     // until it is sent
	// snapshotFailed reports that the sessions could not be read for this tab yet.
	snapshotFailed bool
	toasts         []byte // until they are sent
	states         map[string][]byte
	order          []string // of states
	presence       map[string][]byte
	private        map[string][]byte // visible only to this person
	progress       map[string]progress
	readings       map[string]*reading
}

// stage tells which of its first frames a tab has been sent.
type stage int

const (
	beforeHello stage = iota
	afterHello
	afterSnapshot
)

// end requests that the connection be closed. It never blocks, and works even if the tab
// receives nothing.
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

// close sends the last frame and closes the connection with the code.
func (t *tab) close() {
	t.end(wire.CloseGoingAway, wire.ErrorFrame{})    // unless a reason was given before
	timeout := time.AfterFunc(closeTimeout, t.abort) // covers the last frame and the close
	defer timeout.Stop()
	if t.last != nil {
		_ = t.wire.writeText(t.last) // the close follows either way
	}
	t.closeWith(t.code, "")
}

// closeWith closes the WebSocket with a status. The library then waits for the reply and
// reads everything before it, possibly forever, so the connection is closed after
// closeTimeout.
func (t *tab) closeWith(code websocket.StatusCode, reason string) {
	timeout := time.AfterFunc(closeTimeout, t.abort)
	defer timeout.Stop()
	_ = t.conn.Close(code, reason)
}

// ping checks whether the client is still connected.
func (t *tab) ping() {
	ctx, cancel := context.WithTimeout(context.Background(), pongDeadline)
	defer cancel()
	if err := t.conn.Ping(ctx); err != nil && !t.busy.Load() {
		_ = t.conn.CloseNow()
	}
}

// queue applies change to the outbox, and starts flush unless it is running. It never blocks.
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

// errorFrame returns the frame that explains the close.
func errorFrame(reason string) wire.ErrorFrame {
	p := problem.New(reason)
	return wire.ErrorFrame{Type: "error", Code: p.Class().Code, Message: p.Message}
}
