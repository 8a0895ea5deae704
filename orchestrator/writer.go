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

// write writes changes to the store until stop is closed, then the rest.
func (p *process) write(ctx context.Context, stop <-chan struct{}) {
	// Failed writes are repeated, so that no decision is lost.
	const retry = time.Second
	var due <-chan time.Time // for a position in the journal that waits to be stored
	for {
		select {
		case <-p.dirty:
			if p.onlyOffsetChanged() {
				if due == nil {
					due = time.After(offsetInterval)
				}
				continue
			}
			p.waitForBatch(stop)
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

// offsetInterval and offsetBytes bound how far the server may be ahead of the stored position in
// the journal while nothing else needs writing: Claude prints a line for every few words. An
// adopting server reads these lines again.
const (
	offsetInterval = 10 * time.Second
	offsetBytes    = 256 << 10
)

// onlyOffsetChanged reports whether nothing needs writing but the position in the journal, and
// that by less than offsetBytes.
func (p *process) onlyOffsetChanged() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	return len(p.items) == 0 && !s.unsaved && s.cost == 0 && s.offset-s.stored < offsetBytes
}

// batchDelay is how long transcript items wait for more of them.
const batchDelay = 2 * time.Millisecond

// waitForBatch waits for batchDelay if only transcript items, which are also in the journal, need
// writing. One transaction then stores more of them, and a recorded answer can reach Claude
// meanwhile.
func (p *process) waitForBatch(stop <-chan struct{}) {
	p.mu.Lock()
	urgent := p.state.unsaved
	p.mu.Unlock()
	if urgent {
		return
	}
	select {
	case <-time.After(batchDelay):
	case <-stop:
	}
}

// flush writes the changes since its last call, then notifies tabs. It stores items, state and
// the matching position in the journal in one transaction, so that an adopting server continues
// without a gap.
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

	freeMemory(progress.Items)
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
		// While the store fails, itemBytes keeps its value, so that the CLI waits.
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
	switch { // tabs do not see anything else
	case progress.Process != nil || progress.Spent != 0:
		p.o.o.Notifier.Notify(p.session.SessionID)
	case len(progress.Items) > 0:
		p.o.o.Notifier.NotifyItems(p.session.SessionID)
	}
	return nil
}

// longItemBytes is the size above which an item is worth a garbage collection.
const longItemBytes = 4 << 20

// freeMemory returns the memory that converting a long line to an item took, several times the
// usual amount, before the store needs its own memory.
func freeMemory(items []session.Item) {
	if slices.ContainsFunc(items, func(it session.Item) bool { return len(it.Body) > longItemBytes }) {
		debug.FreeOSMemory()
	}
}

// settleCost finds out whether a save with unknown outcome has counted its cost, so that the next
// save does not count it again. The caller holds p.saving.
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
