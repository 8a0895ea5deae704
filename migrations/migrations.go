// Package migrations holds the schema of the store as numbered pairs of SQL
// files, one for each dialect, and applies them forward.
package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dialect is the SQL of one engine.
type Dialect string

const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// ErrNewer: the database has a schema that this program does not know, because a
// newer program, or another one, made it. The error around it says what to do.
var ErrNewer = errors.New("schema is not known to this program")

// Migration is one numbered step.
type Migration struct {
	Number   int
	Name     string
	SQL      string
	Checksum string // SHA-256 of SQL in hexadecimal
}

//go:embed *.sql
var files embed.FS

// All returns the migrations of a dialect by number. Numbers grow and may leave
// gaps.
func All(d Dialect) ([]Migration, error) {
	names, err := fs.Glob(files, "*."+string(d)+".sql")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("migrations: no dialect %q", d)
	}
	slices.Sort(names)
	all := make([]Migration, len(names))
	last := 0
	for i, file := range names {
		text, err := files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		digits, name, _ := strings.Cut(strings.TrimSuffix(file, "."+string(d)+".sql"), "_")
		number, err := strconv.Atoi(digits)
		if err != nil || number <= last || name == "" {
			return nil, fmt.Errorf("migrations: %s should have a name and a number above %d", file, last)
		}
		last = number
		sum := sha256.Sum256(text)
		all[i] = Migration{Number: number, Name: name, SQL: string(text), Checksum: hex.EncodeToString(sum[:])}
	}
	return all, nil
}

// lockKey keeps two servers that start at once from migrating at once.
const lockKey = 0x736179736f // "sayso"

// Apply brings the database to the newest schema, or changes nothing: all steps
// and their records are one transaction. Steps applied before must be the same
// text as now, else [ErrNewer]. For SQLite the connections of db must begin
// transactions as immediate ones.
func Apply(ctx context.Context, db *sql.DB, d Dialect) (err error) {
	all, err := All(d)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("migrations: begin: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rollback(tx))
		}
	}()

	tables := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`
	record := `INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)`
	if d == Postgres {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock("+strconv.Itoa(lockKey)+")"); err != nil {
			return fmt.Errorf("migrations: lock: %w", err)
		}
		tables = `SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()`
		record = `INSERT INTO migrations (number, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`
	}

	known, err := column(ctx, tx, tables)
	if err != nil {
		return fmt.Errorf("migrations: list tables: %w", err)
	}
	var applied []string
	switch {
	case slices.Contains(known, "migrations"):
		if applied, err = column(ctx, tx, `SELECT checksum FROM migrations ORDER BY number`); err != nil {
			return fmt.Errorf("migrations: read what was applied: %w", err)
		}
	case len(known) > 0:
		return fmt.Errorf("migrations: %w: it holds tables of another program (%s); give sayso a database of its own",
			ErrNewer, known[0])
	default:
		if _, err := tx.ExecContext(ctx, `CREATE TABLE migrations (
			number bigint NOT NULL PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at bigint NOT NULL)`); err != nil {
			return fmt.Errorf("migrations: create the table of versions: %w", err)
		}
	}

	if len(applied) > len(all) {
		return fmt.Errorf("migrations: %w: it is at version %d and this program knows %d; start the newer sayso, or restore a backup from before the upgrade",
			ErrNewer, len(applied), len(all))
	}
	for i, checksum := range applied {
		if checksum != all[i].Checksum {
			return fmt.Errorf("migrations: %w: its step %d is not %04d_%s of this program; start the sayso that made it, or restore a backup",
				ErrNewer, i+1, all[i].Number, all[i].Name)
		}
	}
	now := time.Now().UnixMicro()
	for _, m := range all[len(applied):] {
		if _, err := tx.ExecContext(ctx, m.SQL); err != nil {
			return fmt.Errorf("migrations: apply %04d_%s: %w", m.Number, m.Name, err)
		}
		if _, err := tx.ExecContext(ctx, record, m.Number, m.Name, m.Checksum, now); err != nil {
			return fmt.Errorf("migrations: record %04d_%s: %w", m.Number, m.Name, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("migrations: commit: %w", err)
	}
	return nil
}

// rollback ends a transaction that failed; one that is gone already is no error.
func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("migrations: roll back: %w", err)
	}
	return nil
}

// column reads the one text column of a query.
func column(ctx context.Context, tx *sql.Tx, query string) (values []string, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}
