package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// write carries changes to the store until stop is closed, then what is left.
func (p *process) write(ctx context.Context, stop <-chan struct{}) {
	// A store that fails is tried again; nothing decided is dropped.
	const retry = time.Second
	var due <-chan time.Time // for a place in the journal that waits to be stored
	for {
		select {
		case <-p.dirty:
			if p.onlyReadOn() {
				if due == nil {
					due = time.After(placeInterval)
				}
				continue
			}
			p.gather(stop)
		case <-due:
		case <-stop:
			return
		}
		due = nil
		if err := p.flush(ctx); err != nil {
			p.log.ErrorContext(ctx, "cannot write the session's state", "error", err)
			select {
			case <-time.After(retry):
				wake(p.dirty)
			case <-stop:
			}
		}
	}
}

// How far the server may be ahead of the place in the journal that is stored, while
// nothing else is to be written: Claude prints each few words on a line. A server that
// adopts the process reads these lines again.
const (
	placeInterval = time.Second
	placeBytes    = 256 << 10
)

// onlyReadOn reports whether lines were read that changed nothing but the block that
// grows.
func (p *process) onlyReadOn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	return len(p.items) == 0 && !s.unsaved && s.cost == 0 && s.offset-s.stored < placeBytes
}

// gathering is how long transcript waits for more of it.
const gathering = 2 * time.Millisecond

// gather lets some time pass if there is nothing to write but transcript, which the
// journal has too: more lines go in one transaction, and an answer that was just
// put on record is on its way to Claude meanwhile.
func (p *process) gather(stop <-chan struct{}) {
	p.mu.Lock()
	urgent := p.state.unsaved
	p.mu.Unlock()
	if urgent {
		return
	}
	select {
	case <-time.After(gathering):
	case <-stop:
	}
}

// flush writes what has changed since the last time, then notifies. Items, state
// and the place in the journal up to which they say it all go in one
// transaction, so that a server that adopts the process goes on without a gap.
func (p *process) flush(ctx context.Context) error {
	p.saving.Lock()
	defer p.saving.Unlock()
	if err := p.settleCost(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	progress := session.Progress{Items: p.items}
	s := p.state
	if s.unsaved {
		progress.Process = &s.row
	}
	kept, _ := p.conn.(launch.JournaledConn)
	if kept != nil && (s.offset != s.stored || s.unsaved) {
		progress.Mark = &session.Mark{ProcessID: p.processID, Offset: s.offset, Memo: transcript.Encode(storedMemo{p.transcript.Memo, s.memo, p.elicitations.stored()})}
	}
	progress.Spent, progress.SpentAt = s.cost, s.costAt
	p.items = nil
	p.transition(saveStarted{})
	p.mu.Unlock()
	if len(progress.Items) == 0 && progress.Spent == 0 && progress.Process == nil && progress.Mark == nil {
		return nil
	}

	forgetLong(progress.Items)
	_, err := p.o.o.Store.SaveProgress(ctx, p.session.SessionID, progress)
	saved := saveEnded{err: err, row: progress.Process != nil, offset: -1, cost: progress.Spent}
	if progress.Mark != nil {
		saved.offset = progress.Mark.Offset
	}
	p.mu.Lock()
	p.transition(saved)
	if err != nil {
		p.items = append(progress.Items, p.items...)
	} else {
		// While the store fails, itemBytes stays and the CLI waits.
		for _, it := range progress.Items {
			p.itemBytes -= len(it.Body)
		}
	}
	p.written.Broadcast() // to awaitCapacity and admitTurn
	p.mu.Unlock()
	if err != nil {
		if m := progress.Mark; m != nil && m.Offset > s.stored && errors.Is(err, pending.ErrUnknownOutcome) {
			p.unsure = unsureCost{progress.Spent, m.Offset}
		}
		return fmt.Errorf("write progress: %w", err)
	}
	if progress.Mark != nil {
		kept.Commit(progress.Mark.Offset)
	}
	if uses := p.uses.take(time.Now()); len(uses) > 0 {
		if err := p.o.o.Store.UseGrants(ctx, uses); err != nil {
			p.log.WarnContext(ctx, "cannot count the uses of grants", "error", err)
		}
	}
	if len(progress.Items) > 0 || progress.Process != nil || progress.Spent != 0 { // the rest nobody sees
		p.o.o.Notifier.Notify(p.session.SessionID)
	}
	return nil
}

// longItem is how long an item is, in bytes, that is worth a collection.
const longItem = 4 << 20

// forgetLong frees what was needed on the way from a long line to its item: several
// times as much as there is else, which the store would add its own to.
func forgetLong(items []session.Item) {
	if slices.ContainsFunc(items, func(it session.Item) bool { return len(it.Body) > longItem }) {
		debug.FreeOSMemory()
	}
}

// settleCost finds out whether the cost of a save that got no reply has been counted, as
// the next one would count it again. p.saving is held.
func (p *process) settleCost(ctx context.Context) error {
	if p.unsure.micros == 0 {
		return nil
	}
	mark, err := p.o.o.Store.Mark(ctx, p.session.SessionID)
	if err != nil {
		return fmt.Errorf("read whether a cost was counted: %w", err)
	}
	if mark.ProcessID == p.processID && mark.Offset >= p.unsure.offset {
		p.handle(ctx, costCounted{p.unsure.micros})
	}
	p.unsure = unsureCost{}
	return nil
}
