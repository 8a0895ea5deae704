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
	MaxTemplates     = 50  // learned at one place; those not used for longest go first
	MaxOwnTemplates  = 100 // made by hand
	MaxTemplateName  = 60  // characters
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

// TemplatePlace is where a template was said.
type TemplatePlace string

const (
	ReasonPlace  TemplatePlace = "reason"  // of a refusal
	AnswerPlace  TemplatePlace = "answer"  // to a question, in one's own words
	MessagePlace TemplatePlace = "message" // to a session
)

// Template is something that a person said to Claude and may say again. It is
// inserted where they write, never sent by itself.
type Template struct {
	UserID     string
	TemplateID string // UUID
	Name       string // of one made by hand, which stays; "" of one learned from what was said
	Place      TemplatePlace
	Text       string
	Uses       int
	UsedAt     time.Time
}

// PersonalStore is what each person has at hand, wherever they sit. Writes need not
// survive a power cut.
type PersonalStore interface {
	// PutDraft stores a draft over the one before, or takes it away, and drops
	// what can no longer be answered and what is above MaxDrafts. ErrNotFound when
	// there is no such session.
	PutDraft(ctx context.Context, d Draft) error
	// Drafts lists those of a user which can still be sent, in the order of their
	// last change.
	Drafts(ctx context.Context, userID string) ([]Draft, error)

	// LearnTemplate counts a use of a template, making it when it is new, and
	// drops learned ones above MaxTemplates.
	LearnTemplate(ctx context.Context, t Template) error
	// KeepTemplate stores one made by hand. ErrTooMany above MaxOwnTemplates.
	KeepTemplate(ctx context.Context, t Template) error
	// ChangeTemplate gives a template another text and name, or removes it when the
	// text is "". ErrNotFound when this user has none of this id.
	ChangeTemplate(ctx context.Context, userID, templateID, name, text string) error
	// Templates lists those of a user, the last used first.
	Templates(ctx context.Context, userID string) ([]Template, error)

	// Preferences are those of a user, or the defaults.
	Preferences(ctx context.Context, userID string) (Preferences, error)
	// ChangePreferences stores what is given and leaves the rest as it is.
	ChangePreferences(ctx context.Context, userID string, change PreferencesChange) error
}

// Preferences are what a person chose for themselves.
type Preferences struct {
	Keys       map[string]string // what to press, by the name of what it does; the web app knows both
	SingleKeys bool              // whether keys of one character do anything
	Language   string            // that the app was shown in last, such as "de"; "" when nobody said
}

// DefaultPreferences hold for who chose nothing.
func DefaultPreferences() Preferences {
	return Preferences{Keys: map[string]string{}, SingleKeys: true}
}

// PreferencesChange holds what is to be another now; nil leaves it.
type PreferencesChange struct {
	Keys       map[string]string
	SingleKeys *bool
	Language   *string
}
