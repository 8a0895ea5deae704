package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// Runner is the part of sayso that runs next to Claude on one host, with its shims, folders and
// files. One server at a time drives it, under a [Lease].
type Runner struct {
	RunnerID string // UUID
	Name     string // by default, the name of its host
	// InstallationID is created together with the runner's state folder. Only this installation
	// gets a lease: a copy would report the processes of the original as dead.
	InstallationID string
	Machine        string // hash of the host's machine id; "" if it is not compared
	Release        string // version of its program
	Paused         bool   // it takes no new sessions
	Draining       bool   // it starts no processes
	RemovedAt      time.Time

	// Remote is set for a runner on another host, which dials a server with its token. Its first
	// hello sets its InstallationID.
	Remote   bool
	HasToken bool // its token has not been revoked

	// GivenLabels is set if an admin chose the labels, in place of those in the hello.
	GivenLabels bool

	// Reported in its last hello.
	Labels    []string
	Roots     []string // folders in which Claude may work there, absolute
	Capacity  Capacity
	CLIs      []RunnerCLI
	ClockSkew time.Duration // how far its clock was ahead of the database's

	Epoch     uint64    // of the last lease; 0 before the first
	Server    string    // name of the server that took the last lease; "" after its release
	ExpiresAt time.Time // when the last lease expires, by the database's clock
	Leased    bool      // ExpiresAt was in the future when read, by the database's clock
	SeenAt    time.Time // when a lease was last taken or renewed
}

// RunnerUse is what an admin allows a runner to do.
type RunnerUse string

// Uses of a runner. Its running processes continue under all of them.
const (
	RunnerActive   RunnerUse = "active"
	RunnerPaused   RunnerUse = "paused"   // it takes no new sessions
	RunnerDraining RunnerUse = "draining" // it starts no processes
)

// Capacity is how much a runner can run.
type Capacity struct {
	Processes int    `json:"processes,omitempty"` // how many may run at once; 0 for no limit
	Memory    uint64 `json:"memory,omitempty"`    // of the host, in bytes; 0 if unknown
	Cores     int    `json:"cores,omitempty"`
}

// RunnerCLI is a Claude Code CLI on a runner.
type RunnerCLI struct {
	Path     string `json:"path"`
	Version  string `json:"version"` // "" if it cannot be run
	SignedIn bool   `json:"signed_in"`
}

// Hello is the first message of a runner to the server that it has dialed.
type Hello struct {
	RunnerID, InstallationID, Machine, Release string
	Name                                       string // "" keeps the stored name
	Server                                     string // name of that server
	// Fence is the highest epoch that has attached to any of its shims, 0 for none.
	Fence         uint64
	Labels, Roots []string
	Capacity      Capacity
	CLIs          []RunnerCLI
	Clock         time.Time // the runner's time; zero if it shares the server's clock
}

// Lease is the right to drive a runner. It ends only when a newer one is taken, or when a runner
// inside a server is removed. After LeaseTTL without a renewal it has expired: its holder may
// still write, but people see the runner as unreachable.
type Lease struct {
	RunnerID string
	Epoch    uint64 // higher than that of every earlier lease and the fence of every shim
}

// LeaseTTL is how long after its last renewal a lease expires, and LeaseRenewal how often it
// should be renewed.
const (
	LeaseTTL     = 10 * time.Second
	LeaseRenewal = 3 * time.Second
)

// Errors of a [RunnerStore].
var (
	// ErrLeaseLost: the runner has a newer lease. Nothing was changed. It is a
	// [pending.ErrUnavailable], because the holder of the newer lease will do the work.
	ErrLeaseLost = fmt.Errorf("the runner has a newer lease: %w", pending.ErrUnavailable)
	ErrNoRunner  = errors.New("no such runner")
	// ErrOtherInstallation: the runner has the id of another installation, or of one on another
	// machine.
	ErrOtherInstallation = errors.New("it is a copy of another runner, or was moved to another machine")
	ErrRunnerRemoved     = errors.New("the runner was removed")
	// ErrRunnerExists: the name belongs to another runner that was not removed.
	ErrRunnerExists = errors.New("a runner has this name")
)

// RunnerStore stores runners and their leases. The store's views for a lease
// (store.WithLease) compare its epoch at each write, in the same transaction: no such write
// commits after a newer lease was taken.
type RunnerStore interface {
	// RegisterRunner stores a runner unless its id is known. The first runner registered in a
	// database of an earlier release becomes the runner of all its sessions of the kind [Ours].
	RegisterRunner(ctx context.Context, r Runner) error
	// CreateRunner stores a runner on another host and records it in the audit log. The runner
	// authenticates with the token whose hash is tokenHash. It returns [ErrRunnerExists].
	CreateRunner(ctx context.Context, r Runner, tokenHash [sha256.Size]byte, by pending.Actor) error
	// SetRunnerToken replaces the token of a runner on another host, or revokes it if tokenHash
	// is nil, and records the change in the audit log. It returns [ErrNoRunner], also for a
	// runner inside a server and for a removed one.
	SetRunnerToken(ctx context.Context, runnerID string, tokenHash *[sha256.Size]byte, by pending.Actor) error
	// RunnerByToken returns the runner whose token has the hash, or [ErrNoRunner]. Its duration
	// reveals nothing about the hashes of other tokens.
	RunnerByToken(ctx context.Context, tokenHash [sha256.Size]byte) (Runner, error)
	// RemoveRunner removes a runner permanently: it revokes the runner's token, archives its
	// sessions, returns their ids and records the removal in the audit log. A runner inside a
	// server can be removed only after its lease has expired. That also ends the lease, so that a
	// server that was only cut off can no longer write. It returns [ErrNoRunner], also for a
	// runner that was removed before, or inside a server whose lease has not expired.
	RemoveRunner(ctx context.Context, runnerID string, by pending.Actor) (sessionIDs []string, err error)
	// ForgetRunners deletes the runners inside servers that have no sessions and were last seen
	// before a time. If such a server returns, it registers its runner again.
	ForgetRunners(ctx context.Context, before time.Time) error
	// TouchRunner increments the versions of the running processes of a runner that has become
	// reachable or unreachable, and returns the ids of their sessions.
	TouchRunner(ctx context.Context, runnerID string) (sessionIDs []string, err error)
	// Runners returns all runners, including removed ones, ordered by name.
	Runners(ctx context.Context) ([]Runner, error)
	// Runner returns one runner, or [ErrNoRunner].
	Runner(ctx context.Context, runnerID string) (Runner, error)
	// RunningByRunner returns the number of running processes by the id of their runner.
	RunningByRunner(ctx context.Context) (map[string]int, error)
	// SetRunnerUse sets the use of a runner and records the change in the audit log. It
	// returns [ErrNoRunner].
	SetRunnerUse(ctx context.Context, runnerID string, use RunnerUse, by pending.Actor) error
	// RenameRunner renames a runner on another host and records the change in the audit log.
	// It increments the versions of the runner's sessions that are not archived and returns
	// their ids. It returns [ErrNoRunner], also for a runner inside a server, or
	// [ErrRunnerExists].
	RenameRunner(ctx context.Context, runnerID, name string, by pending.Actor) (sessionIDs []string, err error)
	// SetRunnerLabels replaces the labels that a runner reports, or goes back to them if labels
	// is nil, and records the change in the audit log. It returns [ErrNoRunner].
	SetRunnerLabels(ctx context.Context, runnerID string, labels []string, by pending.Actor) error

	// TakeLease gives the runner a lease with a higher epoch, whoever holds the current one, and
	// stores the contents of the hello. It waits for writes in progress that compare the previous
	// epoch. The lease survives a power cut and a failover to a synchronous standby. Its epoch is
	// at least the database's time in microseconds, so that a database restored from a backup
	// never issues an epoch twice. It returns [ErrNoRunner], [ErrOtherInstallation] or
	// [ErrRunnerRemoved].
	TakeLease(ctx context.Context, h Hello) (Lease, error)
	// RenewLease extends a lease to [LeaseTTL] from now, or returns [ErrLeaseLost]. It does
	// not wait for other writes, and a crash of the database may undo it. In a database that
	// only one server can use, it only compares the epoch.
	RenewLease(ctx context.Context, l Lease) error
	// ReleaseLease makes a lease expire now. It returns [ErrLeaseLost] if there is a newer one.
	ReleaseLease(ctx context.Context, l Lease) error
}
