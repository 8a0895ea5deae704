package wsapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/failpoint"
	"github.com/sayso-dev/sayso/project"
	"github.com/sayso-dev/sayso/session"
)

// Times and sizes of one tab.
const (
	writeDeadline = 10 * time.Second // a message the tab has not taken by then ends the connection
	cutAfter      = 2 * time.Second  // how long an end may take that the tab does not answer
	pingEvery     = 20 * time.Second
	pongDeadline  = 10 * time.Second
	largeDeadline = time.Minute // for a message above smallLimit to arrive
	batchBytes    = 1 << 20     // of frames in one message, unless one is larger
	ackQueue      = 64          // acks the tab has not taken; then its commands wait
	slowCommands  = 16          // at once; then the tab's commands wait
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

	cancel  context.CancelFunc // cuts the connection
	endOnce sync.Once
	ending  chan struct{} // closed when the tab is to be closed
	code    websocket.StatusCode
	last    []byte // the error frame before the close, or nil

	hidden string // the projects that it may not see; the hub's mutex protects it

	mu       sync.Mutex // protects following
	snapshot []byte     // active_processes, until it is sent
	notice   []byte     // until it is sent
	states   map[string][]byte
	order    []string // of states
	presence map[string][]byte
	private  map[string][]byte // about what is the person's alone
	progress map[string]progress
	readings map[string]*reading
}

// progress is a lifecycle frame.
type progress struct {
	at    time.Time
	frame []byte
}

func newProgress(sessionID string, l *session.Lifecycle) progress {
	return progress{at: l.At, frame: encode(wireLifecycle(sessionID, l))}
}

// upgrade keeps the connection that the library takes over.
type upgrade struct {
	http.ResponseWriter
	wire net.Conn
}

// Hijack implements [http.Hijacker].
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(u.ResponseWriter).Hijack()
	u.wire = conn
	return conn, buffered, err
}

// getSocket turns a request into a tab and serves it until it ends.
func (s *Server) getSocket(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if r.Header.Get("Upgrade") == "" {
		ref := refuse(http.StatusUpgradeRequired, "upgrade_required", "This address is for WebSockets.")
		w.Header().Set("Upgrade", "websocket")
		return ref
	}
	if !s.hub.open() {
		return goingAway()
	}
	// The origin was checked by checkOrigin, exactly; compression costs more than
	// it saves, because the library compresses for each connection anew.
	up := &upgrade{ResponseWriter: w}
	conn, err := websocket.Accept(up, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		s.o.Log.DebugContext(r.Context(), "upgrade failed", "error", err)
		return nil // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(speechLimit + smallLimit)
	t := &tab{
		hub: s.hub, conn: conn, wire: up.wire, who: who,
		wake: make(chan struct{}, 1), acks: make(chan []byte, ackQueue),
		slots: make(chan struct{}, slowCommands), behind: map[string]chan struct{}{},
		ending: make(chan struct{}), cancel: func() {},
		states: map[string][]byte{}, presence: map[string][]byte{}, private: map[string][]byte{}, progress: map[string]progress{}, readings: map[string]*reading{},
	}
	if p := r.URL.Query().Get("protocol"); p != "" && p != "1" {
		t.end(CloseOldVersion, ErrorFrame{Type: "error", Code: "old_protocol", Message: "This page is out of date. Load it again."})
		t.close()
		return nil
	}
	if !s.hub.join(t) {
		t.end(CloseGoingAway, ErrorFrame{Type: "error", Code: "unavailable", Message: "The server takes no more connections now. Try again in a moment."})
		t.close()
		return nil
	}
	t.serve(r.Context())
	return nil
}

// serve runs the tab until it ends and leaves nothing behind.
func (t *tab) serve(ctx context.Context) {
	defer t.hub.leave(t)
	defer t.hub.s.looking(t, false)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.cancel = cancel
	var own sync.WaitGroup
	own.Go(func() { defer cancel(); t.write(ctx) })
	own.Go(func() { t.ping(ctx) })
	own.Go(func() { t.bringDrafts(ctx) })
	t.read(ctx)
	t.end(CloseGoingAway, ErrorFrame{}) // the writer stops; the connection is gone
	own.Wait()
	t.work.Wait()
}

// end asks the writer to close the connection. A message that the tab does not
// take cannot keep it open.
func (t *tab) end(code websocket.StatusCode, why ErrorFrame) {
	t.endOnce.Do(func() {
		t.code = code
		if why.Type != "" {
			t.last = encode(why)
		}
		close(t.ending)
	})
}

// close ends the connection with the code and, before it, the last frame.
func (t *tab) close() {
	t.end(CloseGoingAway, ErrorFrame{})       // unless there is a better reason
	cut := time.AfterFunc(cutAfter, t.cancel) // the last frame and the close together
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
		pong, cancel := context.WithTimeout(ctx, pongDeadline)
		err := t.conn.Ping(pong)
		cancel()
		if err != nil {
			_ = t.conn.CloseNow()
			return
		}
	}
}

// write sends the outbox whenever there is something in it: hello, then what
// runs, then what changes.
func (t *tab) write(ctx context.Context) {
	defer t.close()
	o := t.hub.s.o
	hello := encode(Hello{
		Type: "hello", Protocol: Protocol, ServerVersion: o.Version, NodeID: o.NodeID,
		User: User{Name: t.who.User.Name, Role: t.who.User.Role}, ServerTime: seconds(time.Now()),
	})
	if !t.send(ctx, hello) {
		return
	}
	snapshot := t.awaitSnapshot(ctx)
	if snapshot == nil || !t.send(ctx, snapshot) {
		return
	}
	var buf bytes.Buffer
	for {
		var frames [][]byte
		select {
		case <-ctx.Done():
			return
		case <-t.ending:
			return
		case <-t.hub.closing:
			return
		case ack := <-t.acks:
			frames = append(frames, ack)
		case <-t.wake:
		}
		frames, more := t.take(ctx, frames)
		if more {
			poke(t.wake)
		}
		for len(frames) > 0 {
			var message []byte
			message, frames = batch(&buf, frames)
			if !t.send(ctx, message) {
				return
			}
		}
		if buf.Cap() > 4*batchBytes {
			buf = bytes.Buffer{}
		}
	}
}

// awaitSnapshot waits for the hub's first word; nil when the tab ends before.
func (t *tab) awaitSnapshot(ctx context.Context) []byte {
	for {
		t.mu.Lock()
		snapshot := t.snapshot
		t.snapshot = nil
		t.mu.Unlock()
		if snapshot != nil {
			poke(t.wake) // the outbox may hold more
			return snapshot
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.ending:
			return nil
		case <-t.hub.closing:
			return nil
		case <-t.wake:
		}
	}
}

// take empties the outbox. more says that a transcript goes on.
func (t *tab) take(ctx context.Context, frames [][]byte) (_ [][]byte, more bool) {
	for {
		select {
		case ack := <-t.acks:
			frames = append(frames, ack)
			continue
		default:
		}
		break
	}
	var dirty []*reading
	t.mu.Lock()
	if t.notice != nil {
		frames = append(frames, t.notice)
		t.notice = nil
	}
	for _, id := range t.order {
		frames = append(frames, t.states[id])
	}
	for _, r := range t.progress {
		frames = append(frames, r.frame)
	}
	for _, frame := range t.presence {
		frames = append(frames, frame)
	}
	for _, frame := range t.private {
		frames = append(frames, frame)
	}
	t.order = t.order[:0]
	clear(t.states)
	clear(t.progress)
	clear(t.presence)
	clear(t.private)
	for _, r := range t.readings {
		if r.dirty {
			r.dirty = false
			dirty = append(dirty, r)
		}
	}
	t.mu.Unlock()
	for _, r := range dirty {
		frame, again := t.transcript(ctx, r)
		if frame != nil {
			frames = append(frames, frame)
		}
		more = more || again
	}
	return frames, more
}

// transcript returns the next piece for a reading, nil when there is nothing
// new, and whether to look again.
func (t *tab) transcript(ctx context.Context, r *reading) (frame []byte, again bool) {
	t.mu.Lock()
	cursor := r.cursor
	t.mu.Unlock()
	p := t.hub.read(ctx, r.feed, cursor)

	t.mu.Lock()
	defer t.mu.Unlock()
	if p.err != nil {
		// The next bell, or the next turn of this tab's ping, looks again.
		r.dirty = true
		time.AfterFunc(retryAfter, func() { poke(t.wake) })
		return nil, false
	}
	if t.readings[r.feed.sessionID] != r {
		return nil, false // it subscribed anew or left meanwhile
	}
	if p.empty && !r.first && p.liveRound == r.liveRound {
		return nil, false
	}
	r.first, r.cursor, r.liveRound = false, p.next, p.liveRound
	r.dirty = r.dirty || p.more
	return p.frame, r.dirty
}

// batch joins frames into one message, as many as fit, and returns the rest.
func batch(buf *bytes.Buffer, frames [][]byte) (message []byte, rest [][]byte) {
	n, size := 1, len(frames[0])
	for n < len(frames) && size+len(frames[n]) <= batchBytes {
		size += len(frames[n])
		n++
	}
	if n == 1 {
		return frames[0], frames[1:]
	}
	buf.Reset()
	buf.WriteString(`{"type":"batch","frames":[`)
	for i, f := range frames[:n] {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(f)
	}
	buf.WriteString(`]}`)
	return buf.Bytes(), frames[n:]
}

// send writes one message. A tab that does not take it in time is told so, if
// it can still be told, and cut.
func (t *tab) send(ctx context.Context, message []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, writeDeadline+cutAfter)
	defer cancel()
	told := make(chan struct{})
	slow := time.AfterFunc(writeDeadline, func() {
		defer close(told)
		t.hub.slow.Add(1)
		t.end(CloseTooSlow, ErrorFrame{})
		t.shut(CloseTooSlow, "") // waits for its turn behind the message
	})
	err := failpoint.Hit("frame.before_send")
	if err == nil {
		err = failpoint.After("frame.after_send", t.conn.Write(ctx, websocket.MessageText, message))
	}
	if !slow.Stop() {
		cancel()
		<-told
		return false
	}
	return err == nil
}

func (t *tab) putSnapshot(frame []byte) {
	t.mu.Lock()
	t.snapshot = frame
	t.mu.Unlock()
	poke(t.wake)
}

func (t *tab) putState(sessionID string, frame []byte) {
	t.mu.Lock()
	if _, ok := t.states[sessionID]; !ok {
		t.order = append(t.order, sessionID)
	}
	t.states[sessionID] = frame
	t.mu.Unlock()
	poke(t.wake)
}

func (t *tab) putPresence(sessionID string, frame []byte) {
	t.mu.Lock()
	t.presence[sessionID] = frame
	t.mu.Unlock()
	poke(t.wake)
}

// putProgress keeps the newer one: what a subscribe has read may be older than what
// the hub has put meanwhile.
func (t *tab) putProgress(sessionID string, r progress) {
	t.mu.Lock()
	if !t.progress[sessionID].at.After(r.at) {
		t.progress[sessionID] = r
	}
	t.mu.Unlock()
	poke(t.wake)
}

func (t *tab) putReading(sessionID string, r *reading) {
	t.mu.Lock()
	t.readings[sessionID] = r
	t.mu.Unlock()
	poke(t.wake)
}

func (t *tab) dropReading(sessionID string) {
	t.mu.Lock()
	delete(t.readings, sessionID)
	delete(t.presence, sessionID)
	t.mu.Unlock()
}

func (t *tab) markTranscript(f *feed) {
	t.mu.Lock()
	if r := t.readings[f.sessionID]; r != nil {
		r.dirty = true
	}
	t.mu.Unlock()
	poke(t.wake)
}

// read takes commands until the connection ends.
func (t *tab) read(ctx context.Context) {
	for {
		kind, r, err := t.conn.Reader(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			t.shut(websocket.StatusUnsupportedData, "commands are text")
			return
		}
		if !t.readOne(ctx, r) {
			return
		}
	}
}

// readOne takes one message. Most must be small; a large one waits for its turn
// among all tabs, and what it is, it may say at its end.
func (t *tab) readOne(ctx context.Context, r io.Reader) bool {
	data, err := io.ReadAll(io.LimitReader(r, smallLimit+1))
	if err != nil {
		return false
	}
	if len(data) > smallLimit {
		tooBig := func() bool {
			t.shut(websocket.StatusMessageTooBig, "command too large")
			return false
		}
		if !t.who.User.Role.AtLeast(account.Member) {
			return tooBig()
		}
		select {
		case t.hub.large <- struct{}{}:
			defer func() { <-t.hub.large }()
		case <-ctx.Done():
			return false
		case <-t.ending:
			return false
		}
		late := time.AfterFunc(largeDeadline, func() { _ = t.conn.CloseNow() })
		rest, err := io.ReadAll(io.LimitReader(r, speechLimit-int64(len(data))+1))
		late.Stop()
		if err != nil {
			return false
		}
		data = append(data, rest...)
		if spec := commandSpecs[typeOf(data)]; int64(len(data)) > spec.most() {
			return tooBig()
		}
	}
	if !utf8.Valid(data) {
		t.shut(websocket.StatusInvalidFramePayloadData, "not UTF-8")
		return false
	}
	return t.command(ctx, data)
}

// typeOf is the type that a message says it has, "" when it says none.
func typeOf(data []byte) string {
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(data, &head) // what is wrong with it decodeStrict says
	return head.Type
}

// command carries out one command and acks it. It is false when the connection
// is to end.
func (t *tab) command(ctx context.Context, data []byte) bool {
	var head struct {
		Type      string `json:"type"`
		CommandID string `json:"command_id"`
	}
	_ = json.Unmarshal(data, &head) // what is wrong with it decodeStrict says
	if len(head.CommandID) > 64 {
		head.CommandID = ""
	}
	reject := func(ref *refusal) bool {
		body := ref.body
		return t.ack(ctx, Ack{CommandID: head.CommandID, Result: ref.result, Error: &body})
	}
	spec, known := commandSpecs[head.Type]
	if !known {
		if err := decodeStrict(data, &map[string]any{}); err != nil {
			return reject(refuse(http.StatusBadRequest, "invalid", err.Error()))
		}
		return reject(refuse(http.StatusBadRequest, "unknown_type", "The server does not know this command."))
	}
	c := spec.make()
	if err := decodeStrict(data, c); err != nil {
		return reject(refuse(http.StatusBadRequest, "invalid", err.Error()))
	}
	if _, err := uuid.Parse(head.CommandID); err != nil || len(head.CommandID) != 36 {
		return reject(refuseField("command_id", "A command needs a command_id, which is a UUID."))
	}
	who, err := t.hub.s.o.Directory.Renew(ctx, t.who)
	if !t.recognise(who, err) {
		return false
	}
	if err != nil {
		return reject(t.hub.s.code(err))
	}
	switch c := c.(type) {
	case deed:
		return t.perform(ctx, spec, c, who)
	default:
		if err := t.hub.s.admit(spec, c, who); err != nil {
			return reject(t.hub.s.code(err))
		}
		return t.own(ctx, c, who, reject)
	}
}

// perform carries out a command that both doors take. The slow ones run aside,
// so that an answer never waits for them.
func (t *tab) perform(ctx context.Context, spec commandSpec, c deed, who account.Identity) bool {
	run := func() bool {
		// A command that has begun outlives its tab, but not the server.
		deed, done := t.hub.during(context.WithoutCancel(ctx))
		defer done()
		out := t.hub.s.perform(deed, spec, c, who).Outcome
		return t.ack(ctx, Ack{
			CommandID: out.CommandID, Result: out.Result, Error: out.Error, Resolved: out.Resolved,
			SessionID: out.SessionID, MessageID: out.MessageID, ExpiresAt: out.ExpiresAt, HeldUntil: out.HeldUntil,
		})
	}
	if !spec.slow {
		return run()
	}
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	var before, done chan struct{}
	if spec.ordered {
		_, sessionID := c.id()
		t.sweep()
		before, done = t.behind[sessionID], make(chan struct{})
		t.behind[sessionID] = done
	}
	t.work.Go(func() {
		defer func() { <-t.slots }()
		if done != nil {
			defer close(done)
		}
		if before != nil {
			<-before
		}
		run()
	})
	return true
}

// sweep forgets ordered commands that are done.
func (t *tab) sweep() {
	if len(t.behind) < slowCommands {
		return
	}
	for id, done := range t.behind {
		select {
		case <-done:
			delete(t.behind, id)
		default:
		}
	}
}

// own carries out a command that is about the tab itself.
func (t *tab) own(ctx context.Context, c command, who account.Identity, reject func(*refusal) bool) bool {
	commandID, sessionID := c.id()
	switch c := c.(type) {
	case *Subscribe:
		ses, err := t.hub.s.may(ctx, who, project.See, sessionID)
		if err != nil {
			if !errors.Is(err, session.ErrNotFound) {
				report(ctx, t.hub.s.o.Log, "subscribe", t.hub.s.code(err))
			}
			return reject(t.hub.s.code(err))
		}
		if !t.ack(ctx, Ack{CommandID: commandID, Result: Applied}) {
			return false
		}
		t.hub.subscribe(t, sessionID, c.After)
		if ses.Lifecycle != nil {
			t.putProgress(sessionID, newProgress(sessionID, ses.Lifecycle))
		}
		return true
	case *Unsubscribe:
		t.hub.unsubscribe(t, sessionID)
	case *Typing:
		t.hub.typing(t, sessionID, c.RequestID)
	case *Looking:
		t.hub.s.looking(t, c.Looking)
	}
	return t.ack(ctx, Ack{CommandID: commandID, Result: Applied})
}

// ack queues the answer to a command. It waits when the tab does not take its
// acks; then the tab's commands wait, and memory does not grow.
func (t *tab) ack(ctx context.Context, a Ack) bool {
	a.Type = "ack"
	if failpoint.Hit("ack.before_send") != nil {
		t.cancel()
		return false
	}
	select {
	case t.acks <- encode(a):
		if failpoint.Hit("ack.after_send") != nil {
			t.cancel()
			return false
		}
		return true
	case <-ctx.Done():
		return false
	case <-t.ending:
		return false
	}
}
