package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// adopt returns what an earlier server left on this runner: the processes to be driven, and
// those without a session. It does not wait for processes; each attaches on its own goroutine.
func (o *Orchestrator) adopt(ctx context.Context) (adopted []*process, strays []launch.Leftover, err error) {
	found, err := o.o.Launcher.Leftovers(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list processes: %w", err)
	}
	for _, left := range found {
		id := left.ID()
		p, err := o.adoptOne(ctx, left)
		if errors.Is(err, errNoFolder) {
			o.o.Log.ErrorContext(ctx, "cannot recover a running process that is missing from the database; leaving it alone", "session_id", id.SessionID, "process_id", id.ProcessID, "error", err)
			continue
		}
		if errors.Is(err, errOtherRunner) {
			o.o.Log.ErrorContext(ctx, "a runner reports a process of a session that belongs to another runner; leaving it alone", "runner_id", o.o.RunnerID, "session_id", id.SessionID, "process_id", id.ProcessID)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if p == nil {
			strays = append(strays, left) // its session was deleted or has continued without it
			continue
		}
		adopted = append(adopted, p)
		o.mu.Lock()
		o.processes[id.SessionID] = p
		o.mu.Unlock()
	}
	return adopted, strays, nil
}

// leftRunning reports whether a process runs on this Orchestrator's runner according to the store.
func (o *Orchestrator) leftRunning(s session.ProcessState) bool {
	return o.drives(s.RunnerID) && s.Running() && s.Kind == session.Ours
}

// settleDead marks as dead the processes that run here according to the store but that the runner
// does not have.
func (o *Orchestrator) settleDead(ctx context.Context) error {
	driven := map[string]bool{} // read before the store, because a process may end meanwhile
	for _, p := range o.all() {
		driven[p.session.SessionID] = true
	}
	states, err := o.o.Store.ActiveProcesses(ctx)
	if err != nil {
		return err
	}
	for _, s := range states {
		if driven[s.SessionID] || !o.leftRunning(s) {
			continue
		}
		byPerson, err := o.endedByPerson(ctx, s)
		if err != nil {
			return err
		}
		reason := statement.New("server_stopped_claude")
		if err := o.endMCP(ctx, s.SessionID, reason); err != nil {
			return err
		}
		if _, err := o.o.Registry.Orphan(ctx, s.SessionID, reason); err != nil {
			return err
		}
		if err := o.settleMessage(ctx, s); err != nil {
			return err
		}
		if err := o.revokeTokens(ctx, s.SessionID); err != nil {
			return err
		}
		s.State, s.StateChangedAt = session.Dead, time.Now()
		s.KillReason, s.PID, s.Memory, s.CPU, s.Stuck = cmp.Or(s.KillReason, reason), 0, 0, 0, ""
		if _, err := o.o.Store.SaveProcess(ctx, s); err != nil {
			return err
		}
		o.o.Notifier.Notify(s.SessionID)
		if !byPerson {
			o.continueLater(s.SessionID)
		}
	}
	return nil
}

// endedByPerson reports whether a person ended a process of which only the stored state is left.
// Servers of earlier releases did not store that a limit ended a process: then it counts as ended
// by a person.
func (o *Orchestrator) endedByPerson(ctx context.Context, s session.ProcessState) (bool, error) {
	switch s.KillReason {
	case "", statement.New("server_stopped"), statement.New("server_stopped_claude"):
		return false, nil
	}
	mark, err := o.o.Store.Mark(ctx, s.SessionID)
	if err != nil || mark.ProcessID != s.ProcessID {
		return true, err
	}
	known, err := decodeMemo(mark.Memo)
	return !known.EndedByLimit, err
}

// settleMessage is like [process.settleMessage], for a process of which only the stored state is
// left.
func (o *Orchestrator) settleMessage(ctx context.Context, s session.ProcessState) error {
	mark, err := o.o.Store.Mark(ctx, s.SessionID)
	if err != nil || mark.ProcessID != s.ProcessID || s.State != session.AssistantTurn {
		return err
	}
	known, err := decodeMemo(mark.Memo)
	if err != nil {
		return err
	}
	// The requests of a process are stored at once, its output a moment later.
	asked := func(r pending.Request) bool { return r.ProcessID == s.ProcessID && r.CreatedAt.After(s.StateChangedAt) }
	if known.Sending != "" && (known.TurnStarted || slices.ContainsFunc(s.Requests, asked)) {
		_, err = o.o.Store.MarkSent(ctx, known.Sending, time.Now())
	}
	return err
}

// removeStrays ends and removes processes without a session, concurrently.
func (o *Orchestrator) removeStrays(ctx context.Context, strays []launch.Leftover) {
	var clearing sync.WaitGroup
	defer clearing.Wait()
	for _, left := range strays {
		clearing.Go(func() {
			id := left.ID()
			o.o.Log.WarnContext(ctx, "removing a process that belongs to no session", "session_id", id.SessionID, "process_id", id.ProcessID)
			if err := left.Remove(ctx); err != nil {
				o.o.Log.ErrorContext(ctx, "cannot remove a process that belongs to no session", "session_id", id.SessionID, "error", err)
			}
		})
	}
}

// errOtherRunner means that a session belongs to another runner. Whatever a runner reports, it gets
// no messages and no answers of such a session.
var errOtherRunner = errors.New("another runner has the session")

// adoptOne returns the process that adopts left, or nil if the session has continued without it.
// It recovers a process that the database has forgotten.
func (o *Orchestrator) adoptOne(ctx context.Context, left launch.Leftover) (*process, error) {
	id := left.ID()
	s, err := o.o.Store.Session(ctx, id.SessionID)
	if errors.Is(err, session.ErrNotFound) {
		return o.recoverSession(ctx, left)
	}
	if err != nil {
		return nil, err
	}
	if !o.drives(s.RunnerID) {
		return nil, errOtherRunner
	}
	state, err := o.o.Store.ProcessState(ctx, id.SessionID)
	if err != nil {
		return nil, err
	}
	if state.ProcessID != id.ProcessID || !state.Running() {
		if isForgotten(left.Origin(), id, state) {
			return o.recoverProcess(ctx, left, s, statement.New("process_recovered"))
		}
		if state.ProcessID != id.ProcessID {
			return nil, nil
		}
		byPerson, err := o.endedByPerson(ctx, state)
		if err == nil && !byPerson {
			o.continueLater(id.SessionID) // the earlier server may have had no time for that
		}
		return nil, err
	}
	mark, err := o.o.Store.Mark(ctx, id.SessionID)
	if err != nil {
		return nil, err
	}
	if mark.ProcessID != id.ProcessID {
		mark = session.Mark{} // none of its output is stored yet
	}
	plan := launchOf(s)
	if plan.Earlier, err = o.hasEarlierQuestions(ctx, id, state.Requests); err != nil {
		return nil, err
	}
	p := newProcess(o.node, s, plan, left)
	p.state.offset, p.state.stored = mark.Offset, mark.Offset
	known, err := decodeMemo(mark.Memo)
	if err != nil {
		return nil, err
	}
	p.transcript.Restore(known.Memo)
	p.state.memo = known.memo
	p.elicitations.restore(known.Elicited)
	given, err := o.unconsumed(ctx, id.SessionID)
	if err != nil {
		return nil, err
	}
	// restoreAllowedInputs restores the input with which an answer to an earlier server let a call
	// run.
	restoreAllowedInputs := func(r pending.Request) {
		if input, ok := transcript.InputAllowedBy(r); ok && r.AskerToolUseID != "" {
			p.queueItems(p.transcript.Allow(r.AskerToolUseID, input))
		}
	}
	for _, r := range given {
		if r.ProcessID != id.ProcessID || r.AskerToolUseID == "" {
			continue
		}
		// The earlier server may have sent the answer after it stored the memo.
		heard := r.Delivery == pending.Delivered
		if !heard {
			if heard, err = left.Wrote(ctx, r.AskerRequestID); err != nil {
				return nil, err
			}
		}
		// The memo may name an answer that the earlier server did not send.
		p.state.memo.Answered = p.state.memo.Answered.without(r.AskerToolUseID)
		if heard {
			p.state.memo.Answered = p.state.memo.Answered.with(answered{ToolUseID: r.AskerToolUseID, RequestID: r.RequestID, ToolName: r.ToolName, At: r.Resolution.At})
			restoreAllowedInputs(r)
		}
	}
	// The lines of calls whose result is stored may be read again.
	recent, err := o.o.Store.ConsumedRequests(ctx, id.SessionID, id.ProcessID, recentlyConsumed)
	if err != nil {
		return nil, err
	}
	for _, r := range recent {
		restoreAllowedInputs(r)
	}
	state.Requests = nil
	p.state.row, p.state.unsaved = state, false
	p.state.turnSince = state.StateChangedAt
	if state.KillReason != "" {
		// The earlier server died while it was ending the process; the grace period has passed.
		p.kill(true, !known.EndedByLimit, state.KillReason)
	}
	return p, nil
}

// hasEarlierQuestions is like openQuestions, for a running process: it reports whether earlier processes
// left questions. requests are the requests of the session that can be answered.
func (o *Orchestrator) hasEarlierQuestions(ctx context.Context, id launch.ID, requests []pending.Request) (bool, error) {
	given, err := o.unconsumed(ctx, id.SessionID)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(requests, func(r pending.Request) bool { return r.Status == pending.Orphaned }) ||
		slices.ContainsFunc(given, func(r pending.Request) bool { return r.ProcessID != id.ProcessID }), nil
}
