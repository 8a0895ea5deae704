package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// asynchronousCommit lets a commit return before it is durable.
var asynchronousCommit = define("SELECT set_config('synchronous_commit', 'off', true)")

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
	var taken bool
	var epoch int64
	err := s.write(ctx, what, step{sqlstore.TakeLease, sqlstore.TakeLeaseValues(h), scanRow(&taken, &epoch)})
	if err == nil && !taken {
		err = fmt.Errorf("postgres: %s: %w", what, s.LeaseRefusal(ctx, h.RunnerID))
	}
	if err != nil {
		return session.Lease{}, err
	}
	return session.Lease{RunnerID: h.RunnerID, Epoch: uint64(epoch)}, nil
}

// RenewLease implements [session.RunnerStore]. The commit is not durable, so that it does not wait
// for a disk or a standby: a late renewal would make the runner appear unreachable.
func (s *Store) RenewLease(ctx context.Context, l session.Lease) error {
	what := "renew the lease of runner " + l.RunnerID
	if s.closed.Load() {
		return fmt.Errorf("postgres: %s: %w", what, sqlstore.ErrClosed)
	}
	calling, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	batch := &pgx.Batch{}
	batch.Queue(asynchronousCommit.Text(sqlstore.Postgres))
	batch.Queue(sqlstore.RenewLease.Text(sqlstore.Postgres), l.RunnerID, int64(l.Epoch), session.LeaseTTL.Microseconds())
	results := s.pool.SendBatch(calling, batch)
	_, err := results.Exec()
	renewed := int64(0)
	if err == nil {
		err = countRows(&renewed)(results)
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	switch {
	case err != nil:
		err = classify(ctx, err)
	case renewed == 0:
		err = session.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("postgres: %s: %w", what, err)
	}
	return nil
}
