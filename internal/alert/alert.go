// Package alert notifies people of waiting requests while they are not looking at sayso, by Web
// Push, webhook or ntfy. It decides who is notified, when and how often. Each notification is
// stored as a delivery, so that a restart repeats none.
//
// It reads which requests are open from the state, never from a notification, and it cannot
// answer them.
package alert

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Errors of this package.
var (
	ErrNotFound = errors.New("alert target not found")
	// ErrRefused: the target rejected the message. The error that wraps it gives the reason.
	ErrRefused = errors.New("the alert was refused")
	// ErrOutdated: another server now sends alerts.
	ErrOutdated = errors.New("another server sends alerts")
)

// Way is the channel by which a target is reached.
type Way string

const (
	Push    Way = "push"    // a browser, through its push service
	Webhook Way = "webhook" // a signed POST
	Ntfy    Way = "ntfy"    // a topic of an ntfy server
)

// Target is a destination of alerts: a browser, a webhook or an ntfy topic.
type Target struct {
	TargetID  string // UUID
	UserID    string // its owner; "" for one of the server
	Way       Way
	Name      string // for people: the device of a browser, the host of an address
	Address   Address
	CreatedAt time.Time
	// SentAt is when the last alert was delivered, zero before the first. Problem tells people
	// why the last attempt failed, "" when it succeeded.
	SentAt  time.Time
	Problem string
}

// Address holds what is needed to reach a target. It is never shown again, because anybody who
// has it may be able to send to the target. The JSON names are those of the stored column.
type Address struct {
	URL      string `json:"url"`
	P256DH   []byte `json:"p256dh,omitempty"`   // Push: the browser's public key, 65 bytes
	Auth     []byte `json:"auth,omitempty"`     // Push: its secret, 16 bytes
	Secret   string `json:"secret,omitempty"`   // Webhook: signing key; Ntfy: access token, or ""
	Priority int    `json:"priority,omitempty"` // Ntfy: 1 to 5, 0 for the default of the ntfy server
}

// Occasion is the event that an alert reports.
type Occasion string

const (
	Waiting  Occasion = "waiting"  // a request waits
	Finished Occasion = "finished" // a turn ended
	Died     Occasion = "died"     // a process ended by itself
)

// State is the progress of a delivery.
type State string

const (
	Queued  State = "queued"  // to be sent
	Sent    State = "sent"    // accepted by the target
	Folded  State = "folded"  // covered by the delivery of a Fold
	Failed  State = "failed"  // no further attempt is made
	Dropped State = "dropped" // no longer needed
)

// Delivery is one message to one target. Its id is derived from its subject, so the same
// message is never created twice.
type Delivery struct {
	DeliveryID string
	TargetID   string
	Occasion   Occasion
	Step       Step
	SessionID  string
	RequestID  string // for Waiting; "" for a delivery about several requests
	State      State
	Attempts   int
	DueAt      time.Time
	CreatedAt  time.Time
	// SentAt is when the target accepted it. While it is Queued, it is the time of the last
	// attempt whose result is unknown, or zero.
	SentAt time.Time
}

// mayHaveBeenSent reports whether a server that died during the attempt may have sent it.
func (d Delivery) mayHaveBeenSent() bool { return d.State == Queued && !d.SentAt.IsZero() }

// Step distinguishes the deliveries about one request.
type Step string

const (
	First    Step = "first"
	Reminder Step = "reminder"
	Fold     Step = "fold"  // several requests in one alert
	Close    Step = "close" // the request is no longer open
)

// Store stores targets, choices and deliveries.
type Store interface {
	// PutTarget stores a target by its id. record, a JSON object, is appended to the audit
	// trail in the same transaction; nil appends nothing.
	PutTarget(ctx context.Context, t Target, record []byte) error
	// Targets lists all targets, oldest first.
	Targets(ctx context.Context) ([]Target, error)
	// MarkTarget stores the result of a delivery: the time it was accepted, or the problem.
	// It returns ErrNotFound for an unknown target.
	MarkTarget(ctx context.Context, targetID string, sentAt time.Time, problem string) error
	// DeleteTarget deletes a target and its deliveries; record is that of PutTarget. It
	// returns ErrNotFound for an unknown target.
	DeleteTarget(ctx context.Context, targetID string, record []byte) error

	// Choices returns the stored choices, JSON by user id; "" is the server.
	Choices(ctx context.Context) (map[string]json.RawMessage, error)
	PutChoices(ctx context.Context, userID string, choices json.RawMessage) error

	// PutDelivery stores a delivery by its id; the write survives a power cut. It returns
	// ErrNotFound when its target was deleted. If several servers may use the store, it returns
	// ErrOutdated when term is not that of the current lease.
	PutDelivery(ctx context.Context, d Delivery, term int64) error
	// Deliveries lists all deliveries, oldest first.
	Deliveries(ctx context.Context) ([]Delivery, error)
	// ForgetDeliveries deletes the deliveries created before a time that are not Queued.
	ForgetDeliveries(ctx context.Context, before time.Time) error
}
