package wire

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/pending"
)

// The commands that a tab sends. Each carries a command_id, a UUID made by the
// tab. REST bodies are the same structs without Type; there command_id may be
// absent, and path parameters take the place of session_id and request_id.
//
// A field without omitempty must be there, whether it has a value or not: see
// [Decode].

// A Command is what a tab sends, or the body of a REST call that does the same.
type Command interface {
	// ID returns the command_id, "" when there is none.
	ID() string
	// Session returns the session_id, nil when the command names no session.
	Session() *string
}

// SessionOf returns the id of the session that a command is about, "" for none.
func SessionOf(c Command) string {
	if id := c.Session(); id != nil {
		return *id
	}
	return ""
}

// Head is what all commands have.
type Head struct {
	CommandID string `json:"command_id" validate:"omitempty,uuid"`
}

// ID implements [Command].
func (h *Head) ID() string { return h.CommandID }

// Session implements [Command].
func (h *Head) Session() *string { return nil }

// SessionHead begins the commands about a session.
type SessionHead struct {
	Head
	SessionID string `json:"session_id" validate:"required,max=64"`
}

// Session implements [Command].
func (h *SessionHead) Session() *string { return &h.SessionID }

// RequestHead begins the commands about a request.
type RequestHead struct {
	Head
	SessionID string `json:"session_id,omitempty" validate:"max=64"`
	RequestID string `json:"request_id" validate:"required,max=64"`
}

// Session implements [Command].
func (h *RequestHead) Session() *string { return &h.SessionID }

// FolderConsent is what a person says about the settings of a folder; it ends the
// commands that start Claude there.
type FolderConsent struct {
	Trust           string `json:"trust,omitempty" validate:"excluded_with=WithoutSettings,max=128"` // digest of a [FolderTrust] that the person has seen and wants
	WithoutSettings bool   `json:"without_settings,omitempty"`                                       // those of the folder are left out
}

// Attachment travels inside a message: by the id of what was sent with
// POST /api/attachments, or as Data in base64. What Data is, its bytes say;
// MediaType is what a script takes it for.
type Attachment struct {
	AttachmentID string `json:"attachment_id,omitempty" validate:"omitempty,uuid"`
	Name         string `json:"name,omitempty" validate:"required_without=AttachmentID,max=255"`
	MediaType    string `json:"media_type,omitempty" validate:"omitempty,oneof=image/png image/jpeg image/gif image/webp application/pdf text/plain"`
	Data         []byte `json:"data,omitempty" ts:"string" validate:"required_without=AttachmentID,excluded_with=AttachmentID,max=25165824"`
}

// PendingRequestResponse answers a request. Answers is the short form keyed by
// question text, Responses the exact form; see docs/integrating/live.md.
type PendingRequestResponse struct {
	Type string `json:"type" ts:"'pending_request_response'" validate:"omitempty,eq=pending_request_response"`
	Head
	UserID      string              `json:"user_id,omitempty" validate:"max=64"` // who gave it; refused when somebody else is signed in
	SessionID   string              `json:"session_id" validate:"required_with=Type,max=64"`
	RequestID   string              `json:"request_id" validate:"required,max=64"`
	RequestType pending.RequestType `json:"request_type" validate:"required,oneof=tool_approval ask_user_question"`
	InputHash   string              `json:"input_hash,omitempty" validate:"max=128"`

	Decision           pending.Decision `json:"decision,omitempty" validate:"omitempty,oneof=allow deny"`
	Message            string           `json:"message,omitempty"`
	Interrupt          bool             `json:"interrupt,omitempty"`
	UpdatedInput       json.RawMessage  `json:"updated_input,omitempty"`
	UpdatedPermissions json.RawMessage  `json:"updated_permissions,omitempty" ts:"unknown[]"`

	// UndoMS is for how many milliseconds the answer is held, so that [Undo] can take
	// it back; absent for not at all.
	UndoMS int `json:"undo_ms,omitempty" validate:"min=0,max=10000"`

	// Batch says that a person approves several requests with one confirmation, each as it
	// was asked and without a rule. They must be low risk; those of one session may also be
	// medium risk.
	Batch bool `json:"batch,omitempty"`
	// Together are the ids of all requests that the confirmation approves, this one among
	// them: of one tool, and up to 20, or up to 50 of one session. Old clients omit it.
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

// Extend gives a person five minutes more for a request whose asker set a
// deadline, at most until half an hour after it was asked. Its ack carries the
// new deadline.
type Extend struct {
	Type string `json:"type" ts:"'extend'" validate:"omitempty,eq=extend"`
	RequestHead
}

// WithdrawApproval takes one's own approval of a request back that another person
// must approve, too, and has not yet.
type WithdrawApproval struct {
	Type string `json:"type" ts:"'withdraw_approval'" validate:"omitempty,eq=withdraw_approval"`
	RequestHead
}

// Undo takes one's own answer back while it is held.
type Undo struct {
	Type string `json:"type" ts:"'undo'" validate:"omitempty,eq=undo"`
	RequestHead
	// Answer is the command_id of the [HeldAnswer] that is meant; without it, whichever
	// is held.
	Answer string `json:"answer,omitempty" validate:"omitempty,uuid"`
}

// SendMessage says something to Claude; it waits its turn when Claude works.
type SendMessage struct {
	Type string `json:"type" ts:"'send_message'" validate:"omitempty,eq=send_message"`
	Head
	UserID      string       `json:"user_id,omitempty" validate:"max=64"` // who wrote it; refused when somebody else is signed in
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
	FolderConsent
}

// ResumeSession starts the process of a dead session again.
type ResumeSession struct {
	Type string `json:"type" ts:"'resume_session'" validate:"omitempty,eq=resume_session"`
	SessionHead
	FolderConsent
}

// ForkSession begins a new session from the transcript of another. Its ack
// carries the id of the new one.
type ForkSession struct {
	Type string `json:"type" ts:"'fork_session'" validate:"omitempty,eq=fork_session"`
	SessionHead
	// MessageID is a message of a person: the new conversation ends before it. "" for all of it.
	MessageID string `json:"message_id,omitempty" validate:"omitempty,uuid"`
	FolderConsent
}

// Interrupt ends the turn; the process goes on.
type Interrupt struct {
	Type string `json:"type" ts:"'interrupt'" validate:"omitempty,eq=interrupt"`
	SessionHead
}

// KillProcess ends the process, at once with Force.
type KillProcess struct {
	Type string `json:"type" ts:"'kill_process'" validate:"omitempty,eq=kill_process"`
	SessionHead
	Force bool `json:"force,omitempty"`
}

// SetModel changes the model of a running session; "" is the CLI's default.
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

// Subscribe asks for the transcript of a session from a cursor on, and for
// presence. Subscribing again moves the cursor.
type Subscribe struct {
	Type string `json:"type" ts:"'subscribe'" validate:"omitempty,eq=subscribe"`
	SessionHead
	After int64 `json:"after,omitempty" validate:"min=0"`
	// LiveAppend says that the tab takes [LiveAppend] frames instead of the whole block.
	LiveAppend bool `json:"live_append,omitempty"`
}

// Unsubscribe ends a [Subscribe].
type Unsubscribe struct {
	Type string `json:"type" ts:"'unsubscribe'" validate:"omitempty,eq=unsubscribe"`
	SessionHead
}

// Draft keeps what a person has half written for their other devices, the answer
// to a request or, without one, the message to a session; null clears it.
type Draft struct {
	Type string `json:"type" ts:"'draft'" validate:"omitempty,eq=draft"`
	Head
	SessionID string          `json:"session_id,omitempty" validate:"max=64"`
	RequestID string          `json:"request_id,omitempty" validate:"required_without=SessionID,max=64"`
	Value     json.RawMessage `json:"value"`
}

// Session implements [Command].
func (c *Draft) Session() *string { return &c.SessionID }

// Typing says that the person is writing, for the next few seconds.
type Typing struct {
	Type string `json:"type" ts:"'typing'" validate:"omitempty,eq=typing"`
	SessionHead
	RequestID string `json:"request_id,omitempty" validate:"max=64"`
}

// Looking says whether the tab can be seen and has the focus; until it says so,
// nobody looks. Whoever looks at what shows a request is told of it nowhere else.
type Looking struct {
	Type string `json:"type" ts:"'looking'" validate:"omitempty,eq=looking"`
	Head
	Looking bool `json:"looking"`
	// Showing is what is on the screen. Without it the tab counts as if it showed
	// every request, and is sent no [Toasts].
	Showing *Showing `json:"showing,omitempty"`
}

// Showing is where a tab is: in a session, in the inbox, which shows every request,
// or, with neither, elsewhere.
type Showing struct {
	SessionID string `json:"session_id,omitempty" validate:"max=64"`
	Inbox     bool   `json:"inbox,omitempty"`
}

// Noticed says that the person has closed the toast of a request: no tab of theirs
// shows it any more.
type Noticed struct {
	Type string `json:"type" ts:"'noticed'" validate:"omitempty,eq=noticed"`
	Head
	RequestID string `json:"request_id" validate:"required,max=64"`
}

// Ping asks for an ack and nothing else.
type Ping struct {
	Type string `json:"type" ts:"'ping'" validate:"omitempty,eq=ping"`
	Head
}
