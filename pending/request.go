// Package pending manages the requests that block an agent until a person answers.
//
// A pending request is a blocked function call: [Registry.Ask] returns when a person has
// answered, when the asker is gone, or when a deadline set by the asker has passed. What
// people see is a row in the [Store], and one compare-and-set on that row lets only one
// resolution count. Memory holds only waiters.
//
// # Concurrency
//
// Every exported method may be called from any goroutine. No lock is held across a call to
// the store or to the notifier.
package pending

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// RequestType is the kind of answer that a [Request] needs.
type RequestType string

const (
	// ToolApproval asks whether a tool may run with the displayed input.
	ToolApproval RequestType = "tool_approval"
	// AskUserQuestion asks the questions of [Request.Form].
	AskUserQuestion RequestType = "ask_user_question"
)

// Source is the protocol of the asker.
type Source string

const (
	SourceClaude      Source = "claude"      // can_use_tool of a Claude CLI
	SourceMCP         Source = "mcp"         // a tool call of an MCP client
	SourceElicitation Source = "elicitation" // an MCP server's elicitation, forwarded by Claude
	SourceHook        Source = "hook"        // a hook of a claude in somebody's terminal
)

// Status is the state of a request. Open and Orphaned requests can be answered; every other
// status is final.
type Status string

const (
	Open      Status = "open"
	Orphaned  Status = "orphaned"  // its process died; still answerable
	Answered  Status = "answered"  // allowed, or all questions answered
	Denied    Status = "denied"    // denied or declined by a person
	Withdrawn Status = "withdrawn" // the asker gave up
	Expired   Status = "expired"   // a deadline set by the asker has passed
)

// Final reports whether no further resolution is possible.
func (s Status) Final() bool { return s != Open && s != Orphaned }

// Delivery is the progress of an answer to the asker. It only moves forward.
type Delivery string

const (
	NotDelivered Delivery = ""          // there is no answer yet
	Queued       Delivery = "queued"    // stored, not yet sent to the asker
	Delivered    Delivery = "delivered" // the asker's transport accepted the whole answer
	Consumed     Delivery = "consumed"  // the asker acted on it
	Carried      Delivery = "carried"   // given to the same question, asked again after a resume
	Dropped      Delivery = "dropped"   // the asker died before it acted on it, and did not ask again
)

// Request is a question that blocks an agent.
type Request struct {
	RequestID   string      // chosen by sayso, stable across restarts: see NewRequestID
	SessionID   string      // the session that waits
	RequestType RequestType // which kind of answer is needed
	Source      Source      // who asks
	// ProcessID identifies the CLI process that asks; "" if the asker is another program.
	ProcessID string
	// AskerRequestID is the asker's own id of the request, unique within one process.
	// AskerToolUseID is the blocked tool_use block; the CLI expects it in the answer.
	AskerRequestID string
	AskerToolUseID string
	// Asker is the asker's name for people: "agent X over MCP", "terminal on HOST"; "" for
	// the session's own Claude.
	Asker string

	ToolName  string
	ToolInput json.RawMessage // the exact bytes of the request
	InputHash string          // HashInput(ToolInput): an answer is bound to the input that was shown
	Form      *Form           // for AskUserQuestion; nil when the input contains no question

	AgentID        string // the subagent that asks, "" for the main thread
	AgentType      string // its type and task, such as "general-purpose: read the docs"; "" when unknown
	Title          string // a sentence from the asker, may be ""
	Description    string
	DecisionReason string // why the asker asks
	BlockedPath    string
	// PermissionSuggestions are the asker's suggested rules for a person to grant with an
	// allow; a JSON array exactly as sent, or nil.
	PermissionSuggestions json.RawMessage

	// Policy is the asker's restrictions on the decision; nil for none.
	Policy *Policy

	CreatedAt time.Time
	ExpiresAt time.Time // zero when the asker set no deadline

	Status   Status
	Delivery Delivery
	// Earlier is an answer to a similar request of the previous process, which did not act on it;
	// nil if there is none.
	Earlier *Earlier
	// Approval is the first of two approvals, nil while there is none.
	Approval *Approval
	// Held is an answer that does not count yet, or was dropped; nil when there is none.
	Held *Held
	// Undone are the commands whose held answers were undone. They have no effect, however
	// often they are repeated.
	Undone []string
	// Resolution is set once Status is final.
	Resolution *Resolution
}

// Policy is the asker's restrictions on how its request may be decided. The JSON names are
// those of the stored column, of the wire and of the CLI. Its texts are untrusted.
type Policy struct {
	// DefaultToNo: a single accidental keystroke must not approve it.
	DefaultToNo bool `json:"default_to_no,omitempty"`
	// SuppressAlwaysAllowRule: no rule may be granted with an approval.
	SuppressAlwaysAllowRule bool `json:"suppress_always_allow_rule,omitempty"`
	// RequiresUserInteraction: only a person who has opened it may decide.
	RequiresUserInteraction bool `json:"requires_user_interaction,omitempty"`
	// MatchedAskRule is the rule of somebody's settings that requires a person's answer.
	MatchedAskRule *AskRule `json:"matched_ask_rule,omitempty"`
	// ClassifierApprovable is false when a safety check requires a person's answer, nil when
	// there is no safety check.
	ClassifierApprovable *bool `json:"classifier_approvable,omitempty"`
	// MCPServer provides the tool; nil when none does or the asker does not send it.
	MCPServer *MCPServer `json:"mcp_server,omitempty"`
}

// AskRule is a rule of permissions.ask.
type AskRule struct {
	Source      string `json:"source"`
	ToolName    string `json:"tool_name"`
	RuleContent string `json:"rule_content,omitempty"`
}

// MCPServer identifies an MCP server by its configured name and the place of its configuration.
type MCPServer struct {
	Name   string `json:"name"`
	Source string `json:"source"`
}

// Restricts reports whether a person must open the request to decide it: not in bulk, and not
// from a notification.
func (p *Policy) Restricts() bool {
	return p != nil && (p.DefaultToNo || p.RequiresUserInteraction || p.MatchedAskRule != nil ||
		p.ClassifierApprovable != nil && !*p.ClassifierApprovable)
}

// Earlier is an answer on which its asker did not act. The JSON names are those of the stored
// column.
type Earlier struct {
	RequestID string          `json:"request_id"`
	ToolInput json.RawMessage `json:"tool_input"` // the input of that request
	// UpdatedInput is the approved edit of it, nil when it was not edited.
	UpdatedInput json.RawMessage `json:"updated_input,omitempty"`
	Status       Status          `json:"status"`  // Answered or Denied
	Summary      string          `json:"summary"` // the answer in one line
	By           string          `json:"by"`      // name of the person
	At           time.Time       `json:"at"`
}

// Actor is the person who resolved a request.
type Actor struct {
	UserID string
	Name   string // shown to other people
	Device string // such as "Chrome on Linux"; "" when unknown
	// Address is their network address at that time. It is stored in the audit record and
	// nowhere else; a request that is read has none.
	Address string
}

// Approval is the first approval of a request that needs two. It has no effect by itself.
type Approval struct {
	Actor     Actor
	At        time.Time
	CommandID string // idempotency key of the command
	// CredentialID is the credential of the approver, "" when unknown.
	CredentialID string
}

// Held is a person's answer in its undo window.
type Held struct {
	Actor     Actor
	At        time.Time // when it was given
	Until     time.Time // when it will count
	CommandID string    // idempotency key of its command
	Answer    Answer
	// Dropped is a sentence that explains why it will never count; "" while it is held.
	Dropped string
	// CredentialID is the credential of the author, "" when unknown.
	CredentialID string
}

// Active reports whether an answer is held. While it is, nobody else can answer, except that
// anybody who may answer can deny a held approval.
func (h *Held) Active() bool { return h != nil && h.Dropped == "" }

// YieldsTo reports whether a decision may replace the held answer: a denial replaces anything
// except a denial.
func (h *Held) YieldsTo(to Decision) bool {
	return h.Active() && to == Deny && h.Answer.Decision != Deny
}

// Resolution is how a request ended.
type Resolution struct {
	Status Status
	Answer *Answer // for Answered and Denied by a person
	Actor  Actor   // zero when no person was involved
	Reason string  // for Withdrawn, Expired and Orphaned: a sentence
	At     time.Time
	// CommandID is the idempotency key of the command that resolved it; a repeated command
	// has the same outcome. "" when no person was involved.
	CommandID string
	// SecondTo is the user who must have approved first, "" when one person decides. Without
	// that approval the resolution changes nothing.
	SecondTo string
	// HeldSince is the time when the person answered, if the answer was held until At; zero
	// if it was not held. It is stored in the audit record only. With it, the resolution
	// changes nothing unless the hold of CommandID is active; without it, an answer changes
	// nothing while any hold is active.
	HeldSince time.Time
	// Overrules is another command's held answer that this denial ends, nil when nothing was
	// held. It is stored in the audit record only. With it, the resolution changes nothing
	// unless exactly that hold is active.
	Overrules *Held
	// CarriedFrom is the id of the request that the person answered, "" when it was this one.
	CarriedFrom string
}

// ResolvedBy returns who resolved a request: both people if two approved; "" when no person
// was involved.
func (r Request) ResolvedBy() string {
	res := r.Resolution
	switch {
	case res == nil:
		return ""
	case res.Status == Answered && r.Approval != nil && r.Approval.Actor.UserID != res.Actor.UserID:
		return r.Approval.Actor.Name + " and " + res.Actor.Name
	}
	return res.Actor.Name
}

// Decision allows or denies.
type Decision string

const (
	Allow Decision = "allow"
	Deny  Decision = "deny"
)

// Answer is what unblocks the asker, in the form that is stored. For questions Decision is
// Allow with Responses, or Deny when the person declined.
type Answer struct {
	Decision  Decision `json:"decision"`
	Message   string   `json:"message,omitempty"`   // reason of a Deny, for the agent to read
	Interrupt bool     `json:"interrupt,omitempty"` // a Deny that also ends the turn
	// UpdatedInput is the tool input as a person edited it; nil when unedited.
	UpdatedInput json.RawMessage `json:"updated_input,omitempty"`
	// UpdatedPermissions are the rules granted with an Allow, a JSON array.
	UpdatedPermissions json.RawMessage `json:"updated_permissions,omitempty"`
	Responses          []Response      `json:"responses,omitempty"`
}

// Response answers one question of a [Form].
type Response struct {
	ID     string   `json:"id"`     // of the Question
	Values []string `json:"values"` // of the chosen options
	Text   string   `json:"text"`   // free text, "" when none
}

// QuestionKind is the control that answers a [Question].
type QuestionKind string

const (
	Text        QuestionKind = "text"
	Select      QuestionKind = "select"
	MultiSelect QuestionKind = "multi_select"
	Confirm     QuestionKind = "confirm"
)

// Form is the one format of all questions, regardless of the asker and its dialect. The JSON
// names are those of the stored column.
type Form struct {
	Title     string     `json:"title,omitempty"`
	Questions []Question `json:"questions"`
}

// Question is one question of a [Form].
type Question struct {
	ID          string       `json:"id"` // unique within the form
	Question    string       `json:"question"`
	Header      string       `json:"header,omitempty"`
	Kind        QuestionKind `json:"kind"`
	Options     []Option     `json:"options,omitempty"`
	Required    bool         `json:"required"`
	Placeholder string       `json:"placeholder,omitempty"`
	FreeText    bool         `json:"free_text"` // free text outside the options is allowed

	Description string `json:"description,omitempty"` // further explanation of the question
	// Default is the initial value of the form: one text for Text, values of options for
	// Select and MultiSelect, "yes" or "no" for Confirm. It is never an answer by itself.
	Default []string `json:"default,omitempty"`
	// The other fields bound an answer; zero values bound nothing.
	Format    Format   `json:"format,omitempty"`     // of a Text
	Minimum   *float64 `json:"minimum,omitempty"`    // of a number, inclusive
	Maximum   *float64 `json:"maximum,omitempty"`    // of a number, inclusive
	MinLength int      `json:"min_length,omitempty"` // of a Text, in characters
	MaxLength int      `json:"max_length,omitempty"`
	MinItems  int      `json:"min_items,omitempty"` // of a MultiSelect
	MaxItems  int      `json:"max_items,omitempty"`
}

// Format is the required format of a [Text] answer. It is not a [QuestionKind], so that a tab
// that does not know it shows a text field. The server refuses answers that do not match.
type Format string

const (
	AnyText  Format = ""
	Number   Format = "number"  // decimal, in JSON notation
	Integer  Format = "integer" // whole number
	Email    Format = "email"
	URI      Format = "uri"
	Date     Format = "date"      // 2006-01-02
	DateTime Format = "date-time" // RFC 3339
)

// Option is one choice of a [Question].
type Option struct {
	Label       string `json:"label"`
	Value       string `json:"value"` // equals Label unless the asker sets another value
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

// requestNamespace separates the ids of requests from all other version 5 UUIDs.
var requestNamespace = uuid.MustParse("5a1c4b0e-3d1f-5c7a-9a53-6a2f0c1c8e11")

// NewRequestID derives the id of a request from the session, its process and the asker's own
// id. The same question, read again after a restart, has the same id, so opening it is
// idempotent; the same asker id from another process is another request.
func NewRequestID(sessionID, processID, askerRequestID string) string {
	return uuid.NewSHA1(requestNamespace, []byte(sessionID+"/"+processID+"/"+askerRequestID)).String()
}

// HashInput returns the SHA-256 of the exact bytes of an input, as "sha256:" and 64 hexadecimal
// digits. An answer contains it to prove which input its author saw.
func HashInput(input json.RawMessage) string {
	sum := sha256.Sum256(input)
	return "sha256:" + hex.EncodeToString(sum[:])
}
