package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// launch registers a process for the session and passes it to Run.
func (o *Orchestrator) launch(ctx context.Context, s session.Session, plan launchPlan) error {
	if err := o.checkRunner(ctx, s); err != nil {
		return err
	}
	release, err := o.reserve(ctx, s)
	if err != nil {
		return err
	}
	defer release()
	if !s.Demo && !o.rules().Roots.Contains(s.CWD) {
		return problem.For("cwd", "folder_outside", "folder", s.CWD, "roots", strings.Join(o.rules().Roots, ", "))
	}
	if plan.settings, err = o.nextSettings(ctx, s); err != nil {
		return err
	}
	if s.PermissionMode == bypass {
		if may, err := o.mayBypass(ctx, plan.By.UserID, s.CWD); err != nil {
			return fmt.Errorf("orchestrator: launch: %w", err)
		} else if !may {
			return errBypassStopped
		}
	}
	var waits bool
	if plan.Earlier, waits, err = o.openQuestions(ctx, s.SessionID); err != nil {
		return fmt.Errorf("orchestrator: launch: %w", err)
	}
	plan.ContinueTurn = plan.ContinueTurn || waits && plan.Resume == s.SessionID
	lost := ""
	if plan.ContinueTurn {
		plan.CutOff = plan.Earlier
		if lost, err = o.unsavedMessage(ctx, s, &plan.CutOff); err != nil {
			return fmt.Errorf("orchestrator: launch: %w", err)
		}
		plan.ContinueTurn = lost == ""
		plan.Earlier = true
		before, err := o.o.Store.ProcessState(ctx, s.SessionID)
		if err != nil {
			return fmt.Errorf("orchestrator: launch: %w", err)
		}
		plan.Before = before.ProcessID
	}
	p := newProcess(o.node, s, plan, nil)
	o.mu.Lock()
	if _, ok := o.processes[s.SessionID]; ok {
		o.mu.Unlock()
		return ErrRunning
	}
	o.processes[s.SessionID] = p
	o.mu.Unlock()
	o.admission.StopWaiting(s.SessionID)
	if s.PermissionMode == bypass {
		if err := o.recordBypass(ctx, s, plan.By); err != nil {
			o.remove(p)
			return err
		}
	}
	if plan.Retell {
		if _, err := o.o.Store.Requeue(ctx, s.SessionID); err != nil {
			o.remove(p)
			return fmt.Errorf("orchestrator: launch: %w", err)
		}
	}
	if lost != "" {
		if _, err := o.o.Store.Unsend(ctx, lost); err != nil {
			o.remove(p)
			return fmt.Errorf("orchestrator: launch: %w", err)
		}
		p.addItems(transcript.Note("unsaved:"+p.processID, "warning", statement.New("message_repeated"), time.Now()))
	}
	// The caller must see the session starting, not still dead. If it is unknown whether the store
	// has recorded that, the process must start, and stores it again.
	if err := p.flush(ctx); err != nil && !errors.Is(err, pending.ErrUnknownOutcome) {
		o.remove(p)
		return fmt.Errorf("orchestrator: launch: %w", err)
	}
	select {
	case o.launches <- p:
		return nil
	case <-o.closing:
		return o.cancelLaunch(ctx, p, ErrClosing)
	case <-ctx.Done():
		return o.cancelLaunch(ctx, p, ctx.Err())
	}
}

// unsavedMessage returns the id of the message whose turn a process died in, if Claude's own
// transcript lacks the message, else "". The CLI writes a message only a moment after receiving
// it; a resumed CLI would not know of the turn, and would wait. unsavedMessage sets *cutOff if
// there was such a turn.
func (o *Orchestrator) unsavedMessage(ctx context.Context, s session.Session, cutOff *bool) (messageID string, err error) {
	mark, err := o.o.Store.Mark(ctx, s.SessionID)
	if err != nil {
		return "", err
	}
	known, err := decodeMemo(mark.Memo)
	*cutOff = *cutOff || known.CutOff || known.Sending != ""
	if err != nil || known.Sending == "" {
		return "", err
	}
	saved, err := o.runner.SavedMentions(ctx, s.SessionID, known.Sending)
	switch {
	case errors.Is(err, claude.ErrNotSaved): // the CLI will report that
	case err != nil: // then Claude is asked to continue, as if it had saved the message
		o.o.Log.WarnContext(ctx, "cannot read Claude's saved transcript of a session", "session_id", s.SessionID, "error", err)
	case !saved:
		return known.Sending, nil
	}
	return "", nil
}

// cancelLaunch undoes launch for a process that Run did not take over.
func (o *Orchestrator) cancelLaunch(ctx context.Context, p *process, why error) error {
	p.handle(ctx, exited{ended{stop: statement.New("server_stopped"), at: time.Now()}})
	err := p.flush(context.WithoutCancel(ctx))
	o.remove(p)
	return errors.Join(why, err)
}

// openQuestions reports whether a dead process left questions, answered or not, that the next
// one may ask again, and whether Claude waits for any of them. Claude does not count as waiting
// for an answer that it may have received, because it may have acted on it.
func (o *Orchestrator) openQuestions(ctx context.Context, sessionID string) (any, waits bool, err error) {
	open, err := o.o.Registry.Open(ctx, sessionID)
	if err != nil || len(open) > 0 {
		return len(open) > 0, len(open) > 0, err
	}
	given, err := o.unconsumed(ctx, sessionID)
	for _, r := range given {
		waits = waits || r.Delivery == pending.Queued
	}
	return len(given) > 0, waits, err
}
