package orchestrator

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// maxUnwritten bounds the transcript that waits for the store, in bytes. Beyond
// it the reader waits, and with it, through the pipe, the CLI.
const maxUnwritten = 16 << 20

// update is the only place where the state changes. The row is written and the
// bell rung by write, soon after; what is decided here is decided at once.
func (p *process) update(change func(*session.ProcessState)) {
	p.mu.Lock()
	p.changeState(change)
	p.mu.Unlock()
	p.pokeWriter()
}

// changeState is update for who holds the lock and has more to change with it.
func (p *process) changeState(change func(*session.ProcessState)) {
	before := p.state.State
	next := p.state
	change(&next)
	if !session.CanMove(before, next.State) {
		p.log.Error("refused an illegal change of state", "from", before, "to", next.State)
		next.State = before
	}
	if next.State != before {
		next.StateChangedAt = time.Now()
		p.turnSince = next.StateChangedAt
		p.busy = next.StateChangedAt
		next.Stuck = ""
	}
	p.state = next
	p.unsaved = true
}

// put has transcript items written. It waits when too much waits already.
func (p *process) put(items ...session.Item) {
	if len(items) == 0 {
		return
	}
	p.mu.Lock()
	p.waitForRoom()
	p.append(items)
	p.mu.Unlock()
	p.pokeWriter()
}

// waitForRoom is called with the lock held, and lets go of it while it waits.
func (p *process) waitForRoom() {
	for p.itemBytes > maxUnwritten && !p.ended {
		p.room.Wait()
	}
}

// append is called with the lock held.
func (p *process) append(items []session.Item) {
	for _, it := range items {
		p.itemBytes += len(it.Body)
	}
	p.items = append(p.items, items...)
}

func (p *process) pokeWriter() { poke(p.dirty) }

// write carries changes to the store until stop is closed, then what is left.
func (p *process) write(ctx context.Context, stop <-chan struct{}) {
	// A store that fails is tried again; nothing decided is dropped.
	const retry = time.Second
	for {
		select {
		case <-p.dirty:
			p.gather(stop)
			if err := p.flush(ctx); err != nil {
				p.log.ErrorContext(ctx, "cannot write the session's state", "error", err)
				select {
				case <-time.After(retry):
					p.pokeWriter()
				case <-stop:
				}
			}
		case <-stop:
			return
		}
	}
}

// gathering is how long transcript waits for more of it.
const gathering = 2 * time.Millisecond

// gather lets some time pass if there is nothing to write but transcript, which the
// journal has too: more lines go in one transaction, and an answer that was just
// put on record is on its way to Claude meanwhile.
func (p *process) gather(stop <-chan struct{}) {
	p.mu.Lock()
	urgent := p.unsaved
	p.mu.Unlock()
	if urgent {
		return
	}
	select {
	case <-time.After(gathering):
	case <-stop:
	}
}

// flush writes what has changed since the last time, then rings. Items, state
// and the place in the journal up to which they say it all go in one
// transaction, so that a server that adopts the process goes on without a gap.
func (p *process) flush(ctx context.Context) error {
	p.mu.Lock()
	progress := session.Progress{Items: p.items}
	if p.unsaved {
		state := p.state
		progress.Process = &state
	}
	kept, _ := p.conn.(launch.JournaledConn)
	if kept != nil && (p.offset != p.marked || p.unsaved) {
		progress.Mark = &session.Mark{ProcessID: p.processID, Offset: p.offset, Memo: transcript.Encode(storedMemo{p.transcript.Memo, p.memo})}
	}
	progress.Spent, progress.SpentAt = p.spent, p.spentAt
	p.items, p.unsaved, p.spent = nil, false, 0
	p.spending += progress.Spent
	p.mu.Unlock()
	if len(progress.Items) == 0 && progress.Spent == 0 && progress.Process == nil && progress.Mark == nil {
		return nil
	}

	forgetLong(progress.Items)
	_, err := p.o.o.Store.SaveProgress(ctx, p.session.SessionID, progress)
	p.mu.Lock()
	p.spending -= progress.Spent
	if err != nil {
		p.items = append(progress.Items, p.items...)
		p.spent += progress.Spent
		p.unsaved = p.unsaved || progress.Process != nil
	} else {
		// Only now there is room again: while the store fails, the CLI waits.
		for _, it := range progress.Items {
			p.itemBytes -= len(it.Body)
		}
		if progress.Mark != nil {
			p.marked = progress.Mark.Offset
		}
	}
	p.room.Broadcast() // to who waits for room, and to who waits to know what was spent
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("write progress: %w", err)
	}
	if progress.Mark != nil {
		kept.Commit(progress.Mark.Offset)
	}
	p.flushUses(ctx)
	p.o.o.Bell.Ring(p.session.SessionID)
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
