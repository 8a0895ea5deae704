package wire

import (
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
)

// Session is a conversation that sayso remembers, as REST lists it.
type Session struct {
	SessionID      string        `json:"session_id"`
	ProjectID      string        `json:"project_id"`
	ProjectName    string        `json:"project_name,omitempty"` // absent in the default project
	Title          string        `json:"title"`
	CWD            string        `json:"cwd"`
	Model          string        `json:"model"`
	PermissionMode string        `json:"permission_mode"`
	AllowedTools   []string      `json:"allowed_tools"`
	Archived       bool          `json:"archived"`
	Demo           bool          `json:"demo"`
	Kind           session.Kind  `json:"kind,omitempty"` // agent or terminal; absent for sessions of sayso
	CreatedAt      float64       `json:"created_at"`
	UpdatedAt      float64       `json:"updated_at"`
	Items          int64         `json:"items,omitempty"`         // of its transcript
	ProcessState   *ProcessState `json:"process_state,omitempty"` // of one session, not in lists
	// Rights lists what the caller may do in this session; absent in the default project.
	Rights []project.Action `json:"rights,omitempty"`
}

// SessionList is one page of sessions, most recently active first.
type SessionList struct {
	Sessions []Session `json:"sessions"`
	Next     *string   `json:"next"` // cursor of the next page
}

// SessionPatch changes the fields that are present.
type SessionPatch struct {
	Title    *string `json:"title,omitempty" validate:"omitempty,min=1,max=500"`
	Archived *bool   `json:"archived,omitempty"`
}

// MessageList lists the messages that wait for Claude, oldest first.
type MessageList struct {
	Messages []QueuedMessage `json:"messages"`
}

// QueuedMessage is a message that Claude has not received yet.
type QueuedMessage struct {
	MessageID   string                   `json:"message_id"`
	Text        string                   `json:"text"`
	Attachments []session.AttachmentInfo `json:"attachments"`
	By          string                   `json:"by"`
	CreatedAt   float64                  `json:"created_at"`
}

// TerminalSession is a conversation that Claude saved outside sayso, for example in a terminal
// on a machine of this server. It can be read, and continued or forked with [CreateSession].
type TerminalSession struct {
	SessionID string  `json:"session_id"`
	Title     string  `json:"title"`
	CWD       string  `json:"cwd"`
	ChangedAt float64 `json:"changed_at"`
	Size      int64   `json:"size"` // bytes
	Running   bool    `json:"running"`
	RunnerID  string  `json:"runner_id"` // the machine on which it is saved
	Machine   string  `json:"machine"`   // name of that machine
}

// TerminalSessionList lists terminal sessions, most recently changed first.
type TerminalSessionList struct {
	Sessions []TerminalSession `json:"sessions"`
}

// TerminalPage is a page of the transcript of a [TerminalSession], from its end backwards.
type TerminalPage struct {
	Items  []Item `json:"items"`
	Before *int64 `json:"before"` // of the previous page; null at the beginning
}

// SearchResults lists the sessions that match a search, most recent match first.
type SearchResults struct {
	Results []SearchResult `json:"results"`
	Next    *string        `json:"next"` // cursor; a session may occur again on a later page
	// Incomplete reports that the search was stopped because it took too long.
	Incomplete bool `json:"incomplete"`
	// Indexing reports that the newest items are not searchable yet.
	Indexing bool `json:"indexing"`
}

// SearchResult contains the matches in one session, from its end backwards.
type SearchResult struct {
	SessionID string      `json:"session_id"`
	Title     string      `json:"title"`
	CWD       string      `json:"cwd"`
	Archived  bool        `json:"archived"`
	Hits      []SearchHit `json:"hits"`
	More      bool        `json:"more"` // further matches were left out
}

// SearchHit is a block that matches. Excerpt is plain text.
type SearchHit struct {
	Seq     int64            `json:"seq"`
	Key     string           `json:"key"`
	Kind    session.ItemKind `json:"kind"`
	At      float64          `json:"at"`
	Excerpt string           `json:"excerpt"`
}

// Upload is a file that a later message may attach; Data is base64.
type Upload struct {
	Name string `json:"name" validate:"required,max=1000"`
	Data []byte `json:"data" ts:"string" validate:"required"`
}

// TranscriptPage is one page of a transcript.
type TranscriptPage struct {
	Items []Item `json:"items"`
	Next  int64  `json:"next"`
	More  bool   `json:"more"`
	Total int64  `json:"total"`
}
