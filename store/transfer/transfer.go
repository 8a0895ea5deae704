// Package transfer copies every row of every table of a database into an empty database of the other
// engine. A copy can be interrupted at any moment and continued, because each transaction of the
// target stores some rows together with the key of the last one. At the end, the package reads both
// databases again and compares them.
//
// The columns are those of [migrations.Columns], so a new table needs no change here. The index for
// searches is not copied, because each engine has its own; it is built from the copied transcript.
package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/migrations"
)

// Errors of [Run]. The wrapping error tells people what to do.
var (
	// ErrNotEmpty: the target already has data.
	ErrNotEmpty = errors.New("the database has data already")
	// ErrOtherCopy: the target has an incomplete copy of another source, or one by another version.
	ErrOtherCopy = errors.New("another copy into the database was interrupted")
	// ErrDiffers: the target differs from the source.
	ErrDiffers = errors.New("the copy differs from the source")
)

// Database is one side of a copy.
type Database struct {
	DB      *sql.DB // needs only one connection
	Dialect migrations.Dialect
	Name    string // for people, without a password; must be the same in each call
}

// Step is a stage of a copy.
type Step int

// The steps of a copy, in order.
const (
	Copying Step = iota
	Indexing
	Verifying
)

// Progress is the progress of a copy. It is reported after each transaction.
type Progress struct {
	Step        Step
	Table       string
	Rows, Total int64 // of the table
}

// Result describes a finished copy.
type Result struct {
	Tables  int
	Rows    int64
	Resumed bool // an earlier attempt was interrupted
	Already bool // the copy was already complete
}

// Run copies from into to. No other program may use either database. After an interruption, the same
// call continues. Run does not change from. It calls report between transactions.
func Run(ctx context.Context, from, to Database, report func(Progress)) (Result, error) {
	c := &copying{from: from, to: to, report: report}
	if err := migrations.Check(ctx, from.DB, from.Dialect); err != nil {
		return Result{}, fmt.Errorf("copy %s: %w", from.Name, err)
	}
	err := c.run(ctx)
	if err != nil {
		err = fmt.Errorf("copy: %w", err)
	}
	return c.result, err
}

// copying is a copy in progress.
type copying struct {
	from, to Database
	report   func(Progress)
	tables   []table // in the order of copying
	result   Result
}

func (c *copying) run(ctx context.Context) (err error) {
	if c.tables, err = tablesOf(ctx, c.from); err != nil {
		return fmt.Errorf("%s: %w", c.from.Name, err)
	}
	c.result.Tables = len(c.tables)
	err = c.prepare(ctx)
	if errors.Is(err, ErrNotEmpty) && c.compare(ctx) == nil {
		c.result.Already = true // an earlier process was killed before it could report that
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.to.Name, err)
	}
	for _, t := range c.tables {
		if err := c.copyTable(ctx, t); err != nil {
			return fmt.Errorf("copy %s: %w", t.name, err)
		}
	}
	if err := c.buildIndex(ctx); err != nil {
		return fmt.Errorf("build the index for searches: %w", err)
	}
	if err := c.compare(ctx); err != nil {
		if errors.Is(err, ErrDiffers) {
			err = fmt.Errorf("%w. The source has changed since the copy began; add --start-over to copy it again", err)
		}
		return err
	}
	if err := c.finish(ctx); err != nil {
		return fmt.Errorf("%s: %w", c.to.Name, err)
	}
	return nil
}

// prepare creates the tables of the target, and the one that stores the progress of the copy.
func (c *copying) prepare(ctx context.Context) error {
	interrupted, err := migrations.IsCopying(ctx, c.to.DB, c.to.Dialect)
	if err != nil {
		return err
	}
	if interrupted {
		c.result.Resumed = true
		return c.checkResumed(ctx)
	}
	if err := migrations.Apply(ctx, c.to.DB, c.to.Dialect); err != nil {
		return err
	}
	for _, t := range c.tables {
		var filled bool
		if err := c.to.DB.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.name+")").Scan(&filled); err != nil {
			return err
		}
		if filled {
			return fmt.Errorf("%w, in the table %s; use an empty one. Nothing was changed", ErrNotEmpty, t.name)
		}
	}
	return c.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, migrations.CreateCopyTable); err != nil {
			return err
		}
		return c.store(ctx, tx, "", state{key: c.from.Name})
	})
}

// checkResumed fails with [ErrOtherCopy] unless the interrupted copy has the same source and was made
// by this version.
func (c *copying) checkResumed(ctx context.Context) error {
	source, err := c.load(ctx, "")
	if err != nil {
		return err
	}
	if source.key != c.from.Name {
		return fmt.Errorf("%w: of %s; continue that one, or add --start-over", ErrOtherCopy, source.key)
	}
	all, err := migrations.All(c.to.Dialect)
	if err != nil {
		return err
	}
	rows, err := c.to.DB.QueryContext(ctx, "SELECT checksum FROM migrations ORDER BY number")
	if err != nil {
		return err
	}
	defer rows.Close()
	n, same := 0, true
	for rows.Next() {
		var checksum string
		if err := rows.Scan(&checksum); err != nil {
			return err
		}
		same = same && n < len(all) && all[n].Checksum == checksum
		n++
	}
	if rows.Err() == nil && (!same || n != len(all)) {
		return fmt.Errorf("%w: by another version of sayso; continue with that one, or add --start-over", ErrOtherCopy)
	}
	return rows.Err()
}

// state is the progress of the copy of a table.
type state struct {
	rows int64
	key  string // of the last row, see [table.encodeKey]; for the table "", the name of the source
	done bool
}

// load returns the state of a table, or the zero state if its copy has not begun.
func (c *copying) load(ctx context.Context, table string) (s state, err error) {
	var done int64
	err = c.to.DB.QueryRowContext(ctx, "SELECT rows_copied, last_key, done FROM "+migrations.CopyTable+" WHERE table_name = '"+table+"'").Scan(&s.rows, &s.key, &done)
	s.done = done != 0
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return s, err
}

// store stores the state of a table.
func (c *copying) store(ctx context.Context, tx *sql.Tx, table string, s state) error {
	done := int64(0)
	if s.done {
		done = 1
	}
	p := c.to.placeholders()
	_, err := tx.ExecContext(ctx, "INSERT INTO "+migrations.CopyTable+" (table_name, rows_copied, last_key, done) VALUES ("+
		p(1)+", "+p(2)+", "+p(3)+", "+p(4)+`)
		ON CONFLICT (table_name) DO UPDATE SET rows_copied = excluded.rows_copied, last_key = excluded.last_key, done = excluded.done`,
		table, s.rows, s.key, done)
	return err
}

// write runs do in a transaction of the target.
func (c *copying) write(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := c.to.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		if rollbackErr := tx.Rollback(); rollbackErr != nil && !errors.Is(rollbackErr, sql.ErrTxDone) {
			err = errors.Join(err, rollbackErr)
		}
		return err
	}
	return tx.Commit()
}

// Limits of one transaction. A row, such as a part of an attachment, may be larger than batchBytes.
const (
	batchBytes = 4 << 20
	batchRows  = 2000
)

// copyTable copies the rows of a table that are not copied yet.
func (c *copying) copyTable(ctx context.Context, t table) error {
	done, err := c.load(ctx, t.name)
	if err != nil || done.done {
		return err
	}
	var total int64
	if err := c.from.DB.QueryRowContext(ctx, "SELECT count(*) FROM "+t.name).Scan(&total); err != nil {
		return err
	}
	target, err := columnTypes(ctx, c.to, t)
	if err != nil {
		return err
	}
	after, args, err := t.after(c.from, done.key)
	if err != nil {
		return err
	}
	rows, err := c.from.DB.QueryContext(ctx, "SELECT "+strings.Join(t.columns, ", ")+" FROM "+t.name+after+" ORDER BY "+strings.Join(t.key, ", "), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var batch [][]any
	bytes := 0
	flush := func(last bool) error {
		err := c.write(ctx, func(tx *sql.Tx) error {
			if err := c.to.insert(ctx, tx, t.name, t.columns, nil, batch); err != nil {
				return err
			}
			done.rows += int64(len(batch))
			done.done = last
			return c.store(ctx, tx, t.name, done)
		})
		batch, bytes = batch[:0], 0
		if err == nil {
			c.report(Progress{Copying, t.name, done.rows, total})
		}
		return err
	}
	for rows.Next() {
		row, err := scan(rows, len(t.columns))
		if err != nil {
			return err
		}
		done.key = t.encodeKey(row)
		for i := range row {
			bytes += size(row[i])
			row[i] = convert(row[i], target[i])
		}
		batch = append(batch, row)
		if bytes >= batchBytes || len(batch) >= batchRows {
			if err := flush(false); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return flush(true)
}

// finish makes the target usable by servers.
func (c *copying) finish(ctx context.Context) error {
	if err := c.write(ctx, func(tx *sql.Tx) error {
		if c.to.Dialect == migrations.Postgres {
			if err := continueIdentities(ctx, tx, c.tables); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DROP TABLE "+migrations.CopyTable)
		return err
	}); err != nil {
		return err
	}
	return migrations.Check(ctx, c.to.DB, c.to.Dialect)
}

// continueIdentities makes the numbers that PostgreSQL generates continue after the copied ones.
func continueIdentities(ctx context.Context, tx *sql.Tx, tables []table) error {
	for _, t := range tables {
		for _, column := range t.columns {
			var sequence sql.NullString
			if err := tx.QueryRowContext(ctx, "SELECT pg_get_serial_sequence($1, $2)", t.name, column).Scan(&sequence); err != nil {
				return err
			}
			if !sequence.Valid {
				continue
			}
			if _, err := tx.ExecContext(ctx, "SELECT setval($1::text::regclass, (SELECT coalesce(max("+column+"), 0) + 1 FROM "+t.name+"), false)", sequence.String); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare reads both sides and fails with [ErrDiffers] unless they have the same rows.
func (c *copying) compare(ctx context.Context) error {
	var differ []string
	c.result.Rows = 0
	for _, t := range c.tables {
		var counts [2]int64
		var sums [2]sum
		for i, side := range []Database{c.from, c.to} {
			if err := side.DB.QueryRowContext(ctx, "SELECT count(*) FROM "+t.name).Scan(&counts[i]); err != nil {
				return fmt.Errorf("%s: %w", side.Name, err)
			}
		}
		for i, side := range []Database{c.from, c.to} {
			if counts[0] != counts[1] {
				break
			}
			var err error
			if sums[i], err = sumRows(ctx, side, t); err != nil {
				return fmt.Errorf("%s: %w", side.Name, err)
			}
		}
		if counts[0] != counts[1] || sums[0] != sums[1] {
			differ = append(differ, fmt.Sprintf("%s (%d rows and %d)", t.name, counts[0], counts[1]))
			continue
		}
		c.result.Rows += counts[0]
		c.report(Progress{Verifying, t.name, counts[0], counts[0]})
	}
	if len(differ) > 0 {
		return fmt.Errorf("%w in %s", ErrDiffers, strings.Join(differ, ", "))
	}
	return nil
}

// tablesOf returns the tables of a database, each after all tables to which it refers.
func tablesOf(ctx context.Context, d Database) ([]table, error) {
	var tables []table
	for _, line := range migrations.Columns() {
		name, _, _ := strings.Cut(line, " ")
		owner, column, _ := strings.Cut(name, ".")
		if owner == "migrations" {
			continue // not copied, because each database has its own
		}
		if len(tables) == 0 || tables[len(tables)-1].name != owner {
			tables = append(tables, table{name: owner})
		}
		t := &tables[len(tables)-1]
		t.columns = append(t.columns, column)
	}
	for i := range tables {
		t := &tables[i]
		key, err := keyOf(ctx, d, t.name)
		if err != nil {
			return nil, err
		}
		if t.key = key; len(key) == 0 {
			return nil, fmt.Errorf("the table %s has no key", t.name)
		}
		if t.types, err = columnTypes(ctx, d, *t); err != nil {
			return nil, err
		}
	}
	refers, err := references(ctx, d)
	if err != nil {
		return nil, err
	}
	migrations.SortByReferences(tables, func(t table) string { return t.name }, refers)
	return tables, nil
}

// keyIndex returns the index in columns of each column of the key.
func (t table) keyIndex() []int {
	places := make([]int, len(t.key))
	for i, k := range t.key {
		places[i] = slices.Index(t.columns, k)
	}
	return places
}
