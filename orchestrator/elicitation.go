package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
)

// elicited is an elicitation that the CLI waits for. The CLI lists it to nobody
// who attaches later, so it is remembered with the place in the journal.
type elicited struct {
	Body json.RawMessage `json:"body"` // the request as the CLI sent it
	// Calls are the tool calls of its server that were running when it came. The
	// old CLI withdraws no elicitation: once all of them have a result, nobody waits
	// for it.
	Calls []string `json:"calls,omitempty"`
	// Answered is our id of the request once the CLI has the answer: it is kept until
	// the calls have their results.
	Answered  string `json:"answered,omitempty"`
	abandoned chan struct{}
}

// noteRequest takes note of a request of the CLI, on its read loop.
func (p *process) noteRequest(requestID, subtype string, body json.RawMessage) {
	if subtype != "elicitation" {
		return
	}
	var r struct {
		Server string `json:"mcp_server_name"`
	}
	_ = json.Unmarshal(body, &r) // without a name it has no calls that we know of
	e := &elicited{Body: slices.Clone(body), abandoned: make(chan struct{})}
	prefix := "mcp__" + toolNameOf(r.Server) + "__"
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, toolName := range p.transcript.RunningCalls() {
		if r.Server != "" && strings.HasPrefix(toolName, prefix) {
			e.Calls = append(e.Calls, id)
		}
	}
	p.elicited[requestID] = e
}

var notInToolName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// toolNameOf is the part of a tool's name that stands for its MCP server.
func toolNameOf(server string) string { return notInToolName.ReplaceAllString(server, "_") }

// openElicitations returns the elicitations that a former server left without an answer.
func (p *process) openElicitations() map[string]json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := make(map[string]json.RawMessage, len(p.elicited))
	for id, e := range p.elicited {
		if e.Answered == "" {
			open[id] = e.Body
		}
	}
	return open
}

// finishElicitations ends the elicitations that came from tool calls of which the last has
// its result now; an answer that one of them had is consumed.
func (p *process) finishElicitations(toolUseID string) {
	var consumed []string
	p.mu.Lock()
	for id, e := range p.elicited {
		i := slices.Index(e.Calls, toolUseID)
		if i < 0 {
			continue
		}
		if e.Calls = slices.Delete(e.Calls, i, i+1); len(e.Calls) > 0 {
			continue
		}
		if e.Answered == "" {
			close(e.abandoned)
			continue
		}
		consumed = append(consumed, e.Answered)
		delete(p.elicited, id)
	}
	p.mu.Unlock()
	for _, requestID := range consumed {
		p.elicitationConsumed(requestID)
	}
}

func (p *process) elicitationConsumed(requestID string) {
	if err := p.o.o.Store.SetDelivery(context.Background(), requestID, pending.Consumed); err != nil {
		p.log.Error("cannot note that an answer was consumed", "error", err)
	}
}

// closeElicitation forgets an elicitation for which nothing more is to be said. One
// whose answer reached the CLI is kept until its calls are over; without calls
// nothing else will tell that the CLI acted on it.
func (p *process) closeElicitation(askerRequestID, answered string) {
	p.mu.Lock()
	e := p.elicited[askerRequestID]
	kept := p.state.detached || e != nil && answered != "" && len(e.Calls) > 0
	switch {
	case !kept:
		delete(p.elicited, askerRequestID)
	case e != nil:
		e.Answered = answered
	}
	p.mu.Unlock()
	if !kept && answered != "" {
		p.elicitationConsumed(answered)
	}
}

// elicit puts what an MCP server asks before a person.
func (p *process) elicit(ctx context.Context, r claude.ElicitationRequest) (claude.ElicitationAnswer, error) {
	p.mu.Lock()
	e := p.elicited[r.RequestID]
	p.mu.Unlock()
	var abandoned chan struct{}
	if e != nil {
		abandoned = e.abandoned
	}
	q := p.beginQuestion(abandoned)
	over := func(answered string) {
		p.closeElicitation(r.RequestID, answered)
		p.endQuestion(q)
	}
	settled, err := p.await(ctx, q, p.elicitation(r))
	if errors.Is(err, pending.ErrConflict) {
		p.noteReused([]byte(r.RequestID+" "+pending.HashInput(r.Raw)), reusedEnded)
		err = claude.ErrNoAnswer
	}
	if errors.Is(err, claude.ErrNoAnswer) {
		over("")
		return claude.ElicitationAnswer{}, err
	}
	answer := claude.ElicitationAnswer{Action: "cancel", Sent: func(error) { over("") }}
	if err != nil && !errors.Is(err, errAbandoned) {
		p.log.ErrorContext(ctx, "cannot put an elicitation before a person", "server", r.ServerName, "error", err)
		return answer, nil
	}
	if settled.Resolution == nil || settled.Resolution.Answer == nil {
		return answer, nil
	}
	said := *settled.Resolution.Answer
	if answer.Action, answer.Content, err = pending.ElicitationResult(settled, said); err != nil {
		// It was held against the same schema when it was given.
		p.log.ErrorContext(ctx, "cannot give an answer to an elicitation", "request_id", settled.RequestID, "error", err)
		answer.Action, answer.Content = "cancel", nil
	}
	answer.Sent = func(err error) {
		p.answerSent(settled, err)
		if err == nil || errors.Is(err, launch.ErrRepeated) {
			over(settled.RequestID)
		} else {
			over("")
		}
		if err == nil && said.Interrupt {
			if err := p.interrupt(context.WithoutCancel(ctx), settled.Resolution.Actor); err != nil && !errors.Is(err, ErrNotRunning) {
				p.log.Warn("cannot end the turn with a declined elicitation", "error", err)
			}
		}
	}
	return answer, nil
}

// elicitation turns what an MCP server asks into what a person sees.
func (p *process) elicitation(r claude.ElicitationRequest) pending.Request {
	form, err := pending.FormOfElicitation(r.Raw)
	if err != nil {
		p.log.Warn("an MCP server asked what cannot be shown as a form", "server", r.ServerName, "error", err)
	}
	return pending.Request{
		RequestID:   pending.NewRequestID(p.session.SessionID, p.processID, r.RequestID),
		SessionID:   p.session.SessionID,
		RequestType: pending.AskUserQuestion, Source: pending.SourceElicitation, ProcessID: p.processID,
		AskerRequestID: r.RequestID,
		ToolName:       r.ServerName, ToolInput: r.Raw, InputHash: pending.HashInput(r.Raw), Form: form,
		Title: r.Title, CreatedAt: time.Now(),
	}
}

// errAbandoned is what ends a request whose asker was seen to wait no longer.
var errAbandoned = errors.New("the asker waits no longer")

// abandonment is an errAbandoned with its reason for people.
type abandonment string

func (a abandonment) Error() string        { return string(a) }
func (a abandonment) Is(target error) bool { return target == errAbandoned }

const stoppedWaiting = "Claude stopped waiting for the answer."

func (p *process) whyAbandoned(q *question) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.interruptedBy != "" {
		return abandonment(q.interruptedBy + " interrupted Claude.")
	}
	return abandonment(stoppedWaiting)
}
