package alert

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// targetBody is an entry of the audit log; docs/operating/audit.md describes it.
type targetBody struct {
	What     string    `json:"what"` // alert_target_added, alert_target_removed
	At       time.Time `json:"at"`
	By       targetBy  `json:"by"`
	TargetID string    `json:"target_id"`
	Of       string    `json:"of,omitempty"` // its owner: a user id; without it, the server
	Way      Way       `json:"way"`
	Name     string    `json:"name"`
	Host     string    `json:"host"` // the rest of the address is a secret
}

type targetBy struct {
	UserID  string `json:"user_id"`
	Name    string `json:"name"`
	Device  string `json:"device"`
	Address string `json:"address,omitempty"`
}

// recordOf returns the audit record of an added or removed target.
func recordOf(what string, t Target, by pending.Actor) ([]byte, error) {
	body := targetBody{
		What: what, At: time.Now().UTC().Truncate(time.Microsecond), By: targetBy{by.UserID, by.Name, by.Device, by.Address},
		TargetID: t.TargetID, Of: t.UserID, Way: t.Way, Name: t.Name,
	}
	if u, err := url.Parse(t.Address.URL); err == nil {
		body.Host = u.Host
	}
	return json.Marshal(body)
}
