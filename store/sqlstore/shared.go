package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/sayso-dev/sayso/pending"
)

// Shared implements the methods of a store that both databases can run the same
// way: all reads, and the writes whose statements do not depend on what earlier
// ones return. Each engine embeds it.
type Shared struct {
	*Outage // for the engine to note how its calls end
	e       Engine
}

// NewShared returns the shared methods over an engine.
func NewShared(e Engine) Shared { return Shared{NewOutage(), e} }

// Engine is what a database does for [Shared].
type Engine struct {
	Dialect Dialect
	Bind    Bind
	// Query runs one query and calls each for every row. What it returns is one
	// snapshot.
	Query func(ctx context.Context, what string, q Query, each func(Row) error, args ...any) error
	// Apply runs a change. After an error nothing was changed, but for
	// [ErrUnknownOutcome].
	Apply func(ctx context.Context, c Change) error
	// Approve changes the approval of a request, if it is as c expects, and puts that on
	// record. It returns the row as it stands and whether it changed.
	Approve func(ctx context.Context, requestID string, c ApprovalChange) (now pending.Request, changed bool, err error)
}

// ApprovalChange replaces the first of two approvals of a request.
type ApprovalChange struct {
	What  string // for errors
	From  string // user id of whose approval stands, "" for none
	To    pending.Approval
	Audit func(pending.Request) ([]byte, error) // returns the entry for the audit trail
}

// Durability is what a commit survives. PostgreSQL commits everything [Durable].
type Durability int

const (
	// Relaxed: a crash of the server, but not a power cut.
	Relaxed Durability = iota
	// Durable: a power cut.
	Durable
)

// Change is a transaction whose statements do not depend on what earlier ones
// return.
type Change struct {
	What       string // for errors
	Durability Durability
	Steps      []Step
	Duplicate  error  // when a row breaks a rule of uniqueness
	Orphan     error  // when a row refers to one that does not exist
	Audit      []byte // is appended to the audit trail before the steps; nil for none
	// LeavesRequests says that no request changes, so SQLite keeps the one it has in
	// memory.
	LeavesRequests bool
}

// Step is one statement of a [Change]. A step whose statement the dialect does not
// have is skipped: SQLite needs no locks, because it has one writer.
type Step struct {
	Statement *Statement
	Args      []any
	Changed   *int64 // is set to the number of changed rows; nil to ignore it
}

func step(s *Statement, args ...any) Step { return Step{Statement: s, Args: args} }

// Row is the current row of a query, of either driver.
type Row interface{ Scan(dest ...any) error }

// all returns every row of a query, each made a value by read.
func all[T any](ctx context.Context, s Shared, what string, q Query, read func(Row) (T, error), args ...any) (list []T, err error) {
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

// one returns the only row of a query, and the error none when there is no row.
func one[T any](ctx context.Context, s Shared, what string, q Query, none error, read func(Row) (T, error), args ...any) (v T, err error) {
	list, err := all(ctx, s, what, q, read, args...)
	switch {
	case err != nil:
		return v, err
	case len(list) == 0:
		return v, fmt.Errorf("store: %s: %w", what, none)
	}
	return list[0], nil
}

// value reads a row of one column.
func value[T any](row Row) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// counted applies a change of one step and returns how many rows it changed.
func (s Shared) counted(ctx context.Context, c Change) (int, error) {
	var n int64
	c.Steps[0].Changed = &n
	if err := s.e.Apply(ctx, c); err != nil {
		return 0, err
	}
	return int(n), nil
}

// errUnchanged ends a change that has nothing to do, before anything is written.
var errUnchanged = errors.New("nothing to change")

// changes applies a change and reports whether there was something to do.
func (s Shared) changes(ctx context.Context, c Change) (bool, error) {
	err := s.e.Apply(ctx, c)
	if errors.Is(err, errUnchanged) {
		return false, nil
	}
	return err == nil, err
}
