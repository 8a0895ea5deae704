package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// Runner is what is near Claude on one host: its shims, folders and files. One server at a
// time drives it, by a [Lease].
type Runner struct {
	RunnerID string // UUID
	Name     string // by default that of its host
	// InstallationID was made with the state folder of the runner. A lease is given to this
	// installation alone: a copy would report the processes of the original as dead.
	InstallationID string
	Machine        string // hash of the host's machine id; "" if it is not compared
	Release        string // version of its program
	Paused         bool   // it takes no new sessions
	Draining       bool   // it starts no processes
	RemovedAt      time.Time

	// Remote: it is on another host, and dials a server with its token. Its first hello decides
	// which installation it is.
	Remote   bool
	HasToken bool // one that was not revoked

	// GivenLabels: the labels are those that an admin gave it.
	GivenLabels bool

	// What it said when it dialed last.
	Labels    []string
	Roots     []string // folders in which Claude may work there, absolute
	Capacity  Capacity
	CLIs      []RunnerCLI
	ClockSkew time.Duration // how far its clock was ahead of the database's

	Epoch     uint64    // of the last lease; 0 before the first
	Server    string    // who took that; "" after its release
	ExpiresAt time.Time // of the lease, in the time of the database
	Leased    bool      // that time had not come, by the clock of the database, when this was read
	SeenAt    time.Time // last taken or renewed
}

// RunnerUse says what a runner is used for, as an admin decided.
type RunnerUse string

// Uses of a runner. Processes that run there continue in each.
const (
	RunnerActive   RunnerUse = "active"
	RunnerPaused   RunnerUse = "paused"   // it takes no new sessions
	RunnerDraining RunnerUse = "draining" // it starts no processes
)

// Capacity is what a runner has.
type Capacity struct {
	Processes int    `json:"processes,omitempty"` // that may run at once; 0 for no limit
	Memory    uint64 `json:"memory,omitempty"`    // of the host, in bytes; 0 if it is not known
	Cores     int    `json:"cores,omitempty"`
}

// RunnerCLI is a Claude Code CLI on a runner.
type RunnerCLI struct {
	Path     string `json:"path"`
	Version  string `json:"version"` // "" if it cannot be run
	SignedIn bool   `json:"signed_in"`
}

// Hello is what a runner says to the server that it has dialed.
type Hello struct {
	RunnerID, InstallationID, Machine, Release string
	Name                                       string // "" for the one that it has
	Server                                     string // the name of that server
	// Fence is the highest epoch that has attached to one of its shims, 0 for none.
	Fence         uint64
	Labels, Roots []string
	Capacity      Capacity
	CLIs          []RunnerCLI
	Clock         time.Time // of the runner; zero if it is the server's
}

// Lease is the right to drive a runner. It ends when another one is taken, and by nothing
// else: after LeaseTTL without a renewal, people see the runner as unreachable.
type Lease struct {
	RunnerID string
	Epoch    uint64 // above that of every earlier lease, and the fence of every shim
}

// LeaseTTL is how long a lease is valid without being renewed, and LeaseRenewal how often it
// should be.
const (
	LeaseTTL     = 10 * time.Second
	LeaseRenewal = 3 * time.Second
)

// Errors of a [RunnerStore].
var (
	// ErrLeaseLost: the runner has a newer lease. Nothing was changed. It is a
	// [pending.ErrUnavailable]: whoever has the newer lease does it.
	ErrLeaseLost = fmt.Errorf("the runner has a newer lease: %w", pending.ErrUnavailable)
	ErrNoRunner  = errors.New("no such runner")
	// ErrOtherInstallation: the runner is another installation, or on another machine, than
	// the one with that id.
	ErrOtherInstallation = errors.New("it is a copy of another runner, or was moved to another machine")
	ErrRunnerRemoved     = errors.New("the runner was removed")
	// ErrRunnerExists: another runner that was not removed has the name.
	ErrRunnerExists = errors.New("a runner has this name")
)

// RunnerStore stores runners and their leases. The store's views for a lease
// (store.WithLease) compare its epoch at each write, in the same transaction: no such write
// commits after a newer lease was taken.
type RunnerStore interface {
	// RegisterRunner stores a new runner; a known id changes nothing. The first runner of a
	// database of an earlier release becomes that of all sessions of this kind: [Ours].
	RegisterRunner(ctx context.Context, r Runner) error
	// CreateRunner stores a new runner on another host, which gets in with the token of this hash,
	// and writes that to the audit trail. It returns [ErrRunnerExists].
	CreateRunner(ctx context.Context, r Runner, tokenHash [sha256.Size]byte, by pending.Actor) error
	// SetRunnerToken replaces the token of a runner on another host, or revokes it (nil), and
	// writes that to the audit trail. It returns [ErrNoRunner] also for one inside a server, and
	// for one that was removed.
	SetRunnerToken(ctx context.Context, runnerID string, tokenHash *[sha256.Size]byte, by pending.Actor) error
	// RunnerByToken returns the runner whose token has the hash, or [ErrNoRunner]. How long it
	// takes says nothing about the hashes of others.
	RunnerByToken(ctx context.Context, tokenHash [sha256.Size]byte) (Runner, error)
	// RemoveRunner removes a runner for good: it revokes its token, archives its sessions, whose ids
	// it returns, and writes that to the audit trail. One inside a server loses its lease, and is
	// removed only after that has expired. It returns [ErrNoRunner] also for one that was removed.
	RemoveRunner(ctx context.Context, runnerID string, by pending.Actor) (sessionIDs []string, err error)
	// ForgetRunners deletes the runners inside servers that have no sessions and were last seen before
	// a time. A server that comes back registers its runner again.
	ForgetRunners(ctx context.Context, before time.Time) error
	// TouchRunner raises the versions of the running processes of a runner, because it can be
	// reached or no longer can, and returns the ids of their sessions.
	TouchRunner(ctx context.Context, runnerID string) (sessionIDs []string, err error)
	// Runners returns all runners, also removed ones, by name.
	Runners(ctx context.Context) ([]Runner, error)
	// Runner returns one runner, or [ErrNoRunner].
	Runner(ctx context.Context, runnerID string) (Runner, error)
	// RunningByRunner returns how many processes run on each runner, by its id.
	RunningByRunner(ctx context.Context) (map[string]int, error)
	// SetRunnerUse decides what a runner is used for, and writes that to the audit trail. It
	// returns [ErrNoRunner].
	SetRunnerUse(ctx context.Context, runnerID string, use RunnerUse, by pending.Actor) error
	// RenameRunner gives another name to a runner on another host, and writes that to the audit
	// trail. It returns its sessions that are not archived, whose versions grow, or [ErrNoRunner],
	// also for one inside a server, or [ErrRunnerExists].
	RenameRunner(ctx context.Context, runnerID, name string, by pending.Actor) (sessionIDs []string, err error)
	// SetRunnerLabels gives labels to a runner in place of those that it says, nil for those, and
	// writes that to the audit trail. It returns [ErrNoRunner].
	SetRunnerLabels(ctx context.Context, runnerID string, labels []string, by pending.Actor) error

	// TakeLease gives the runner a lease with a higher epoch, whoever holds it, and stores
	// what its hello says. It waits for the writes in progress that compare the former epoch.
	// The lease is safe from a power cut, and from a failover to a synchronous standby. Its
	// epoch is not below the time of the database in microseconds, so that a restored backup
	// gives none again. It returns [ErrNoRunner], [ErrOtherInstallation] or
	// [ErrRunnerRemoved].
	TakeLease(ctx context.Context, h Hello) (Lease, error)
	// RenewLease extends a lease to [LeaseTTL] from now, or returns [ErrLeaseLost]. It does
	// not wait for other writes, and a crash of the database may undo it. In a database that
	// only one server can use, it only compares.
	RenewLease(ctx context.Context, l Lease) error
	// ReleaseLease lets a lease expire now. It returns [ErrLeaseLost] for an earlier one.
	ReleaseLease(ctx context.Context, l Lease) error
}
