package workspace

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// Trust records that a person has seen what the settings of a folder would run or permit, and
// agreed.
type Trust struct {
	Folder string // absolute, symlinks resolved
	Digest string // of what they saw
	// Items are what they saw, a JSON array that the store does not interpret. Later settings
	// are compared with them.
	Items json.RawMessage
	By    pending.Actor
	At    time.Time
}

// Trusts stores the trust of folders. Every store passes the contract tests in store/storetest.
type Trusts interface {
	// Trust returns the latest trust of a folder, without the giver's device and address.
	// known is false when there is none.
	Trust(ctx context.Context, folder string) (t Trust, known bool, err error)
	// PutTrust replaces the trust of a folder and adds an audit record; both survive a power
	// cut. A repeated digest changes nothing.
	PutTrust(ctx context.Context, t Trust) error
	// AllTrusts returns the latest trust of every folder, the newest first, as Trust does.
	AllTrusts(ctx context.Context) ([]Trust, error)
	// Distrust revokes the trust of a folder with this digest and adds an audit record; both
	// survive a power cut. known is false, and nothing changes, when there is no such trust.
	Distrust(ctx context.Context, t Trust, by pending.Actor, at time.Time) (known bool, err error)
	// LeaveOut sets whether an existing session ignores the settings of its folder from its
	// next process on. LeftOut returns it.
	LeaveOut(ctx context.Context, sessionID string, out bool) error
	LeftOut(ctx context.Context, sessionID string) (bool, error)
}
