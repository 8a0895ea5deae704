package orchestrator

import (
	"context"
	"fmt"

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
	client, state := p.client, p.state.State
	if state == session.AssistantTurn {
		for q := range p.questions {
			q.interruptedBy = by.Name
		}
		p.script.interrupted = interruption{reason: by.Name + " interrupted Claude."}
	}
	p.mu.Unlock()
	if client == nil || state != session.AssistantTurn {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	// The CLI cuts its calls off and does not say for whom. A store that is away is no
	// reason not to interrupt; the results of the calls then end what they asked.
	if err := p.o.endMCP(ctx, p.session.SessionID, by.Name+" interrupted Claude."); err != nil {
		p.log.ErrorContext(ctx, "cannot withdraw what was asked over MCP", "error", err)
	}
	if err := client.Interrupt(ctx); err != nil {
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
	p.update(func(s *session.ProcessState) { s.Model = model })
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
			p.spareFor(by.UserID)
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
	p.update(func(s *session.ProcessState) { s.PermissionMode = mode })
	return nil
}
