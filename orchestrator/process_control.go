package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/grants"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

func (p *process) interrupt(ctx context.Context, by pending.Actor) error {
	p.mu.Lock()
	client := p.client
	if client == nil || !p.state.working() {
		p.mu.Unlock()
		return ErrNotRunning
	}
	i := p.transcript.Interrupt
	if i == nil || i.Refused {
		i = &transcript.Interrupt{By: by.Name, Key: "interrupt:" + uuid.NewString(), Early: !p.state.memo.TurnStarted}
		p.transcript.Interrupt = i
		p.transition(memoChanged{}) // an adopting server must know who interrupted
	}
	p.mu.Unlock()
	wake(p.dirty)
	return p.sendInterrupt(ctx, client, i, by)
}

// repeatInterrupt repeats an interrupt that arrived before the turn started. Only the sender
// calls it, so that the interrupt never reaches the next turn.
func (p *process) repeatInterrupt(ctx context.Context) {
	p.mu.Lock()
	client, i := p.client, p.transcript.Interrupt
	if i == nil || !i.Early || !p.state.interruptDue() {
		p.mu.Unlock()
		return
	}
	i.Early = false
	effects := p.transition(memoChanged{})
	p.mu.Unlock()
	p.perform(ctx, effects)
	if err := p.sendInterrupt(ctx, client, i, pending.Actor{Name: i.By}); err != nil {
		p.log.WarnContext(ctx, "cannot repeat an interrupt", "error", err)
	}
}

// sendInterrupt makes the CLI interrupt the current turn on behalf of by, and returns once the
// CLI has acknowledged.
func (p *process) sendInterrupt(ctx context.Context, client *claude.Client, i *transcript.Interrupt, by pending.Actor) error {
	p.questions.interrupt(by.Name)
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	// The CLI cuts off its calls without reporting which. An unavailable store must not prevent
	// the interrupt; the results of the calls then end their questions.
	if err := p.o.endMCP(ctx, p.session.SessionID, statement.New("interrupted_by", "by", by.Name)); err != nil {
		p.log.ErrorContext(ctx, "cannot withdraw questions asked over MCP", "error", err)
	}
	err := client.Interrupt(ctx)
	var refused *claude.RequestError
	p.mu.Lock()
	i.Refused = errors.As(err, &refused)
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("orchestrator: interrupt: %w", err)
	}
	return nil
}

func (p *process) setModel(ctx context.Context, model string) error {
	client := p.clientNow()
	if client == nil {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	if err := client.SetModel(ctx, model); err != nil {
		return fmt.Errorf("orchestrator: set model: %w", err)
	}
	p.handle(ctx, modelSet{model})
	return nil
}

func (p *process) setPermissionMode(ctx context.Context, mode string) error {
	client := p.clientNow()
	if client == nil {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	if err := client.SetPermissionMode(ctx, mode); err != nil {
		return fmt.Errorf("orchestrator: set permission mode: %w", err)
	}
	p.handle(ctx, modeSet{mode})
	return nil
}

// revoke makes the process ask again for what a grant allowed. asks reports whether it does so
// at once.
func (p *process) revoke(ctx context.Context, g pending.Grant) (asks bool, err error) {
	if g.Kind == pending.GrantMode {
		if p.snapshot().row.PermissionMode != g.Rule {
			return false, nil
		}
		return true, p.setPermissionMode(ctx, "default")
	}
	p.revoked.add(g)
	if g.Kind != pending.GrantRule {
		return false, nil
	}
	return true, p.revoked.askAgain(ctx)
}

// grantProcess describes the process for package grants.
func (p *process) grantProcess() grants.Process {
	return grants.Process{SessionID: p.session.SessionID, ProcessID: p.processID, Folder: p.session.CWD, Repositories: p.o.runner}
}

// bypassingFor returns the user whose right lets the process bypass approvals.
func (p *process) bypassingFor() (userID string, is bool) {
	s := p.snapshot()
	if !s.bypassesApprovals() {
		return "", false
	}
	return cmp.Or(s.memo.BypassedBy, p.session.OwnerID), true // servers of old releases did not store BypassedBy
}

// endBypass makes Claude ask again, and ends the process if the CLI does not accept that.
func (p *process) endBypass(ctx context.Context) {
	mode := "default"
	err := p.setPermissionMode(ctx, mode)
	switch {
	case errors.Is(err, ErrNotRunning): // the CLI is starting; the next check tries again
		return
	case err != nil && ctx.Err() != nil:
		return
	case err != nil:
		p.log.WarnContext(ctx, "cannot switch Claude to a permission mode that asks", "error", err)
		p.kill(false, false, statement.New("bypass_end_failed"))
	default:
		note := transcript.Note("asks-again:"+uuid.NewString(), "warning", statement.New("bypass_ended"), time.Now())
		if err := p.o.o.Store.PutItems(ctx, p.session.SessionID, []session.Item{note}); err != nil {
			p.log.ErrorContext(ctx, "cannot add a note about the permission mode to the transcript", "error", err)
		}
	}
	if _, err := p.o.o.Store.UpdateSession(ctx, p.session.SessionID, session.Patch{PermissionMode: &mode}); err != nil {
		p.log.ErrorContext(ctx, "cannot store the permission mode", "error", err)
	}
	p.o.o.Notifier.Notify(p.session.SessionID)
}
