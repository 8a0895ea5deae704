package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// newRequestColumns lists the columns of [NewRequestValues], in their order.
const newRequestColumns = `request_id, session_id, created_at, expires_at, request_type, source, process_id,
	asker_request_id, asker_tool_use_id, tool_name, input_hash, agent_id, agent_type, title, description,
	decision_reason, blocked_path, form, permission_suggestions, tool_input, earlier, earlier_tool_input, asker, policy`

// NewRequestArgs is the number of values that [NewRequestValues] returns.
var NewRequestArgs = countColumns(newRequestColumns)

// InsertRequest inserts an open request. Its arguments are [NewRequestValues].
var InsertRequest = "INSERT INTO requests (status, delivery, " + newRequestColumns + ") VALUES ('open', '', " + placeholders(newRequestColumns) +
	") ON CONFLICT (request_id) DO NOTHING"

// Carriable returns the condition under which the answer of a request may be carried over to a new
// process of its session.
func Carriable(sessionID, processID string) string {
	return "session_id = " + sessionID + " AND status IN ('answered', 'denied') AND delivery = 'queued' AND answer IS NOT NULL" +
		" AND (by_user_id <> '' OR by_name <> '' OR by_device <> '') AND " + processID + " <> '' AND process_id NOT IN ('', " + processID + ")"
}

// InsertCarried returns the insertion of a new request with the answer of row f of source. Its
// arguments are [NewRequestValues] and the time of the resolution.
func InsertCarried(source string) string {
	const columns = newRequestColumns + ", resolved_at"
	return "INSERT INTO requests (" + columns + `, status, delivery, answer, by_user_id, by_name, by_device, carried_from)
		SELECT ` + placeholders(columns) + `, f.status, 'queued', f.answer, f.by_user_id, f.by_name, f.by_device,
		CASE WHEN f.carried_from = '' THEN f.request_id ELSE f.carried_from END FROM ` + source
}

// SelectCarrying reads the request $2, and whether its answer was carried over from the request $1.
var SelectCarrying = define("SELECT " + RequestColumns + `, EXISTS (SELECT 1 FROM requests f WHERE f.request_id = $1 AND f.carried_to = requests.request_id)
	FROM requests WHERE request_id = $2`)

// SelectRequestExists returns a row if the request exists.
var SelectRequestExists = define("SELECT 1 FROM requests WHERE request_id = $1")

// NormalizeRequest returns a new request as reading it from the database would return it.
func NormalizeRequest(r pending.Request) pending.Request {
	r.CreatedAt, r.ExpiresAt = Time(Micros(r.CreatedAt)), Time(Micros(r.ExpiresAt))
	r.ProcessID = SanitizeText(r.ProcessID)
	r.ToolName, r.AgentID, r.AgentType = SanitizeText(r.ToolName), SanitizeText(r.AgentID), SanitizeText(r.AgentType)
	r.Title, r.Description, r.DecisionReason = SanitizeText(r.Title), SanitizeText(r.Description), SanitizeText(r.DecisionReason)
	r.Asker = SanitizeText(r.Asker)
	r.Status, r.Delivery, r.Resolution = pending.Open, pending.NotDelivered, nil
	r.Approval, r.Held, r.Undone = nil, nil, nil
	if r.Earlier != nil {
		e := *r.Earlier
		e.RequestID, e.Status, e.Summary, e.By = SanitizeText(e.RequestID), pending.Status(SanitizeText(string(e.Status))), SanitizeText(e.Summary), SanitizeText(e.By)
		e.At = Time(Micros(e.At))
		r.Earlier = &e
	}
	return r
}

// NewRequestValues returns the arguments of [InsertRequest]. r comes from [NormalizeRequest].
func NewRequestValues(r pending.Request, bind Bind) ([]any, error) {
	form, err := encodeJSON(r.Form, r.Form == nil)
	if err != nil {
		return nil, fmt.Errorf("form: %w", err)
	}
	policy, err := encodeJSON(r.Policy, r.Policy == nil)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	var earlier, earlierInput []byte
	if r.Earlier != nil {
		e := *r.Earlier
		earlierInput, e.ToolInput = e.ToolInput, nil
		if earlier, err = json.Marshal(e); err != nil {
			return nil, fmt.Errorf("earlier: %w", err)
		}
	}
	return []any{
		r.RequestID, r.SessionID, Micros(r.CreatedAt), Micros(r.ExpiresAt),
		string(r.RequestType), string(r.Source), r.ProcessID, bind(exactBytes(r.AskerRequestID)), bind(exactBytes(r.AskerToolUseID)),
		r.ToolName, r.InputHash, r.AgentID, r.AgentType, r.Title, r.Description, r.DecisionReason,
		bind(exactBytes(r.BlockedPath)), bind(form), bind(r.PermissionSuggestions), bind(r.ToolInput), bind(earlier), bind(earlierInput), r.Asker, bind(policy),
	}, nil
}

// exactBytes returns the bytes of a string, never nil: nil would be NULL.
func exactBytes(s string) []byte { return append([]byte{}, s...) }

// requestColumn describes a column of requests and the field of [RequestRow] that scans it.
type requestColumn struct {
	name     string
	nullable bool
	dest     func(*RequestRow) any
}

var requestColumns = []requestColumn{
	{"request_id", false, func(x *RequestRow) any { return &x.r.RequestID }},
	{"session_id", false, func(x *RequestRow) any { return &x.r.SessionID }},
	{"status", false, func(x *RequestRow) any { return (*string)(&x.r.Status) }},
	{"delivery", false, func(x *RequestRow) any { return (*string)(&x.r.Delivery) }},
	{"created_at", false, func(x *RequestRow) any { return &x.createdAt }},
	{"expires_at", false, func(x *RequestRow) any { return &x.expiresAt }},
	{"request_type", false, func(x *RequestRow) any { return (*string)(&x.r.RequestType) }},
	{"source", false, func(x *RequestRow) any { return (*string)(&x.r.Source) }},
	{"asker_request_id", false, func(x *RequestRow) any { return &x.askerRequestID }},
	{"asker_tool_use_id", false, func(x *RequestRow) any { return &x.toolUseID }},
	{"tool_name", false, func(x *RequestRow) any { return &x.r.ToolName }},
	{"input_hash", false, func(x *RequestRow) any { return &x.r.InputHash }},
	{"agent_id", false, func(x *RequestRow) any { return &x.r.AgentID }},
	{"agent_type", false, func(x *RequestRow) any { return &x.r.AgentType }},
	{"title", false, func(x *RequestRow) any { return &x.r.Title }},
	{"description", false, func(x *RequestRow) any { return &x.r.Description }},
	{"decision_reason", false, func(x *RequestRow) any { return &x.r.DecisionReason }},
	{"blocked_path", false, func(x *RequestRow) any { return &x.path }},
	{"by_user_id", false, func(x *RequestRow) any { return &x.res.Actor.UserID }},
	{"by_name", false, func(x *RequestRow) any { return &x.res.Actor.Name }},
	{"by_device", false, func(x *RequestRow) any { return &x.res.Actor.Device }},
	{"reason", false, func(x *RequestRow) any { return &x.res.Reason }},
	{"resolved_at", false, func(x *RequestRow) any { return &x.resolvedAt }},
	{"command_id", false, func(x *RequestRow) any { return &x.res.CommandID }},
	{"process_id", false, func(x *RequestRow) any { return &x.r.ProcessID }},
	{"carried_from", false, func(x *RequestRow) any { return &x.res.CarriedFrom }},
	{"asker", false, func(x *RequestRow) any { return &x.r.Asker }},
	{"approver_id", false, func(x *RequestRow) any { return &x.first.Actor.UserID }},
	{"approver_name", false, func(x *RequestRow) any { return &x.first.Actor.Name }},
	{"approver_device", false, func(x *RequestRow) any { return &x.first.Actor.Device }},
	{"approver_command", false, func(x *RequestRow) any { return &x.first.CommandID }},
	{"approver_credential", false, func(x *RequestRow) any { return &x.first.CredentialID }},
	{"approved_at", false, func(x *RequestRow) any { return &x.approvedAt }},
	{"taken_back", false, func(x *RequestRow) any { return &x.takenBack }},
	{"held", true, func(x *RequestRow) any { return &x.held }},
	{"answer", true, func(x *RequestRow) any { return &x.answer }},
	{"form", true, func(x *RequestRow) any { return &x.form }},
	{"permission_suggestions", true, func(x *RequestRow) any { return &x.suggestions }},
	{"tool_input", true, func(x *RequestRow) any { return &x.raw }},
	{"earlier", true, func(x *RequestRow) any { return &x.earlier }},
	{"earlier_tool_input", true, func(x *RequestRow) any { return &x.earlierInput }},
	{"policy", true, func(x *RequestRow) any { return &x.policy }},
}

// RequestColumns is the select list that [RequestRow.Dest] scans.
var RequestColumns = joinColumns(func(c requestColumn) string { return c.name })

// joinedRequestColumns is [RequestColumns] over an outer-joined request r. If the join found none,
// columns that are not nullable have the zero value of their type. Expressions also save the SQLite
// driver from looking up the declared type of each column.
var joinedRequestColumns = joinColumns(func(c requestColumn) string {
	_, isNumber := c.dest(&RequestRow{}).(*int64)
	switch {
	case c.nullable:
		return "r." + c.name
	case isNumber:
		return "COALESCE(r." + c.name + ", 0)"
	}
	return "COALESCE(r." + c.name + ", '')"
})

func joinColumns(form func(requestColumn) string) string {
	list := make([]string, len(requestColumns))
	for i, c := range requestColumns {
		list[i] = form(c)
	}
	return strings.Join(list, ", ")
}

// RequestRow scans one row of [RequestColumns].
type RequestRow struct {
	r                                pending.Request
	res                              pending.Resolution
	createdAt, expiresAt, resolvedAt int64
	approvedAt                       int64
	first                            pending.Approval
	askerRequestID, toolUseID, path  []byte
	answer, form, suggestions, raw   []byte
	earlier, earlierInput, policy    []byte
	held                             []byte
	takenBack                        string
}

// Dest returns the destinations for Scan.
func (x *RequestRow) Dest() []any {
	dest := make([]any, len(requestColumns))
	for i, c := range requestColumns {
		dest[i] = c.dest(x)
	}
	return dest
}

// Found reports whether an outer join found a request.
func (x *RequestRow) Found() bool { return x.r.RequestID != "" }

// Request returns the scanned row.
func (x *RequestRow) Request() (pending.Request, error) {
	r := x.r
	r.AskerRequestID, r.AskerToolUseID, r.BlockedPath = string(x.askerRequestID), string(x.toolUseID), string(x.path)
	r.CreatedAt, r.ExpiresAt = Time(x.createdAt), Time(x.expiresAt)
	r.ToolInput, r.PermissionSuggestions = x.raw, x.suggestions
	if err := decodeJSON("form", x.form, &r.Form); err != nil {
		return pending.Request{}, err
	}
	if err := decodeJSON("earlier", x.earlier, &r.Earlier); err != nil {
		return pending.Request{}, err
	}
	if err := decodeJSON("policy", x.policy, &r.Policy); err != nil {
		return pending.Request{}, err
	}
	if r.Earlier != nil {
		r.Earlier.ToolInput = x.earlierInput
	}
	if x.first.Actor.UserID != "" {
		first := x.first
		first.At = Time(x.approvedAt)
		r.Approval = &first
	}
	if x.takenBack != "" {
		r.Undone = strings.Fields(x.takenBack)
	}
	var held *heldColumn
	if err := decodeJSON("held", x.held, &held); err != nil {
		return pending.Request{}, err
	}
	if held != nil {
		r.Held = held.held()
	}
	if r.Status.Final() {
		res := x.res
		res.Status, res.At = r.Status, Time(x.resolvedAt)
		if err := decodeJSON("answer", x.answer, &res.Answer); err != nil {
			return pending.Request{}, err
		}
		r.Resolution = &res
	}
	return r, nil
}

// readRequest reads a row of [RequestColumns].
func readRequest(row Row) (pending.Request, error) {
	var x RequestRow
	if err := row.Scan(x.Dest()...); err != nil {
		return pending.Request{}, err
	}
	return x.Request()
}

// Resolve sets the columns of a resolution. Its arguments are [ResolutionValues].
var Resolve = "UPDATE requests SET " + assignments("status", "delivery", "answer", "by_user_id", "by_name", "by_device", "reason", "resolved_at", "command_id") +
	", held = NULL, held_command = ''"

// Approve sets the first approval of a request. Its arguments are [ApprovalValues].
var Approve = "UPDATE requests SET " + assignments("approver_id", "approver_name", "approver_device", "approver_command", "approver_credential", "approved_at")

// ApprovalValues returns the arguments of [Approve]; the zero Approval removes the first approval.
func ApprovalValues(a pending.Approval) []any {
	return []any{SanitizeText(a.Actor.UserID), SanitizeText(a.Actor.Name), SanitizeText(a.Actor.Device), SanitizeText(a.CommandID), SanitizeText(a.CredentialID), Micros(a.At)}
}

// ResolutionValues returns the arguments of [Resolve].
func ResolutionValues(res pending.Resolution, bind Bind) ([]any, error) {
	if !res.Status.Final() {
		return nil, fmt.Errorf("status %q resolves nothing", res.Status)
	}
	answer, err := encodeJSON(res.Answer, res.Answer == nil)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	delivery := pending.NotDelivered
	if IsDecision(res.Status) {
		delivery = pending.Queued
	}
	return []any{
		string(res.Status), string(delivery), bind(answer), SanitizeText(res.Actor.UserID), SanitizeText(res.Actor.Name),
		SanitizeText(res.Actor.Device), SanitizeText(res.Reason), Micros(res.At), SanitizeText(res.CommandID),
	}, nil
}

const (
	Answerable     = "status IN ('open', 'orphaned')"
	oldestFirst    = " ORDER BY created_at, seq"
	unrecordedFrom = ` FROM requests r WHERE session_id = $1
		AND status NOT IN ('open', 'orphaned') AND delivery <> 'carried' AND NOT EXISTS (
			SELECT 1 FROM transcript t WHERE t.session_id = r.session_id AND t.key = `
)

var (
	selectRequests    = "SELECT " + RequestColumns + " FROM requests WHERE "
	SelectRequest     = query(selectRequests + "request_id = $1").onAnswerPath()
	selectAnswerable  = query(selectRequests + "session_id = $1 AND " + Answerable + oldestFirst)
	selectAllOpen     = query(selectRequests + Answerable + oldestFirst)
	selectUndelivered = query(selectRequests + "session_id = $1 AND delivery = 'queued'" + oldestFirst)
	selectUnconsumed  = query(selectRequests + "session_id = $1 AND delivery IN ('queued', 'delivered')" + oldestFirst)
	selectConsumed    = query(selectRequests + "session_id = $1 AND process_id = $2 AND delivery = 'consumed' ORDER BY resolved_at DESC, seq DESC LIMIT $3")
	selectHeld        = query(selectRequests + Answerable + " AND held_command <> ''" + oldestFirst)
	selectUnrecorded  = queryBoth(
		"SELECT "+RequestColumns+unrecordedFrom+"'request:' || r.request_id)"+oldestFirst,
		"SELECT "+RequestColumns+unrecordedFrom+"convert_to('request:' || r.request_id, 'UTF8'))"+oldestFirst)
)

// Request implements [pending.Store].
func (s Shared) Request(ctx context.Context, requestID string) (pending.Request, error) {
	return queryOne(ctx, s, "request "+requestID, SelectRequest, pending.ErrNotFound, readRequest, requestID)
}

// AnswerableRequests implements [pending.Store].
func (s Shared) AnswerableRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	if sessionID == "" {
		return queryAll(ctx, s, "answerable requests", selectAllOpen, readRequest)
	}
	return queryAll(ctx, s, "answerable requests of "+sessionID, selectAnswerable, readRequest, sessionID)
}

// UndeliveredRequests implements [pending.Store].
func (s Shared) UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	return queryAll(ctx, s, "undelivered requests of "+sessionID, selectUndelivered, readRequest, sessionID)
}

// UnconsumedRequests implements [pending.Store].
func (s Shared) UnconsumedRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	return queryAll(ctx, s, "unconsumed requests of "+sessionID, selectUnconsumed, readRequest, sessionID)
}

// ConsumedRequests implements [pending.Store].
func (s Shared) ConsumedRequests(ctx context.Context, sessionID, processID string, limit int) ([]pending.Request, error) {
	return queryAll(ctx, s, "consumed requests of "+sessionID, selectConsumed, readRequest, sessionID, processID, limit)
}

// UnrecordedRequests implements [session.Store].
func (s Shared) UnrecordedRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	return queryAll(ctx, s, "unrecorded requests of "+sessionID, selectUnrecorded, readRequest, sessionID)
}

// ApproveRequest implements [pending.Store].
func (s Shared) ApproveRequest(ctx context.Context, requestID string, a pending.Approval) (pending.Request, bool, error) {
	return s.e.Approve(ctx, requestID, ApprovalChange{What: "approve request " + requestID, To: a, Audit: func(r pending.Request) ([]byte, error) {
		return ApprovalAudit(r, "approved_first", a.Actor, a.At)
	}})
}

// UnapproveRequest implements [pending.Store].
func (s Shared) UnapproveRequest(ctx context.Context, requestID, userID string, by pending.Actor) (pending.Request, bool, error) {
	return s.e.Approve(ctx, requestID, ApprovalChange{What: "withdraw the approval of " + requestID, From: userID, Audit: func(r pending.Request) ([]byte, error) {
		return ApprovalAudit(r, "approval_withdrawn", by, time.Now())
	}})
}

// HeldRequests implements [pending.Store].
func (s Shared) HeldRequests(ctx context.Context) ([]pending.Request, error) {
	return queryAll(ctx, s, "held requests", selectHeld, readRequest)
}
