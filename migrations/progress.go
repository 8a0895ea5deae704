package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Progress is the progress of [Apply] with a database of an older version.
type Progress struct {
	Step, Steps int // number of the running step, from 1, and number of steps to apply
	Name        string
	// Elapsed is how long the step has run; 0 when it begins.
	Elapsed time.Duration
	// Written is the number of bytes that the step has written to the log of the database. A step
	// that rewrites everything writes about Size, the size of the database when the step began.
	Written, Size int64
}

// progressKey is the context key of [WithProgress].
type progressKey struct{}

// progress is the context value of [WithProgress].
type progress struct {
	every  time.Duration
	report func(Progress)
}

// WithProgress returns a context with which [Apply] calls report before each step that it applies to
// a database of an older version, and then at the given interval while the step runs. Calls do not
// overlap, and a running call delays the end of its step.
func WithProgress(ctx context.Context, every time.Duration, report func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, progress{every, report})
}

// reporter reports the progress of steps.
type reporter struct {
	progress
	// measure returns the size of the database, and the number of bytes ever written to its log. before
	// does so in the transaction, which may hold the only connection.
	before, measure func(context.Context) (size, log int64, err error)
}

// measureTimeout bounds a measurement that waits for a connection.
const measureTimeout = time.Second

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// newReporter returns the reporter of a context, for steps in tx.
func newReporter(ctx context.Context, db *sql.DB, tx *sql.Tx, d Dialect) (reporter, error) {
	p, _ := ctx.Value(progressKey{}).(progress)
	r := reporter{progress: p}
	if p.report == nil {
		return r, nil
	}
	if d == Postgres {
		measure := func(ctx context.Context, in querier) (size, log int64, err error) {
			err = in.QueryRowContext(ctx, `SELECT pg_database_size(current_database()), pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`).Scan(&size, &log)
			return size, log, err
		}
		r.before = func(ctx context.Context) (size, log int64, err error) { return measure(ctx, tx) }
		r.measure = func(ctx context.Context) (size, log int64, err error) {
			ctx, cancel := context.WithTimeout(ctx, measureTimeout)
			defer cancel()
			return measure(ctx, db)
		}
		return r, nil
	}
	files, err := Texts(ctx, tx, `SELECT file FROM pragma_database_list WHERE name = 'main'`)
	if err == nil && len(files) != 1 {
		err = errors.New("there is none")
	}
	if err != nil {
		return r, fmt.Errorf("migrations: find the file of the database: %w", err)
	}
	// The step occupies the only connection, so measure the files.
	r.measure = func(context.Context) (size, log int64, err error) {
		for end, n := range map[string]*int64{"": &size, "-wal": &log} {
			info, err := os.Stat(files[0] + end)
			if err != nil {
				return 0, 0, err
			}
			*n = info.Size()
		}
		return size, log, nil
	}
	r.before = r.measure
	return r, nil
}

// during runs a step and reports its progress.
func (r reporter) during(ctx context.Context, p Progress, step func() error) error {
	if r.report == nil {
		return step()
	}
	start := time.Now()
	size, before, unknown := r.before(ctx)
	p.Size = size
	r.report(p)
	ctx, cancel := context.WithCancel(ctx)
	var reporting sync.WaitGroup
	defer func() { cancel(); reporting.Wait() }()
	reporting.Go(func() {
		tick := time.NewTicker(r.every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			p.Elapsed = time.Since(start)
			if _, log, err := r.measure(ctx); err == nil && unknown == nil {
				p.Written = max(p.Written, log-before)
			}
			if ctx.Err() == nil {
				r.report(p)
			}
		}
	})
	return step()
}
