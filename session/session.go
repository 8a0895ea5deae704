// Package session holds what is remembered of a conversation, also while
// nothing runs: the session, the state of its process, its transcript and its
// queued messages. It depends on nothing that runs.
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
	// ErrNoAttachment: there is none of that id, or it was forgotten.
	ErrNoAttachment = errors.New("no such attachment")
	// ErrCursor: the cursor of a query was not given by the answer before.
	ErrCursor = errors.New("no such place in the list of sessions")
)

// Session is a conversation we remember.
type Session struct {
	SessionID string // UUID, chosen by us and given to the CLI as --session-id
	ProjectID string // groups sessions of one folder; see ProjectOf
	// InProject is the project whose folder holds CWD, "" for the default one. The
	// store finds it when the session is made, and again when projects change.
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
	Lifecycle      *Lifecycle // as last reported; nil when nothing was
	// Begun is true once the CLI has taken the first message, so that the next
	// process must be started with --resume.
	Begun     bool
	CreatedAt time.Time
	UpdatedAt time.Time // last sign of life, orders the list
	Items     int64     // of the transcript; kept by the store
}

// Kind says whose process asks in a session.
type Kind string

const (
	Ours Kind = "" // a CLI that this server starts
	// No process ever runs for the other kinds: their sessions hold only what
	// outsiders ask.
	Agent    Kind = "agent"    // an outside agent with a token of its own
	Terminal Kind = "terminal" // a claude in somebody's terminal
)

// Lifecycle is how far an agent says it has come. The JSON names are those of the
// stored column.
type Lifecycle struct {
	EventType   string    `json:"event_type"` // such as "phase-started"
	PhaseName   string    `json:"phase_name,omitempty"`
	PhaseNumber string    `json:"phase_number,omitempty"` // text: "33", "2.1"
	Step        *float64  `json:"step,omitempty"`
	TotalSteps  *float64  `json:"total_steps,omitempty"`
	At          time.Time `json:"at"`
}

// State is what the process of a session is doing.
type State string

const (
	Starting      State = "starting"
	AssistantTurn State = "assistant_turn"
	UserTurn      State = "user_turn"
	Dead          State = "dead"
)

// ProcessState is the whole truth about a session that a tab sees, apart from
// its transcript. Version only grows for a session, over all its processes.
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
	ProcessID      string  // incarnation: a UUID for each process of the session
	NodeID         string

	Error      string // why it died by itself, a sentence; "" when it did not
	KillReason string // why we ended it; "" when we did not
	Stuck      string // what it seems to wait for; "" when it is not stuck
	// Throttled is why what is queued is not said, or why a dead session does not go on by
	// itself: a sentence; "" when nothing is in the way.
	Throttled string

	Demo           bool
	Archived       bool
	Kind           Kind
	Lifecycle      *Lifecycle // as last reported; nil when nothing was
	QueuedMessages int
	Items          int64             // of the transcript
	Requests       []pending.Request // open and orphaned, oldest first
}

// Running reports whether a CLI process belongs to the session.
func (p ProcessState) Running() bool { return p.State != Dead }

// ItemKind says what an [Item] of the transcript is.
type ItemKind string

const (
	ItemUser     ItemKind = "user"      // a person's message
	ItemText     ItemKind = "text"      // Claude's words
	ItemThinking ItemKind = "thinking"  //
	ItemToolCall ItemKind = "tool_call" // with its result once there is one
	ItemTodo     ItemKind = "todo"      // the todo list as Claude last wrote it
	ItemPlan     ItemKind = "plan"      // a plan put before a person
	ItemSubagent ItemKind = "subagent"  // a group; its items carry AgentID
	ItemNote     ItemKind = "note"      // a sentence of the CLI or of ours
	ItemResolved ItemKind = "resolved"  // a request that a person resolved
	ItemResult   ItemKind = "result"    // end of a turn: cost, tokens, time
)

// Item is one block of the transcript. Items are upserted: a tool call is
// written when it begins and again when its result is there, with the same Key
// and Seq and a higher Rev.
type Item struct {
	Key     string // unique within the session; makes writing idempotent
	Seq     int64  // place in the transcript, from 1, without gaps
	Rev     int64  // cursor: grows with every write to the session's transcript
	At      time.Time
	Kind    ItemKind
	AgentID string          // subagent that said it, "" for the main thread
	Body    json.RawMessage // fields by kind, see the types named ...Body
}

// Page is a piece of a transcript: the items with Rev above a cursor, in the
// order of Seq.
type Page struct {
	Items []Item
	Next  int64 // cursor to read on from
	More  bool  // whether there is more to read at once
	Total int64 // number of items in the whole transcript
}

// Progress is what was taken in of a process's output.
type Progress struct {
	Items   []Item        // as for PutItems
	Process *ProcessState // as for SaveProcess; nil when nothing of it changed
	Mark    *Mark         // nil for a process without a journal
	// Spent is what Claude has cost since the last time, in millionths of a dollar. It
	// counts for the project of the session and whoever started it, on the day of
	// SpentAt in UTC.
	Spent   int64
	SpentAt time.Time // nothing is counted without Spent
}

// Mark is a place in the journal of a process: all before Offset is taken in.
type Mark struct {
	ProcessID string
	Offset    int64 // bytes
	// Memo is what a reader that goes on from Offset must know of what came
	// before; opaque to the store, at most some hundred kB.
	Memo []byte
}

// Live is the growing last block of a transcript, whole. Text only grows at its end.
type Live struct {
	Kind    ItemKind // ItemText, ItemThinking or ItemToolCall
	Text    string   // what is there so far; for a tool call its partial input
	Tool    string   // name of the tool, for ItemToolCall
	AgentID string
	Began   time.Time // when its first piece came
	// Key is that of the item that the block has become, which the store may not have
	// yet; "" while it grows.
	Key string
}

// Message is what a person says to Claude.
type Message struct {
	MessageID   string // UUID; the same id is taken once
	SessionID   string
	Text        string
	Attachments []Attachment
	By          pending.Actor
	CreatedAt   time.Time
	SentAt      time.Time // zero while queued
}

// Attachment travels inside a message as a content block.
type Attachment struct {
	// AttachmentID names the file that holds the bytes; Data is then absent.
	AttachmentID string `json:"attachment_id,omitempty"`
	Name         string `json:"name"`
	MediaType    string `json:"media_type"` // image/png, image/jpeg, image/gif, image/webp, application/pdf, text/plain
	Size         int    `json:"size,omitempty"`
	Data         []byte `json:"data"`
}

// Info is the attachment without its bytes.
func (a Attachment) Info() AttachmentInfo {
	return AttachmentInfo{AttachmentID: a.AttachmentID, Name: a.Name, MediaType: a.MediaType, Size: max(a.Size, len(a.Data))}
}

// StoredAttachment is an attachment whose bytes are a file of ours.
type StoredAttachment struct {
	AttachmentInfo
	OwnerID   string // who attached it
	CreatedAt time.Time
	Sessions  []string // in which it was said, by id
}

// Patch changes the fields that are not nil.
type Patch struct {
	Title          *string
	Archived       *bool
	Model          *string
	PermissionMode *string
	Begun          *bool
}

// Query selects sessions, newest sign of life first.
type Query struct {
	Text     string   // in title or folder, case-insensitive; "" for all
	Archived bool     // also archived ones
	Hidden   []string // without those in these projects
	Cursor   string   // from the answer before; "" to begin
	Limit    int      // at most; 50 when 0
}

// Search asks for items of transcripts that hold all of some words.
type Search struct {
	Words    []string // as [SearchWords] returns them; none finds nothing
	Archived bool     // also in archived sessions
	Before   int64    // the Next of the answer before; 0 to begin
	Limit    int      // at most
}

// Match is where a search found its words. Its ID is also the place to go on from.
type Match struct {
	ID        int64
	SessionID string
}

// Notifier announces that a session changed: its row, its requests or its transcript. It
// carries only the id; who wants to know reads the row.
type Notifier interface {
	// Notify never blocks on a listener's work.
	Notify(sessionID string)
}

// Store remembers sessions. Both engines pass the contract of store/storetest.
// Every write that changes what a tab sees bumps the session's version.
type Store interface {
	// CreateSession stores a new session with a dead process of version 1.
	// ErrExists when the id is taken.
	CreateSession(ctx context.Context, s Session) error
	Session(ctx context.Context, sessionID string) (Session, error)
	// Sessions returns one page, and the cursor of the next or "".
	Sessions(ctx context.Context, q Query) (page []Session, next string, err error)
	UpdateSession(ctx context.Context, sessionID string, p Patch) (Session, error)
	// SetLifecycle stores what was reported last; it need not survive a power cut.
	SetLifecycle(ctx context.Context, sessionID string, l Lifecycle) error
	// DeleteSession removes the session and all that belongs to it.
	DeleteSession(ctx context.Context, sessionID string) error

	// SaveProcess writes the fields of p that describe the process (State to
	// Throttled, not Requests, QueuedMessages, Title or CWD), and returns the new
	// version. p.Version is ignored.
	SaveProcess(ctx context.Context, p ProcessState) (version uint64, err error)
	// ProcessState reads state, open requests and version in one transaction.
	ProcessState(ctx context.Context, sessionID string) (ProcessState, error)
	// ActiveProcesses returns those that run or have a request to answer, in the
	// order of StartedAt.
	ActiveProcesses(ctx context.Context) ([]ProcessState, error)
	// ThrottledSessions returns the ids of those whose process is dead and that say why
	// they do not go on by themselves, in no order.
	ThrottledSessions(ctx context.Context) (sessionIDs []string, err error)

	// SaveProgress writes, in one transaction, what was taken in of the output of
	// a process and what it has cost, and returns the session's version, which grows
	// only with Process.
	// Without a Mark the last one stays. It need not survive a power cut.
	SaveProgress(ctx context.Context, sessionID string, p Progress) (version uint64, err error)
	// Mark returns where the last SaveProgress of a session stopped; the zero Mark
	// before the first.
	Mark(ctx context.Context, sessionID string) (Mark, error)
	// UnrecordedRequests returns the requests of a session that ended, without
	// those whose answer was carried to another, for which the transcript has no
	// item with [RecordKey]; oldest first.
	UnrecordedRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	// NextEpoch returns a number above every one it ever returned; it survives a
	// power cut.
	NextEpoch(ctx context.Context) (uint64, error)
	// LastEpoch returns what NextEpoch returned last, 0 before the first.
	LastEpoch(ctx context.Context) (uint64, error)

	// PutItems upserts items by Key in order, giving each a Rev, and each new one
	// a Seq; Item.Seq and Item.Rev of the argument are ignored. It does not bump
	// the version: a transcript has its own cursor.
	PutItems(ctx context.Context, sessionID string, items []Item) error
	// Transcript returns at most limit items with Rev above after, and fewer, but at
	// least one, where these are long: Page.More says whether there are more.
	Transcript(ctx context.Context, sessionID string, after int64, limit int) (Page, error)
	// ItemsSince hands over the items of the kinds in [CatchUpKinds] that came since a moment,
	// of all sessions and in no order; of very many only some.
	ItemsSince(ctx context.Context, since time.Time, each func(sessionID string, it Item)) error
	// Waits lists when Claude waited for people since a moment, over all sessions.
	Waits(ctx context.Context, since time.Time) ([]pending.Wait, error)

	// IndexTranscripts makes some items searchable, at most as many as given, and reports
	// whether there may be more to do. The items of a turn wait until it ends, unless they
	// are many.
	IndexTranscripts(ctx context.Context, most int) (more bool, err error)
	// IndexBehind reports whether there are items that searches do not find yet.
	IndexBehind(ctx context.Context) (bool, error)
	// SearchTranscripts returns which items hold all words, those of a session from
	// its end on, and where to go on, 0 at the end. It finds what IndexTranscripts
	// has indexed. It ends with ctx, and the database then no longer works on it.
	SearchTranscripts(ctx context.Context, q Search) (matches []Match, next int64, err error)
	// MatchedItem returns the item of a match: [ErrNotFound] when it was deleted since.
	MatchedItem(ctx context.Context, id int64) (Item, error)

	// QueueMessage stores a message that waits for Claude; a known MessageID
	// changes nothing and returns queued false. What it attaches by id is used by
	// the session from then on; ErrNoAttachment when one of them is not there.
	QueueMessage(ctx context.Context, m Message) (queued bool, err error)
	// QueuedMessages returns those not sent yet, oldest first.
	QueuedMessages(ctx context.Context, sessionID string) ([]Message, error)
	// MarkSent takes a message from the queue; false when it was not there.
	MarkSent(ctx context.Context, messageID string, at time.Time) (bool, error)
	// Requeue puts the sent messages of a session back into its queue, in their
	// order and before those that wait, and returns how many there were.
	Requeue(ctx context.Context, sessionID string) (int, error)
	// Unsend puts one sent message back into the queue, before all that wait; false
	// when it was not sent.
	Unsend(ctx context.Context, messageID string) (bool, error)
	// SaveAttachment stores what is known of a file that is on disk; a known id
	// changes nothing.
	SaveAttachment(ctx context.Context, a StoredAttachment) error
	// Attachment returns it with the sessions that use it; ErrNoAttachment.
	Attachment(ctx context.Context, attachmentID string) (StoredAttachment, error)
	// ShareAttachments makes a session use what another one uses.
	ShareAttachments(ctx context.Context, from, to string) error
	// ForgetAttachments drops those that no session uses, if one once did or if
	// they were made before a time, and returns how many there were.
	ForgetAttachments(ctx context.Context, before time.Time) (int, error)
	// RemoveQueued drops a message that was not sent; false when it was not there.
	RemoveQueued(ctx context.Context, messageID string) (bool, error)
}
