package sqlstore

import (
	"errors"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Errors that both engines return, in addition to those of the interfaces they implement. Package
// store exports them.
var (
	// ErrUnavailable: nothing was changed, and the same call may succeed later. The disk is full,
	// another program holds the lock, or the database cannot be reached.
	ErrUnavailable = pending.ErrUnavailable
	// ErrReadOnly: the disk is full or refuses writes. ErrUnavailable accompanies it.
	ErrReadOnly = errors.New("the disk is not writable")
	// ErrUnknownOutcome: the change was sent, but no reply arrived. It may be stored or not; read
	// the row before you report a result.
	ErrUnknownOutcome = pending.ErrUnknownOutcome
	// ErrLeaseLost: the runner of the process has a newer lease. Nothing was changed, and
	// ErrUnavailable accompanies it.
	ErrLeaseLost = session.ErrLeaseLost
	// ErrBroken: a sync failed. Later syncs cannot be trusted, so the store refuses every write
	// until the server is restarted.
	ErrBroken = errors.New("the disk failed under the store, restart sayso")
	// ErrCorrupt: the database is damaged. The wrapping error tells people what to do.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrLogLost: the last writes before a crash may be lost. The wrapping error tells people what
	// to do.
	ErrLogLost = errors.New("the database may have lost what was stored last")
	// ErrDSN: the address of the database is not valid.
	ErrDSN = errors.New("bad database address")
	// ErrInUse: another server uses the database.
	ErrInUse = errors.New("the database is in use")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)
