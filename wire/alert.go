package wire

import (
	"github.com/sayso-dev/sayso/internal/alert"
)

// Alerts describes how a person is notified while they are not looking at sayso.
type Alerts struct {
	PushKey string        `json:"push_key"` // applicationServerKey of browsers
	Choices AlertChoices  `json:"choices"`
	Targets []AlertTarget `json:"targets"`
}

// AlertChoices are a person's choices: what to be notified of, where and when.
type AlertChoices struct {
	Wanted        AlertWanted `json:"wanted"`
	AllSessions   bool        `json:"all_sessions"`
	ShowText      bool        `json:"show_text"`
	RemindAfter   int         `json:"remind_after"`   // minutes; 0: never
	EscalateAfter int         `json:"escalate_after"` // minutes until everybody who may answer is notified; 0: never
	Quiet         *AlertQuiet `json:"quiet"`
	Language      string      `json:"language" validate:"max=16"`
}

// AlertWanted lists the channels for each occasion.
type AlertWanted struct {
	Waiting  []alert.Way `json:"waiting" validate:"max=10"`
	Finished []alert.Way `json:"finished" validate:"max=10"`
	Died     []alert.Way `json:"died" validate:"max=10"`
}

// AlertQuiet is a person's quiet hours, such as 22:00 to 07:00 in Europe/Berlin.
type AlertQuiet struct {
	From string `json:"from" validate:"max=5"`
	To   string `json:"to" validate:"max=5"`
	Zone string `json:"zone" validate:"max=64"`
}

// AlertTarget is a destination of notifications. Its address is never shown again.
type AlertTarget struct {
	TargetID  string    `json:"target_id"`
	Way       alert.Way `json:"way"`
	Name      string    `json:"name"`
	CreatedAt float64   `json:"created_at"`
	SentAt    *float64  `json:"sent_at"`           // last successful delivery
	Problem   string    `json:"problem"`           // why the last delivery failed, "" if it succeeded
	Reasons   Reasons   `json:"reasons,omitempty"` // of problem
}

// AlertTargetCreate adds a target: a browser with its subscription, or an address.
type AlertTargetCreate struct {
	Way      alert.Way `json:"way" validate:"required,oneof=push webhook ntfy"`
	Name     string    `json:"name,omitempty" validate:"max=100"`
	URL      string    `json:"url" validate:"required,max=2000"`
	P256DH   string    `json:"p256dh,omitempty" validate:"max=200"` // base64url, as the browser encodes it
	Auth     string    `json:"auth,omitempty" validate:"max=100"`
	Secret   string    `json:"secret,omitempty" validate:"max=500"` // signing secret, or ntfy's access token
	Priority int       `json:"priority,omitempty" validate:"min=0,max=5"`
}

// AlertTest is the result of a test notification; Problem is "" if it was delivered.
type AlertTest struct {
	Problem string  `json:"problem"`
	Reasons Reasons `json:"reasons,omitempty"` // of problem
}
