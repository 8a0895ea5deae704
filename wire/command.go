package wire

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/pending"
)

// The commands that a tab sends. Each carries a command_id, a UUID made by the tab. REST
// bodies are the same structs without Type; there, command_id is optional, and path
// parameters replace session_id and request_id.
//
// Fields without omitempty are required, even if empty: see [Decode].

// Command is a command of a tab, or the body of the equivalent REST call.
type Command interface {
	// ID returns the command_id, "" if there is none.
	ID() string
	// Session returns the session_id, nil if the command names no session.
	Session() *string
}

// SessionOf returns the id of the session that a command concerns, "" for none.
func SessionOf(c Command) string {
	if id := c.Session(); id != nil {
		return *id
	}
	return ""
}

// Head contains the fields of all commands.
type Head struct {
	CommandID string `json:"command_id" validate:"omitempty,uuid"`
}

// ID implements [Command].
func (h *Head) ID() string { return h.CommandID }

// Session implements [Command].
func (h *Head) Session() *string { return nil }

// SessionHead starts the commands about a session.
type SessionHead struct {
	Head
	SessionID string `json:"session_id" validate:"required,max=64"`
}

// Session implements [Command].
func (h *SessionHead) Session() *string { return &h.SessionID }

// RequestHead starts the commands about a request.
type RequestHead struct {
	Head
	SessionID string `json:"session_id,omitempty" validate:"max=64"`
	RequestID string `json:"request_id" validate:"required,max=64"`
}

// Session implements [Command].
func (h *RequestHead) Session() *string { return &h.SessionID }

// FolderConsent is a person's decision about the settings of a folder. The commands that
// start Claude there embed it.
type FolderConsent struct {
	Trust           string `json:"trust,omitempty" validate:"excluded_with=WithoutSettings,max=128"` // digest of a [FolderTrust] that the person has seen and wants
	WithoutSettings bool   `json:"without_settings,omitempty"`                                       // ignore the settings of the folder
}

// Attachment is a file of a message: the id returned by POST /api/attachments, or Data in
// base64. The type of Data is detected from its bytes; MediaType is only the sender's
// claim.
type Attachment struct {
	AttachmentID string `json:"attachment_id,omitempty" validate:"omitempty,uuid"`
	Name         string `json:"name,omitempty" validate:"required_without=AttachmentID,max=255"`
	MediaType    string `json:"media_type,omitempty" validate:"omitempty,oneof=image/png image/jpeg image/gif image/webp application/pdf text/plain"`
	Data         []byte `json:"data,omitempty" ts:"string" validate:"required_without=AttachmentID,excluded_with=AttachmentID,max=25165824"`
}

// PendingRequestResponse answers a request. Answers is the short form, keyed by question
// text, and Responses is the exact form; see docs/integrating/live.md.
type PendingRequestResponse struct {
	Type string `json:"type" ts:"'pending_request_response'" validate:"omitempty,eq=pending_request_response"`
	Head
	UserID      string              `json:"user_id,omitempty" validate:"max=64"` // the author; refused if another user is signed in
	SessionID   string              `json:"session_id" validate:"required_with=Type,max=64"`
	RequestID   string              `json:"request_id" validate:"required,max=64"`
	RequestType pending.RequestType `json:"request_type" validate:"required,oneof=tool_approval ask_user_question"`
	InputHash   string              `json:"input_hash,omitempty" validate:"max=128"`

	Decision           pending.Decision `json:"decision,omitempty" validate:"omitempty,oneof=allow deny"`
	Message            string           `json:"message,omitempty"`
	Interrupt          bool             `json:"interrupt,omitempty"`
	UpdatedInput       json.RawMessage  `json:"updated_input,omitempty"`
	UpdatedPermissions json.RawMessage  `json:"updated_permissions,omitempty" ts:"unknown[]"`

	// UndoMS is how long the answer is held, in milliseconds, so that [Undo] can cancel it. If
	// absent, the answer is not held.
	UndoMS int `json:"undo_ms,omitempty" validate:"min=0,max=10000"`

	// Batch marks an approval that is part of a bulk approval: as requested and without a
	// rule. The requests must be low risk; those of one session may also be medium risk.
	Batch bool `json:"batch,omitempty"`
	// Together lists the ids of all requests in the bulk approval, including this one: up
	// to 20 of one tool, or up to 50 of one session. Old clients omit it.
	Together []string `json:"together,omitempty"`

	Answers   map[string]string `json:"answers,omitempty"`
	Responses []Response        `json:"responses,omitempty" validate:"dive"`
}

// Session implements [Command].
func (c *PendingRequestResponse) Session() *string { return &c.SessionID }

// Response answers one question of a form.
type Response struct {
	ID     string   `json:"id" validate:"required"`
	Values []string `json:"values,omitempty"`
	Text   string   `json:"text,omitempty"`
}

// Extend postpones the deadline of a request by five minutes, to at most half an hour after
// it was asked. Its ack carries the new deadline. Only requests whose asker set a deadline
// can be extended.
type Extend struct {
	Type string `json:"type" ts:"'extend'" validate:"omitempty,eq=extend"`
	RequestHead
}

// WithdrawApproval withdraws the first of two approvals before the second is given. Only the
// person who gave it can withdraw it.
type WithdrawApproval struct {
	Type string `json:"type" ts:"'withdraw_approval'" validate:"omitempty,eq=withdraw_approval"`
	RequestHead
}

// Undo undoes a held answer of the caller.
type Undo struct {
	Type string `json:"type" ts:"'undo'" validate:"omitempty,eq=undo"`
	RequestHead
	// Answer is the command_id of the [HeldAnswer] to undo; absent means any that is held.
	Answer string `json:"answer,omitempty" validate:"omitempty,uuid"`
}

// SendMessage sends a message to Claude. It is queued while Claude works.
type SendMessage struct {
	Type string `json:"type" ts:"'send_message'" validate:"omitempty,eq=send_message"`
	Head
	UserID      string       `json:"user_id,omitempty" validate:"max=64"` // the author; refused if another user is signed in
	SessionID   string       `json:"session_id" validate:"required,max=64"`
	Text        string       `json:"text" validate:"required_without=Attachments,max=1000000"`
	Attachments []Attachment `json:"attachments,omitempty" validate:"max=20,dive"`
	FolderConsent
}

// Session implements [Command].
func (c *SendMessage) Session() *string { return &c.SessionID }

// CreateSession starts a session in a folder.
type CreateSession struct {
	Type string `json:"type" ts:"'create_session'" validate:"omitempty,eq=create_session"`
	Head
	CWD            string       `json:"cwd,omitempty" validate:"required_without=Demo,max=4096"`
	Prompt         string       `json:"prompt,omitempty" validate:"required_without_all=Demo Attachments Resume,max=1000000"`
	Title          string       `json:"title,omitempty" validate:"max=500"`
	Model          string       `json:"model,omitempty" validate:"max=200"`
	PermissionMode string       `json:"permission_mode,omitempty" validate:"max=64"`
	Attachments    []Attachment `json:"attachments,omitempty" validate:"max=20,dive"`
	AllowedTools   []string     `json:"allowed_tools,omitempty" validate:"max=200,dive,required,max=1000"`
	Resume         string       `json:"resume,omitempty" validate:"max=64"`
	Fork           bool         `json:"fork,omitempty"`
	Demo           bool         `json:"demo,omitempty"` // runs against the scripted model
	// RunnerID is the runner with the folder. "" means the runner inside the server, if there is one;
	// "any" means a runner with free capacity.
	RunnerID string `json:"runner_id,omitempty" validate:"max=64"`
	// RunnerLabels are the labels that the runner must have, if RunnerID is "any".
	RunnerLabels []string `json:"runner_labels,omitempty" validate:"max=20,dive,required,max=64"`
	FolderConsent
}

// ResumeSession starts a new process for a dead session.
type ResumeSession struct {
	Type string `json:"type" ts:"'resume_session'" validate:"omitempty,eq=resume_session"`
	SessionHead
	FolderConsent
}

// ForkSession starts a new session from the transcript of another session. Its ack carries
// the id of the new session.
type ForkSession struct {
	Type string `json:"type" ts:"'fork_session'" validate:"omitempty,eq=fork_session"`
	SessionHead
	// MessageID is a person's message before which the new conversation ends; "" copies
	// everything.
	MessageID string `json:"message_id,omitempty" validate:"omitempty,uuid"`
	FolderConsent
}

// Interrupt ends the turn; the process continues.
type Interrupt struct {
	Type string `json:"type" ts:"'interrupt'" validate:"omitempty,eq=interrupt"`
	SessionHead
}

// KillProcess ends the process; with Force, at once.
type KillProcess struct {
	Type string `json:"type" ts:"'kill_process'" validate:"omitempty,eq=kill_process"`
	SessionHead
	Force bool `json:"force,omitempty"`
}

// SetModel changes the model of a running session; "" means the default of the CLI.
type SetModel struct {
	Type string `json:"type" ts:"'set_model'" validate:"omitempty,eq=set_model"`
	SessionHead
	Model string `json:"model" validate:"max=200"`
}

// SetPermissionMode changes the permission mode of a session.
type SetPermissionMode struct {
	Type string `json:"type" ts:"'set_permission_mode'" validate:"omitempty,eq=set_permission_mode"`
	SessionHead
	PermissionMode string `json:"permission_mode" validate:"required,max=64"`
}

// Subscribe requests the transcript of a session after a cursor, and presence. Subscribing
// again moves the cursor.
type Subscribe struct {
	Type string `json:"type" ts:"'subscribe'" validate:"omitempty,eq=subscribe"`
	SessionHead
	After int64 `json:"after,omitempty" validate:"min=0"`
	// LiveAppend requests [LiveAppend] frames instead of the whole block.
	LiveAppend bool `json:"live_append,omitempty"`
}

// Unsubscribe ends a [Subscribe].
type Unsubscribe struct {
	Type string `json:"type" ts:"'unsubscribe'" validate:"omitempty,eq=unsubscribe"`
	SessionHead
}

// Draft syncs a draft to the person's other devices: a draft of the answer to a request or,
// without a request, of the message to a session. A null Value clears it.
type Draft struct {
	Type string `json:"type" ts:"'draft'" validate:"omitempty,eq=draft"`
	Head
	SessionID string          `json:"session_id,omitempty" validate:"max=64"`
	RequestID string          `json:"request_id,omitempty" validate:"required_without=SessionID,max=64"`
	Value     json.RawMessage `json:"value"`
}

// Session implements [Command].
func (c *Draft) Session() *string { return &c.SessionID }

// Typing reports that the person is typing. It applies for a few seconds.
type Typing struct {
	Type string `json:"type" ts:"'typing'" validate:"omitempty,eq=typing"`
	SessionHead
	RequestID string `json:"request_id,omitempty" validate:"max=64"`
}

// Looking reports whether the tab is visible and has the focus; until the first report it
// counts as neither. A person who looks at a request is not notified of it elsewhere.
type Looking struct {
	Type string `json:"type" ts:"'looking'" validate:"omitempty,eq=looking"`
	Head
	Looking bool `json:"looking"`
	// Showing is what is on screen. Without it, the tab counts as if it showed every
	// request, and receives no [Toasts].
	Showing *Showing `json:"showing,omitempty"`
}

// Showing is what a tab shows: a session, or the inbox, which shows every request. With
// neither, the tab shows another page.
type Showing struct {
	SessionID string `json:"session_id,omitempty" validate:"max=64"`
	Inbox     bool   `json:"inbox,omitempty"`
}

// Noticed reports that the person has dismissed the toast of a request. No tab of theirs
// shows it again.
type Noticed struct {
	Type string `json:"type" ts:"'noticed'" validate:"omitempty,eq=noticed"`
	Head
	RequestID string `json:"request_id" validate:"required,max=64"`
}

// Ping requests an ack and nothing else.
type Ping struct {
	Type string `json:"type" ts:"'ping'" validate:"omitempty,eq=ping"`
	Head
}
