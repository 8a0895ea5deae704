package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// incident has the fields that begin every entry of the audit log that this package writes;
// docs/operating/audit.md describes the entries.
type incident struct {
	What      string     `json:"what"`
	At        time.Time  `json:"at"`
	By        incidentBy `json:"by"`
	SessionID string     `json:"session_id"`
	Folder    string     `json:"folder"`
}

type incidentBy struct {
	UserID  string `json:"user_id"`
	Name    string `json:"name"`
	Device  string `json:"device"`
	Address string `json:"address,omitempty"`
}

// newIncident returns the first fields of an entry about something that happens now.
func newIncident(what string, s session.Session, by pending.Actor) incident {
	return incident{
		What: what, At: time.Now().UTC().Truncate(time.Microsecond), By: incidentBy{by.UserID, by.Name, by.Device, by.Address},
		SessionID: s.SessionID, Folder: s.CWD,
	}
}

func (i incident) what() string { return i.What }

// record appends an entry to the audit log: an [incident], or a struct that embeds one.
func (o *Orchestrator) record(ctx context.Context, entry interface{ what() string }) error {
	data, err := json.Marshal(entry)
	if err == nil {
		err = o.o.Store.AddIncident(ctx, data)
	}
	if err != nil {
		return fmt.Errorf("orchestrator: record %s: %w", entry.what(), err)
	}
	return nil
}
