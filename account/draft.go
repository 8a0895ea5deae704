package account

import (
	"context"
	"encoding/json"
	"time"
)

// Limits of what is kept for one person.
const (
	MaxDraftBytes    = 128 << 10
	MaxDrafts        = 200 // the oldest go first
	MaxTemplates     = 50  // those not used for longest go first
	MaxTemplateBytes = 2000
)

// Draft is what a person has half written: the answer to a request, or a message
// to a session. It follows them to every device and is shown to nobody else.
type Draft struct {
	UserID    string
	SessionID string
	RequestID string          // "" for the message to the session
	Value     json.RawMessage // as the tab sent it; nil takes the draft away
	ChangedAt time.Time
}

// Template is something that a person said to Claude and may say again. It is
// inserted where they write, never sent by itself.
type Template struct {
	UserID     string
	TemplateID string // UUID
	Text       string
	Uses       int
	UsedAt     time.Time
}

// Desk is what each person has at hand, wherever they sit. Writes need not
// survive a power cut.
type Desk interface {
	// PutDraft stores a draft over the one before, or takes it away, and drops
	// what can no longer be answered and what is above MaxDrafts. ErrNotFound when
	// there is no such session.
	PutDraft(ctx context.Context, d Draft) error
	// Drafts lists those of a user which can still be sent, in the order of their
	// last change.
	Drafts(ctx context.Context, userID string) ([]Draft, error)

	// LearnTemplate counts a use of a template, making it when it is new, and
	// drops what is above MaxTemplates.
	LearnTemplate(ctx context.Context, t Template) error
	// ChangeTemplate gives a template another text, or removes it when that is "".
	// ErrNotFound when this user has none of this id.
	ChangeTemplate(ctx context.Context, userID, templateID, text string) error
	// Templates lists those of a user, the last used first.
	Templates(ctx context.Context, userID string) ([]Template, error)
}
