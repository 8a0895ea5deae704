package wsapi

import (
	"bytes"
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/wire"
)

// sendOutbox sends the outbox until it is empty, and closes the connection if the tab is
// ending. It then returns, so that an idle tab needs no goroutine for sending.
func (t *tab) sendOutbox(ctx context.Context) {
	for t.sendOnce(ctx) {
		t.mu.Lock()
		again := t.again
		t.flushing, t.again = again, false
		t.mu.Unlock()
		if !again {
			return
		}
	}
	t.close()
	t.abort()
	close(t.closed) // flushing stays true, so this was the last
}

// pooledBytes bounds the size of buffers that are kept for further batches.
const pooledBytes = 4 * batchBytes

// sendOnce sends the content of the outbox: hello, then the snapshot, then changes. It
// returns false if the tab must end.
func (t *tab) sendOnce(ctx context.Context) bool {
	if t.isEnding() || t.stage < afterSnapshot && !t.sendFirst() {
		return false
	}
	if t.stage < afterSnapshot {
		return true
	}
	var space [8][]byte
	frames, more := t.take(ctx, space[:0])
	if more {
		t.queue(func() {})
	}
	if len(frames) == 1 {
		return t.send(frames[0])
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= pooledBytes {
			buffers.Put(buf)
		}
	}()
	for len(frames) > 0 {
		var message []byte
		message, frames = batch(buf, frames)
		if !t.send(message) {
			return false
		}
	}
	return true
}

// sendFirst sends hello and, once the hub has queued it, the snapshot of all sessions. If
// the store cannot be read, it sends the notice. It returns false if the tab must end.
func (t *tab) sendFirst() bool {
	if t.stage == beforeHello {
		if !t.send(t.hello()) {
			return false
		}
		t.stage = afterHello
	}
	t.mu.Lock()
	snapshot, notice := t.snapshot, []byte(nil)
	t.snapshot = nil
	if snapshot == nil && t.snapshotFailed {
		notice, t.notice = t.notice, nil
	}
	t.mu.Unlock()
	if snapshot != nil {
		t.stage = afterSnapshot
		return t.send(snapshot)
	}
	return notice == nil || t.send(notice)
}

// take empties the outbox. more is true if a transcript continues.
func (t *tab) take(ctx context.Context, frames [][]byte) (_ [][]byte, more bool) {
	var dirty []*reading
	t.mu.Lock()
	frames = append(frames, t.acks...)
	for range t.acks {
		<-t.ackSlots
	}
	t.acks = nil
	if t.notice != nil {
		frames = append(frames, t.notice)
		t.notice = nil
	}
	if t.machines != nil {
		frames = append(frames, t.machines)
		t.machines = nil
	}
	toasts := t.toasts
	t.toasts = nil
	for _, id := range t.order {
		frames = append(frames, t.states[id])
	}
	if toasts != nil { // after the requests that they name
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
		if r.dirty && !r.retrying {
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

// transcript returns the next frame of a reading, nil if there is nothing new, and whether
// another follows.
func (t *tab) transcript(ctx context.Context, r *reading) (frame []byte, again bool) {
	t.mu.Lock()
	at := place{cursor: r.cursor}
	if r.appends {
		at.live = r.live
	}
	t.mu.Unlock()
	p := r.next(ctx, at)

	t.mu.Lock()
	defer t.mu.Unlock()
	if p.err != nil {
		// The reading stays dirty, and is tried again after a while and not before.
		r.dirty, r.retrying = true, true
		time.AfterFunc(retryAfter, func() { t.queue(func() { r.retrying = false }) })
		return nil, false
	}
	if t.readings[r.sessionID] != r {
		return nil, false // the tab subscribed again or unsubscribed meanwhile
	}
	if p.empty && !r.first && p.after.live == r.live {
		return nil, false
	}
	r.first, r.cursor, r.live = false, p.after.cursor, p.after.live
	r.dirty = r.dirty || p.more
	return p.frame, r.dirty
}

// batch joins as many frames as fit into one message, and returns the rest.
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

// send writes one message and reports whether another may follow. It has no deadline of
// its own: watchTabs closes the connection of a tab that does not receive it in time.
func (t *tab) send(message []byte) bool {
	t.writing.Store(time.Now().UnixNano())
	defer t.writing.Store(0)
	err := failpoint.Hit("frame.before_send")
	if err == nil {
		err = failpoint.After("frame.after_send", t.wire.writeText(message))
	}
	return err == nil && !t.isEnding()
}

func (t *tab) putSnapshot(frame []byte) { t.queue(func() { t.snapshot = frame }) }

func (t *tab) putState(sessionID string, frame []byte) {
	t.queue(func() {
		if _, ok := t.states[sessionID]; !ok {
			t.order = append(t.order, sessionID)
		}
		t.states[sessionID] = frame
	})
}

func (t *tab) putPresence(sessionID string, frame []byte) {
	t.queue(func() { t.presence[sessionID] = frame })
}

// Toast queues a notification of requests that the person does not see in this tab.
func (t *tab) Toast(requestIDs []string, more int) {
	frame := wire.Encode(wire.Toasts{Type: "toasts", RequestIDs: requestIDs, More: more})
	t.queue(func() { t.toasts = frame })
}

// putProgress queues a lifecycle frame, unless a newer one is queued: a subscription may
// have read an older one than the hub.
func (t *tab) putProgress(sessionID string, r progress) {
	t.queue(func() {
		if !t.progress[sessionID].at.After(r.at) {
			t.progress[sessionID] = r
		}
	})
}

func (t *tab) putReading(sessionID string, r *reading) {
	t.queue(func() { t.readings[sessionID] = r })
}

func (t *tab) dropReading(sessionID string) {
	t.mu.Lock()
	delete(t.readings, sessionID)
	delete(t.presence, sessionID)
	t.mu.Unlock()
}

func (t *tab) markTranscript(sessionID string) {
	t.queue(func() {
		if r := t.readings[sessionID]; r != nil {
			r.dirty = true
		}
	})
}

// putMachines queues the list of machines.
func (t *tab) putMachines(frame []byte) {
	t.queue(func() { t.machines = frame })
}

// putNotice queues the notice about why nothing can be stored.
func (t *tab) putNotice(frame []byte) {
	t.queue(func() { t.notice = frame })
}

// putPrivate queues a frame for the user of this tab. It replaces a queued one with the
// same key.
func (t *tab) putPrivate(key string, frame []byte) {
	t.queue(func() { t.private[key] = frame })
}
