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
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// hear takes in one message of the CLI, on its read loop.
func (p *process) hear(m claude.Message) {
	now := time.Now()
	p.mu.Lock()
	p.waitForRoom()
	// What a line means and that it was read change together: a mark behind the
	// line without its meaning would lose it with the server.
	p.heard, p.busy = now, now
	begun := p.memo.Begun
	p.transcript.Ending = cmp.Or(p.stopReason, p.state.KillReason) // the second of who began to end it, and died
	change := p.transcript.Apply(m, now)
	p.memo.Begun = begun || change.SessionStarted
	// Again at the end of a turn, if the store could not take it before.
	begins := p.memo.Begun && !p.session.Begun && (!begun || change.TurnEnded)
	p.append(change.Items)
	if change.Cost > 0 && !p.session.Demo { // the model of a demo costs nobody anything
		p.spent, p.spentAt = p.spent+change.Cost, now
	}
	if len(change.Finished) > 0 {
		// Stored before the mark may pass the line, for it is said once. To read the
		// line again does no harm.
		p.mu.Unlock()
		user, _ := m.(*claude.User) // nothing else brings results
		for _, call := range change.Finished {
			p.noteUse(call, user)
			p.consumed(call.ToolUseID)
			p.callOver(call.ToolUseID)
			p.cut(call)
		}
		p.mu.Lock()
	}
	if kept, ok := p.conn.(launch.JournaledConn); ok {
		p.offset = kept.Offset()
	}
	if change.LiveChanged {
		p.live = change.Live
	}
	next := p.state
	switch {
	case change.TurnEnded:
		next.State = session.UserTurn
		if p.memo.Sending != "" {
			p.memo.Ended = p.memo.Sending
		}
		p.memo.Sending, p.turnEnded = "", true
	case change.Working:
		next.State = session.AssistantTurn
		p.memo.Spoke = true
	}
	if change.Model != "" {
		next.Model = change.Model
	}
	if change.PermissionMode != "" {
		next.PermissionMode = change.PermissionMode
	}
	moved := next.State != p.state.State || next.Model != p.state.Model || next.PermissionMode != p.state.PermissionMode
	if moved {
		p.changeState(func(s *session.ProcessState) {
			s.State, s.Model, s.PermissionMode = next.State, next.Model, next.PermissionMode
		})
	}
	repeats := p.interruptWaits()
	p.mu.Unlock()

	p.pokeWriter() // the journal's mark moves on also when nothing is to be shown
	if change.LiveChanged && !moved {
		p.o.o.Bell.Ring(p.session.SessionID)
	}
	if begins {
		begun := true
		if _, err := p.o.o.Store.UpdateSession(context.Background(), p.session.SessionID, session.Patch{Begun: &begun}); err != nil {
			p.log.Error("cannot remember that the session has begun", "error", err)
		} else {
			p.session.Begun = true // read only here and, once it is gone, by goOn
		}
	}
	if change.TurnEnded || repeats {
		p.pokeFeed()
	}
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
	p.put(transcript.Note(key, "error", text, time.Now()))
}

func (p *process) hearNoise(line []byte, err error) {
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

// consumed notes that the CLI acted on an answer: its tool result came out.
func (p *process) consumed(toolUseID string) {
	p.mu.Lock()
	if _, ok := p.onTheWay[toolUseID]; ok {
		// A CLI whose input ended also has a result, of its own making.
		p.onTheWay[toolUseID] = true
		p.mu.Unlock()
		return
	}
	done, ok := p.memo.Answered[toolUseID]
	delete(p.memo.Answered, toolUseID)
	p.mu.Unlock()
	if !ok {
		return
	}
	if err := p.o.o.Store.SetDelivery(context.Background(), done.RequestID, pending.Consumed); err != nil {
		p.log.Error("cannot note that an answer was consumed", "error", err)
	}
}

func (p *process) liveBlock() (session.Live, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live == nil {
		return session.Live{}, false
	}
	return *p.live, true
}

// Live returns the growing last block of a running session.
func (o *Orchestrator) Live(sessionID string) (session.Live, bool) {
	if p := o.process(sessionID); p != nil {
		return p.liveBlock()
	}
	return session.Live{}, false
}
