package store

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/transfer"
)

// Names of package transfer.
type (
	TransferProgress = transfer.Progress
	TransferResult   = transfer.Result
)

// ErrSameEngine: [Transfer] copies only between the two engines.
var ErrSameEngine = errors.New("one of the two databases must be SQLite and the other PostgreSQL; between two of the same kind, use sayso backup and sayso restore")

// Transfer copies the database at from into the empty database at to, which must use the other
// engine, and compares the two. No server may use either database: see [Exclude]. After an
// interruption, the same call continues. With startOver, it first removes the incomplete copy, but
// never other data.
func Transfer(ctx context.Context, from, to string, startOver bool, report func(TransferProgress)) (result TransferResult, err error) {
	fromPath, fromFile := sqlitePath(from)
	toPath, toFile := sqlitePath(to)
	if fromFile == toFile {
		return result, ErrSameEngine
	}
	openSource := func() (transfer.Database, func() error, error) { return postgres.OpenSource(ctx, from) }
	if fromFile {
		openSource = func() (transfer.Database, func() error, error) { return sqlite.OpenSource(fromPath) }
	}
	openTarget := func() (transfer.Database, func() error, error) { return postgres.OpenTarget(ctx, to) }
	discard := func() error { return postgres.DiscardCopy(ctx, to) }
	if toFile {
		openTarget = func() (transfer.Database, func() error, error) { return sqlite.OpenTarget(ctx, toPath) }
		discard = func() error { return sqlite.DiscardCopy(ctx, toPath) }
	}
	source, closeSource, err := openSource()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	if startOver {
		if err := discard(); err != nil {
			return result, err
		}
	}
	target, closeTarget, err := openTarget()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, closeTarget()) }()
	return transfer.Run(ctx, source, target, report)
}
