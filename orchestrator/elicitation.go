package orchestrator

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
)

// elicit shows an MCP server's elicitation to people.
func (p *process) elicit(ctx context.Context, r claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
	q := p.questions.begin(p.elicitations.abandoned(r.RequestID))
	finish := func(answered string) {
		if p.elicitations.close(r.RequestID, answered, p.snapshot().detached) {
			p.requests.setDelivery(context.Background(), answered, pending.Consumed)
		}
		p.endQuestion(q)
	}
	settled, err := p.await(ctx, q, p.requests.fromElicitation(r))
	if errors.Is(err, pending.ErrConflict) {
		p.requests.noteLine([]byte(r.RequestID+" "+pending.HashInput(r.Raw)), "id_reused_closed")
		err = claude.ErrNoAnswer
	}
	if errors.Is(err, claude.ErrNoAnswer) {
		finish("")
		return claude.ElicitationAnswer{}, err
	}
	answer := claude.ElicitationAnswer{Action: "cancel", Sent: func(error) { finish("") }}
	if err != nil && !errors.Is(err, errAbandoned) {
		p.log.ErrorContext(ctx, "cannot show an elicitation to people", "server", r.ServerName, "error", err)
		return answer, nil
	}
	if settled.Resolution == nil || settled.Resolution.Answer == nil {
		return answer, nil
	}
	said := *settled.Resolution.Answer
	if answer.Action, answer.Content, err = pending.ElicitationResult(settled, said); err != nil {
		// Unexpected: the answer was validated against the same schema when it was given.
		p.log.ErrorContext(ctx, "cannot deliver the answer to an elicitation", "request_id", settled.RequestID, "error", err)
		answer.Action, answer.Content = "cancel", nil
	}
	answer.Sent = func(err error) {
		p.answerSent(settled, err)
		if err == nil || errors.Is(err, launch.ErrRepeated) {
			finish(settled.RequestID)
		} else {
			finish("")
		}
		if err == nil && said.Interrupt {
			if err := p.interrupt(context.WithoutCancel(ctx), settled.Resolution.Actor); err != nil && !errors.Is(err, ErrNotRunning) {
				p.log.Warn("cannot end the turn after a declined elicitation", "error", err)
			}
		}
	}
	return answer, nil
}
