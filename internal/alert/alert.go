// Package alert tells people who do not look that a request waits for them: by
// Web Push, by a webhook, by ntfy. It decides who is told, when and how often,
// and remembers it, so that nobody is told twice, over a restart too.
//
// It only tells. What waits is read from the state, never taken from a notification, and
// nothing can be answered here.
package alert

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Errors of this package.
var (
	ErrNotFound = errors.New("no such place to be told at")
	// ErrRefused: the place took the message for wrong; the error around it says how.
	ErrRefused = errors.New("the alert was refused")
)

// Way says how a target is reached.
type Way string

const (
	Push    Way = "push"    // a browser, through its push service
	Webhook Way = "webhook" // a signed POST
	Ntfy    Way = "ntfy"    // a topic of an ntfy server
)

// Target is a place at which somebody is told.
type Target struct {
	TargetID  string // UUID
	UserID    string // whose it is; "" for one of the server
	Way       Way
	Name      string // for people: the device of a browser, the host of an address
	Address   Address
	CreatedAt time.Time
	// SentAt is when the last alert was taken, zero before the first. Problem is
	// why the one after it was not, a sentence; "" when all is well.
	SentAt  time.Time
	Problem string
}

// Address is what is needed to reach a target. It is never shown again: an
// endpoint is as good as a secret. The JSON names are those of the stored column.
type Address struct {
	URL      string `json:"url"`
	P256DH   []byte `json:"p256dh,omitempty"`   // Push: the browser's public key, 65 bytes
	Auth     []byte `json:"auth,omitempty"`     // Push: its secret, 16 bytes
	Secret   string `json:"secret,omitempty"`   // Webhook: of the signature; Ntfy: access token, or ""
	Priority int    `json:"priority,omitempty"` // Ntfy: 1 to 5, 0 for the server's own
}

// Occasion is what somebody is told of.
type Occasion string

const (
	Waiting  Occasion = "waiting"  // a request waits
	Finished Occasion = "finished" // a turn ended
	Died     Occasion = "died"     // a process ended by itself
)

// State says how far a delivery has come.
type State string

const (
	Queued  State = "queued"  // is to be sent
	Sent    State = "sent"    // was taken
	Folded  State = "folded"  // another delivery tells of it
	Failed  State = "failed"  // was given up
	Dropped State = "dropped" // there was no need any more
)

// Delivery is one message to one target. Its id follows from what it is about,
// so the same one is never made twice.
type Delivery struct {
	DeliveryID string
	TargetID   string
	Occasion   Occasion
	Step       Step
	SessionID  string
	RequestID  string // of Waiting; "" for one that tells of several
	State      State
	Attempts   int
	DueAt      time.Time
	CreatedAt  time.Time
	// SentAt is when it was taken; of one that is Queued when it was last begun to be
	// sent and nobody noted what became of it, else zero.
	SentAt time.Time
}

// begun: it may have been told, by a server that died before it knew.
func (d Delivery) begun() bool { return d.State == Queued && !d.SentAt.IsZero() }

// Step tells the deliveries about one request apart.
type Step string

const (
	First    Step = "first"
	Reminder Step = "reminder"
	Fold     Step = "fold"  // several requests in one
	Close    Step = "close" // what was told holds no longer
)

// Store remembers targets, choices and deliveries.
type Store interface {
	// PutTarget stores a target by its id. record, a JSON object, goes to the end of
	// the audit trail with it; nil for nothing.
	PutTarget(ctx context.Context, t Target, record []byte) error
	// Targets lists all, oldest first.
	Targets(ctx context.Context) ([]Target, error)
	// MarkTarget notes what became of a delivery: the time when it was taken, or
	// the problem. ErrNotFound.
	MarkTarget(ctx context.Context, targetID string, sentAt time.Time, problem string) error
	// DeleteTarget forgets a target and its deliveries; record is that of PutTarget.
	// ErrNotFound.
	DeleteTarget(ctx context.Context, targetID string, record []byte) error

	// Choices are what people chose, JSON by user id; "" is the server's.
	Choices(ctx context.Context) (map[string]json.RawMessage, error)
	PutChoices(ctx context.Context, userID string, choices json.RawMessage) error

	// PutDelivery stores a delivery by its id. It survives a power cut. ErrNotFound
	// when its target is gone.
	PutDelivery(ctx context.Context, d Delivery) error
	// Deliveries lists all, oldest first.
	Deliveries(ctx context.Context) ([]Delivery, error)
	// ForgetDeliveries removes those that are older and not Queued.
	ForgetDeliveries(ctx context.Context, before time.Time) error
}
