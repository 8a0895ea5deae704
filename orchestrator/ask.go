package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/internal/tracing"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// ask shows a permission request of the CLI to people and returns their decision. The client calls
// it on a goroutine for each request.
func (p *process) ask(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
	q := p.questions.begin(nil)
	start := p.o.o.Tracer.Begin()
	decision, err := p.decide(ctx, q, r)
	if !start.IsZero() {
		p.o.o.Tracer.End(p.requests.id(r.RequestID), tracing.Ask, start, err)
	}
	if err != nil {
		p.endQuestion(q)
		return decision, err
	}
	sent := decision.Sent
	decision.Sent = func(err error) {
		if sent != nil {
			sent(err)
		}
		p.endQuestion(q)
	}
	return decision, nil
}

// decide waits for a person's decision.
func (p *process) decide(ctx context.Context, q *question, r claude.ToolRequest) (claude.ToolDecision, error) {
	p.mu.Lock()
	agentType := p.transcript.Agents[r.AgentID].Name
	p.mu.Unlock()
	settled, err := p.await(ctx, q, p.requests.fromTool(r, agentType))
	switch {
	case errors.Is(err, claude.ErrNoAnswer):
		return claude.ToolDecision{}, err
	case errors.Is(err, pending.ErrConflict): // the id belongs to an ended request, which only the store still has
		p.log.WarnContext(ctx, "Claude reused the ID of a closed request", "request_id", r.RequestID)
		p.requests.noteLine([]byte(r.RequestID+" "+pending.HashInput(r.Input)), "id_reused_closed")
		return claude.ToolDecision{}, claude.ErrNoAnswer
	}
	if err != nil {
		p.log.ErrorContext(ctx, "cannot show a request to people", "tool_name", r.ToolName, "error", err)
		return claude.ToolDecision{Message: "The request could not be shown to a person because of a technical problem. Nothing was decided. Try again later."}, nil
	}
	decision, byPerson := decisionOf(settled)
	if !byPerson && ctx.Err() != nil {
		return claude.ToolDecision{}, claude.ErrNoAnswer
	}
	if byPerson {
		p.mu.Lock()
		effects := p.transition(answerGiven{answered{ToolUseID: r.ToolUseID, RequestID: settled.RequestID, ToolName: r.ToolName, At: time.Now()}})
		if input, ok := transcript.InputAllowedBy(settled); ok {
			p.queueItems(p.transcript.Allow(r.ToolUseID, input))
		}
		p.mu.Unlock()
		p.perform(ctx, effects)
		wake(p.dirty)
		granted := pending.GrantsOf(settled, *settled.Resolution)
		if len(granted) > 0 {
			p.o.grantsChanged(ctx) // before the grant can be used
		}
		var forgotten []pending.Grant
		if decision.Allow && r.ToolName != questionTool {
			decision.UpdatedPermissions, forgotten = p.revoked.approval(decision.UpdatedPermissions, granted)
		}
		decision.Sent = func(err error) {
			p.answerSent(settled, err)
			reached := err == nil || errors.Is(err, launch.ErrRepeated)
			p.mu.Lock()
			effects := p.transition(answerSent{r.ToolUseID, reached})
			if !reached {
				p.queueItems(p.transcript.UndoAllow(r.ToolUseID))
			}
			p.mu.Unlock()
			wake(p.dirty)
			p.perform(context.Background(), effects)
			if reached {
				p.revoked.settle(ctx, forgotten)
			}
		}
	}
	return decision, nil
}

// await shows a request to people and returns the request as it ended. It returns
// [claude.ErrNoAnswer] if the CLI no longer waits for an answer.
func (p *process) await(ctx context.Context, q *question, req pending.Request) (settled pending.Request, err error) {
	if answered, err := p.wasAnswered(ctx, req); answered {
		return settled, claude.ErrNoAnswer
	} else if err != nil {
		p.log.WarnContext(ctx, "cannot check whether a request was answered", "request_id", req.RequestID, "error", err)
	}
	waiting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(p.withdrawalReason(q, context.Cause(ctx))) })()
	if q.abandoned != nil {
		var watching sync.WaitGroup
		defer watching.Wait()
		done := make(chan struct{})
		defer close(done)
		watching.Go(func() {
			select {
			case <-q.abandoned:
				cancel(p.abandonReason(q))
			case <-done:
			}
		})
	}

	// While the store is unavailable, the request waits for it, and Claude waits as it would
	// for a person.
	err = retryStore(waiting, p.log, "a request of Claude", func() (err error) {
		settled, err = p.settle(waiting, req)
		return err
	})
	if settled.Resolution != nil {
		p.addItems(session.ResolvedItem(settled, p.transcriptAgentID(req.AgentID), time.Now()))
	}
	if err != nil && ctx.Err() != nil {
		return settled, claude.ErrNoAnswer // the CLI no longer waits
	}
	return settled, err
}

// answerSent records the result of sending an answer to the CLI.
func (p *process) answerSent(settled pending.Request, err error) {
	reached := pending.Delivered
	switch {
	case errors.Is(err, claude.ErrWithdrawn):
		// The CLI withdrew the question at the same moment. If the answer were kept, it would
		// answer the same question in a later turn, after a resume.
		reached = pending.Dropped
		p.handle(context.Background(), answerDropped{settled.AskerToolUseID})
	case err != nil && !errors.Is(err, launch.ErrRepeated):
		p.log.Warn("an answer did not reach Claude", "request_id", settled.RequestID, "error", err)
		return
	case err == nil && settled.Resolution != nil && p.o.o.OnDelivered != nil:
		p.o.o.OnDelivered(time.Since(settled.Resolution.At))
	}
	p.requests.setDelivery(context.Background(), settled.RequestID, reached)
}

// settle returns the answer that a person gave to the same question of an earlier process, or
// asks.
func (p *process) settle(ctx context.Context, req pending.Request) (pending.Request, error) {
	if p.snapshot().earlierQuestions { // which is until the end of the turn that was cut off
		settled, carried, err := p.requests.carryAnswer(ctx, &req)
		if carried || pending.IsTemporary(err) {
			return settled, err
		}
		if err != nil {
			p.log.ErrorContext(ctx, "cannot read the answers to the previous process", "error", err)
		}
	}
	return p.o.o.Registry.Ask(ctx, req)
}

// decisionOf converts the resolution of a request to the decision for the CLI; byPerson is false
// if nobody decided.
func decisionOf(r pending.Request) (d claude.ToolDecision, byPerson bool) {
	a := r.Resolution.Answer
	switch {
	case r.Status == pending.Answered && a != nil && r.RequestType == pending.AskUserQuestion:
		return claude.ToolDecision{Allow: true, UpdatedInput: answeredInput(r, *a)}, true
	case r.Status == pending.Answered && a != nil:
		return claude.ToolDecision{Allow: true, UpdatedInput: a.UpdatedInput, UpdatedPermissions: a.UpdatedPermissions}, true
	case r.Status == pending.Denied && a != nil:
		message := a.Message
		if message == "" && r.RequestType == pending.AskUserQuestion {
			message = "The user declined to answer."
		} else if message == "" {
			message = pending.DeniedAction
		}
		return claude.ToolDecision{Message: message, Interrupt: a.Interrupt}, true
	case r.Status == pending.Expired:
		return claude.ToolDecision{Message: "Nobody answered in time."}, false
	}
	return claude.ToolDecision{Message: "The request was withdrawn before a person decided."}, false
}

// answeredInput returns the tool's input with the answers added. All other fields are those that
// the CLI sent, unchanged; none comes from a browser.
func answeredInput(r pending.Request, a pending.Answer) json.RawMessage {
	input := map[string]json.RawMessage{}
	if err := json.Unmarshal(r.ToolInput, &input); err != nil {
		// A form was created from this input, so it is an object.
		panic(fmt.Sprintf("orchestrator: stored question is no object: %v", err))
	}
	answers, err := json.Marshal(pending.AnswersByText(r, a))
	if err != nil {
		panic(fmt.Sprintf("orchestrator: encode answers: %v", err))
	}
	input["answers"] = answers
	out, err := json.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("orchestrator: encode answered question: %v", err))
	}
	return out
}

// withdrawalReason returns an error for people about why a request was withdrawn.
func (p *process) withdrawalReason(q *question, cause error) error {
	p.mu.Lock()
	stop, byPerson, detached := p.state.stopReason, p.state.endedByPerson, p.state.detached
	p.mu.Unlock()
	by := p.questions.interruptedBy(q)
	switch {
	case detached:
		return pending.ErrDetached
	case stop != "" && byPerson:
		return errorMessage(stop)
	case stop != "":
		return pending.ErrAskerDied{Reason: stop}
	case errors.Is(cause, claude.ErrWithdrawn) && by != "":
		return errorMessage(statement.New("interrupted_by", "by", by))
	case errors.Is(cause, claude.ErrWithdrawn):
		return errorMessage(statement.New("withdrawn"))
	}
	return pending.ErrAskerDied{Reason: statement.New("process_ended_first")}
}

// errorMessage is an error whose text people read.
type errorMessage string

func (m errorMessage) Error() string { return string(m) }

// endQuestion ends a question. The question counts as open until its end is recorded as activity,
// so that no limit applies in between.
func (p *process) endQuestion(q *question) {
	p.handle(context.Background(), questionClosed{time.Now()})
	p.questions.end(q)
}

// errAbandoned ends a request whose asker no longer waits.
var errAbandoned = errors.New("the asker waits no longer")

// abandonment is an errAbandoned with a reason for people.
type abandonment string

func (a abandonment) Error() string { return string(a) }

func (a abandonment) Is(target error) bool { return target == errAbandoned }

// abandonReason returns an errAbandoned with the reason why nobody waits for the answer.
func (p *process) abandonReason(q *question) error {
	if by := p.questions.interruptedBy(q); by != "" {
		return abandonment(statement.New("interrupted_by", "by", by))
	}
	return abandonment(statement.New("asker_stopped_waiting"))
}
