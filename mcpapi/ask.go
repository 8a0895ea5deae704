package mcpapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
)

// question is the question of a tool call before it becomes a request.
type question struct {
	tool        string // name of the tool that was called
	requestType pending.RequestType
	toolName    string // name for people
	input       json.RawMessage
	toolUseID   string
	form        *pending.Form
	timeout     time.Duration // 0 for none
	// mayIssueTicket is false for a tool whose caller does not understand tickets.
	mayIssueTicket bool
}

// ask asks a person a question and returns the result of its tool.
func (s *Server) ask(ctx context.Context, c *call, req *mcp.CallToolRequest, q question) (*mcp.CallToolResult, error) {
	policy := s.policyOf(ctx, c)
	if policy.Disabled && q.requestType == pending.AskUserQuestion {
		return errorResult("Asking is switched off for this project. Go on without an answer, using your best judgment."), nil
	}
	key, exact := c.key(q.tool, q.input)
	request := pending.Request{
		SessionID: c.session.SessionID, RequestType: q.requestType, Source: pending.SourceMCP, Asker: c.asker(),
		AskerRequestID: key, AskerToolUseID: q.toolUseID,
		ToolName: q.toolName, ToolInput: q.input, InputHash: pending.HashInput(q.input), Form: q.form,
		CreatedAt: time.Now(),
	}
	if q.timeout > 0 {
		request.ExpiresAt = request.CreatedAt.Add(q.timeout)
	}
	for nth := 1; ; nth++ {
		known, err := s.assignID(ctx, c, &request, key, exact, nth)
		if err != nil {
			return s.failureResult(ctx, c, err), nil
		}
		h, err := s.questions.join(request, !known)
		if err != nil {
			return s.failureResult(ctx, c, err), nil
		}
		row, result, err := s.wait(ctx, c, req, h, q.mayIssueTicket)
		switch {
		case result != nil:
			return result, nil
		case isAbandoned(row, err) && c.ctx.Err() == nil && nth < 100:
			// It was withdrawn because this call seemed to be gone.
			continue
		case row.Resolution == nil:
			return s.failureResult(ctx, c, err), nil
		}
		return s.result(c, policy, row), nil
	}
}

// assignID sets the id of a request. If an earlier attempt of this call asked the same question,
// the request gets the id of that question, and known is true.
func (s *Server) assignID(ctx context.Context, c *call, request *pending.Request, key string, exact bool, nth int) (known bool, err error) {
	request.RequestID = c.requestID(key, fmt.Sprint(nth))
	if exact {
		row, err := s.o.Requests.Request(ctx, request.SessionID, request.RequestID)
		switch {
		case errors.Is(err, pending.ErrNotFound):
			return false, nil
		case err != nil:
			return false, err
		case row.InputHash != request.InputHash:
			return false, pending.ErrConflict
		case isAbandoned(row, nil):
			return s.assignID(ctx, c, request, key, exact, nth+1)
		}
		return true, nil
	}
	// Such a key repeats when its client restarts its counter. So only an open question, or
	// one whose answer was never delivered, counts as the same.
	request.RequestID = c.requestID(key, rand.Text())
	open, err := s.o.Requests.Open(ctx, request.SessionID)
	if err != nil {
		return false, err
	}
	undelivered, err := s.o.Store.UndeliveredRequests(ctx, request.SessionID)
	if err != nil {
		return false, err
	}
	for _, row := range slices.Concat(open, undelivered) {
		if old := row.Resolution != nil && time.Since(row.Resolution.At) > AnswerKept; old {
			continue // answered in an earlier run of the client
		}
		if row.Source == pending.SourceMCP && row.AskerRequestID == key && row.InputHash == request.InputHash {
			request.RequestID = row.RequestID
			return true, nil
		}
	}
	return false, nil
}

// isAbandoned reports whether a question was withdrawn because its asker was gone.
func isAbandoned(row pending.Request, err error) bool {
	if errors.Is(err, errAskerGone) {
		return true
	}
	if row.Status != pending.Withdrawn || row.Resolution == nil {
		return false
	}
	why := statement.Find(row.Resolution.Reason)
	return why != nil && why.Reason == string(errAskerGone)
}

// wait waits for the end of the question or of the call, or until a ticket is due. If result
// is not nil, it is sent to the client instead of the outcome.
func (s *Server) wait(ctx context.Context, c *call, req *mcp.CallToolRequest, h *openQuestion, mayTicket bool) (pending.Request, *mcp.CallToolResult, error) {
	began := time.Now()
	token := req.Params.GetProgressToken()
	look := time.NewTimer(tokenCheckInterval)
	defer look.Stop()
	var patience <-chan time.Time
	progress := time.NewTimer(0)
	progress.Stop()
	soon := earlyProgress[:]
	if token != nil {
		progress.Reset(soon[0])
		defer progress.Stop()
		s.progress(ctx, req, token, began) // at once, so that the client sees the start of its response
	}
	if mayTicket && !c.unlimited {
		t := time.NewTimer(TicketSilent)
		if token != nil {
			t.Reset(TicketProgress)
		}
		defer t.Stop()
		patience = t.C
	}
	for {
		select {
		case <-h.done:
			return h.row, nil, h.err
		case <-c.ctx.Done():
			s.questions.leave(h, c)
			return pending.Request{}, errorResult("The call has ended."), nil // nobody receives it
		case <-patience:
			s.questions.ticket(h)
			s.questions.leave(h, c)
			return pending.Request{}, ticket(h.requestID), nil
		case <-progress.C:
			s.progress(ctx, req, token, began)
			next := ProgressEvery
			if len(soon) > 1 {
				soon = soon[1:]
				next = soon[0]
			}
			progress.Reset(next)
		case <-look.C:
			if _, err := s.o.Directory.Agent(ctx, c.secret); errors.Is(err, account.ErrRefused) {
				s.questions.leaveRevoked(h)
				return pending.Request{}, errorResult(errTokenEnded.Error()), nil
			}
			look.Reset(tokenCheckInterval)
		}
	}
}

// progress notifies the client that the call still waits. A dead client is detected by its
// connection.
func (s *Server) progress(ctx context.Context, req *mcp.CallToolRequest, token any, began time.Time) {
	_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: time.Since(began).Seconds(), Message: "Waiting for a person to answer.",
	})
}

// ticket returns the result for a client that would not wait any longer.
func ticket(requestID string) *mcp.CallToolResult {
	return textResult(encodeJSON(struct {
		Status  string `json:"status"`
		Ticket  string `json:"ticket"`
		Message string `json:"message"`
	}{"pending", requestID, "Nobody has answered yet, and the question stays open. " +
		"Call ask_user_wait with this ticket now to go on waiting for the answer. Do not ask again."}))
}

// waitFor continues to wait for a question with a ticket.
func (s *Server) waitFor(ctx context.Context, c *call, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	arguments, err := parseInput(req.Params.Arguments)
	if err != nil {
		return invalidResult(err), nil
	}
	id, err := arguments.text("ticket", 100)
	if err == nil && strings.TrimSpace(id) == "" {
		err = errors.New("ticket is required")
	}
	if err != nil {
		return invalidResult(err), nil
	}
	for nth := 1; ; nth++ {
		row, known, err := s.findTicket(ctx, c.session.SessionID, id)
		switch {
		case errors.Is(err, pending.ErrNotFound), err == nil && row.Source != pending.SourceMCP:
			return errorResult("There is no question with this ticket. Ask again if you still need the answer."), nil
		case err != nil:
			return s.failureResult(ctx, c, err), nil
		}
		if !row.Status.Final() {
			h, err := s.questions.join(row, !known)
			if err != nil {
				return s.failureResult(ctx, c, err), nil
			}
			s.questions.ticket(h)
			var result *mcp.CallToolResult
			row, result, err = s.wait(ctx, c, req, h, true)
			switch {
			case result != nil:
				return result, nil
			case isAbandoned(row, err) && c.ctx.Err() == nil && nth < 100:
				continue // it was withdrawn just before this call
			case row.Resolution == nil:
				return s.failureResult(ctx, c, err), nil
			}
		}
		return s.result(c, s.policyOf(ctx, c), row), nil
	}
}

// findTicket returns the question of a ticket. A question that was withdrawn because its
// asker did not return is opened again; known reports whether people have seen it before.
func (s *Server) findTicket(ctx context.Context, sessionID, id string) (row pending.Request, known bool, err error) {
	if row, err = s.o.Requests.Request(ctx, sessionID, id); err != nil {
		return row, false, err
	}
	for isAbandoned(row, nil) {
		renewed := row
		renewed.RequestID = pending.NewRequestID(sessionID, "", "ticket/"+row.RequestID)
		renewed.Status, renewed.Delivery, renewed.Resolution, renewed.CreatedAt = pending.Open, pending.NotDelivered, nil, time.Now()
		switch row, err = s.o.Requests.Request(ctx, sessionID, renewed.RequestID); {
		case errors.Is(err, pending.ErrNotFound) && !renewed.ExpiresAt.IsZero() && !renewed.ExpiresAt.After(renewed.CreatedAt):
			renewed.Status = pending.Expired // while its asker was away
			return renewed, false, nil
		case errors.Is(err, pending.ErrNotFound):
			return renewed, false, nil
		case err != nil:
			return row, false, err
		}
	}
	return row, true, nil
}

func (s *Server) policyOf(ctx context.Context, c *call) Policy {
	if s.o.Policy == nil {
		return Policy{}
	}
	return s.o.Policy(ctx, c.session)
}

// failureResult returns the result of a question that could not be asked.
func (s *Server) failureResult(ctx context.Context, c *call, err error) *mcp.CallToolResult {
	switch {
	case errors.Is(err, errStopping), errors.Is(err, pending.ErrDetached):
		c.abort() // Run does so too, perhaps later; until then, the client would get this result
		return errorResult("The call has ended.")
	case errors.Is(err, errTooMany):
		return errorResult(fmt.Sprintf("Too many questions are open: %d of yours wait for an answer already. Wait for one of them before you ask another.", MaxOpen))
	case errors.Is(err, errTooFast):
		return errorResult(fmt.Sprintf("Too many questions: you have asked %d within a minute. Ask again later, and several things in one question.", MaxPerMinute))
	case errors.Is(err, pending.ErrConflict):
		return errorResult("The key of this call was used for another question. Use a new key for each question.")
	}
	s.o.Log.ErrorContext(ctx, "cannot show the question of an agent to people", "error", err)
	return errorResult("The question could not be shown to a person because of a technical problem. Nothing was decided. Try again later.")
}

// textResult returns a result with one text.
func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// errorResult returns textResult as an error of the tool.
func errorResult(text string) *mcp.CallToolResult {
	r := textResult(text)
	r.IsError = true
	return r
}

// invalidResult returns the error for invalid input of a tool.
func invalidResult(err error) *mcp.CallToolResult {
	return errorResult("Validation error: " + err.Error())
}

// encodeJSON encodes a value that can always be encoded, without escaping <, > and &.
func encodeJSON(v any) string {
	text, err := marshal(v)
	if err != nil {
		panic(fmt.Sprintf("mcpapi: encode %T: %v", v, err))
	}
	return string(text)
}
