package sqlite

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/job"
)

// onlyServer is the lease on jobs. A file has only one server, which leads as long as it runs.
var onlyServer = job.Lease{Term: 1, For: 100 * 365 * 24 * time.Hour}

// HoldLease implements [job.Store].
func (s *Store) HoldLease(context.Context, string, time.Duration) (job.Lease, error) {
	return onlyServer, nil
}

// EndLease implements [job.Store].
func (s *Store) EndLease(context.Context, string) error { return nil }
