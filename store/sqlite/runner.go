package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// compareEpoch returns a row if a lease is the newest one. It is the first statement of a write
// transaction, during which no other lease can be taken.
var compareEpoch = define("SELECT 1 FROM runners WHERE runner_id = ? AND lease_epoch = ?")

// WithLease returns a view of the store whose writes fail with [session.ErrLeaseLost] if the runner
// has a newer lease than l.
func (s *Store) WithLease(l session.Lease) *Store {
	view := &Store{database: s.database, lease: &l}
	view.Shared = s.Shared.WithEngine(view.engine())
	return view
}

// TakeLease implements [session.RunnerStore].
func (s *Store) TakeLease(ctx context.Context, h session.Hello) (session.Lease, error) {
	what := "take the lease of runner " + h.RunnerID
	var epoch int64
	err := s.writeKeepingNewest(ctx, sqlstore.Durable, what, func(ctx context.Context, t tx) error {
		err := t.queryRow(ctx, []any{&epoch}, sqlstore.TakeLease, append(sqlstore.TakeLeaseValues(h), t.now.UnixMicro())...)
		return replaceNoRows(err, errRefused)
	})
	if errors.Is(err, errRefused) {
		err = fmt.Errorf("sqlite: %s: %w", what, s.LeaseRefusal(ctx, h.RunnerID))
	}
	if err != nil {
		return session.Lease{}, err
	}
	return session.Lease{RunnerID: h.RunnerID, Epoch: uint64(epoch)}, nil
}

// errRefused rolls back a transaction in which the runner may not have the lease.
var errRefused = errors.New("the lease was refused")

// RenewLease implements [session.RunnerStore]. It only checks the lease: no other server uses this
// database, so the time of expiry does not matter, and an idle server need not write to the disk.
func (s *Store) RenewLease(ctx context.Context, l session.Lease) error {
	r, err := s.Runner(ctx, l.RunnerID)
	if err == nil && (r.Epoch != l.Epoch || !r.RemovedAt.IsZero()) || errors.Is(err, session.ErrNoRunner) {
		err = fmt.Errorf("sqlite: renew the lease of runner %s: %w", l.RunnerID, session.ErrLeaseLost)
	}
	return err
}
