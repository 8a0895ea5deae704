package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sayso-dev/sayso/pending"
)

// newRequestColumns are the columns of a request that its asker fills, in the
// order of [NewRequestValues].
const newRequestColumns = `request_id, session_id, created_at, expires_at, request_type, source, process_id,
	asker_request_id, asker_tool_use_id, tool_name, input_hash, agent_id, agent_type, title, description,
	decision_reason, blocked_path, form, permission_suggestions, tool_input, earlier, earlier_tool_input, asker, policy`

// NewRequestArgs is how many arguments [NewRequestValues] returns.
var NewRequestArgs = strings.Count(newRequestColumns, ",") + 1

// placeholders are those of [NewRequestValues].
func placeholders(placeholder func(n int) string) string {
	marks := make([]string, NewRequestArgs)
	for i := range marks {
		marks[i] = placeholder(i + 1)
	}
	return strings.Join(marks, ", ")
}

// InsertRequest is the insertion of a new open request, whose arguments are
// [NewRequestValues]; placeholder names the nth of them, from 1.
func InsertRequest(placeholder func(n int) string) string {
	return "INSERT INTO requests (status, delivery, " + newRequestColumns + ") VALUES ('open', '', " + placeholders(placeholder) +
		") ON CONFLICT (request_id) DO NOTHING"
}

// Carriable is the condition of a request whose answer may be carried over to
// the given process of the given session.
func Carriable(sessionID, processID string) string {
	return "session_id = " + sessionID + " AND status IN ('answered', 'denied') AND delivery = 'queued' AND answer IS NOT NULL" +
		" AND (by_user_id <> '' OR by_name <> '' OR by_device <> '') AND " + processID + " <> '' AND process_id NOT IN ('', " + processID + ")"
}

// InsertCarried is the insertion of a new request with the answer of a row f of
// source. Its arguments are [NewRequestValues] and the time of the resolution.
func InsertCarried(placeholder func(n int) string, source string) string {
	return "INSERT INTO requests (" + newRequestColumns + `, resolved_at, status, delivery, answer, by_user_id, by_name, by_device, carried_from)
		SELECT ` + placeholders(placeholder) + ", " + placeholder(NewRequestArgs+1) + `, f.status, 'queued', f.answer, f.by_user_id, f.by_name, f.by_device,
		CASE WHEN f.carried_from = '' THEN f.request_id ELSE f.carried_from END FROM ` + source
}

// Carrying is the select list of a request and whether the request from gave it
// its answer.
func Carrying(from string) string {
	return RequestColumns + ", EXISTS (SELECT 1 FROM requests f WHERE f.request_id = " + from + " AND f.carried_to = requests.request_id)"
}

// NormalRequest is a new request as a read will return it.
func NormalRequest(r pending.Request) pending.Request {
	r.CreatedAt, r.ExpiresAt = Time(Micros(r.CreatedAt)), Time(Micros(r.ExpiresAt))
	r.ProcessID = Shown(r.ProcessID)
	r.ToolName, r.AgentID, r.AgentType = Shown(r.ToolName), Shown(r.AgentID), Shown(r.AgentType)
	r.Title, r.Description, r.DecisionReason = Shown(r.Title), Shown(r.Description), Shown(r.DecisionReason)
	r.Asker = Shown(r.Asker)
	r.Status, r.Delivery, r.Resolution = pending.Open, pending.NotDelivered, nil
	r.Approval, r.Held, r.TakenBack = nil, nil, nil
	if r.Earlier != nil {
		e := *r.Earlier
		e.RequestID, e.Status, e.Summary, e.By = Shown(e.RequestID), pending.Status(Shown(string(e.Status))), Shown(e.Summary), Shown(e.By)
		e.At = Time(Micros(e.At))
		r.Earlier = &e
	}
	return r
}

// NewRequestValues are the arguments of [InsertRequest] for a request made
// normal.
func NewRequestValues(r pending.Request, bind Bind) ([]any, error) {
	form, err := encode(r.Form, r.Form == nil)
	if err != nil {
		return nil, fmt.Errorf("form: %w", err)
	}
	policy, err := encode(r.Policy, r.Policy == nil)
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
		string(r.RequestType), string(r.Source), r.ProcessID, bind(exact(r.AskerRequestID)), bind(exact(r.AskerToolUseID)),
		r.ToolName, r.InputHash, r.AgentID, r.AgentType, r.Title, r.Description, r.DecisionReason,
		bind(exact(r.BlockedPath)), bind(form), bind(r.PermissionSuggestions), bind(r.ToolInput), bind(earlier), bind(earlierInput), r.Asker, bind(policy),
	}, nil
}

// exact is a string as bytes that are never NULL.
func exact(s string) []byte { return append([]byte{}, s...) }

// requestColumns are those of [RequestRow.Dest]. The last eight may be NULL.
var requestColumns = []string{
	"request_id", "session_id", "status", "delivery", "created_at", "expires_at", "request_type", "source",
	"asker_request_id", "asker_tool_use_id", "tool_name", "input_hash", "agent_id", "agent_type", "title", "description",
	"decision_reason", "blocked_path", "by_user_id", "by_name", "by_device", "reason", "resolved_at", "command_id",
	"process_id", "carried_from", "asker",
	"approver_id", "approver_name", "approver_device", "approver_command", "approver_credential", "approved_at", "taken_back",
	"held", "answer", "form", "permission_suggestions", "tool_input", "earlier", "earlier_tool_input", "policy",
}

const nullableRequestColumns = 8

// RequestColumns is the select list of [RequestRow.Dest].
var RequestColumns = strings.Join(requestColumns, ", ")

// joinedRequestColumns is the same for a request r that an outer join may not
// have found; then every column is the zero value of its type.
var joinedRequestColumns = func() string {
	list := make([]string, len(requestColumns))
	for i, name := range requestColumns {
		zero := "''"
		if strings.HasSuffix(name, "_at") {
			zero = "0"
		}
		list[i] = "COALESCE(r." + name + ", " + zero + ")"
		if i >= len(requestColumns)-nullableRequestColumns {
			list[i] = "r." + name
		}
	}
	return strings.Join(list, ", ")
}()

// RequestRow takes one row of [RequestColumns].
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

// Dest is what to scan into.
func (x *RequestRow) Dest() []any {
	return []any{
		&x.r.RequestID, &x.r.SessionID, (*string)(&x.r.Status), (*string)(&x.r.Delivery), &x.createdAt, &x.expiresAt,
		(*string)(&x.r.RequestType), (*string)(&x.r.Source), &x.askerRequestID, &x.toolUseID, &x.r.ToolName, &x.r.InputHash,
		&x.r.AgentID, &x.r.AgentType, &x.r.Title, &x.r.Description, &x.r.DecisionReason, &x.path,
		&x.res.Actor.UserID, &x.res.Actor.Name, &x.res.Actor.Device, &x.res.Reason, &x.resolvedAt, &x.res.CommandID,
		&x.r.ProcessID, &x.res.CarriedFrom, &x.r.Asker,
		&x.first.Actor.UserID, &x.first.Actor.Name, &x.first.Actor.Device, &x.first.CommandID, &x.first.CredentialID, &x.approvedAt, &x.takenBack,
		&x.held, &x.answer, &x.form, &x.suggestions, &x.raw, &x.earlier, &x.earlierInput, &x.policy,
	}
}

// Found reports whether an outer join found a request.
func (x *RequestRow) Found() bool { return x.r.RequestID != "" }

// Request is the row that was scanned.
func (x *RequestRow) Request() (pending.Request, error) {
	r := x.r
	r.AskerRequestID, r.AskerToolUseID, r.BlockedPath = string(x.askerRequestID), string(x.toolUseID), string(x.path)
	r.CreatedAt, r.ExpiresAt = Time(x.createdAt), Time(x.expiresAt)
	r.ToolInput, r.PermissionSuggestions = x.raw, x.suggestions
	if err := decode("form", x.form, &r.Form); err != nil {
		return pending.Request{}, err
	}
	if err := decode("earlier", x.earlier, &r.Earlier); err != nil {
		return pending.Request{}, err
	}
	if err := decode("policy", x.policy, &r.Policy); err != nil {
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
		r.TakenBack = strings.Fields(x.takenBack)
	}
	var held *heldColumn
	if err := decode("held", x.held, &held); err != nil {
		return pending.Request{}, err
	}
	if held != nil {
		r.Held = held.held()
	}
	if r.Status.Final() {
		res := x.res
		res.Status, res.At = r.Status, Time(x.resolvedAt)
		if err := decode("answer", x.answer, &res.Answer); err != nil {
			return pending.Request{}, err
		}
		r.Resolution = &res
	}
	return r, nil
}

// ReadRequest reads a row of [RequestColumns].
func ReadRequest(row Row) (pending.Request, error) {
	var x RequestRow
	if err := row.Scan(x.Dest()...); err != nil {
		return pending.Request{}, err
	}
	return x.Request()
}

// Resolve is the assignment of a resolution; its arguments are those of
// [ResolutionValues], named by placeholder from 1.
func Resolve(placeholder func(n int) string) string {
	columns := []string{"status", "delivery", "answer", "by_user_id", "by_name", "by_device", "reason", "resolved_at", "command_id"}
	for i, name := range columns {
		columns[i] = name + " = " + placeholder(i+1)
	}
	return "UPDATE requests SET " + strings.Join(columns, ", ") + ", held = NULL, held_command = ''"
}

// Approve is the assignment of the first approval of a request, the nth argument
// named by placeholder; its arguments are [ApprovalValues].
func Approve(placeholder func(n int) string) string {
	columns := []string{"approver_id", "approver_name", "approver_device", "approver_command", "approver_credential", "approved_at"}
	for i, name := range columns {
		columns[i] = name + " = " + placeholder(i+1)
	}
	return "UPDATE requests SET " + strings.Join(columns, ", ")
}

// ApprovalValues are the arguments of [Approve]; the zero value is none.
func ApprovalValues(a pending.Approval) []any {
	return []any{Shown(a.Actor.UserID), Shown(a.Actor.Name), Shown(a.Actor.Device), Shown(a.CommandID), Shown(a.CredentialID), Micros(a.At)}
}

// ResolutionValues are the arguments of [Resolve].
func ResolutionValues(res pending.Resolution, bind Bind) ([]any, error) {
	if !res.Status.Final() {
		return nil, fmt.Errorf("status %q resolves nothing", res.Status)
	}
	answer, err := encode(res.Answer, res.Answer == nil)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	delivery := pending.NotDelivered
	if Answers(res.Status) {
		delivery = pending.Queued
	}
	return []any{
		string(res.Status), string(delivery), bind(answer), Shown(res.Actor.UserID), Shown(res.Actor.Name),
		Shown(res.Actor.Device), Shown(res.Reason), Micros(res.At), Shown(res.CommandID),
	}, nil
}
