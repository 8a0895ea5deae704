package wsapi

import (
	"bytes"
	"context"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/wire"
)

// write sends the outbox whenever there is something in it: hello, then what
// runs, then what changes.
func (t *tab) write(ctx context.Context) {
	defer t.close()
	o := t.hub.o
	hello := wire.Encode(wire.Hello{
		Type: "hello", Protocol: wire.Protocol, ServerVersion: o.Version, NodeID: o.NodeID,
		User: wire.User{Name: t.who.User.Name, Role: t.who.User.Role}, UserID: t.who.User.UserID, ServerTime: wire.Seconds(time.Now()),
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
			wake(t.wake)
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

// awaitSnapshot waits for the hub's first frame and returns nil when the tab ends before.
// While the store cannot be read, it sends why.
func (t *tab) awaitSnapshot(ctx context.Context) []byte {
	for {
		t.mu.Lock()
		snapshot := t.snapshot
		t.snapshot = nil
		var notice []byte
		if snapshot == nil && t.snapshotFailed {
			notice, t.notice = t.notice, nil
		}
		t.mu.Unlock()
		if snapshot != nil {
			wake(t.wake) // the outbox may hold more
			return snapshot
		}
		if notice != nil && !t.send(ctx, notice) {
			return nil
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
	toasts := t.toasts
	t.toasts = nil
	for _, id := range t.order {
		frames = append(frames, t.states[id])
	}
	if toasts != nil { // behind the requests that they name
		frames = append(frames, toasts)
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
		// The next notification, or the next turn of this tab's ping, looks again.
		r.dirty = true
		time.AfterFunc(retryAfter, func() { wake(t.wake) })
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
	closed := make(chan struct{})
	slow := time.AfterFunc(writeDeadline, func() {
		defer close(closed)
		t.hub.slow.Add(1)
		t.end(wire.CloseTooSlow, wire.ErrorFrame{})
		t.shut(wire.CloseTooSlow, "") // waits for its turn behind the message
	})
	err := failpoint.Hit("frame.before_send")
	if err == nil {
		err = failpoint.After("frame.after_send", t.conn.Write(ctx, websocket.MessageText, message))
	}
	if !slow.Stop() {
		cancel()
		<-closed
		return false
	}
	return err == nil
}

func (t *tab) putSnapshot(frame []byte) {
	t.mu.Lock()
	t.snapshot = frame
	t.mu.Unlock()
	wake(t.wake)
}

func (t *tab) putState(sessionID string, frame []byte) {
	t.mu.Lock()
	if _, ok := t.states[sessionID]; !ok {
		t.order = append(t.order, sessionID)
	}
	t.states[sessionID] = frame
	t.mu.Unlock()
	wake(t.wake)
}

func (t *tab) putPresence(sessionID string, frame []byte) {
	t.mu.Lock()
	t.presence[sessionID] = frame
	t.mu.Unlock()
	wake(t.wake)
}

// Toast puts what waits where the person of the tab does not look.
func (t *tab) Toast(requestIDs []string, more int) {
	frame := wire.Encode(wire.Toasts{Type: "toasts", RequestIDs: requestIDs, More: more})
	t.mu.Lock()
	t.toasts = frame
	t.mu.Unlock()
	wake(t.wake)
}

// putProgress keeps the newer one: what a subscribe has read may be older than what
// the hub has put meanwhile.
func (t *tab) putProgress(sessionID string, r progress) {
	t.mu.Lock()
	if !t.progress[sessionID].at.After(r.at) {
		t.progress[sessionID] = r
	}
	t.mu.Unlock()
	wake(t.wake)
}

func (t *tab) putReading(sessionID string, r *reading) {
	t.mu.Lock()
	t.readings[sessionID] = r
	t.mu.Unlock()
	wake(t.wake)
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
	wake(t.wake)
}
