package postgres

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/job"
)

// databaseTime is the time by the database's clock, in Unix microseconds.
const databaseTime = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

var (
	// A new term is at least the current time, so that a restored backup never repeats a term.
	holdLease = define(`INSERT INTO job_lease (name, server_id, term, expires_at) VALUES ('jobs', $1, ` + databaseTime + `, ` + databaseTime + ` + $2)
		ON CONFLICT (name) DO UPDATE SET server_id = excluded.server_id, expires_at = excluded.expires_at,
			term = CASE WHEN job_lease.server_id = excluded.server_id AND job_lease.expires_at > ` + databaseTime + `
				THEN job_lease.term ELSE greatest(job_lease.term + 1, excluded.term) END
		WHERE job_lease.server_id = excluded.server_id OR job_lease.expires_at <= ` + databaseTime + `
		RETURNING term`)
	endLease = define("UPDATE job_lease SET expires_at = 0 WHERE server_id = $1")
)

// HoldLease implements [job.Store].
func (s *Store) HoldLease(ctx context.Context, serverID string, ttl time.Duration) (job.Lease, error) {
	var held bool
	var term int64
	err := s.write(ctx, "hold the lease on jobs", step{holdLease, []any{serverID, ttl.Microseconds()}, scanRow(&held, &term)})
	if err != nil || !held {
		return job.Lease{}, err
	}
	return job.Lease{Term: term, For: ttl}, nil
}

// EndLease implements [job.Store].
func (s *Store) EndLease(ctx context.Context, serverID string) error {
	return s.write(ctx, "end the lease on jobs", step{Statement: endLease, args: []any{serverID}})
}
