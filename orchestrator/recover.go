package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
)

// noteRecovered tells people, with the sentence reason, that the database has forgotten something.
func (p *process) noteRecovered(ctx context.Context, reason string) {
	p.handle(ctx, recovered{reason})
	p.addItems(transcript.Note("recovered:"+p.processID, "warning", reason, time.Now()))
}

// wasAnswered reports whether a request that an adopted process repeats from its journal was
// answered, although the database does not know the request.
func (p *process) wasAnswered(ctx context.Context, req pending.Request) (bool, error) {
	if p.leftover == nil {
		return false, nil
	}
	if wrote, err := p.leftover.Wrote(ctx, req.AskerRequestID); err != nil || !wrote {
		return false, err
	}
	_, err := p.o.o.Registry.Request(ctx, req.SessionID, req.RequestID)
	if errors.Is(err, pending.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// compareWithJournal notes if the database has forgotten output of an adopted process that it had
// already stored.
func (p *process) compareWithJournal(ctx context.Context, conn launch.Conn) {
	journaled, ok := conn.(launch.JournaledConn)
	if !ok || p.snapshot().recovered != "" {
		return
	}
	if journaled.IsAhead() {
		p.log.WarnContext(ctx, "a server with a newer database has driven the running process, or the clock went backwards")
		p.noteRecovered(ctx, statement.New("database_behind"))
		return
	}
	committed, err := journaled.Committed(ctx)
	if err != nil {
		p.log.WarnContext(ctx, "cannot compare the database with the journal", "error", err)
		return
	}
	if known := p.snapshot().offset; committed > known {
		p.log.WarnContext(ctx, "the database is older than the running process", "bytes", fmt.Sprint(committed-known))
		p.noteRecovered(ctx, statement.New("database_behind"))
	}
}
