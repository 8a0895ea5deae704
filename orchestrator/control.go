package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Interrupt ends the present turn; the process stays and takes the next message.
// by is named to those whose requests the turn takes along.
func (o *Orchestrator) Interrupt(ctx context.Context, sessionID string, by pending.Actor) error {
	p, err := o.running(ctx, sessionID)
	if err != nil {
		return err
	}
	return p.interrupt(ctx, by)
}

func (p *process) interrupt(ctx context.Context, by pending.Actor) error {
	p.mu.Lock()
	client := p.client
	if client == nil || !p.state.working() {
		p.mu.Unlock()
		return ErrNotRunning
	}
	i := p.transcript.Interrupt
	if i == nil || i.Refused {
		i = &transcript.Interrupt{By: by.Name, Key: "interrupt:" + uuid.NewString(), Early: !p.state.memo.Spoke}
		p.transcript.Interrupt = i
		p.transition(memoChanged{}) // a server that adopts the process must know who it was
	}
	p.mu.Unlock()
	p.wakeWriter()
	return p.sendInterrupt(ctx, client, i, by)
}

// repeatInterrupt tells the CLI again of an interrupt that came before the turn had
// begun. It is called where messages are sent, so that it never reaches the next turn.
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

// sendInterrupt has the CLI interrupt the present turn, for by, and returns when it has
// taken note.
func (p *process) sendInterrupt(ctx context.Context, client *claude.Client, i *transcript.Interrupt, by pending.Actor) error {
	p.mu.Lock()
	for q := range p.questions {
		q.interruptedBy = by.Name
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	// The CLI cuts its calls off and does not say for whom. A store that is away is no
	// reason not to interrupt; the results of the calls then end what they asked.
	if err := p.o.endMCP(ctx, p.session.SessionID, by.Name+" interrupted Claude."); err != nil {
		p.log.ErrorContext(ctx, "cannot withdraw what was asked over MCP", "error", err)
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

// SetModel changes the model, at once when a process runs.
func (o *Orchestrator) SetModel(ctx context.Context, sessionID, model string) error {
	if err := checkModel(model); err != nil {
		return err
	}
	if p := o.process(sessionID); p != nil {
		if err := p.setModel(ctx, model); err != nil {
			return err
		}
	}
	_, err := o.o.Store.UpdateSession(ctx, sessionID, session.Patch{Model: &model})
	o.o.Bell.Ring(sessionID)
	return err
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

// SetPermissionMode changes the permission mode, at once when a process runs. The
// mode in which Claude asks nobody is for the caller to have allowed; the CLI takes
// it at its start alone.
func (o *Orchestrator) SetPermissionMode(ctx context.Context, sessionID, mode string, by pending.Actor) error {
	if mode != bypass {
		if err := checkPermissionMode(mode); err != nil {
			return err
		}
	}
	if p := o.process(sessionID); p != nil {
		if mode == bypass && p.session.PermissionMode != bypass {
			return &InvalidError{Field: "permission_mode", Sentence: "Claude takes this mode only when it starts. End the session first, then change its mode and resume it."}
		}
		if mode == bypass {
			if err := o.recordAsksNobody(ctx, p.session, by); err != nil {
				return err
			}
			p.handle(ctx, bypassGranted{by.UserID})
		}
		if err := p.setPermissionMode(ctx, mode); err != nil {
			return err
		}
	}
	_, err := o.o.Store.UpdateSession(ctx, sessionID, session.Patch{PermissionMode: &mode})
	o.o.Bell.Ring(sessionID)
	return err
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
