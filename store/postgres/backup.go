package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/migrations"
)

// Names of the files of a backup.
const (
	backupTables = "database/tables.json"
	backupRows   = "database/rows/" // followed by TABLE.NUMBER; the parts of a table form one COPY
)

// backupPart is the size of a part of a table, in bytes. One part is buffered in memory.
const backupPart = 4 << 20

// backupList lists the contents of a backup.
type backupList struct {
	Steps  []string      `json:"steps"` // checksums of the migrations
	Tables []backupTable `json:"tables"`
}

// backupTable is a table. The list has it after all tables to which it refers.
type backupTable struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"` // without generated ones
}

// Backup passes the tables of a database to add, as files in the format of COPY. It reads one
// snapshot and blocks no write. Servers may be using the database, and its schema may be that of an
// earlier version.
func Backup(ctx context.Context, dsn string, add func(name string, size int64, content io.Reader) error) (err error) {
	conn, err := connectForBackup(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if err := backUp(ctx, conn, add); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}

func backUp(ctx context.Context, conn *pgx.Conn, add func(name string, size int64, content io.Reader) error) error {
	tx, err := begin(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // the transaction only reads
	list, err := listTables(ctx, tx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := add(backupTables, int64(len(text)), bytes.NewReader(text)); err != nil {
		return err
	}
	for _, t := range list.Tables {
		parts := &partWriter{name: backupRows + t.Name, add: add}
		if _, err := conn.PgConn().CopyTo(ctx, parts, "COPY "+t.sql()+" TO STDOUT"); err != nil {
			return errors.Join(err, parts.err)
		}
		if err := parts.flush(); err != nil {
			return err
		}
	}
	return nil
}

// sql returns the table with its columns, for COPY.
func (t backupTable) sql() string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = pgx.Identifier{c}.Sanitize()
	}
	return pgx.Identifier{t.Name}.Sanitize() + " (" + strings.Join(columns, ", ") + ")"
}

// listTables reads the version and the tables of a database.
func listTables(ctx context.Context, tx pgx.Tx) (list backupList, err error) {
	rows, err := tx.Query(ctx, "SELECT checksum FROM migrations ORDER BY number")
	if err != nil {
		return list, err
	}
	if list.Steps, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return list, err
	}
	all, err := migrations.All(migrations.Postgres)
	if err != nil {
		return list, err
	}
	if err := migrations.CheckSteps(list.Steps, all); err != nil {
		return list, err
	}
	for _, name := range migrations.Tables(all[:len(list.Steps)]) {
		rows, err := tx.Query(ctx, `SELECT column_name::text FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER' ORDER BY ordinal_position`, name)
		if err != nil {
			return list, err
		}
		columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return list, err
		}
		list.Tables = append(list.Tables, backupTable{name, columns})
	}
	return list, sortByReferences(ctx, tx, list.Tables)
}

// sortByReferences sorts tables so that each follows those to which it refers. A table may refer to
// itself.
func sortByReferences(ctx context.Context, tx pgx.Tx, tables []backupTable) error {
	rows, err := tx.Query(ctx, migrations.SelectReferences)
	if err != nil {
		return err
	}
	refers := map[string][]string{}
	var from, to string
	if _, err := pgx.ForEachRow(rows, []any{&from, &to}, func() error {
		refers[from] = append(refers[from], to)
		return nil
	}); err != nil {
		return err
	}
	migrations.SortByReferences(tables, func(t backupTable) string { return t.Name }, refers)
	return nil
}

// partWriter passes the data written to it to add, in parts of [backupPart] bytes.
type partWriter struct {
	name   string
	add    func(name string, size int64, content io.Reader) error
	buffer bytes.Buffer
	number int
	err    error
}

// Write implements [io.Writer].
func (w *partWriter) Write(p []byte) (int, error) {
	w.buffer.Write(p)
	if w.buffer.Len() >= backupPart {
		if w.err = w.flush(); w.err != nil {
			return 0, w.err
		}
	}
	return len(p), nil
}

// flush passes the buffered part to add. Each table has at least one part, which may be empty.
func (w *partWriter) flush() error {
	if w.buffer.Len() == 0 && w.number > 0 {
		return nil
	}
	w.number++
	err := w.add(fmt.Sprintf("%s.%06d", w.name, w.number), int64(w.buffer.Len()), &w.buffer)
	w.buffer.Reset()
	return err
}

// connectForBackup opens a connection. Use [begin] for long transactions.
func connectForBackup(ctx context.Context, dsn string) (*pgx.Conn, error) {
	config, err := parseConfig(dsn)
	if err != nil {
		return nil, err
	}
	conn, _, err := connect(ctx, config.ConnConfig, nil)
	if err != nil {
		return nil, fmt.Errorf("database %s at %s: cannot connect: %w", config.ConnConfig.Database, config.ConnConfig.Host, classifyRead(ctx, err))
	}
	return conn, nil
}

// begin starts a transaction without timeouts.
func begin(ctx context.Context, conn *pgx.Conn, options pgx.TxOptions) (pgx.Tx, error) {
	tx, err := conn.BeginTx(ctx, options)
	if err == nil {
		_, err = tx.Exec(ctx, "SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)")
	}
	return tx, err
}

// IsEmpty reports whether a database has no tables of sayso.
func IsEmpty(ctx context.Context, dsn string) (empty bool, err error) {
	conn, err := connectForBackup(ctx, dsn)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if err := conn.QueryRow(ctx, `SELECT count(*) = 0 FROM information_schema.tables WHERE table_schema = current_schema()`).Scan(&empty); err != nil {
		return false, fmt.Errorf("database: %w", classifyRead(ctx, err))
	}
	return empty, nil
}

// Restorer replaces the tables of a database, in one transaction. The caller must keep servers from
// using the database.
type Restorer struct {
	conn *pgx.Conn
	tx   pgx.Tx
	list backupList
}

// NewRestorer connects to a database.
func NewRestorer(ctx context.Context, dsn string) (*Restorer, error) {
	conn, err := connectForBackup(ctx, dsn)
	if err != nil {
		return nil, err
	}
	tx, err := begin(ctx, conn, pgx.TxOptions{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("restore: %w", err), conn.Close(ctx))
	}
	return &Restorer{conn: conn, tx: tx}, nil
}

// Put takes a file of the backup, in the order in which Backup passed them.
func (r *Restorer) Put(ctx context.Context, name string, content io.Reader) error {
	if err := r.put(ctx, name, content); err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	return nil
}

func (r *Restorer) put(ctx context.Context, name string, content io.Reader) error {
	if name == backupTables {
		if err := json.NewDecoder(content).Decode(&r.list); err != nil {
			return err
		}
		return r.createTables(ctx)
	}
	table, isRows := strings.CutPrefix(name, backupRows)
	table, _, _ = strings.Cut(table, ".")
	at := slices.IndexFunc(r.list.Tables, func(t backupTable) bool { return t.Name == table })
	if !isRows || at < 0 {
		return errors.New("the backup is not of a PostgreSQL database")
	}
	_, err := r.conn.PgConn().CopyFrom(ctx, content, "COPY "+r.list.Tables[at].sql()+" FROM STDIN")
	return err
}

// createdFunction finds the functions that a migration creates.
var createdFunction = regexp.MustCompile(`(?im)^\s*CREATE\s+(?:OR\s+REPLACE\s+)?FUNCTION\s+"?(\w+)`)

// dropAll returns the statements that remove everything that the steps and an interrupted copy have
// created.
func dropAll(steps []migrations.Migration) string {
	var sql strings.Builder
	for _, name := range append(migrations.Tables(steps), migrations.CopyTable) {
		sql.WriteString("DROP TABLE IF EXISTS " + pgx.Identifier{name}.Sanitize() + " CASCADE;\n")
	}
	for _, m := range steps {
		for _, found := range createdFunction.FindAllStringSubmatch(m.SQL, -1) {
			sql.WriteString("DROP FUNCTION IF EXISTS " + pgx.Identifier{found[1]}.Sanitize() + " CASCADE;\n")
		}
	}
	return sql.String()
}

// createTables replaces all tables of sayso with empty ones.
func (r *Restorer) createTables(ctx context.Context) error {
	all, err := migrations.All(migrations.Postgres)
	if err != nil {
		return err
	}
	if err := migrations.CheckSteps(r.list.Steps, all); err != nil {
		return err
	}
	steps := all[:len(r.list.Steps)]
	known := migrations.Tables(steps)
	for _, t := range r.list.Tables {
		if !slices.Contains(known, t.Name) {
			return fmt.Errorf("the table %s is not one of sayso", t.Name)
		}
	}
	var sql strings.Builder
	sql.WriteString(dropAll(all)) // of all steps, because the database may be newer than the backup
	sql.WriteString(migrations.CreateTable + ";\n")
	for _, m := range steps {
		sql.WriteString(m.SQL + ";\n")
	}
	// The backup also contains the rows that the steps have inserted.
	for _, t := range slices.Backward(r.list.Tables) {
		name := pgx.Identifier{t.Name}.Sanitize()
		sql.WriteString("ALTER TABLE " + name + " DISABLE TRIGGER USER; DELETE FROM " + name + ";\n")
	}
	_, err = r.conn.PgConn().Exec(ctx, sql.String()).ReadAll()
	return err
}

// Check prepares the restored database for its first server. Identities continue after the highest
// value. Any machine may drive the runners, because a restore is a permanent move. The epochs stay.
func (r *Restorer) Check(ctx context.Context) error {
	if len(r.list.Tables) == 0 {
		return errors.New("restore: the backup has no database")
	}
	for _, t := range r.list.Tables {
		name := pgx.Identifier{t.Name}.Sanitize()
		if _, err := r.tx.Exec(ctx, "ALTER TABLE "+name+" ENABLE TRIGGER USER"); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		for _, c := range t.Columns {
			var sequence *string
			if err := r.tx.QueryRow(ctx, "SELECT pg_get_serial_sequence($1, $2)", name, c).Scan(&sequence); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
			if sequence == nil {
				continue
			}
			if _, err := r.tx.Exec(ctx, fmt.Sprintf("SELECT setval($1::text::regclass, (SELECT coalesce(max(%s), 0) + 1 FROM %s), false)",
				pgx.Identifier{c}.Sanitize(), name), *sequence); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
		}
		if t.Name == "runners" {
			if _, err := r.tx.Exec(ctx, "UPDATE runners SET machine = '', lease_server = '', lease_expires_at = 0"); err != nil {
				return fmt.Errorf("restore: %w", err)
			}
		}
	}
	return nil
}

// Commit replaces the tables of the database with the restored ones.
func (r *Restorer) Commit(ctx context.Context) error {
	if err := r.tx.Commit(ctx); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// Close discards everything that was not committed.
func (r *Restorer) Close() error {
	if err := r.conn.Close(context.Background()); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}
