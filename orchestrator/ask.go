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
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// ask puts a permission request of the CLI before a person and returns what
// they decided. It runs on a goroutine of its own for each request.
func (p *process) ask(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
	q := p.questions.begin(nil)
	decision, err := p.decide(ctx, q, r)
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
	settled, err := p.await(ctx, q, p.requests.ofTool(r, agentType))
	switch {
	case errors.Is(err, claude.ErrNoAnswer):
		return claude.ToolDecision{}, err
	case errors.Is(err, pending.ErrConflict): // only the row is left of what the id was of
		p.log.WarnContext(ctx, "Claude asks something else under the id of a request that has ended", "request_id", r.RequestID)
		p.requests.noteReused([]byte(r.RequestID+" "+pending.HashInput(r.Input)), "id_reused_closed")
		return claude.ToolDecision{}, claude.ErrNoAnswer
	}
	if err != nil {
		p.log.ErrorContext(ctx, "cannot put a request before a person", "tool_name", r.ToolName, "error", err)
		return claude.ToolDecision{Message: "The request could not be put before a person because of a technical problem. Nothing was decided; try again later."}, nil
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
			p.o.grantsChanged(ctx) // before the first use can come
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

// await puts a request before a person and returns how it ended. The error is
// [claude.ErrNoAnswer] when the CLI waits no longer.
func (p *process) await(ctx context.Context, q *question, req pending.Request) (settled pending.Request, err error) {
	if answered, err := p.wasAnswered(ctx, req); answered {
		return settled, claude.ErrNoAnswer
	} else if err != nil {
		p.log.WarnContext(ctx, "cannot see whether a request was answered", "request_id", req.RequestID, "error", err)
	}
	waiting, gaveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer gaveUp(nil)
	defer context.AfterFunc(ctx, func() { gaveUp(p.whyGone(q, context.Cause(ctx))) })()
	if q.abandoned != nil {
		var watching sync.WaitGroup
		defer watching.Wait()
		over := make(chan struct{})
		defer close(over)
		watching.Go(func() {
			select {
			case <-q.abandoned:
				gaveUp(p.whyAbandoned(q))
			case <-over:
			}
		})
	}

	// A request that the store cannot take now waits for it, and Claude with it, as
	// it would for a person.
	err = retryStore(waiting, p.log, "a request of Claude", func() (err error) {
		settled, err = p.settle(waiting, req)
		return err
	})
	if settled.Resolution != nil {
		p.addItems(session.ResolvedItem(settled, p.speaker(req.AgentID), time.Now()))
	}
	if err != nil && ctx.Err() != nil {
		return settled, claude.ErrNoAnswer // the CLI waits no longer
	}
	return settled, err
}

// answerSent notes what became of an answer on its way to the CLI.
func (p *process) answerSent(settled pending.Request, err error) {
	reached := pending.Delivered
	switch {
	case errors.Is(err, claude.ErrWithdrawn):
		// It crossed with the withdrawal of the question. Kept, it would answer the
		// same question turns later, should Claude be resumed then.
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

// settle finds what a person answered to a former process, or asks.
func (p *process) settle(ctx context.Context, req pending.Request) (pending.Request, error) {
	if p.snapshot().earlierQuestions { // until the end of the turn that was cut off
		settled, carried, err := p.requests.carryAnswer(ctx, &req)
		if carried || pending.IsTemporary(err) {
			return settled, err
		}
		if err != nil {
			p.log.ErrorContext(ctx, "cannot find out what was answered to the former process", "error", err)
		}
	}
	return p.o.o.Registry.Ask(ctx, req)
}

// decisionOf turns a resolution into what the CLI is told; byPerson is false
// when nobody decided.
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

// answeredInput is the tool's own input with the answers put in. Every field
// the CLI sent is echoed as it came; nothing of it comes from a browser.
func answeredInput(r pending.Request, a pending.Answer) json.RawMessage {
	input := map[string]json.RawMessage{}
	if err := json.Unmarshal(r.ToolInput, &input); err != nil {
		// A form was made from this input, so it is an object.
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

// whyGone says to a person why a request is no longer asked.
func (p *process) whyGone(q *question, cause error) error {
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

// errorMessage is a cause that people read.
type errorMessage string

func (m errorMessage) Error() string { return string(m) }

// endQuestion ends a question. Until its end is noted it counts as open, so that no
// limit applies in between.
func (p *process) endQuestion(q *question) {
	p.handle(context.Background(), questionClosed{time.Now()})
	p.questions.end(q)
}

// errAbandoned is what ends a request whose asker was seen to wait no longer.
var errAbandoned = errors.New("the asker waits no longer")

// abandonment is an errAbandoned with its reason for people.
type abandonment string

func (a abandonment) Error() string { return string(a) }

func (a abandonment) Is(target error) bool { return target == errAbandoned }

// whyAbandoned tells people why nobody waits for the answer to a question.
func (p *process) whyAbandoned(q *question) error {
	if by := p.questions.interruptedBy(q); by != "" {
		return abandonment(statement.New("interrupted_by", "by", by))
	}
	return abandonment(statement.New("asker_stopped_waiting"))
}
