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
	"regexp"
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
// newer version or another program created it. The wrapping error tells people what
// to do.
var ErrNewer = errors.New("schema is not known to this program")

// Errors of [Check]. [Apply] returns only the last one of them. The wrapping error
// tells people what to do.
var (
	// ErrEmpty: the database has no tables yet.
	ErrEmpty = errors.New("there is nothing in the database yet")
	// ErrOlder: the database lacks steps that this program knows.
	ErrOlder = errors.New("the database is of an older version")
	// ErrIncomplete: a table or column is missing, or a copy into the database was
	// interrupted.
	ErrIncomplete = errors.New("the database is not whole")
)

// Migration is one numbered step.
type Migration struct {
	Number   int
	Name     string
	SQL      string
	Checksum string // SHA-256 of SQL in hexadecimal
}

//go:embed *.sql
var files embed.FS

//go:embed columns.txt
var columns string

// Columns lists the columns that both dialects have once all steps are applied, each
// as "table.column type", where type is number, fraction or text, followed by " null"
// if it may be NULL. It omits the tables that only serve searches.
func Columns() []string { return strings.Split(strings.TrimSpace(columns), "\n") }

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

// CreateTable creates the table of the applied steps.
const CreateTable = `CREATE TABLE migrations (
	number bigint NOT NULL PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at bigint NOT NULL)`

// CopyTable is a table in a database into which another one is being copied. It stores the progress of
// the copy of each table. While it exists, no server can use the database.
const CopyTable = "copying"

// CreateCopyTable creates [CopyTable], in both dialects.
const CreateCopyTable = `CREATE TABLE ` + CopyTable + ` (
	table_name text NOT NULL PRIMARY KEY, rows_copied bigint NOT NULL, last_key text NOT NULL, done bigint NOT NULL)`

// IsCopying reports whether a copy into the database has begun and not ended.
func IsCopying(ctx context.Context, db *sql.DB, d Dialect) (bool, error) {
	known, err := Texts(ctx, db, listTables(d))
	if err != nil {
		return false, fmt.Errorf("migrations: list tables: %w", err)
	}
	return slices.Contains(known, CopyTable), nil
}

// lockKey is the key of the advisory lock that keeps two servers from migrating a
// database concurrently.
const lockKey = 0x736179736f // "sayso"

// Apply brings the database to the newest schema, or changes nothing: all steps and
// their records are one transaction. It fails with [ErrNewer] if the text of an
// applied step differs from this program's. For SQLite, the connections of db must
// begin transactions as immediate ones.
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

	record := `INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)`
	if d == Postgres {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock("+strconv.Itoa(lockKey)+")"); err != nil {
			return fmt.Errorf("migrations: lock: %w", err)
		}
		record = `INSERT INTO migrations (number, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`
	}
	applied, err := appliedIn(ctx, tx, d, all)
	if errors.Is(err, ErrEmpty) {
		_, err = tx.ExecContext(ctx, CreateTable)
		if err != nil {
			return fmt.Errorf("migrations: create the table of versions: %w", err)
		}
	}
	if err != nil {
		return err
	}
	if applied < len(all) {
		if err := missingTable(ctx, tx, d, all[:applied]); err != nil {
			return err
		}
	}
	now := time.Now().UnixMicro()
	report, err := newReporter(ctx, db, tx, d)
	if err != nil {
		return err
	}
	for i, m := range all[applied:] {
		name := fmt.Sprintf("%04d_%s", m.Number, m.Name)
		apply := func() error { _, err := tx.ExecContext(ctx, m.SQL); return err }
		if applied > 0 {
			err = report.during(ctx, Progress{Step: i + 1, Steps: len(all) - applied, Name: name}, apply)
		} else { // a new database
			err = apply()
		}
		if err != nil {
			return fmt.Errorf("migrations: apply %s: %w", name, err)
		}
		if _, err := tx.ExecContext(ctx, record, m.Number, m.Name, m.Checksum, now); err != nil {
			return fmt.Errorf("migrations: record %s: %w", name, err)
		}
	}
	if err := missingColumn(ctx, tx, d); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("migrations: commit: %w", err)
	}
	return nil
}

// ApplyToEmpty is [Apply] for an empty database, and [Check] for any other.
func ApplyToEmpty(ctx context.Context, db *sql.DB, d Dialect) error {
	err := Check(ctx, db, d)
	if errors.Is(err, ErrEmpty) {
		return Apply(ctx, db, d)
	}
	return err
}

// Check returns nil if Apply would have nothing to do, and otherwise [ErrEmpty],
// [ErrOlder], [ErrNewer] or [ErrIncomplete]. It changes nothing.
func Check(ctx context.Context, db *sql.DB, d Dialect) error {
	all, err := All(d)
	if err != nil {
		return err
	}
	applied, err := appliedIn(ctx, db, d, all)
	switch {
	case errors.Is(err, ErrEmpty):
		return fmt.Errorf("%w; sayso serve makes it ready", err)
	case err != nil:
		return err
	case applied < len(all):
		return fmt.Errorf("%w: it is at version %d and this program at %d; sayso serve or sayso migrate brings it up to date", ErrOlder, applied, len(all))
	}
	return missingColumn(ctx, db, d)
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// appliedIn returns the number of steps applied to a database. It fails with [ErrEmpty]
// if the database has no table, with [ErrNewer] if the steps or tables are not those of
// this program, and with [ErrIncomplete] if the table of the steps is missing or a copy
// was interrupted.
func appliedIn(ctx context.Context, q queryer, d Dialect, all []Migration) (int, error) {
	known, err := Texts(ctx, q, listTables(d))
	if err != nil {
		return 0, fmt.Errorf("migrations: list tables: %w", err)
	}
	switch {
	case slices.Contains(known, CopyTable):
		return 0, fmt.Errorf("%w: copying another database into it was interrupted; run sayso migrate --from again", ErrIncomplete)
	case slices.Contains(known, "migrations"):
	case ours(known, all):
		return 0, missing("the table migrations")
	case len(known) > 0:
		return 0, fmt.Errorf("%w: it holds tables of another program (%s); give sayso a database of its own",
			ErrNewer, known[0])
	default:
		return 0, ErrEmpty
	}
	applied, err := Texts(ctx, q, `SELECT checksum FROM migrations ORDER BY number`)
	if err != nil {
		return 0, fmt.Errorf("migrations: read what was applied: %w", err)
	}
	if err := CheckSteps(applied, all); err != nil {
		return 0, err
	}
	return len(applied), nil
}

// listTables returns the query for the tables of a database.
func listTables(d Dialect) string {
	if d == Postgres {
		return `SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	return `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`
}

// SelectReferences selects the tables of a PostgreSQL database that refer to others, and those others.
const SelectReferences = `SELECT c.conrelid::regclass::text, c.confrelid::regclass::text FROM pg_constraint c
	WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace AND c.conrelid <> c.confrelid`

// SortByReferences sorts tables so that each follows those to which it refers and rows can be inserted
// in that order. A table may refer to itself.
func SortByReferences[T any](tables []T, name func(T) string, refers map[string][]string) {
	var depth func(name string, left int) int
	depth = func(name string, left int) (d int) {
		for _, other := range refers[name] {
			if left > 0 { // otherwise tables refer to each other, and inserting fails
				d = max(d, depth(other, left-1)+1)
			}
		}
		return d
	}
	slices.SortStableFunc(tables, func(a, b T) int { return depth(name(a), len(tables)) - depth(name(b), len(tables)) })
}

// ours reports whether known has most tables of the steps. It does not suffice to find
// one, because another program may have a table of the same name.
func ours(known []string, all []Migration) bool {
	tables := tablesOf(all)
	n := 0
	for _, t := range tables {
		if slices.Contains(known, t) {
			n++
		}
	}
	return n > len(tables)/2
}

func missing(what string) error {
	return fmt.Errorf("%w: %s is missing; restore a backup, or start with a new database by --database", ErrIncomplete, what)
}

// created finds the tables that a step creates, and dropped those that it drops or
// renames.
var (
	created = regexp.MustCompile(`(?im)^\s*CREATE\s+(?:VIRTUAL\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)`)
	dropped = regexp.MustCompile(`(?im)^\s*(?:DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?"?(\w+)|ALTER\s+TABLE\s+"?(\w+)"?\s+RENAME\s+TO\s+"?(\w+))`)
)

// Tables returns the tables that exist after steps, including the one that records the steps.
func Tables(steps []Migration) []string { return append([]string{"migrations"}, tablesOf(steps)...) }

// CheckSteps fails with [ErrNewer] unless the checksums of the applied steps are those of the first
// steps of this program.
func CheckSteps(applied []string, all []Migration) error {
	if len(applied) > len(all) {
		return fmt.Errorf("%w: it is at version %d and this program knows %d; start the newer sayso, or restore a backup from before the upgrade",
			ErrNewer, len(applied), len(all))
	}
	for i, checksum := range applied {
		if checksum != all[i].Checksum {
			return fmt.Errorf("%w: its step %d is not %04d_%s of this program; start the sayso that made it, or restore a backup",
				ErrNewer, i+1, all[i].Number, all[i].Name)
		}
	}
	return nil
}

// tablesOf returns the tables that exist after steps.
func tablesOf(steps []Migration) []string {
	var tables []string
	for _, m := range steps {
		for _, line := range strings.SplitAfter(m.SQL, "\n") {
			if found := created.FindStringSubmatch(line); found != nil {
				tables = append(tables, strings.ToLower(found[1]))
			}
			if found := dropped.FindStringSubmatch(line); found != nil {
				gone := strings.ToLower(found[1] + found[2])
				tables = slices.DeleteFunc(tables, func(t string) bool { return t == gone })
				if found[3] != "" {
					tables = append(tables, strings.ToLower(found[3]))
				}
			}
		}
	}
	return tables
}

// missingTable fails with [ErrIncomplete] if a table that the steps create is missing.
func missingTable(ctx context.Context, q queryer, d Dialect, steps []Migration) error {
	query := `SELECT lower(name) FROM sqlite_master WHERE type = 'table'`
	if d == Postgres {
		query = `SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	found, err := Texts(ctx, q, query)
	if err != nil {
		return fmt.Errorf("migrations: list tables: %w", err)
	}
	for _, table := range tablesOf(steps) {
		if !slices.Contains(found, table) {
			return missing("the table " + table)
		}
	}
	return nil
}

// searchTable serves searches. [Columns] omits it, because its columns differ by dialect.
const searchTable = "transcript_index"

// missingColumn fails with [ErrIncomplete] if a table or a column of the newest schema is
// missing.
func missingColumn(ctx context.Context, q queryer, d Dialect) error {
	query := `SELECT lower(t.name), lower(t.name || '.' || c.name) FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'`
	if d == Postgres {
		query = `SELECT table_name::text, table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = current_schema()`
	}
	found := map[string]bool{}
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("migrations: list columns: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, name string
		if err := rows.Scan(&table, &name); err != nil {
			return fmt.Errorf("migrations: list columns: %w", err)
		}
		found[table], found[name] = true, true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("migrations: list columns: %w", err)
	}
	if !found[searchTable] {
		return missing("the table " + searchTable)
	}
	for _, line := range Columns() {
		name, _, _ := strings.Cut(line, " ")
		table, field, _ := strings.Cut(name, ".")
		switch {
		case !found[table]:
			return missing("the table " + table)
		case !found[name]:
			return missing("the column " + field + " of the table " + table)
		}
	}
	return nil
}

// rollback rolls back a failed transaction. It is not an error if the transaction has
// already ended.
func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("migrations: roll back: %w", err)
	}
	return nil
}

// Texts returns all values of a query with a single text column.
func Texts(ctx context.Context, q queryer, query string, args ...any) (values []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
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
