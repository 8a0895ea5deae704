package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/sayso-dev/sayso/pending"
)

// Shared implements the store methods that both databases run in the same way: all reads, and the
// writes whose statements do not depend on the results of earlier ones. Each engine embeds it.
type Shared struct {
	*Outage // the engine records the results of its calls here
	e       Engine
}

// NewShared returns the shared methods of an engine.
func NewShared(e Engine) Shared { return Shared{NewOutage(), e} }

// WithEngine returns the same methods on another view of the same database.
func (s Shared) WithEngine(e Engine) Shared { return Shared{s.Outage, e} }

// Engine contains the functions of a database that [Shared] needs.
type Engine struct {
	Dialect Dialect
	Bind    Bind
	// Query runs a query and calls each for every row. All rows come from one snapshot.
	Query func(ctx context.Context, what string, q Query, each func(Row) error, args ...any) error
	// Apply runs a change. If it fails, nothing was changed, unless the error is
	// [ErrUnknownOutcome].
	Apply func(ctx context.Context, c Change) error
	// Approve changes the approval of a request, if the current one is as c expects, and appends an
	// audit entry. It returns the current row and whether it changed.
	Approve func(ctx context.Context, requestID string, c ApprovalChange) (now pending.Request, changed bool, err error)
}

// ApprovalChange replaces the first of two approvals of a request.
type ApprovalChange struct {
	What  string // for errors
	From  string // user id of the current approval, "" for none
	To    pending.Approval
	Audit func(pending.Request) ([]byte, error) // returns the audit entry
}

// Durability says what a commit survives. PostgreSQL commits everything as [Durable].
type Durability int

const (
	// Relaxed commits survive a crash of the server, but not a power cut.
	Relaxed Durability = iota
	// Durable commits survive a power cut.
	Durable
)

// Change is a transaction whose statements do not depend on the results of earlier ones.
type Change struct {
	What       string // for errors
	Durability Durability
	Steps      []Step
	Duplicate  error  // returned if a row violates a unique constraint
	Orphan     error  // returned if a row violates a foreign key
	Audit      []byte // appended to the audit log before the steps; nil for none
	// LeavesRequests means that no request changes, so SQLite need not drop its cached request.
	LeavesRequests bool
}

// Step is one statement of a [Change]. It is skipped if the dialect does not have the statement:
// SQLite needs no locks, because it has only one writer.
type Step struct {
	Statement *Statement
	Args      []any
	Changed   *int64 // if not nil, receives the number of changed rows
}

func step(s *Statement, args ...any) Step { return Step{Statement: s, Args: args} }

// Row is the current row of a query, of either driver.
type Row interface{ Scan(dest ...any) error }

// queryAll returns all rows of a query, converted by read.
func queryAll[T any](ctx context.Context, s Shared, what string, q Query, read func(Row) (T, error), args ...any) (list []T, err error) {
	err = s.e.Query(ctx, what, q, func(row Row) error {
		v, err := read(row)
		list = append(list, v)
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// queryOne returns the only row of a query, converted by read, or the error none if there is no row.
func queryOne[T any](ctx context.Context, s Shared, what string, q Query, none error, read func(Row) (T, error), args ...any) (v T, err error) {
	list, err := queryAll(ctx, s, what, q, read, args...)
	switch {
	case err != nil:
		return v, err
	case len(list) == 0:
		return v, fmt.Errorf("store: %s: %w", what, none)
	}
	return list[0], nil
}

// scanValue reads a row of one column.
func scanValue[T any](row Row) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// applyAndCount applies a change of one step and returns the number of rows that it changed.
func (s Shared) applyAndCount(ctx context.Context, c Change) (int, error) {
	var n int64
	c.Steps[0].Changed = &n
	if err := s.e.Apply(ctx, c); err != nil {
		return 0, err
	}
	return int(n), nil
}

// errUnchanged rolls back a change that has nothing to do.
var errUnchanged = errors.New("nothing to change")

// applyIfNeeded applies a change and reports whether it changed anything.
func (s Shared) applyIfNeeded(ctx context.Context, c Change) (bool, error) {
	err := s.e.Apply(ctx, c)
	if errors.Is(err, errUnchanged) {
		return false, nil
	}
	return err == nil, err
}
