package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/session"
)

const (
	// liveWait is how long LivePart waits for a change.
	liveWait = 10 * time.Second
	// liveEvery is how long LivePart collects changes of a block, as long as for the frames of tabs.
	liveEvery = 50 * time.Millisecond
	// liveRetry is the time between attempts to read from the server that drives a session.
	liveRetry = time.Second
	// maxWatched bounds the sessions that wait for Run to start watching them. Beyond it, a later
	// call of Live tries again.
	maxWatched = 1024
)

// LiveMark identifies the part of a growing block that a server already has. The zero value stands
// for no block.
type LiveMark struct {
	Block session.Live `json:"block"` // without its text
	Size  int          `json:"size"`  // of its text, in bytes
	Open  bool         `json:"open"`
}

// LivePart is the part of a growing block that a server lacks.
type LivePart struct {
	Block session.Live `json:"block"` // its Text lacks the first Kept bytes
	Kept  int          `json:"kept"`
	Open  bool         `json:"open"`
}

// markOf returns the mark of a block.
func markOf(live session.Live, open bool) LiveMark {
	m := LiveMark{Block: live, Size: len(live.Text), Open: open}
	m.Block.Text = ""
	return m
}

// partAfter returns the part of a block after a mark. news reports whether anything has changed.
func partAfter(have LiveMark, live session.Live, open bool) (part LivePart, news bool) {
	now := markOf(live, open)
	if !open {
		return LivePart{}, have.Open
	}
	part = LivePart{Block: live, Open: true}
	if have.Open && sameBlock(have.Block, now.Block) && have.Size <= now.Size {
		part.Kept, part.Block.Text = have.Size, live.Text[have.Size:]
		return part, have.Size < now.Size
	}
	return part, true
}

// sameBlock reports whether a and b are states of the same block. It does not compare the text.
func sameBlock(a, b session.Live) bool {
	return a.Kind == b.Kind && a.Tool == b.Tool && a.AgentID == b.AgentID && a.Began.Equal(b.Began)
}

// liveSignals wakes the calls that wait for changes of a session.
type liveSignals struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool
}

func (l *liveSignals) add(sessionID string) (changed chan struct{}, remove func()) {
	changed = make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting[sessionID] == nil {
		l.waiting[sessionID] = map[chan struct{}]bool{}
	}
	l.waiting[sessionID][changed] = true
	return changed, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if delete(l.waiting[sessionID], changed); len(l.waiting[sessionID]) == 0 {
			delete(l.waiting, sessionID)
		}
	}
}

// LiveChanged wakes the calls that wait for a session of this server. Call it for every change of
// the session, including its growing block. It does not block.
func (c *Cluster) LiveChanged(sessionID string) {
	c.lives.mu.Lock()
	defer c.lives.mu.Unlock()
	for ch := range c.lives.waiting[sessionID] {
		wake(ch)
	}
}

// LivePart implements calls.
func (s served) LivePart(ctx context.Context, sessionID string, have LiveMark) (LivePart, error) {
	changed, remove := s.c.lives.add(sessionID)
	defer remove()
	late := time.NewTimer(liveWait)
	defer late.Stop()
	for {
		live, open := s.LiveHere(sessionID)
		if part, news := partAfter(have, live, open); news {
			return part, nil
		}
		select {
		case <-changed:
		case <-late.C:
			part, _ := partAfter(have, live, open)
			return part, nil
		case <-ctx.Done():
			return LivePart{}, context.Cause(ctx)
		}
		select { // collect more changes
		case <-time.After(liveEvery):
		case <-ctx.Done():
			return LivePart{}, context.Cause(ctx)
		}
	}
}

// watch holds the growing block of a session of another server.
type watch struct {
	live session.Live
	open bool
}

// Live implements [orchestrator.Elsewhere]. The first call for a session starts watching it, until no
// tab of this server reads it.
func (c *Cluster) Live(sessionID string) (session.Live, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watched[sessionID]; w != nil {
		return w.live, w.open
	}
	if len(c.peers) > 0 {
		select {
		case c.watch <- sessionID:
			c.watched[sessionID] = &watch{}
		default: // the queue is full; the next call tries again
		}
	}
	return session.Live{}, false
}

// follow keeps a copy of the growing block of a session of another server up to date until no tab of
// this server reads the session.
func (c *Cluster) follow(ctx context.Context, sessionID string) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watched, sessionID)
	}()
	of, err := c.o.Store.Session(ctx, sessionID)
	for err == nil && ctx.Err() == nil && c.o.Tabs.Readers(sessionID) > 0 {
		if c.readLive(ctx, of) != nil {
			c.setLive(sessionID, LivePart{})
			select {
			case <-time.After(liveRetry):
			case <-ctx.Done():
			}
		}
	}
}

// readLive waits for a change of the block of a session and applies it.
func (c *Cluster) readLive(ctx context.Context, of session.Session) error {
	there, is := c.Sessions(of.RunnerID).(remote)
	if !is {
		return errNotElsewhere
	}
	c.mu.Lock()
	w := c.watched[of.SessionID]
	have := markOf(w.live, w.open)
	c.mu.Unlock()
	waiting, cancel := context.WithTimeout(ctx, 2*liveWait)
	defer cancel()
	part, err := get[LivePart](waiting, there, "LivePart", of.SessionID, have)
	if err == nil && (part.Kept < 0 || part.Kept > have.Size) {
		err = fmt.Errorf("cluster: %d bytes are to be kept of %d", part.Kept, have.Size)
	}
	if err == nil {
		c.setLive(of.SessionID, part)
	}
	return err
}

// setLive applies a part to the block of a session, and calls OnLive if the block has changed.
func (c *Cluster) setLive(sessionID string, part LivePart) {
	c.mu.Lock()
	w := c.watched[sessionID]
	before := *w
	w.live, w.open = part.Block, part.Open
	if part.Kept > 0 {
		w.live.Text = before.live.Text[:part.Kept] + part.Block.Text
	}
	changed := w.open != before.open || w.open && (!sameBlock(w.live, before.live) || len(w.live.Text) != len(before.live.Text) || !strings.HasPrefix(w.live.Text, before.live.Text))
	c.mu.Unlock()
	if changed {
		c.o.OnLive(sessionID)
	}
}
