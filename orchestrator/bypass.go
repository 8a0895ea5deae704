package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// errAsksNobody: a session in which Claude asks nobody would have gone on by itself.
// Whoever had the right to that may have lost it since; a person starts it again.
var errAsksNobody = errors.New("a session that asks nobody is started by a person")

// asksNobody is what people read of it.
const asksNobody = "Claude asks nobody in this session, so it was not started by itself. Resume the session, or choose another permission mode first."

// bypassBody is an entry of the audit trail; docs/operations.md describes it.
type bypassBody struct {
	What      string    `json:"what"` // asks_nobody
	At        time.Time `json:"at"`
	By        bypassBy  `json:"by"`
	SessionID string    `json:"session_id"`
	Folder    string    `json:"folder"`
}

type bypassBy struct {
	UserID  string `json:"user_id"`
	Name    string `json:"name"`
	Device  string `json:"device"`
	Address string `json:"address,omitempty"`
}

// recordAsksNobody puts on record that a process is to be started in which Claude
// asks nobody. What cannot be put there is not started.
func (o *Orchestrator) recordAsksNobody(ctx context.Context, s session.Session, by pending.Actor) error {
	body, err := json.Marshal(bypassBody{
		What: "asks_nobody", At: time.Now().UTC().Truncate(time.Microsecond), SessionID: s.SessionID, Folder: s.CWD,
		By: bypassBy{by.UserID, by.Name, by.Device, by.Address},
	})
	if err == nil {
		err = o.o.Store.AddIncident(ctx, body)
	}
	if err != nil {
		return fmt.Errorf("orchestrator: put on record that Claude asks nobody: %w", err)
	}
	return nil
}
