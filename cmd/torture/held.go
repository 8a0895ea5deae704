package main

import (
	"context"
	"time"

	"github.com/google/uuid"
)

const (
	shortestHold = 20 * time.Millisecond
	longestHold  = 400 * time.Millisecond
	maxUndos     = 3                     // of one answer
	resendDelay  = 20 * time.Millisecond // before a command is sent again
)

// undo is an undo command and its ack.
type undo struct {
	of              *sentAnswer
	command         map[string]any
	acked, applied  bool
	sentAt, ackedAt time.Time
}

// holdPlan is what a tab plans to do with a held answer.
type holdPlan struct {
	undoAfter     time.Duration // when the tab undoes it; 0 for never
	undoPlanned   bool          // an undo is scheduled or in flight
	resendPlanned bool          // sending the answer again is scheduled
	openUndos     int           // undos without an ack
	answeredAgain bool          // the tab has decided what to do after the undo
}

// hold makes a third of all answers held ones, and schedules an undo for a third of those.
// Some undos do not wait for the ack of the answer.
func (t *tab) hold(ctx context.Context, g *sentAnswer) {
	if !t.holds || t.random.IntN(3) > 0 {
		return
	}
	g.Hold = shortestHold + time.Duration(t.random.Float64()*float64(longestHold-shortestHold)).Truncate(time.Millisecond)
	g.Command["undo_ms"] = g.Hold.Milliseconds()
	if t.random.IntN(3) > 0 {
		return
	}
	g.undoAfter = 1 + time.Duration(t.random.Float64()*float64(g.Hold))
	if t.random.IntN(4) == 0 {
		t.scheduleUndo(ctx, g)
	}
}

// scheduleUndo schedules the undo of an answer. The caller holds t.mu.
func (t *tab) scheduleUndo(ctx context.Context, g *sentAnswer) {
	if g.undoAfter == 0 || g.undoPlanned || g.Undos == maxUndos {
		return
	}
	g.undoPlanned = true
	t.after(g.undoAfter, func() {
		u := &undo{of: g, sentAt: time.Now(), command: map[string]any{
			"type": "undo", "command_id": uuid.NewString(), "session_id": g.SessionID, "request_id": g.RequestID,
		}}
		t.mu.Lock()
		if t.stopped || len(g.Acks) > 0 {
			t.mu.Unlock()
			return
		}
		g.Undos++
		g.openUndos++
		t.undos[u.command["command_id"].(string)] = u
		t.ledger.Undos = append(t.ledger.Undos, u)
		t.mu.Unlock()
		t.send(ctx, u.command)
	})
}

// handleProvisionalAck handles an ack that is not final, and schedules sending the answer
// again. The caller holds t.mu.
func (t *tab) handleProvisionalAck(ctx context.Context, g *sentAnswer, a ack) {
	wait := resendDelay
	if a.HeldUntil != nil {
		g.Held = true
		// The clock of its server may differ.
		wait += min(time.Until(time.UnixMilli(int64(*a.HeldUntil*1000))), g.Hold)
		t.scheduleUndo(ctx, g)
	} else if a.Code == "held" {
		t.ledger.RefusedWhileHeld++
	}
	if g.resendPlanned {
		return
	}
	g.resendPlanned = true
	t.after(wait, func() {
		t.mu.Lock()
		g.resendPlanned = false
		done := len(g.Acks) > 0 && !t.resend[g.CommandID]
		t.mu.Unlock()
		if !done {
			t.send(ctx, g.Command)
		}
	})
}

// handleUndoAck handles the ack of an undo. The answer is always sent again: an undone answer
// must stay undone, and its own ack is the only evidence if the ack of an earlier undo was lost.
func (t *tab) handleUndoAck(ctx context.Context, u *undo, a ack) {
	t.mu.Lock()
	g := u.of
	if u.acked {
		t.mu.Unlock()
		return
	}
	if a.unsure() {
		t.mu.Unlock()
		t.after(resendDelay, func() { t.send(ctx, u.command) })
		return
	}
	u.acked, u.applied, u.ackedAt = true, a.Result == "applied", time.Now()
	g.openUndos--
	switch {
	case a.Result == "applied":
		g.Undone = true
	case a.Code == "nothing_held":
		g.undoPlanned = false // the answer may not have been held yet
	}
	t.answerAgain(ctx, g)
	t.mu.Unlock()
	t.send(ctx, g.Command)
}

// answerAgain schedules another answer to a request whose answer was undone: at once, or much
// later if nobody else has answered. An undo names the request, not the answer, so this waits
// until no undo is open. The caller holds t.mu.
func (t *tab) answerAgain(ctx context.Context, g *sentAnswer) {
	if g.answeredAgain || g.openUndos > 0 || !g.wasUndone() {
		return
	}
	g.answeredAgain = true
	wait, careful := t.maxDelay, false
	if t.random.IntN(2) == 0 {
		wait, careful = time.Second, true
	}
	t.scheduleAnswer(ctx, time.Duration(t.random.Float64()*float64(wait)), careful, t.ledger.Shown[g.RequestID])
}

// wasUndone reports whether the tab knows that its answer will never count.
func (g *sentAnswer) wasUndone() bool {
	return g.Undone || len(g.Acks) > 0 && g.Acks[0].Code == "taken_back"
}

// after calls do after a delay, even if the tab is disconnected by then.
func (t *tab) after(wait time.Duration, do func()) {
	t.work.Add(1)
	time.AfterFunc(wait, func() {
		defer t.work.Done()
		do()
	})
}
