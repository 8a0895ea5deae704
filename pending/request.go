// Package pending holds the questions that block an agent until a person answers.
//
// A pending request is a blocked function call: [Registry.Ask] returns when a
// person has answered, when the asker has gone, or when a deadline that the
// asker set has passed. What a person sees is a row in the [Store]; what makes a
// resolution happen once is one compare-and-set on that row. Memory holds only
// waiters.
//
// # Concurrency
//
// Every exported method may be called from any goroutine. No lock is held across
// a call to the store or to the notifier.
package pending

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// RequestType says which kind of answer a [Request] needs.
type RequestType string

const (
	// ToolApproval asks whether a tool may run with the input shown.
	ToolApproval RequestType = "tool_approval"
	// AskUserQuestion asks the questions of [Request.Form].
	AskUserQuestion RequestType = "ask_user_question"
)

// Source says over which protocol the asker came.
type Source string

const (
	SourceClaude      Source = "claude"      // can_use_tool of a Claude CLI
	SourceMCP         Source = "mcp"         // a tool call of an MCP client
	SourceElicitation Source = "elicitation" // an MCP server's elicitation, forwarded by Claude
	SourceHook        Source = "hook"        // a hook of a claude that runs in somebody's terminal
)

// Status is where a request stands. Open and Orphaned can still be answered;
// every other status is final.
type Status string

const (
	Open      Status = "open"
	Orphaned  Status = "orphaned"  // its process died; still answerable
	Answered  Status = "answered"  // allowed, or all questions answered
	Denied    Status = "denied"    // refused or declined by a person
	Withdrawn Status = "withdrawn" // the asker gave up
	Expired   Status = "expired"   // a deadline that the asker set has passed
)

// Final reports whether no further resolution is possible.
func (s Status) Final() bool { return s != Open && s != Orphaned }

// Delivery is how far the answer of an answered or denied request has come on
// its way to the asker. It only moves forward.
type Delivery string

const (
	NotDelivered Delivery = ""          // nothing to deliver yet
	Queued       Delivery = "queued"    // stored, not yet with the asker
	Delivered    Delivery = "delivered" // the asker's transport took the whole answer
	Consumed     Delivery = "consumed"  // the asker was seen to act on it
	Carried      Delivery = "carried"   // given to the same question, asked again after a resume
	Dropped      Delivery = "dropped"   // the asker died before it was seen to act on it, and did not ask again
)

// Request is a question that blocks an agent.
type Request struct {
	RequestID   string      // ours, stable over restarts: see NewRequestID
	SessionID   string      // the session that waits
	RequestType RequestType // which kind of answer is needed
	Source      Source      // who asks
	// ProcessID is the incarnation of the session's process that asks, "" when
	// the asker is none.
	ProcessID string
	// AskerRequestID is the asker's own id of the request; unique only within
	// one process. AskerToolUseID is the tool_use block that is blocked; the CLI
	// wants it back in the answer.
	AskerRequestID string
	AskerToolUseID string
	// Asker names who asks, for people: "agent X over MCP", "terminal on HOST"; ""
	// for the session's own Claude.
	Asker string

	ToolName  string
	ToolInput json.RawMessage // byte for byte as asked
	InputHash string          // HashInput(ToolInput): an answer binds to what was shown
	Form      *Form           // for AskUserQuestion; nil when the input held no question

	AgentID        string // the subagent that asks, "" for the main thread
	AgentType      string // its kind and task, such as "general-purpose: read the docs"; "" when unknown
	Title          string // sentence from the asker, may be ""
	Description    string
	DecisionReason string // why the asker must ask
	BlockedPath    string
	// PermissionSuggestions is the asker's list of rules that a person may grant
	// together with an allow; a JSON array exactly as sent, or nil.
	PermissionSuggestions json.RawMessage

	// Policy is what the asker demands of whoever decides; nil when it demands nothing.
	Policy *Policy

	CreatedAt time.Time
	ExpiresAt time.Time // zero when the asker set no deadline

	Status   Status
	Delivery Delivery
	// Earlier is the answer to a question like this one that the process before
	// this one asked and was not seen to act on; nil when there is none.
	Earlier *Earlier
	// Approval is the first of two approvals, nil while there is none.
	Approval *Approval
	// Held is an answer that does not count yet, or what became of one; nil when
	// there is none.
	Held *Held
	// Undone are the commands whose held answers were taken back: they do
	// nothing any more, however often they arrive.
	Undone []string
	// Resolution is set once Status is final.
	Resolution *Resolution
}

// Policy is what an asker says about how its request may be decided. The JSON names
// are those of the stored column, of the wire and of the CLI. Its texts are from outside.
type Policy struct {
	// DefaultToNo: a single stray press must not approve it.
	DefaultToNo bool `json:"default_to_no,omitempty"`
	// SuppressAlwaysAllowRule: no rule goes with an approval.
	SuppressAlwaysAllowRule bool `json:"suppress_always_allow_rule,omitempty"`
	// RequiresUserInteraction: only who has opened it may decide.
	RequiresUserInteraction bool `json:"requires_user_interaction,omitempty"`
	// MatchedAskRule is the rule of somebody's settings that demands a person's answer.
	MatchedAskRule *AskRule `json:"matched_ask_rule,omitempty"`
	// ClassifierApprovable is false when a safety check demands a person's answer, nil
	// when no safety check is involved.
	ClassifierApprovable *bool `json:"classifier_approvable,omitempty"`
	// MCPServer serves the tool, nil when none does or the asker does not say.
	MCPServer *MCPServer `json:"mcp_server,omitempty"`
}

// AskRule is a rule of permissions.ask.
type AskRule struct {
	Source      string `json:"source"`
	ToolName    string `json:"tool_name"`
	RuleContent string `json:"rule_content,omitempty"`
}

// MCPServer is an MCP server as its configuration names it, and where that is.
type MCPServer struct {
	Name   string `json:"name"`
	Source string `json:"source"`
}

// Restricts reports whether each request of this policy is to be opened and decided by
// itself: not with others, and not by one press from outside.
func (p *Policy) Restricts() bool {
	return p != nil && (p.DefaultToNo || p.RequiresUserInteraction || p.MatchedAskRule != nil ||
		p.ClassifierApprovable != nil && !*p.ClassifierApprovable)
}

// Earlier is an answer that its asker was not seen to act on. The JSON names are those of
// the stored column.
type Earlier struct {
	RequestID string          `json:"request_id"`
	ToolInput json.RawMessage `json:"tool_input"` // what was asked then
	// UpdatedInput is what was approved in its place, nil when it was not edited.
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
	// Address is where they were just then. It goes on record with an answer and
	// nowhere else; a request that is read has none.
	Address string
}

// Approval is the yes of one person to a request that two must approve. It decides
// nothing by itself.
type Approval struct {
	Actor     Actor
	At        time.Time
	CommandID string // idempotency key of the command
	// CredentialID is what its giver came with, "" when that is not known.
	CredentialID string
}

// Held is an answer of a person that the server keeps back for some seconds, in
// which they can think better of it.
type Held struct {
	Actor     Actor
	At        time.Time // when it was given
	Until     time.Time // when it is to count
	CommandID string    // idempotency key of the command that gave it
	Answer    Answer
	// Dropped says in a sentence why it will never count; "" while it stands.
	Dropped string
	// CredentialID is what its giver came with, "" when that is not known.
	CredentialID string
}

// Stands reports whether an answer is held: nobody else can answer meanwhile, but
// an approval can be denied by anybody who may answer.
func (h *Held) Stands() bool { return h != nil && h.Dropped == "" }

// Yields reports whether a decision may take the place of what is held: a denial
// that of anything but a denial.
func (h *Held) Yields(to Decision) bool {
	return h.Stands() && to == Deny && h.Answer.Decision != Deny
}

// Resolution is how a request ended.
type Resolution struct {
	Status Status
	Answer *Answer // for Answered and Denied by a person
	Actor  Actor   // zero when no person was involved
	Reason string  // for Withdrawn, Expired and Orphaned: a sentence
	At     time.Time
	// CommandID is the idempotency key of the command that resolved it; the same
	// command again has the same outcome. "" when no person was involved.
	CommandID string
	// SecondTo is the user who must have approved first, "" when one person decides:
	// without that approval the resolution changes nothing.
	SecondTo string
	// HeldSince is when an answer was given that was held until At; zero when it was
	// not held. It goes on record and nowhere else. A resolution that was held changes
	// nothing unless a hold of CommandID stands; the answer of a person that was not
	// held changes nothing while any stands.
	HeldSince time.Time
	// Overrules is the held answer of another command that this denial ends, nil when
	// nothing was held. It goes on record and nowhere else. With it the resolution
	// changes nothing unless that very hold stands.
	Overrules *Held
	// CarriedFrom is the request that the person really answered, "" when it was
	// this one.
	CarriedFrom string
}

// ResolvedBy names who resolved a request: both people, where two approved; "" when
// no person was involved.
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

// Decision is a person's yes or no.
type Decision string

const (
	Allow Decision = "allow"
	Deny  Decision = "deny"
)

// Answer is what unblocks the asker, in the one form that is stored. For
// questions Decision is Allow with Responses, or Deny when the person declined.
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

// QuestionKind says which control answers a [Question].
type QuestionKind string

const (
	Text        QuestionKind = "text"
	Select      QuestionKind = "select"
	MultiSelect QuestionKind = "multi_select"
	Confirm     QuestionKind = "confirm"
)

// Form is the one normal form of every question, whoever asks it and in which
// dialect. The JSON names are those of the stored column.
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
	FreeText    bool         `json:"free_text"` // an answer outside the options is allowed

	Description string `json:"description,omitempty"` // more words about the question
	// Default is what is filled in before a person has touched the form: one text
	// for Text, values of options for Select and MultiSelect, "yes" or "no" for
	// Confirm. It is never an answer by itself.
	Default []string `json:"default,omitempty"`
	// The rest bounds an answer; the zero value bounds nothing.
	Format    Format   `json:"format,omitempty"`     // of a Text
	Minimum   *float64 `json:"minimum,omitempty"`    // of a number, inclusive
	Maximum   *float64 `json:"maximum,omitempty"`    // of a number, inclusive
	MinLength int      `json:"min_length,omitempty"` // of a Text, in characters
	MaxLength int      `json:"max_length,omitempty"`
	MinItems  int      `json:"min_items,omitempty"` // of a MultiSelect
	MaxItems  int      `json:"max_items,omitempty"`
}

// Format says what the text that answers a question of kind [Text] must be. It
// is no kind of its own: a tab that does not know it shows a text field, and the
// server refuses what does not fit.
type Format string

const (
	AnyText  Format = ""
	Number   Format = "number"  // decimal, as JSON writes it
	Integer  Format = "integer" // whole number
	Email    Format = "email"
	URI      Format = "uri"
	Date     Format = "date"      // 2006-01-02
	DateTime Format = "date-time" // RFC 3339
)

// Option is one choice of a [Question].
type Option struct {
	Label       string `json:"label"`
	Value       string `json:"value"` // equals Label unless the asker gave its own
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

// requestNamespace keeps ids of requests apart from every other UUIDv5.
var requestNamespace = uuid.MustParse("5a1c4b0e-3d1f-5c7a-9a53-6a2f0c1c8e11")

// NewRequestID derives the id of a request from the session, the incarnation of
// its process and the asker's own id. The same question read again after a
// restart has the same id, so opening it is idempotent; the same asker id from
// another process is another request.
func NewRequestID(sessionID, processID, askerRequestID string) string {
	return uuid.NewSHA1(requestNamespace, []byte(sessionID+"/"+processID+"/"+askerRequestID)).String()
}

// HashInput is the fingerprint that an answer must carry to show which input its
// author saw: "sha256:" and 64 hexadecimal digits over the bytes as asked.
func HashInput(input json.RawMessage) string {
	sum := sha256.Sum256(input)
	return "sha256:" + hex.EncodeToString(sum[:])
}
