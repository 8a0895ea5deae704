// Package wire holds the JSON that browsers and scripts exchange with the server, as
// docs/integrating describes it: the frames and commands of the WebSocket, the bodies of
// REST, and their conversion from the types of lower packages.
//
// The structs are the source. go generate writes their JSON Schema (testdata/schema.json),
// the TypeScript types (frontend/src/wire/messages.gen.ts) and the golden messages
// (testdata/messages), and the tests check them.
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

// Protocol is the version of the protocol that [Hello] announces. It changes only if an old
// tab could no longer work; optional fields do not change it.
const Protocol = 1

// SocketProtocol is the WebSocket subprotocol of tabs.
const SocketProtocol = "sayso"

// The frames that the server sends to a tab. Times are Unix seconds. A pointer without a value
// is null on the wire; an omitempty field without a value is absent.

// User is a person as others see them.
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
	// UserID distinguishes people with the same name. A browser shows and sends what it has
	// stored for a person only while that person is signed in.
	UserID     string  `json:"user_id,omitempty"`
	ServerTime float64 `json:"server_time"`
	// LiveAppend announces that [Subscribe] may have the field of this name.
	LiveAppend bool `json:"live_append,omitempty"`
}

// ActiveProcesses contains every session that runs or has an open request. It is the second
// frame of every connection.
type ActiveProcesses struct {
	Type      string         `json:"type" ts:"'active_processes'"`
	Processes []ProcessState `json:"processes"`
}

// ProcessState is the whole state of one session except its transcript. A tab ignores a frame
// whose Version is lower than that of the state it has.
type ProcessState struct {
	Type      string `json:"type" ts:"'process_state'"`
	Version   uint64 `json:"version"`
	SessionID string `json:"session_id"`
	ProjectID string `json:"project_id"`
	Title     string `json:"title"`
	CWD       string `json:"cwd"`
	// ProjectName and Rights (what this tab's person may do) are absent in the default
	// project, where the person's role on the server applies.
	ProjectName string           `json:"project_name,omitempty"`
	Rights      []project.Action `json:"rights,omitempty"`

	State          session.State `json:"state"`
	StartedAt      float64       `json:"started_at"` // 0 if no process ever ran
	StateChangedAt float64       `json:"state_changed_at"`
	Model          string        `json:"model"`
	PermissionMode string        `json:"permission_mode"`
	Memory         uint64        `json:"memory"` // bytes, whole process tree
	CPU            float64       `json:"cpu"`    // cores
	NodeID         string        `json:"node_id"`
	// Unreachable means that no server reaches the runner of the session, where its process may
	// still run.
	Unreachable bool `json:"unreachable,omitempty"`

	Error      *string `json:"error"`       // why the process ended unexpectedly
	KillReason *string `json:"kill_reason"` // why the process was killed
	Stuck      *string `json:"stuck"`       // what the process seems to wait for
	// Held is why queued messages wait, or why the session does not resume automatically.
	Held           *string `json:"held,omitempty"`
	Reasons        Reasons `json:"reasons,omitempty"` // of error, kill_reason, stuck and held
	QueuedMessages int     `json:"queued_messages"`
	// Items is the number of transcript items when the frame was sent. New items alone cause no
	// frame.
	Items int64 `json:"items,omitempty"`

	PendingRequest  *Request  `json:"pending_request,omitempty"` // the first of PendingRequests
	PendingRequests []Request `json:"pending_requests"`          // oldest first

	Demo     bool         `json:"demo,omitempty"`     // runs against the scripted model
	Archived bool         `json:"archived,omitempty"` // hidden from lists unless requested
	Kind     session.Kind `json:"kind,omitempty"`     // agent or terminal: the session has no process here and accepts only answers
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
	// Asker names the asker if it is not the session's own Claude.
	Asker string `json:"asker,omitempty"`
	// Risk rates how much harm a tool call can do, judged by its input. It is not low if the
	// input could not be parsed completely. Low-risk calls can be approved together.
	Risk review.Level `json:"risk,omitempty"`

	AgentID        *string `json:"agent_id"`
	AgentType      *string `json:"agent_type"`
	Title          *string `json:"title"`
	Description    *string `json:"description"`
	DecisionReason *string `json:"decision_reason"`
	BlockedPath    *string `json:"blocked_path"`
	ToolUseID      *string `json:"tool_use_id"` // of the transcript's tool call

	// Approval restricts who may approve, by the rules of the project; absent if everybody who
	// may answer may approve alone.
	Approval *ApprovalRule `json:"approval,omitempty"`

	// Held is an answer that does not count yet, or was dropped.
	Held *HeldAnswer `json:"held,omitempty"`

	// Earlier is a person's answer to a similar question of a process that died before it
	// received the answer.
	Earlier *Earlier `json:"earlier,omitempty"`

	PermissionSuggestions json.RawMessage `json:"permission_suggestions" ts:"unknown[]"`
	// Requirements of the asker for the decision; see docs/integrating/websocket.md.
	DefaultToNo             bool       `json:"default_to_no,omitempty"`
	SuppressAlwaysAllowRule bool       `json:"suppress_always_allow_rule,omitempty"`
	RequiresUserInteraction bool       `json:"requires_user_interaction,omitempty"`
	MatchedAskRule          *AskRule   `json:"matched_ask_rule,omitempty"`
	ClassifierApprovable    *bool      `json:"classifier_approvable,omitempty"`
	MCPServer               *MCPServer `json:"mcp_server,omitempty"`
	Form                    *Form      `json:"form,omitempty"` // with ask_user_question
	// Draft is always null: drafts are visible only to their authors, see [KeptDraft].
	Draft json.RawMessage `json:"draft"`
}

// ApprovalRule restricts who may approve a tool. Everybody who may answer may deny it.
type ApprovalRule struct {
	Effect project.Effect `json:"effect"`
	People []string       `json:"people,omitempty"` // names: nobody else may approve
	May    bool           `json:"may"`              // whether this tab's person may
	// First is the first of two approvals, once there is one.
	First *FirstApproval `json:"first,omitempty"`
}

// FirstApproval is the first of two approvals. Another person must give the second.
type FirstApproval struct {
	By   string  `json:"by"`
	At   float64 `json:"at"`
	Mine bool    `json:"mine"` // given by this tab's person
}

// HeldAnswer is an answer that its author can undo until it counts. Nobody else can approve
// meanwhile.
type HeldAnswer struct {
	By       string           `json:"by"`
	Mine     bool             `json:"mine"` // given by this tab's person
	Decision pending.Decision `json:"decision"`
	Edited   bool             `json:"edited,omitempty"` // with an edited input
	At       float64          `json:"at"`
	Until    float64          `json:"until"` // when it counts
	// CommandID identifies the answer, for its author only: see [Undo].
	CommandID string `json:"command_id,omitempty"`
	// Dropped is a sentence that explains why the answer will never count; absent while it is
	// held. The request can then be answered again.
	Dropped string  `json:"dropped,omitempty"`
	Reasons Reasons `json:"reasons,omitempty"` // of dropped
}

// Earlier is an answer that had no visible effect before its asker died.
type Earlier struct {
	RequestID string          `json:"request_id"`
	ToolInput json.RawMessage `json:"tool_input"` // the input of that question
	// UpdatedInput is the edited input that was approved; absent if it was not edited.
	UpdatedInput json.RawMessage `json:"updated_input,omitempty"`
	Outcome      pending.Status  `json:"outcome"`           // answered or denied
	Summary      string          `json:"summary"`           // one sentence
	Reasons      Reasons         `json:"reasons,omitempty"` // of summary
	By           *string         `json:"by"`
	At           float64         `json:"at"`
}

// AskRule is a rule in a person's settings that makes Claude Code ask.
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

// Form is the questions of a request, in one format for all askers.
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
	Default     []string       `json:"default,omitempty"` // filled in until a person changes it
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

// Transcript is the part of a transcript between two cursors. A tab upserts the items by
// key, keeps Next as its cursor and replaces its live block by Live. From, Next and the
// after of a subscribe are values of [Item.Rev].
type Transcript struct {
	Type      string `json:"type" ts:"'transcript'"`
	SessionID string `json:"session_id"`
	From      int64  `json:"from"`
	Next      int64  `json:"next"`
	More      bool   `json:"more,omitempty"` // another part follows at once
	Items     []Item `json:"items"`          // in the order of Seq
	Total     int64  `json:"total"`          // items in the whole transcript
	Live      *Live  `json:"live"`
	// LiveRev is sent to a tab that requested [LiveAppend] and has the live block with this
	// rev. Without LiveItem, the tab keeps the block. With LiveItem, the block has become the
	// item with this key, whose text continues the text of the block.
	LiveRev  int64  `json:"live_rev,omitempty"`
	LiveItem string `json:"live_item,omitempty"`
}

// Item is one block of a transcript. The fields of Body, which depend on Kind, are merged
// into the item on the wire. A field of the body replaces one of the same name: the
// agent_id of a subagent group is the group's own.
type Item struct {
	Seq     int64
	Rev     int64
	Key     string
	At      time.Time
	Kind    session.ItemKind
	AgentID string // null on the wire for the main thread
	Body    json.RawMessage

	// checked reports that Body is a JSON object without surrounding space, so that it can
	// be copied into a frame unchanged.
	checked bool
}

// MarshalJSON merges the item with the fields of its body.
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

// Live is the growing last block of a transcript.
type Live struct {
	Kind    session.ItemKind `json:"kind"` // text, thinking or tool_call
	Text    string           `json:"text"` // so far; for a tool call, its partial input
	Tool    string           `json:"tool,omitempty"`
	AgentID *string          `json:"agent_id"`
	At      float64          `json:"at,omitempty"`  // when it began
	Rev     int64            `json:"rev,omitempty"` // of this text, on this connection
}

// LiveAppend is the text by which a live block has grown. It is sent to a tab that
// requested it in [Subscribe] and has the block with the rev After; afterwards, the block has
// the rev Rev.
type LiveAppend struct {
	Type      string `json:"type" ts:"'live_append'"`
	SessionID string `json:"session_id"`
	After     int64  `json:"after"`
	Rev       int64  `json:"rev"`
	Text      string `json:"text"` // to append to the text of the block
}

// Batch contains several frames in one message, in order.
type Batch struct {
	Type   string            `json:"type" ts:"'batch'"`
	Frames []json.RawMessage `json:"frames" ts:"ServerFrame[]"`
}

// AckResult is the outcome of a command.
type AckResult string

const (
	Applied         AckResult = "applied"
	AlreadyResolved AckResult = "already_resolved" // another answer was first
	Stale           AckResult = "stale"            // the request is gone or has changed
	Rejected        AckResult = "rejected"         // not allowed or invalid; see Error
)

// Ack acknowledges one command. A repeated command gets the same ack.
type Ack struct {
	Type      string     `json:"type" ts:"'ack'"`
	CommandID string     `json:"command_id"`
	Result    AckResult  `json:"result"`
	Error     *ErrorBody `json:"error,omitempty"`
	Resolved  *Resolved  `json:"resolved,omitempty"`
	SessionID string     `json:"session_id,omitempty"` // of the session that create or fork created
	MessageID string     `json:"message_id,omitempty"` // of the accepted message
	ExpiresAt *float64   `json:"expires_at,omitempty"` // of the extended request
	HeldUntil *float64   `json:"held_until,omitempty"` // of the held answer
}

// ErrorBody describes an error: code and reason for programs, message for people.
type ErrorBody struct {
	Code    string         `json:"code"`                                                             // the class of the error
	Message string         `json:"message"`                                                          // in English
	Field   string         `json:"field,omitempty"`                                                  // the invalid field of the command or body
	Reason  string         `json:"reason,omitempty"`                                                 // the exact error; see docs/integrating/errors.md
	Params  map[string]any `json:"params,omitempty" ts:"Record<string, string | number | string[]>"` // values in the message, by name
	// FolderTrust comes with folder_untrusted.
	FolderTrust *FolderTrust `json:"folder_trust,omitempty"`
}

// FolderTrust lists what the settings of a folder would run or permit, for a person to
// review before Claude starts there.
type FolderTrust struct {
	Folder string       `json:"folder"`
	Digest string       `json:"digest"` // sent back as `trust` to confirm that a person has seen this and agrees
	Items  []FolderItem `json:"items"`
	Gone   []FolderItem `json:"gone"` // trusted before, but no longer present
	Told   []string     `json:"told"` // files that only instruct Claude
	// CanLeaveOut reports that Claude can start with `without_settings` instead.
	CanLeaveOut bool `json:"can_leave_out"`
	// MachineRefuses reports that the machine loads none of these items, even if a person trusts
	// them.
	MachineRefuses bool       `json:"machine_refuses,omitempty"`
	Before         *TrustedBy `json:"before"` // null if nobody has trusted this folder yet
}

// TrustedBy records who trusted a folder, and when.
type TrustedBy struct {
	By string  `json:"by"`
	At float64 `json:"at"`
}

// FolderItemKind is the kind of a [FolderItem].
type FolderItemKind string

// FolderDanger is the reason why a [FolderItem] matters.
type FolderDanger string

// FolderItem is one item that Claude would load from a folder.
type FolderItem struct {
	Kind   FolderItemKind `json:"kind"`
	Danger FolderDanger   `json:"danger"`
	File   string         `json:"file"`
	Name   string         `json:"name"`
	Text   string         `json:"text"`
	Cut    bool           `json:"cut"` // text is truncated
	New    bool           `json:"new"` // since the folder was last trusted
}

// Resolved describes how a request ended and by whom.
type Resolved struct {
	Outcome pending.Status `json:"outcome"`
	By      *string        `json:"by"` // name; null when no person was involved
	Device  *string        `json:"device"`
	At      float64        `json:"at"`
	Summary string         `json:"summary"`           // one sentence
	Reasons Reasons        `json:"reasons,omitempty"` // of summary
}

// Presence lists the people who are looking at a session.
type Presence struct {
	Type      string       `json:"type" ts:"'presence'"`
	SessionID string       `json:"session_id"`
	Viewers   []ViewerInfo `json:"viewers"`
}

// ViewerInfo is one person in a [Presence], counted once for all their tabs.
type ViewerInfo struct {
	Name      string `json:"name"`
	Typing    bool   `json:"typing"`
	RequestID string `json:"request_id,omitempty"` // whose form they are filling in
}

// Lifecycle is the progress that an agent reported. It is sent at every change, on a new
// connection for every session of [ActiveProcesses], and to a tab that subscribes. Of two,
// the one with the later At is newer.
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

// Notice describes why the store rejects writes. It is sent at every change, and on a new
// connection while it applies. Message is a sentence for people, "" with the code "none".
type Notice struct {
	Type    string     `json:"type" ts:"'notice'"`
	Code    NoticeCode `json:"code"`
	Message string     `json:"message"`
	Reasons Reasons    `json:"reasons,omitempty"` // of message
}

// Toasts lists open requests that this person is not looking at, oldest first, and how many
// more there are. It is sent at every change to a tab that reports what it shows.
type Toasts struct {
	Type       string   `json:"type" ts:"'toasts'"`
	RequestIDs []string `json:"request_ids"`
	More       int      `json:"more,omitempty"`
}

// ErrorFrame is the last frame before the server closes a connection.
type ErrorFrame struct {
	Type    string `json:"type" ts:"'error'"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Close codes of the WebSocket.
const (
	CloseGoingAway  = 1001 // the server is stopping; connect again
	CloseSignedOut  = 4001 // the sign-in ended; connect again after a new one
	CloseTooSlow    = 4008 // the tab reads too slowly; connect again to get the latest state
	CloseOldVersion = 4010 // the app is outdated; reload it
)
