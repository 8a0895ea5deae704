package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// runnerColumns is the select list that [readRunner] scans.
const runnerColumns = `runner_id, name, installation_id, machine, release, paused, removed_at, lease_epoch, lease_server, lease_expires_at, seen_at`

// readRunner reads a row of [runnerColumns].
func readRunner(row Row) (r session.Runner, err error) {
	var removedAt, epoch, expiresAt, seenAt int64
	err = row.Scan(&r.RunnerID, &r.Name, &r.InstallationID, &r.Machine, &r.Release, &r.Paused, &removedAt, &epoch, &r.Server, &expiresAt, &seenAt)
	r.Epoch, r.RemovedAt, r.ExpiresAt, r.SeenAt = uint64(epoch), Time(removedAt), Time(expiresAt), Time(seenAt)
	return r, err
}

const (
	mayTake   = " WHERE runner_id = $1 AND installation_id = $2 AND (machine IN ('', $3) OR $3 = '') AND removed_at = 0"
	setHello  = "machine = CASE WHEN $3 = '' THEN machine ELSE $3 END, name = $4, release = $5, lease_server = $6"
	nowMicros = "(extract(epoch FROM now()) * 1000000)::bigint" // in PostgreSQL
)

// The database of an earlier release has a runner with an empty id until the first one is
// registered, which takes its place.
var (
	selectRunners = query("SELECT " + runnerColumns + " FROM runners WHERE runner_id <> '' ORDER BY name, runner_id")
	selectRunner  = query("SELECT " + runnerColumns + " FROM runners WHERE runner_id = $1")
	claimSessions = define(`UPDATE sessions SET runner_id = $1 WHERE runner_id = '' AND kind = ''
		AND EXISTS (SELECT 1 FROM runners WHERE runner_id = '')`)
	claimRunner  = define("UPDATE runners SET runner_id = $1, name = $2, installation_id = $3 WHERE runner_id = ''")
	insertRunner = define("INSERT INTO runners (runner_id, name, installation_id) VALUES ($1, $2, $3) ON CONFLICT (runner_id) DO NOTHING")
	setPaused    = define("UPDATE runners SET paused = $1 WHERE runner_id = $2").Require(session.ErrNoRunner)
	// TakeLease returns the new epoch. It changes no row if the runner may not have the lease.
	TakeLease = defineBoth(
		"UPDATE runners SET lease_epoch = max(lease_epoch + 1, $7 + 1, $9), lease_expires_at = $9 + $8, seen_at = $9, "+
			setHello+mayTake+" RETURNING lease_epoch",
		"UPDATE runners SET lease_epoch = greatest(lease_epoch + 1, $7::bigint + 1, "+nowMicros+"), lease_expires_at = "+nowMicros+
			" + $8, seen_at = "+nowMicros+", "+setHello+mayTake+" RETURNING lease_epoch")
	releaseLease = defineBoth(
		"UPDATE runners SET lease_server = '', lease_expires_at = seen_at WHERE runner_id = $1 AND lease_epoch = $2",
		"UPDATE runners SET lease_server = '', lease_expires_at = "+nowMicros+" WHERE runner_id = $1 AND lease_epoch = $2").Require(session.ErrLeaseLost)
	// RenewLease is PostgreSQL's: it changes no column of a unique index, so that it waits for no
	// write that compares the epoch.
	RenewLease = Define(Postgres, "UPDATE runners SET lease_expires_at = "+nowMicros+" + $3, seen_at = "+nowMicros+
		" WHERE runner_id = $1 AND lease_epoch = $2")
)

// maxFence is the highest epoch that leaves room for higher ones in a column.
const maxFence = 1<<63 - 2

// TakeLeaseValues returns the arguments $1 to $8 of [TakeLease]; in SQLite, $9 is the time.
func TakeLeaseValues(h session.Hello) []any {
	return []any{h.RunnerID, SanitizeText(h.InstallationID), SanitizeText(h.Machine), SanitizeText(h.Name), SanitizeText(h.Release), SanitizeText(h.Server),
		int64(min(h.Fence, maxFence)), session.LeaseTTL.Microseconds()}
}

// LeaseRefusal returns why a runner did not get a lease.
func (s Shared) LeaseRefusal(ctx context.Context, runnerID string) error {
	r, err := s.Runner(ctx, runnerID)
	switch {
	case err != nil:
		return err
	case !r.RemovedAt.IsZero():
		return session.ErrRunnerRemoved
	}
	return session.ErrOtherInstallation
}

// RegisterRunner implements [session.RunnerStore].
func (s Shared) RegisterRunner(ctx context.Context, r session.Runner) error {
	values := []any{r.RunnerID, SanitizeText(r.Name), SanitizeText(r.InstallationID)}
	return s.e.Apply(ctx, Change{What: "register runner " + r.RunnerID, Durability: Durable, Steps: []Step{
		step(claimSessions, r.RunnerID), step(claimRunner, values...), step(insertRunner, values...),
	}})
}

// Runners implements [session.RunnerStore].
func (s Shared) Runners(ctx context.Context) ([]session.Runner, error) {
	return queryAll(ctx, s, "runners", selectRunners, readRunner)
}

// Runner implements [session.RunnerStore].
func (s Shared) Runner(ctx context.Context, runnerID string) (session.Runner, error) {
	return queryOne(ctx, s, "runner "+runnerID, selectRunner, session.ErrNoRunner, readRunner, runnerID)
}

// auditRunner is the audit entry for a decision about a runner; docs/operating/audit.md describes it.
type auditRunner struct {
	What     string      `json:"what"` // runner_paused, runner_resumed
	At       time.Time   `json:"at"`
	By       auditPerson `json:"by"`
	RunnerID string      `json:"runner_id"`
}

// SetRunnerPaused implements [session.RunnerStore].
func (s Shared) SetRunnerPaused(ctx context.Context, runnerID string, paused bool, by pending.Actor) error {
	what := "runner_resumed"
	if paused {
		what = "runner_paused"
	}
	body, err := json.Marshal(auditRunner{what, Time(Micros(time.Now())), auditPersonOf(by), runnerID})
	if err != nil {
		return fmt.Errorf("store: pause runner %s: %w", runnerID, err)
	}
	return s.e.Apply(ctx, Change{What: "pause runner " + runnerID, Durability: Durable, Audit: body, Steps: []Step{step(setPaused, paused, runnerID)}})
}

// ReleaseLease implements [session.RunnerStore].
func (s Shared) ReleaseLease(ctx context.Context, l session.Lease) error {
	return s.e.Apply(ctx, Change{What: "release the lease of runner " + l.RunnerID, Durability: Durable,
		Steps: []Step{step(releaseLease, l.RunnerID, int64(l.Epoch))}})
}
