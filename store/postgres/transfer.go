package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/store/transfer"
)

// OpenSource connects to a database to copy it to another one. It changes nothing. No server may use
// the database.
func OpenSource(ctx context.Context, dsn string) (transfer.Database, func() error, error) {
	return openForTransfer(ctx, dsn, map[string]string{"default_transaction_read_only": "on"})
}

// OpenTarget connects to a database to copy another one into it. No server may use the database.
func OpenTarget(ctx context.Context, dsn string) (transfer.Database, func() error, error) {
	return openForTransfer(ctx, dsn, map[string]string{"synchronous_commit": "on"})
}

// openForTransfer connects with settings and without timeouts. Shared connections keep their own
// settings and timeouts.
func openForTransfer(ctx context.Context, dsn string, settings map[string]string) (d transfer.Database, closeAll func() error, err error) {
	config, err := parseConfig(dsn)
	if err != nil {
		return d, nil, err
	}
	settings["statement_timeout"], settings["idle_in_transaction_session_timeout"] = "0", "0"
	name := fmt.Sprintf("database %s at %s", config.ConnConfig.Database, config.ConnConfig.Host)
	asItIs := func(context.Context, *sql.DB, migrations.Dialect) error { return nil }
	pool, err := openPool(ctx, dsn, settings, asItIs)
	if err != nil {
		return d, nil, err
	}
	var schema string
	if err := pool.QueryRow(ctx, "SELECT current_schema()::text").Scan(&schema); err != nil {
		pool.Close()
		return d, nil, fmt.Errorf("%s: %w", name, classifyRead(ctx, err))
	}
	if schema != "public" {
		name = "schema " + schema + " of the " + name
	}
	db := stdlib.OpenDBFromPool(pool)
	return transfer.Database{DB: db, Dialect: migrations.Postgres, Name: name}, func() error {
		defer pool.Close()
		return db.Close()
	}, nil
}

// DiscardCopy removes all tables of a database if a copy into it was interrupted.
func DiscardCopy(ctx context.Context, dsn string) (err error) {
	d, closeAll, err := OpenTarget(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	copying, err := migrations.IsCopying(ctx, d.DB, d.Dialect)
	if err != nil || !copying {
		return err
	}
	all, err := migrations.All(d.Dialect)
	if err != nil {
		return err
	}
	conn, err := connectForBackup(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	_, err = conn.PgConn().Exec(ctx, "SELECT set_config('statement_timeout', '0', true);\n"+dropAll(all)).ReadAll() // one transaction
	return err
}
