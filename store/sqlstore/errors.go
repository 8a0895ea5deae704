package sqlstore

import (
	"errors"

	"github.com/sayso-dev/sayso/pending"
)

// Errors that both engines give, beside those of the ports. Package store
// exports them.
var (
	// ErrUnavailable: nothing was changed and the same call may succeed later:
	// the disk is full, another program holds the lock, the database is away.
	ErrUnavailable = pending.ErrUnavailable
	// ErrReadOnly: the disk takes no writes, because it is full or refuses them. It
	// comes with ErrUnavailable.
	ErrReadOnly = errors.New("the disk takes no writes")
	// ErrUnknownOutcome: the change was sent and no answer came. It may be stored
	// or not; read before you tell anybody.
	ErrUnknownOutcome = pending.ErrUnknownOutcome
	// ErrBroken: the disk refused to sync. What it says later cannot be trusted,
	// so every further write is refused until the server starts anew.
	ErrBroken = errors.New("the disk failed under the store, restart sayso")
	// ErrCorrupt: the database is damaged. The error around it says what to do.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrLogLost: what was stored last before a crash may be gone. The error around it
	// says what to do.
	ErrLogLost = errors.New("the database may have lost what was stored last")
	// ErrDSN: the address of the database cannot be used as given.
	ErrDSN = errors.New("bad database address")
	// ErrInUse: another server uses the database.
	ErrInUse = errors.New("the database is in use")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)
