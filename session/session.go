// Package session holds what sayso stores about a conversation, even while nothing runs: the
// session, the state of its process, its transcript and its queued messages. It imports no
// package that runs processes or stores data.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// Errors of this package.
var (
	ErrNotFound = errors.New("no such session")
	ErrExists   = errors.New("session exists already")
	// ErrNoAttachment: the attachment does not exist, or was deleted.
	ErrNoAttachment = errors.New("no such attachment")
	// ErrCursor: the cursor of a query is invalid.
	ErrCursor = errors.New("no such place in the list of sessions")
)

// Session is a stored conversation.
type Session struct {
	SessionID string // UUID, chosen by sayso and passed to the CLI as --session-id
	ProjectID string // groups sessions of one folder; see ProjectOf
	// InProject is the project whose folder contains CWD, "" for the default one. The store
	// sets it when the session is created and when projects change.
	InProject      string
	Title          string
	CWD            string // absolute, symlinks resolved
	Model          string // "" for the CLI's default
	PermissionMode string // explicit, never ""
	AllowedTools   []string
	OwnerID        string // the user who started it
	Archived       bool
	Demo           bool // runs against the scripted model
	Kind           Kind
	Lifecycle      *Lifecycle // as last reported; nil when nothing was reported
	// Begun is true once the CLI has accepted the first message, so the next process must
	// start with --resume.
	Begun bool
	// Origin is the conversation from which the first process continues; zero for none.
	Origin Origin
	// RunnerID is the runner that has its files. It never changes. It is "" for a session whose
	// process sayso does not run.
	RunnerID  string
	CreatedAt time.Time
	UpdatedAt time.Time // last activity; the list is ordered by it
	Items     int64     // number of transcript items; maintained by the store
}

// Origin is a place in the conversation of another session.
type Origin struct {
	SessionID string
	EntryID   string // the CLI's UUID of the last entry to continue from; "" for the end
}

// Kind is the kind of program that asks in a session.
type Kind string

const (
	Ours Kind = "" // a CLI that this server starts
	// Sessions of the other kinds have no process on this server, only the requests of a
	// program elsewhere.
	Agent    Kind = "agent"    // an outside agent with its own token
	Terminal Kind = "terminal" // a claude in somebody's terminal
)

// Lifecycle is the progress that an agent reports. The JSON names are those of the stored
// column.
type Lifecycle struct {
	EventType   string    `json:"event_type"` // such as "phase-started"
	PhaseName   string    `json:"phase_name,omitempty"`
	PhaseNumber string    `json:"phase_number,omitempty"` // text: "33", "2.1"
	Step        *float64  `json:"step,omitempty"`
	TotalSteps  *float64  `json:"total_steps,omitempty"`
	At          time.Time `json:"at"`
}

// State is the state of a session's process.
type State string

const (
	Starting      State = "starting"
	AssistantTurn State = "assistant_turn"
	UserTurn      State = "user_turn"
	Dead          State = "dead"
)

// ProcessState is everything a tab shows of a session except its transcript. Version only
// increases, across all processes of the session.
type ProcessState struct {
	SessionID string
	ProjectID string
	InProject string // see Session
	OwnerID   string
	Title     string
	CWD       string
	Version   uint64

	State          State
	StartedAt      time.Time
	StateChangedAt time.Time
	Model          string
	PermissionMode string
	Memory         uint64  // bytes resident, whole process tree
	CPU            float64 // cores in use, whole process tree, over the last sample
	PID            int     // of the CLI; 0 when dead
	ProcessID      string  // identifies the process: a new UUID for each process of the session
	RunnerID       string  // see Session
	NodeID         string  // name of that runner
	// Unreachable is set if no server can reach that runner. The process may still run, and
	// answers wait until it can be reached. It is not stored.
	Unreachable bool

	Error      string // a sentence: why it died by itself; else ""
	KillReason string // why it was ended on purpose; else ""
	Stuck      string // what it seems to wait for; "" when it is not stuck
	// Throttled is a sentence: why queued messages are not sent, or why a dead session does not
	// resume by itself. It is "" when nothing blocks the session.
	Throttled string

	Demo           bool
	Archived       bool
	Kind           Kind
	Lifecycle      *Lifecycle // as last reported; nil when nothing was reported
	QueuedMessages int
	Items          int64             // of the transcript
	Requests       []pending.Request // open and orphaned, oldest first
}

// Running reports whether the session has a CLI process.
func (p ProcessState) Running() bool { return p.State != Dead }

// ItemKind is the kind of a transcript [Item].
type ItemKind string

const (
	ItemUser     ItemKind = "user"      // a person's message
	ItemText     ItemKind = "text"      // Claude's text
	ItemThinking ItemKind = "thinking"  //
	ItemToolCall ItemKind = "tool_call" // with its result once it is known
	ItemTodo     ItemKind = "todo"      // the todo list as Claude last wrote it
	ItemPlan     ItemKind = "plan"      // a plan that needs an approval
	ItemSubagent ItemKind = "subagent"  // a group; its items have its AgentID
	ItemNote     ItemKind = "note"      // a note from the CLI or sayso
	ItemResolved ItemKind = "resolved"  // a request that a person resolved
	ItemResult   ItemKind = "result"    // end of a turn: cost, tokens, time
)

// Item is one block of the transcript. Items are upserted: a tool call is written when it
// starts and again with its result, with the same Key and Seq and a higher Rev.
type Item struct {
	Key     string // unique within the session; makes writes idempotent
	Seq     int64  // position in the transcript, from 1, without gaps
	Rev     int64  // cursor: increases with every write to the session's transcript
	At      time.Time
	Kind    ItemKind
	AgentID string          // subagent of the item, "" for the main thread
	Body    json.RawMessage // fields by kind, see the types named ...Body
}

// Page is a part of a transcript: the items with Rev above a cursor, ordered by Seq.
type Page struct {
	Items []Item
	Next  int64 // cursor of the next page
	More  bool  // the next page is not empty
	Total int64 // number of items in the whole transcript
}

// Progress is the processed output of a process.
type Progress struct {
	Items   []Item        // as for PutItems
	Process *ProcessState // as for SaveProcess; nil when nothing of it changed
	Mark    *Mark         // nil for a process without a journal
	// Spent is the cost since the last Progress, in millionths of a dollar. It counts for the
	// project of the session and for the person who started it, on the UTC day of SpentAt.
	Spent   int64
	SpentAt time.Time // required with Spent
}

// Mark is a position in the journal of a process: everything before Offset is processed.
type Mark struct {
	ProcessID string
	Offset    int64 // bytes
	// Memo is the state that a reader needs to continue at Offset, at most a few hundred kB. The
	// store does not interpret it.
	Memo []byte
}

// Live is the complete, growing last block of a transcript. Text only grows at its end.
type Live struct {
	Kind    ItemKind // ItemText, ItemThinking or ItemToolCall
	Text    string   // the text so far; for a tool call its partial input
	Tool    string   // name of the tool, for ItemToolCall
	AgentID string
	Began   time.Time // time of its first part
	// Key is "" while the block grows, then the Key of the item that it has become. That item may
	// not be stored yet.
	Key string
}

// Message is a person's message to Claude.
type Message struct {
	MessageID   string // UUID; a repeated id is accepted once
	SessionID   string
	Text        string
	Attachments []Attachment
	By          pending.Actor
	CreatedAt   time.Time
	SentAt      time.Time // zero while queued
}

// Attachment is a content block of a message.
type Attachment struct {
	// AttachmentID names the stored attachment; Data is then absent.
	AttachmentID string `json:"attachment_id,omitempty"`
	Name         string `json:"name"`
	MediaType    string `json:"media_type"` // image/png, image/jpeg, image/gif, image/webp, application/pdf, text/plain
	Size         int    `json:"size,omitempty"`
	Data         []byte `json:"data"`
}

// Info returns the attachment without its bytes.
func (a Attachment) Info() AttachmentInfo {
	return AttachmentInfo{AttachmentID: a.AttachmentID, Name: a.Name, MediaType: a.MediaType, Size: max(a.Size, len(a.Data))}
}

// AttachmentChunk is a part of the bytes of an attachment.
type AttachmentChunk struct {
	Number    int64  // from 0, without gaps
	Hash      []byte // SHA-256 of Data
	Data      []byte
	CreatedAt time.Time
}

// StoredAttachment is an attachment whose bytes are stored in chunks.
type StoredAttachment struct {
	AttachmentInfo
	OwnerID   string // who attached it
	CreatedAt time.Time
	Sessions  []string // ids of the sessions whose messages contain it
}

// Patch changes the fields that are not nil.
type Patch struct {
	Title          *string
	Archived       *bool
	Model          *string
	PermissionMode *string
	Begun          *bool
}

// Query selects sessions, the latest activity first.
type Query struct {
	Text     string   // in title or folder, case-insensitive; "" for all
	Archived bool     // includes archived ones
	Hidden   []string // excludes sessions of these projects
	Cursor   string   // from the previous page; "" for the first
	Limit    int      // maximum number; 0 means 50
}

// Search selects transcript items that contain all words.
type Search struct {
	Words    []string // as [SearchWords] returns them; an empty list matches nothing
	Archived bool     // includes archived sessions
	Before   int64    // Next of the previous page; 0 for the first
	Limit    int      // maximum number of matches
}

// Match is an item that a search found. Its ID is also the cursor of the next page.
type Match struct {
	ID        int64
	SessionID string
}

// Notifier announces that a session changed: its row, its requests or its transcript. It
// sends only the id; listeners read the row.
type Notifier interface {
	// Notify must not block on the work of listeners.
	Notify(sessionID string)
}

// Store stores sessions. Both engines pass the contract of store/storetest. Every write that
// changes what a tab shows increments the session's version.
type Store interface {
	// CreateSession stores a new session with a dead process of version 1. It returns
	// ErrExists for a used id.
	CreateSession(ctx context.Context, s Session) error
	Session(ctx context.Context, sessionID string) (Session, error)
	// Sessions returns one page, and the cursor of the next or "".
	Sessions(ctx context.Context, q Query) (page []Session, next string, err error)
	UpdateSession(ctx context.Context, sessionID string, p Patch) (Session, error)
	// SetLifecycle stores the latest report; it may be lost in a power cut.
	SetLifecycle(ctx context.Context, sessionID string, l Lifecycle) error
	// DeleteSession deletes the session and everything that belongs to it.
	DeleteSession(ctx context.Context, sessionID string) error

	// SaveProcess writes the fields of p that describe the process (State to Throttled, not
	// RunnerID, NodeID, Requests, QueuedMessages, Title or CWD), and returns the new version.
	// It ignores p.Version.
	SaveProcess(ctx context.Context, p ProcessState) (version uint64, err error)
	// ProcessState reads state, open requests and version in one transaction.
	ProcessState(ctx context.Context, sessionID string) (ProcessState, error)
	// ActiveProcesses returns the processes that run or have a request to answer, ordered by
	// StartedAt.
	ActiveProcesses(ctx context.Context) ([]ProcessState, error)
	// ThrottledSessions returns the ids of sessions with a dead process and a Throttled
	// reason, in any order.
	ThrottledSessions(ctx context.Context) (sessionIDs []string, err error)
	// AnsweredSessions returns the ids of a runner's sessions with a dead process and an answer
	// whose delivery is Queued, in any order. It leaves out archived sessions, and those without
	// activity since the given time.
	AnsweredSessions(ctx context.Context, runnerID string, since time.Time) (sessionIDs []string, err error)

	// SaveProgress stores the processed output of a process and its cost in one transaction,
	// and returns the session's version, which increases only with Process. Without a Mark
	// the previous one stays. The write may be lost in a power cut.
	SaveProgress(ctx context.Context, sessionID string, p Progress) (version uint64, err error)
	// Mark returns the Mark of the last SaveProgress of a session, zero before the first.
	Mark(ctx context.Context, sessionID string) (Mark, error)
	// UnrecordedRequests returns the ended requests of a session for which the transcript has
	// no item with [RecordKey], except those whose answer was carried to another; oldest
	// first.
	UnrecordedRequests(ctx context.Context, sessionID string) ([]pending.Request, error)

	// PutItems upserts items by Key in order. It gives each a Rev and each new one a Seq, and
	// ignores Item.Seq and Item.Rev of the argument. It does not increment the version,
	// because a transcript has its own cursor.
	PutItems(ctx context.Context, sessionID string, items []Item) error
	// Transcript returns up to limit items with Rev above after; fewer, but at least one, if
	// they are long. Page.More reports whether there are more.
	Transcript(ctx context.Context, sessionID string, after int64, limit int) (Page, error)
	// TranscriptItem returns an item by its key, or [ErrNotFound].
	TranscriptItem(ctx context.Context, sessionID, key string) (Item, error)
	// ItemsSince calls each for the items of [CatchUpKinds] since a time, of all sessions, in any
	// order, with the id of the session's project. Only Seq, Key, Kind and Body of the items are
	// set. It omits items if there are very many.
	ItemsSince(ctx context.Context, since time.Time, each func(sessionID, inProject string, it Item)) error
	// Waits returns the periods since a time in which Claude waited for people, in all
	// sessions.
	Waits(ctx context.Context, since time.Time) ([]pending.Wait, error)

	// IndexTranscripts makes up to limit items searchable and reports whether there may be
	// more. The items of a running turn wait until it ends or has many items.
	IndexTranscripts(ctx context.Context, limit int) (more bool, err error)
	// IndexBehind reports whether there are items that searches do not find yet.
	IndexBehind(ctx context.Context) (bool, error)
	// SearchTranscripts returns the indexed items that contain all words, the newest of a
	// session first, and the cursor of the next page, 0 at the end. If ctx ends, the database
	// stops working on the search.
	SearchTranscripts(ctx context.Context, q Search) (matches []Match, next int64, err error)
	// MatchedItem returns the item of a match, or [ErrNotFound] if it was deleted since.
	MatchedItem(ctx context.Context, id int64) (Item, error)

	// QueueMessage stores a message for Claude, and records that the session uses its
	// attachments. A known MessageID changes nothing and returns queued false. It returns
	// ErrNoAttachment if an attachment does not exist.
	QueueMessage(ctx context.Context, m Message) (queued bool, err error)
	// QueuedMessages returns the unsent messages, in the order in which they were queued.
	QueuedMessages(ctx context.Context, sessionID string) ([]Message, error)
	// MarkSent removes a message from the queue; false when it was not queued.
	MarkSent(ctx context.Context, messageID string, at time.Time) (bool, error)
	// Requeue puts the sent messages of a session back into its queue, in order and before
	// the queued ones, and returns their number.
	Requeue(ctx context.Context, sessionID string) (int, error)
	// Unsend puts one sent message back at the front of the queue; false when it was not
	// sent.
	Unsend(ctx context.Context, messageID string) (bool, error)
	// SaveAttachmentChunk stores a part of an attachment, which then survives a power cut. It
	// replaces the part with the same number.
	SaveAttachmentChunk(ctx context.Context, attachmentID string, c AttachmentChunk) error
	// AttachmentChunks returns the parts of an attachment in order, none for an unknown id.
	AttachmentChunks(ctx context.Context, attachmentID string) ([]AttachmentChunk, error)
	// SaveAttachment stores the row of an attachment whose chunks are stored; a known id changes
	// nothing.
	SaveAttachment(ctx context.Context, a StoredAttachment) error
	// Attachment returns an attachment with the sessions that use it, or ErrNoAttachment.
	Attachment(ctx context.Context, attachmentID string) (StoredAttachment, error)
	// ShareAttachments makes a session use the attachments of another one.
	ShareAttachments(ctx context.Context, from, to string) error
	// ForgetAttachments deletes the rows of attachments that no session uses any more, and of
	// those created before a time that no session has ever used. It returns their number.
	ForgetAttachments(ctx context.Context, before time.Time) (int, error)
	// ForgetAttachmentChunks deletes chunks that were created before a time and whose attachment
	// has no row. It returns their number.
	ForgetAttachmentChunks(ctx context.Context, before time.Time) (int, error)
	// RemoveQueued deletes an unsent message; false when it was not queued.
	RemoveQueued(ctx context.Context, messageID string) (bool, error)
}
