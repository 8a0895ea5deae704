package main

import (
	"context"
	"time"

	"github.com/google/uuid"
)

const (
	shortestHold = 20 * time.Millisecond
	longestHold  = 400 * time.Millisecond
	mostUndos    = 3                     // of one answer
	soon         = 20 * time.Millisecond // after which something is said again
)

// undo is a command that takes an answer back, and whether its tab was told what
// became of it.
type undo struct {
	of      *given
	command map[string]any
	acked   bool
}

// holding is what a tab has in mind with an answer that is to be held.
type holding struct {
	change  time.Duration // after so long the tab takes it back; 0 for never
	planned bool          // the undo is on its way, or will be in a moment
	asked   bool          // the answer will be said again in a moment
	open    int           // undos that are not acked
	decided bool          // what comes after it was taken back
}

// hold makes a third of all answers such as are held, and has a third of those
// taken back. Some of these undos do not wait until the tab knows that anything is
// held.
func (t *tab) hold(ctx context.Context, g *given) {
	if !t.holds || t.random.IntN(3) > 0 {
		return
	}
	g.Hold = shortestHold + time.Duration(t.random.Float64()*float64(longestHold-shortestHold)).Truncate(time.Millisecond)
	g.Command["undo_ms"] = g.Hold.Milliseconds()
	if t.random.IntN(3) > 0 {
		return
	}
	g.change = 1 + time.Duration(t.random.Float64()*float64(g.Hold))
	if t.random.IntN(4) == 0 {
		t.takeBack(ctx, g)
	}
}

// takeBack asks for an answer back in a moment. t.mu is held.
func (t *tab) takeBack(ctx context.Context, g *given) {
	if g.change == 0 || g.planned || g.Undos == mostUndos {
		return
	}
	g.planned = true
	t.after(g.change, func() {
		u := &undo{of: g, command: map[string]any{
			"type": "undo", "command_id": uuid.NewString(), "session_id": g.SessionID, "request_id": g.RequestID,
		}}
		t.mu.Lock()
		if t.stopped || len(g.Acks) > 0 {
			t.mu.Unlock()
			return
		}
		g.Undos++
		g.open++
		t.undos[u.command["command_id"].(string)] = u
		t.mu.Unlock()
		t.send(ctx, u.command)
	})
}

// passing takes in an ack that is not the last of its answer, and has the answer
// said again. t.mu is held.
func (t *tab) passing(ctx context.Context, g *given, a ack) {
	wait := soon
	if a.HeldUntil != nil {
		g.Held = true
		wait += time.Until(time.UnixMilli(int64(*a.HeldUntil * 1000)))
		t.takeBack(ctx, g)
	} else if a.Code == "held" {
		t.ledger.Barred++
	}
	if g.asked {
		return
	}
	g.asked = true
	t.after(wait, func() {
		t.mu.Lock()
		g.asked = false
		done := len(g.Acks) > 0 && !t.again[g.CommandID]
		t.mu.Unlock()
		if !done {
			t.send(ctx, g.Command)
		}
	})
}

// undoAcked takes in the fate of an undo. Whatever it is, the answer is said again:
// what was taken back must stay so, and only its own ack tells what became of it
// when the ack of an earlier undo was lost.
func (t *tab) undoAcked(ctx context.Context, u *undo, a ack) {
	t.mu.Lock()
	g := u.of
	if u.acked {
		t.mu.Unlock()
		return
	}
	if a.unsure() {
		t.mu.Unlock()
		t.after(soon, func() { t.send(ctx, u.command) })
		return
	}
	u.acked = true
	g.open--
	switch {
	case a.Result == "applied":
		g.Undone = true
	case a.Code == "nothing_held":
		g.planned = false // it may not have been held yet
	}
	t.decideAnew(ctx, g)
	t.mu.Unlock()
	t.send(ctx, g.Command)
}

// decideAnew has a request answered once more whose answer was taken back: at once,
// or much later if nobody else did. An undo names no answer, so it waits until none
// can meet the next one. t.mu is held.
func (t *tab) decideAnew(ctx context.Context, g *given) {
	if g.decided || g.open > 0 || !g.takenBack() {
		return
	}
	g.decided = true
	wait, careful := t.think, false
	if t.random.IntN(2) == 0 {
		wait, careful = time.Second, true
	}
	t.giveIn(ctx, time.Duration(t.random.Float64()*float64(wait)), careful, t.ledger.Shown[g.RequestID])
}

// takenBack reports whether the tab knows that its answer will never count.
func (g *given) takenBack() bool {
	return g.Undone || len(g.Acks) > 0 && g.Acks[0].Code == "taken_back"
}

// after does something in a while, also when the tab is no longer connected then.
func (t *tab) after(wait time.Duration, do func()) {
	t.work.Add(1)
	time.AfterFunc(wait, func() {
		defer t.work.Done()
		do()
	})
}
