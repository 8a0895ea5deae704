package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// requests manages the stored requests of one process, and those that earlier processes of its
// session left open or with an answer that was not delivered.
type requests struct {
	o                    *node
	log                  *slog.Logger
	sessionID, processID string
	before               string                      // id of the previous process, "" when unknown
	speaker              func(agentID string) string // returns the id of a subagent in the transcript
	addItems             func(...session.Item)       // to the transcript

	mu           sync.Mutex
	withdrawnIDs []string   // requests that the CLI withdrew before it answered initialize
	deliveries   []delivery // not stored yet, the oldest first
}

// delivery is the delivery state of an answer.
type delivery struct {
	requestID string
	delivery  pending.Delivery
}

// id returns the id under which the CLI's request is stored.
func (rs *requests) id(askerRequestID string) string {
	return pending.NewRequestID(rs.sessionID, rs.processID, askerRequestID)
}

// fromTool returns the request to show to people when the CLI asks to use a tool.
func (rs *requests) fromTool(r claude.ToolRequest, agentType string) pending.Request {
	req := pending.Request{
		RequestID:   rs.id(r.RequestID),
		SessionID:   rs.sessionID,
		RequestType: pending.ToolApproval, Source: pending.SourceClaude, ProcessID: rs.processID,
		AskerRequestID: r.RequestID, AskerToolUseID: r.ToolUseID,
		ToolName: r.ToolName, ToolInput: r.Input, InputHash: pending.HashInput(r.Input),
		AgentID: r.AgentID, AgentType: agentType, Title: r.Title, Description: r.Description,
		DecisionReason: r.DecisionReason, BlockedPath: r.BlockedPath,
		PermissionSuggestions: r.PermissionSuggestions,
		Policy:                policyOf(r),
		CreatedAt:             time.Now(),
	}
	if r.ToolName == questionTool {
		req.RequestType = pending.AskUserQuestion
		form, err := pending.FormOfQuestions(r.Input)
		if err != nil {
			rs.log.Warn("Claude asked a question that cannot be shown as a form", "error", err)
		}
		req.Form = form
	}
	return req
}

// policyOf returns the CLI's restrictions on the decision, nil for none.
func policyOf(r claude.ToolRequest) *pending.Policy {
	p := pending.Policy{
		DefaultToNo: r.DefaultToNo, SuppressAlwaysAllowRule: r.SuppressAlwaysAllowRule, RequiresUserInteraction: r.RequiresUserInteraction,
		MatchedAskRule: (*pending.AskRule)(r.MatchedAskRule), ClassifierApprovable: r.ClassifierApprovable, MCPServer: (*pending.MCPServer)(r.MCPServer),
	}
	if p == (pending.Policy{}) {
		return nil
	}
	return &p
}

// fromElicitation returns the request to show to people for an MCP server's elicitation.
func (rs *requests) fromElicitation(r claude.ElicitationRequest) pending.Request {
	form, err := pending.FormOfElicitation(r.Raw)
	if err != nil {
		rs.log.Warn("an MCP server asked a question that cannot be shown as a form", "server", r.ServerName, "error", err)
	}
	return pending.Request{
		RequestID:   rs.id(r.RequestID),
		SessionID:   rs.sessionID,
		RequestType: pending.AskUserQuestion, Source: pending.SourceElicitation, ProcessID: rs.processID,
		AskerRequestID: r.RequestID,
		ToolName:       r.ServerName, ToolInput: r.Raw, InputHash: pending.HashInput(r.Raw), Form: form,
		Title: r.Title, CreatedAt: time.Now(),
	}
}

// setDelivery stores the delivery state of an answer. If the store fails for a while, it keeps
// the state for storeDeliveries.
func (rs *requests) setDelivery(ctx context.Context, requestID string, d pending.Delivery) {
	err := rs.o.o.Store.SetDelivery(ctx, requestID, d)
	if pending.IsTemporary(err) {
		rs.mu.Lock()
		rs.deliveries = append(rs.deliveries, delivery{requestID, d})
		rs.mu.Unlock()
	}
	if err != nil && ctx.Err() == nil {
		rs.log.ErrorContext(ctx, "cannot store the delivery state of an answer", "request_id", requestID, "delivery", d, "error", err)
	}
}

// storeDeliveries stores what setDelivery could not.
func (rs *requests) storeDeliveries(ctx context.Context) {
	rs.mu.Lock()
	list := rs.deliveries
	rs.deliveries = nil
	rs.mu.Unlock()
	for _, d := range list {
		rs.setDelivery(ctx, d.requestID, d.delivery)
	}
}

// withdraw withdraws and records a request that no goroutine of this server waits for. late
// reports whether a person answered first.
func (rs *requests) withdraw(ctx context.Context, r pending.Request, reason string) (late bool) {
	err := rs.o.o.Registry.Withdraw(ctx, r.RequestID, reason)
	if errors.Is(err, pending.ErrNotOpen) {
		return true
	}
	if err != nil {
		rs.log.ErrorContext(ctx, "cannot withdraw a request", "request_id", r.RequestID, "error", err)
		return false
	}
	r.Status = pending.Withdrawn
	r.Resolution = &pending.Resolution{Status: r.Status, Reason: reason, At: time.Now()}
	rs.record(r)
	return false
}

// record writes the end of a request to the transcript.
func (rs *requests) record(r pending.Request) {
	rs.addItems(session.ResolvedItem(r, rs.speaker(r.AgentID), r.Resolution.At))
}

// recordMissing writes the records of requests that ended just before a server died.
func (rs *requests) recordMissing(ctx context.Context) {
	missing, err := rs.o.o.Store.UnrecordedRequests(ctx, rs.sessionID)
	if err != nil {
		rs.log.ErrorContext(ctx, "cannot read requests that are not yet in the transcript", "error", err)
		return
	}
	for _, r := range missing {
		rs.record(r)
	}
}

// noteWithdrawn remembers a cancelled request for reconcile.
func (rs *requests) noteWithdrawn(requestID string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.withdrawnIDs = append(rs.withdrawnIDs, requestID)
}

func (rs *requests) wasWithdrawn(requestID string) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.Contains(rs.withdrawnIDs, requestID)
}

// reconcile compares the store with waiting, the CLI's list of open requests, which is
// authoritative. A stored request that is not in the list is withdrawn if it is open;
// otherwise its answer counts as delivered. asked is the time of the list: reconcile ignores newer
// requests. withdrawn is the reason that people read for a withdrawn request.
func (rs *requests) reconcile(ctx context.Context, waiting []claude.ToolRequest, asked time.Time, withdrawn string) error {
	waits := map[string]bool{}
	for _, r := range waiting {
		waits[r.RequestID] = true
	}
	open, err := rs.o.o.Registry.Open(ctx, rs.sessionID)
	if err != nil {
		return fmt.Errorf("read open requests: %w", err)
	}
	late := map[string]bool{} // a person answered first, but Claude no longer waited
	for _, r := range open {
		if rs.listed(r) && !waits[r.AskerRequestID] && r.CreatedAt.Before(asked) {
			late[r.RequestID] = rs.withdraw(ctx, r, withdrawn)
		}
	}
	given, err := rs.o.o.Store.UndeliveredRequests(ctx, rs.sessionID)
	if err != nil {
		return fmt.Errorf("read undelivered answers: %w", err)
	}
	for _, r := range given {
		if !rs.listed(r) || waits[r.AskerRequestID] {
			continue
		}
		if late[r.RequestID] || rs.wasWithdrawn(r.AskerRequestID) {
			rs.setDelivery(ctx, r.RequestID, pending.Dropped)
		} else if r.Resolution.At.Before(asked) {
			rs.setDelivery(ctx, r.RequestID, pending.Delivered)
		}
	}
	return nil
}

// listed reports whether the CLI lists a request while it waits for it. The CLI lists only the
// can_use_tool requests of its own process.
func (rs *requests) listed(r pending.Request) bool {
	return r.Source == pending.SourceClaude && r.ProcessID == rs.processID
}

// settleDelivered marks the answers that may have reached a dead process as delivered, so that
// they are not carried over. The server that wrote them may have died before recording it. wrote
// reports whether the shim wrote the answer to a request.
func (rs *requests) settleDelivered(ctx context.Context, wrote func(ctx context.Context, requestID string) (bool, error)) error {
	given, err := rs.o.undelivered(ctx, rs.sessionID)
	if err != nil {
		return err
	}
	for _, r := range given {
		if r.ProcessID != rs.processID {
			continue
		}
		written, err := wrote(ctx, r.AskerRequestID)
		if err != nil {
			rs.log.ErrorContext(ctx, "cannot read the input of an ended process", "error", err)
			written = true // to be safe: a person decides
		}
		if !written {
			continue
		}
		if err := rs.o.o.Store.SetDelivery(ctx, r.RequestID, pending.Delivered); err != nil {
			return err
		}
	}
	return nil
}

// carryAnswer looks for an answer to the same question of an earlier process. If that process
// died without receiving the answer, the answer is carried over and nobody is asked again. If
// the process may have received it, a person is asked again and sees the old answer, because a
// call that was approved once must not run twice without a new approval. The same applies to an
// answer for the same tool with another input. carried is false if a person must be asked.
func (rs *requests) carryAnswer(ctx context.Context, req *pending.Request) (settled pending.Request, carried bool, err error) {
	answers, err := rs.earlierAnswers(ctx)
	if err != nil {
		return pending.Request{}, false, err
	}
	var similar *pending.Request
	for i, old := range answers {
		if old.ToolName != req.ToolName || old.RequestType != req.RequestType || old.Source != req.Source {
			continue
		}
		if old.Delivery != pending.Queued || !transcript.SameInput(old.ToolInput, req.ToolInput) {
			similar = &answers[i]
			continue
		}
		settled, carried, err := rs.o.o.Registry.Carry(ctx, *req, old.RequestID)
		if err != nil || carried {
			return settled, carried, err
		}
	}
	if similar == nil {
		if similar, err = rs.forgottenAnswer(ctx, *req); err != nil {
			return pending.Request{}, false, err
		}
	}
	if similar != nil {
		a := similar.Resolution
		req.Earlier = &pending.Earlier{
			RequestID: similar.RequestID, ToolInput: similar.ToolInput, Status: similar.Status,
			Summary: a.Answer.Summary(*similar), By: a.Actor.Name, At: a.At, UpdatedInput: a.Answer.UpdatedInput,
		}
	}
	// The same question, still unanswered: the new request replaces it.
	open, err := rs.o.o.Registry.Open(ctx, rs.sessionID)
	if err != nil {
		return pending.Request{}, false, err
	}
	for _, old := range open {
		if rs.isOrphan(old) && old.ToolName == req.ToolName && old.Source == req.Source && transcript.SameInput(old.ToolInput, req.ToolInput) {
			if rs.withdraw(ctx, old, statement.New("asked_again")) {
				return rs.carryAnswer(ctx, req) // a person has just answered it
			}
			break
		}
	}
	return pending.Request{}, false, nil
}

// forgottenAnswer returns an answer that the previous process acted on but that is missing in
// Claude's own transcript, because the machine stopped before the transcript was on disk. It
// returns nil if there is none.
func (rs *requests) forgottenAnswer(ctx context.Context, req pending.Request) (*pending.Request, error) {
	if rs.before == "" || req.Source != pending.SourceClaude {
		return nil, nil
	}
	consumed, err := rs.o.o.Store.ConsumedRequests(ctx, rs.sessionID, rs.before, recentlyConsumed)
	if err != nil {
		return nil, fmt.Errorf("orchestrator: answers to the previous process: %w", err)
	}
	for i, old := range consumed {
		if old.ToolName != req.ToolName || old.Resolution == nil || old.Resolution.Answer == nil || !transcript.SameInput(old.ToolInput, req.ToolInput) {
			continue
		}
		saves, err := rs.o.runner.SavedMentions(ctx, rs.sessionID, `"tool_use_id":"`+old.AskerToolUseID+`"`)
		if err != nil && !errors.Is(err, claude.ErrNotSaved) {
			rs.log.WarnContext(ctx, "cannot read Claude's saved transcript of a session", "error", err)
			continue
		}
		if !saves {
			return &consumed[i], nil
		}
	}
	return nil, nil
}

// isOrphan reports whether an earlier process left the request.
func (rs *requests) isOrphan(r pending.Request) bool {
	return r.Status == pending.Orphaned && r.ProcessID != rs.processID
}

// earlierAnswers lists the answers to earlier processes that these did not act on. Those marked
// Delivered may have reached their process.
func (rs *requests) earlierAnswers(ctx context.Context) ([]pending.Request, error) {
	given, err := rs.o.unconsumed(ctx, rs.sessionID)
	if err != nil {
		return nil, fmt.Errorf("orchestrator: answers to the previous process: %w", err)
	}
	return slices.DeleteFunc(given, func(r pending.Request) bool {
		return r.ProcessID == rs.processID || r.Resolution == nil || r.Resolution.Answer == nil
	}), nil
}

// dropEarlier drops the answers to earlier processes, and withdraws the open requests of these,
// because Claude did not ask them again. all reports whether the store accepted everything.
func (rs *requests) dropEarlier(ctx context.Context) (all bool) {
	all = true
	for more := true; more; { // an answer may arrive meanwhile
		var done bool
		more, done = rs.dropEarlierOnce(ctx)
		all = all && done
	}
	return all
}

func (rs *requests) dropEarlierOnce(ctx context.Context) (more, all bool) {
	all = true
	answers, err := rs.earlierAnswers(ctx)
	if err != nil {
		all = false
		rs.log.ErrorContext(ctx, "cannot read the answers to the previous process", "error", err)
	}
	for _, old := range answers {
		if old.Delivery == pending.Queued { // otherwise it was recorded when it was given
			rs.record(old)
		}
		if err := rs.o.o.Store.SetDelivery(ctx, old.RequestID, pending.Dropped); err != nil {
			rs.log.ErrorContext(ctx, "cannot discard an answer that Claude did not ask for again", "error", err)
			all = false
		}
	}
	open, err := rs.o.o.Registry.Open(ctx, rs.sessionID)
	if err != nil {
		rs.log.ErrorContext(ctx, "cannot read the orphaned questions", "error", err)
		all = false
	}
	for _, old := range open {
		if rs.isOrphan(old) && rs.withdraw(ctx, old, statement.New("not_asked_again")) {
			more = true
		}
	}
	return more, all
}

// noteLine adds a note about a line of the CLI to the transcript. The key of the note depends on
// the line, so that reading the line twice adds one note.
func (rs *requests) noteLine(line []byte, reason string) {
	key := "line:" + uuid.NewSHA1(uuid.NameSpaceOID, line).String()
	rs.addItems(transcript.Note(key, "error", statement.New(reason), time.Now()))
}

// recentlyConsumed bounds the answers that a server reads back to restore approved inputs and to
// find forgotten answers: far more than people give between two writes of a process's progress.
const recentlyConsumed = 200
