// Package wire holds the JSON that browsers and scripts exchange with the server, as
// docs/integrating describes it: the frames and commands of the WebSocket, the bodies of
// REST, and their conversion from the types of the packages below.
//
// The structs are the source. Their JSON Schema (testdata/schema.json), the
// TypeScript types (frontend/src/wsapi/messages.gen.ts) and the golden messages
// (testdata/messages) are written by go generate and checked by the tests.
package wire

//go:generate go test -run "^(TestGoldenMessages|TestTypeScript|TestErrors|TestSchema)$" -update .

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Protocol is the version of the wire that [Hello] announces. It changes only
// when an old tab could no longer work; optional fields do not change it.
const Protocol = 1

// SocketProtocol is the WebSocket subprotocol of tabs.
const SocketProtocol = "sayso"

// The frames that the server sends to a tab. Times are Unix seconds. A pointer
// is null on the wire when there is nothing to say; omitempty fields are absent.

// User is how a person is shown to others.
type User struct {
	Name string       `json:"name"`
	Role account.Role `json:"role"`
}

// Hello is the first frame on every connection.
type Hello struct {
	Type          string `json:"type" ts:"'hello'"`
	Protocol      int    `json:"protocol"`
	ServerVersion string `json:"server_version"`
	NodeID        string `json:"node_id"`
	User          User   `json:"user"`
	// UserID tells people of the same name apart: what a browser keeps for one of
	// them, it shows and sends only for them.
	UserID     string  `json:"user_id,omitempty"`
	ServerTime float64 `json:"server_time"`
	// LiveAppend says that [Subscribe] may carry the field of that name.
	LiveAppend bool `json:"live_append,omitempty"`
}

// ActiveProcesses holds every session that runs or has an open request. It is
// the second frame on every connection.
type ActiveProcesses struct {
	Type      string         `json:"type" ts:"'active_processes'"`
	Processes []ProcessState `json:"processes"`
}

// ProcessState is the whole truth about one session apart from its transcript.
// A tab drops one whose Version is below that of the one it has.
type ProcessState struct {
	Type      string `json:"type" ts:"'process_state'"`
	Version   uint64 `json:"version"`
	SessionID string `json:"session_id"`
	ProjectID string `json:"project_id"`
	Title     string `json:"title"`
	CWD       string `json:"cwd"`
	// ProjectName and Rights, which are what this tab's person may do here, are
	// absent in the default project: there the role on the server says it all.
	ProjectName string           `json:"project_name,omitempty"`
	Rights      []project.Action `json:"rights,omitempty"`

	State          session.State `json:"state"`
	StartedAt      float64       `json:"started_at"` // 0 when no process ever ran
	StateChangedAt float64       `json:"state_changed_at"`
	Model          string        `json:"model"`
	PermissionMode string        `json:"permission_mode"`
	Memory         uint64        `json:"memory"` // bytes, whole process tree
	CPU            float64       `json:"cpu"`    // cores
	NodeID         string        `json:"node_id"`

	Error      *string `json:"error"`       // why it died by itself
	KillReason *string `json:"kill_reason"` // why it was ended
	Stuck      *string `json:"stuck"`       // what it seems to wait for
	// Held is why what is queued is not said, or the session does not go on by itself.
	Held           *string `json:"held,omitempty"`
	Reasons        Reasons `json:"reasons,omitempty"` // of error, kill_reason, stuck and held
	QueuedMessages int     `json:"queued_messages"`
	// Items is how many its transcript has when this is told; they grow without a frame.
	Items int64 `json:"items,omitempty"`

	PendingRequest  *Request  `json:"pending_request,omitempty"` // the first of PendingRequests
	PendingRequests []Request `json:"pending_requests"`          // oldest first

	Demo     bool         `json:"demo,omitempty"`     // runs against the scripted model
	Archived bool         `json:"archived,omitempty"` // out of the way of lists until it is asked for
	Kind     session.Kind `json:"kind,omitempty"`     // agent or terminal: no process of ours, takes answers alone
	Deleted  bool         `json:"deleted,omitempty"`  // the session is gone; the last frame about it
}

// Request is a question that a person can still answer.
type Request struct {
	RequestID   string              `json:"request_id"`
	RequestType pending.RequestType `json:"request_type"`
	Source      pending.Source      `json:"source"`
	ToolName    string              `json:"tool_name"`
	ToolInput   json.RawMessage     `json:"tool_input"`
	InputHash   string              `json:"input_hash"`
	CreatedAt   float64             `json:"created_at"`
	ExpiresAt   *float64            `json:"expires_at"`
	Status      pending.Status      `json:"status"` // open or orphaned
	// Asker names who asks, when it is not the session's own Claude.
	Asker string `json:"asker,omitempty"`
	// Risk is how much harm a tool call can do, as far as its input says; what could
	// not be read whole is not low. Several of low risk can be approved together.
	Risk review.Level `json:"risk,omitempty"`

	AgentID        *string `json:"agent_id"`
	AgentType      *string `json:"agent_type"`
	Title          *string `json:"title"`
	Description    *string `json:"description"`
	DecisionReason *string `json:"decision_reason"`
	BlockedPath    *string `json:"blocked_path"`
	ToolUseID      *string `json:"tool_use_id"` // of the transcript's tool call

	// Approval is what the rules of the project say about who may approve; absent
	// when whoever may answer may approve, alone.
	Approval *ApprovalRule `json:"approval,omitempty"`

	// Held is an answer that does not count yet, or one that never will.
	Held *HeldAnswer `json:"held,omitempty"`

	// Earlier is what a person answered to a similar question of a process that
	// died before it heard it.
	Earlier *Earlier `json:"earlier,omitempty"`

	PermissionSuggestions json.RawMessage `json:"permission_suggestions" ts:"unknown[]"`
	// What the asker demands of whoever decides; see docs/integrating/websocket.md.
	DefaultToNo             bool       `json:"default_to_no,omitempty"`
	SuppressAlwaysAllowRule bool       `json:"suppress_always_allow_rule,omitempty"`
	RequiresUserInteraction bool       `json:"requires_user_interaction,omitempty"`
	MatchedAskRule          *AskRule   `json:"matched_ask_rule,omitempty"`
	ClassifierApprovable    *bool      `json:"classifier_approvable,omitempty"`
	MCPServer               *MCPServer `json:"mcp_server,omitempty"`
	Form                    *Form      `json:"form,omitempty"` // with ask_user_question
	// Draft is null: what is half written is its writer's alone, see [KeptDraft].
	Draft json.RawMessage `json:"draft"`
}

// ApprovalRule says who may approve a tool. Whoever may answer may deny it.
type ApprovalRule struct {
	Effect project.Effect `json:"effect"`
	People []string       `json:"people,omitempty"` // names: nobody else may approve
	May    bool           `json:"may"`              // whether this tab's person may
	// First is the first of two approvals, once there is one.
	First *FirstApproval `json:"first,omitempty"`
}

// FirstApproval is the yes of one person, to which another's must come.
type FirstApproval struct {
	By   string  `json:"by"`
	At   float64 `json:"at"`
	Mine bool    `json:"mine"` // it is this tab's person's
}

// HeldAnswer is an answer that its giver can take back until it counts. Nobody else
// can answer meanwhile.
type HeldAnswer struct {
	By       string           `json:"by"`
	Mine     bool             `json:"mine"` // it is this tab's person's
	Decision pending.Decision `json:"decision"`
	Edited   bool             `json:"edited,omitempty"` // with another input than was asked
	At       float64          `json:"at"`
	Until    float64          `json:"until"` // when it counts
	// CommandID names it to its giver: see [Undo].
	CommandID string `json:"command_id,omitempty"`
	// Dropped says why it will never count, a sentence; absent while it is held. The
	// request can be answered again.
	Dropped string  `json:"dropped,omitempty"`
	Reasons Reasons `json:"reasons,omitempty"` // of dropped
}

// Earlier is an answer on which its asker was not seen to act.
type Earlier struct {
	RequestID string          `json:"request_id"`
	ToolInput json.RawMessage `json:"tool_input"` // what was asked then
	// UpdatedInput is what was approved in its place; absent when it was not edited.
	UpdatedInput json.RawMessage `json:"updated_input,omitempty"`
	Outcome      pending.Status  `json:"outcome"`           // answered or denied
	Summary      string          `json:"summary"`           // one sentence
	Reasons      Reasons         `json:"reasons,omitempty"` // of summary
	By           *string         `json:"by"`
	At           float64         `json:"at"`
}

// AskRule is a rule of somebody's settings that has Claude Code ask.
type AskRule struct {
	Source      string `json:"source"`
	ToolName    string `json:"tool_name"`
	RuleContent string `json:"rule_content,omitempty"`
}

// MCPServer is the MCP server of a tool, and where it was configured.
type MCPServer struct {
	Name   string `json:"name"`
	Source string `json:"source"`
}

// Form is the one normal form of every question.
type Form struct {
	Title     *string    `json:"title"`
	Questions []Question `json:"questions"`
}

// Question is one question of a [Form].
type Question struct {
	ID          string               `json:"id"`
	Question    string               `json:"question"`
	Header      string               `json:"header"`
	Kind        pending.QuestionKind `json:"kind"`
	Options     []Option             `json:"options"`
	Required    bool                 `json:"required"`
	Placeholder *string              `json:"placeholder"`
	FreeText    bool                 `json:"free_text"`

	Description string         `json:"description,omitempty"`
	Default     []string       `json:"default,omitempty"` // filled in before a person has touched it
	Format      pending.Format `json:"format,omitempty"`  // of a text
	Minimum     *float64       `json:"minimum,omitempty"` // of a number, inclusive
	Maximum     *float64       `json:"maximum,omitempty"`
	MinLength   int            `json:"min_length,omitempty"` // of a text, in characters
	MaxLength   int            `json:"max_length,omitempty"`
	MinItems    int            `json:"min_items,omitempty"` // of a multi_select
	MaxItems    int            `json:"max_items,omitempty"`
}

// Option is one choice of a [Question].
type Option struct {
	Label       string  `json:"label"`
	Value       string  `json:"value"`
	Description string  `json:"description"`
	Preview     *string `json:"preview"`
}

// Transcript is the piece of a transcript between two cursors. A tab upserts
// the items by key, keeps Next as its cursor and replaces its live block by
// Live. From, Next and the after of a subscribe are values of [Item.Rev].
type Transcript struct {
	Type      string `json:"type" ts:"'transcript'"`
	SessionID string `json:"session_id"`
	From      int64  `json:"from"`
	Next      int64  `json:"next"`
	More      bool   `json:"more,omitempty"` // another piece follows at once
	Items     []Item `json:"items"`          // in the order of Seq
	Total     int64  `json:"total"`          // items in the whole transcript
	Live      *Live  `json:"live"`
	// LiveRev comes to a tab that takes [LiveAppend], which has the live block of this
	// rev. Without LiveItem the tab keeps the block. With it, the block has become the
	// item of this key, and the text of the block belongs before the text of the item.
	LiveRev  int64  `json:"live_rev,omitempty"`
	LiveItem string `json:"live_item,omitempty"`
}

// Item is one block of a transcript; the fields of Body, which depend on Kind,
// lie beside the others on the wire. A field of the body with the name of one
// of ours replaces it: the agent_id of a subagent group is the group's own.
type Item struct {
	Seq     int64
	Rev     int64
	Key     string
	At      time.Time
	Kind    session.ItemKind
	AgentID string // null on the wire for the main thread
	Body    json.RawMessage

	// checked is that Body is a JSON object without space around it, so that it goes into
	// a frame as it is.
	checked bool
}

// MarshalJSON joins the head of the item with the fields of its body.
func (it Item) MarshalJSON() ([]byte, error) { return it.append(nil) }

// append appends the item as JSON to b.
func (it Item) append(b []byte) ([]byte, error) {
	body := it.Body
	if !it.checked {
		body = bytes.Trim(body, jsonSpace)
		if !isObject(body) {
			return nil, fmt.Errorf("wire: body of transcript item %s is no JSON object", it.Key)
		}
	}
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, it.Seq, 10)
	b = append(b, `,"rev":`...)
	b = strconv.AppendInt(b, it.Rev, 10)
	b = append(b, `,"key":`...)
	b = appendString(b, it.Key)
	b = append(b, `,"at":`...)
	b = strconv.AppendFloat(b, Seconds(it.At), 'f', -1, 64)
	b = append(b, `,"kind":`...)
	b = appendString(b, string(it.Kind))
	switch {
	case it.Kind == session.ItemSubagent:
	case it.AgentID == "":
		b = append(b, `,"agent_id":null`...)
	default:
		b = append(b, `,"agent_id":`...)
		b = appendString(b, it.AgentID)
	}
	if inner := bytes.TrimSpace(body[1 : len(body)-1]); len(inner) > 0 {
		b = append(b, ',')
		b = append(b, inner...)
	}
	return append(b, '}'), nil
}

// Live is the growing last block of a transcript, whole.
type Live struct {
	Kind    session.ItemKind `json:"kind"` // text, thinking or tool_call
	Text    string           `json:"text"` // so far; of a tool call its partial input
	Tool    string           `json:"tool,omitempty"`
	AgentID *string          `json:"agent_id"`
	At      float64          `json:"at,omitempty"`  // when it began
	Rev     int64            `json:"rev,omitempty"` // of this text, on this connection
}

// LiveAppend is what the live block of a session has grown by. It comes to a tab that
// asked for it in [Subscribe] and that has the block of the rev After, which is of the
// rev Rev then.
type LiveAppend struct {
	Type      string `json:"type" ts:"'live_append'"`
	SessionID string `json:"session_id"`
	After     int64  `json:"after"`
	Rev       int64  `json:"rev"`
	Text      string `json:"text"` // goes at the end of the text of the block
}

// Batch is several frames in one message, in order.
type Batch struct {
	Type   string            `json:"type" ts:"'batch'"`
	Frames []json.RawMessage `json:"frames" ts:"ServerFrame[]"`
}

// AckResult is how a command ended.
type AckResult string

const (
	Applied         AckResult = "applied"
	AlreadyResolved AckResult = "already_resolved" // another person was first
	Stale           AckResult = "stale"            // the request is gone or asks something else now
	Rejected        AckResult = "rejected"         // not allowed, or not understood; see Error
)

// Ack answers one command. The same command gets the same ack.
type Ack struct {
	Type      string     `json:"type" ts:"'ack'"`
	CommandID string     `json:"command_id"`
	Result    AckResult  `json:"result"`
	Error     *ErrorBody `json:"error,omitempty"`
	Resolved  *Resolved  `json:"resolved,omitempty"`
	SessionID string     `json:"session_id,omitempty"` // of the session that create or fork made
	MessageID string     `json:"message_id,omitempty"` // of the message that was taken
	ExpiresAt *float64   `json:"expires_at,omitempty"` // of the request that was extended
	HeldUntil *float64   `json:"held_until,omitempty"` // of the answer that is held
}

// ErrorBody is a refusal: a code and a reason for programs, a sentence for people.
type ErrorBody struct {
	Code    string         `json:"code"`                                                             // the class of the error
	Message string         `json:"message"`                                                          // in English
	Field   string         `json:"field,omitempty"`                                                  // of the command or body that is to blame
	Reason  string         `json:"reason,omitempty"`                                                 // the exact error; see docs/integrating/errors.md
	Params  map[string]any `json:"params,omitempty" ts:"Record<string, string | number | string[]>"` // values in the message, by name
	// FolderTrust comes with folder_untrusted.
	FolderTrust *FolderTrust `json:"folder_trust,omitempty"`
}

// FolderTrust is what the settings of a folder would run or permit, for a person to
// look at before Claude is started there.
type FolderTrust struct {
	Folder string       `json:"folder"`
	Digest string       `json:"digest"` // sent back as `trust` it says: I have seen this, and want it
	Items  []FolderItem `json:"items"`
	Gone   []FolderItem `json:"gone"` // that were trusted and are there no longer
	Told   []string     `json:"told"` // files that only tell Claude something
	// CanLeaveOut: Claude can be started with `without_settings` instead.
	CanLeaveOut bool       `json:"can_leave_out"`
	Before      *TrustedBy `json:"before"` // null when nobody has trusted this folder yet
}

// TrustedBy says who trusted a folder as it was then.
type TrustedBy struct {
	By string  `json:"by"`
	At float64 `json:"at"`
}

// FolderItemKind says what a [FolderItem] is.
type FolderItemKind string

// FolderDanger says why a [FolderItem] matters.
type FolderDanger string

// FolderItem is one thing that Claude would take from a folder.
type FolderItem struct {
	Kind   FolderItemKind `json:"kind"`
	Danger FolderDanger   `json:"danger"`
	File   string         `json:"file"`
	Name   string         `json:"name"`
	Text   string         `json:"text"`
	Cut    bool           `json:"cut"` // text is not whole
	New    bool           `json:"new"` // since the folder was trusted last
}

// Resolved says how a request ended and by whom.
type Resolved struct {
	Outcome pending.Status `json:"outcome"`
	By      *string        `json:"by"` // name; null when no person was involved
	Device  *string        `json:"device"`
	At      float64        `json:"at"`
	Summary string         `json:"summary"`           // one sentence
	Reasons Reasons        `json:"reasons,omitempty"` // of summary
}

// Presence says who looks at a session.
type Presence struct {
	Type      string       `json:"type" ts:"'presence'"`
	SessionID string       `json:"session_id"`
	Viewers   []ViewerInfo `json:"viewers"`
}

// ViewerInfo is one person in a [Presence], however many tabs they have.
type ViewerInfo struct {
	Name      string `json:"name"`
	Typing    bool   `json:"typing"`
	RequestID string `json:"request_id,omitempty"` // whose form they are typing in
}

// Lifecycle says how far an agent reports to have come. It is sent at every
// change, on a new connection for every session of [ActiveProcesses] and to a tab
// that subscribes; At tells which of two is newer.
type Lifecycle struct {
	Type        string   `json:"type" ts:"'lifecycle'"`
	SessionID   string   `json:"session_id"`
	EventType   string   `json:"event_type"` // such as plan-started
	PhaseName   string   `json:"phase_name,omitempty"`
	PhaseNumber string   `json:"phase_number,omitempty"`
	Step        *float64 `json:"step,omitempty"`
	TotalSteps  *float64 `json:"total_steps,omitempty"`
	At          float64  `json:"at"`
}

// Notice says what stands in the way of everything that must be stored. It comes
// on a new connection when there is something, and at every change; Message is a
// sentence for people, "" with the code "none".
type Notice struct {
	Type    string     `json:"type" ts:"'notice'"`
	Code    NoticeCode `json:"code"`
	Message string     `json:"message"`
	Reasons Reasons    `json:"reasons,omitempty"` // of message
}

// Toasts are the requests that wait where the person of this tab does not look: all
// there are, oldest first, and how many more than can be named. It comes at every
// change to a tab that says what it shows.
type Toasts struct {
	Type       string   `json:"type" ts:"'toasts'"`
	RequestIDs []string `json:"request_ids"`
	More       int      `json:"more,omitempty"`
}

// ErrorFrame comes before the server closes a connection.
type ErrorFrame struct {
	Type    string `json:"type" ts:"'error'"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Close codes of the WebSocket.
const (
	CloseGoingAway  = 1001 // the server stops; connect again
	CloseSignedOut  = 4001 // the sign-in ended; do not connect again before a new one
	CloseTooSlow    = 4008 // connect again and get the newest state
	CloseOldVersion = 4010 // load the app again
)
