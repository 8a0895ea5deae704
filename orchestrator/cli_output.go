package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// handleMessage takes in one message of the CLI, on its read loop.
func (p *process) handleMessage(m claude.Message) {
	p.awaitCapacity()
	e := messageReceived{at: time.Now(), free: p.session.Demo} // the model of a demo costs nothing
	p.mu.Lock()
	if conn, ok := p.conn.(launch.JournaledConn); ok {
		e.offset = conn.Offset()
	}
	p.transcript.Ending = cmp.Or(p.state.stopReason, p.state.row.KillReason) // an earlier server began to end it
	e.change = p.transcript.Apply(m, e.at)
	e.earlyInterrupt = p.transcript.Interrupt != nil && p.transcript.Interrupt.Early
	p.queueItems(e.change.Items)
	effects := p.transition(e)
	p.mu.Unlock()
	if user, ok := m.(*claude.User); ok { // only these bring results
		for _, call := range e.change.Finished {
			p.countGrantUse(call, user)
		}
	}
	p.perform(context.Background(), effects)
}

// reused and reusedEnded are what people read of a question that nobody was asked.
const (
	reused      = "Claude asked for something else under the id of a request that was still open. That request stayed as it was; the other was not put before anybody, and nothing ran of it. If Claude waits for it, interrupt it."
	reusedEnded = "Claude asked for something else under the id of a request that had ended. That request stays as it was settled; the other was not put before anybody, and nothing ran of it. If Claude waits for it, interrupt it."
)

// noteReused tells of a question under the id of another. what is asked makes the
// key, so that a line that is read again is no second note.
func (p *process) noteReused(what []byte, text string) {
	key := "reused:" + uuid.NewSHA1(uuid.NameSpaceOID, what).String()
	p.addItems(transcript.Note(key, "error", text, time.Now()))
}

// handleUnreadable takes in a line of the CLI that is no message.
func (p *process) handleUnreadable(line []byte, err error) {
	switch {
	case errors.Is(err, claude.ErrReusedAnswered):
		p.noteReused(line, reusedEnded)
	case errors.Is(err, claude.ErrReused):
		p.noteReused(line, reused)
	}
	text := string(line[:min(len(line), 200)])
	p.mu.Lock()
	p.unreadable++
	count := p.unreadable
	if count == 1 {
		p.firstNoise = text
	}
	p.mu.Unlock()
	const worthLogging = 10 // of one process: the log is not the place for a flood
	if count <= worthLogging {
		p.log.Warn("Claude printed a line that is no message", "line", text, "error", err)
	}
}

// Live returns the block that a running session streams.
func (o *Orchestrator) Live(sessionID string) (session.Live, bool) {
	if p := o.process(sessionID); p != nil {
		if live := p.snapshot().live; live != nil {
			return *live, true
		}
	}
	return session.Live{}, false
}
