package workspace

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// Trust says that a person has seen what the settings of a folder would run or
// permit, and wants it so.
type Trust struct {
	Folder string // absolute, symlinks resolved
	Digest string // of what was seen
	// Items are what was seen, so that it can be told what has changed since; a JSON
	// array, opaque to the store.
	Items json.RawMessage
	By    pending.Actor
	At    time.Time
}

// Trusts remembers. Both engines pass the contract of store/storetest.
type Trusts interface {
	// Trust returns the last trust in a folder, without the device and the address
	// of who gave it; known is false when there is none.
	Trust(ctx context.Context, folder string) (t Trust, known bool, err error)
	// PutTrust stores a trust in place of the last one in its folder and puts it on
	// record; both survive a power cut. The same digest again changes nothing.
	PutTrust(ctx context.Context, t Trust) error
	// AllTrusts returns the last trust in every folder, the newest first, as Trust
	// does.
	AllTrusts(ctx context.Context) ([]Trust, error)
	// Distrust takes a trust back, in its folder and of its digest, and puts that on
	// record; both survive a power cut. There may be none of that digest any more: then
	// it changes nothing and known is false.
	Distrust(ctx context.Context, t Trust, by pending.Actor, at time.Time) (known bool, err error)
	// LeaveOut says whether a session, which must be there, runs without the settings
	// of its folder from its next process on.
	LeaveOut(ctx context.Context, sessionID string, out bool) error
	LeftOut(ctx context.Context, sessionID string) (bool, error)
}
