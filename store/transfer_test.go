package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/memdir"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/transfer"
)

// outsideOf connects to a database without the store.
func outsideOf(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	driver, address := "pgx", dsn
	if !strings.HasPrefix(dsn, "postgres") {
		driver, address = "sqlite", "file:"+dsn+"?_pragma=busy_timeout(20000)&_pragma=foreign_keys(1)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// columnsByTable are the columns of the schema.
func columnsByTable() (tables []string, columns map[string][]string) {
	columns = map[string][]string{}
	for _, line := range migrations.Columns() {
		name, _, _ := strings.Cut(line, " ")
		table, column, _ := strings.Cut(name, ".")
		if table == "migrations" {
			continue
		}
		if columns[table] == nil {
			tables = append(tables, table)
		}
		columns[table] = append(columns[table], column)
	}
	return tables, columns
}

// manyRows is more than one transaction copies.
const manyRows = 2100

// pairs returns the two columns of a query as a map.
func pairs(t *testing.T, db *sql.DB, query string) map[string]string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			t.Fatal(err)
		}
		found[k] = v
	}
	return found
}

// fill stores rows in every table of an SQLite database, with values that are hard to copy. It takes
// from PostgreSQL what each column may hold.
func fill(t *testing.T, file, postgres *sql.DB) {
	t.Helper()
	types := pairs(t, postgres, `SELECT table_name || '.' || column_name, data_type || CASE WHEN is_nullable = 'YES' THEN ' null' ELSE '' END
		FROM information_schema.columns WHERE table_schema = current_schema()`)
	inFile := pairs(t, file, "SELECT m.name || '.' || c.name, c.type FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'")
	tx, err := file.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("PRAGMA defer_foreign_keys = 1"); err != nil { // the tables come in any order
		t.Fatal(err)
	}
	tables, columns := columnsByTable()
	for _, table := range tables {
		count := map[string]int{"audit_base": 1, "transcript": manyRows, "transcript_words": 600}[table]
		if count == 0 {
			count = 3
		}
		for n := 1; n <= count; n++ {
			var values []any
			for i, column := range columns[table] {
				id := fmt.Sprintf("%d é\u2028", n)
				owner := min(n, 3)
				kind, nullable := strings.CutSuffix(types[table+"."+column], " null")
				isOwner := count > 3 && (column == "session_id" || column == "user_id")
				switch {
				case table == "transcript" && column == "body":
					values = append(values, fmt.Sprintf(`{"text":"word%d common"}`, n))
				case nullable && n%3 == 0:
					values = append(values, nil)
				case nullable && n%3 == 1 && inFile[table+"."+column] == "BLOB":
					values = append(values, []byte{})
				case nullable && n%3 == 1 && kind == "bytea":
					values = append(values, "")
				case column == "one":
					values = append(values, 1)
				case column == "seq" && table == "audit_base":
					values = append(values, 0)
				case kind == "boolean":
					values = append(values, n%2)
				case kind == "bigint" && i%2 == 0:
					values = append(values, int64(n)*-1_000_000_007)
				case kind == "bigint":
					values = append(values, int64(n)<<50+int64(n))
				case kind == "double precision":
					values = append(values, float64(n)/3)
				case isOwner:
					values = append(values, fmt.Sprintf("%d é\u2028", owner))
				case table == "transcript" && column == "kind":
					values = append(values, "text")
				case kind == "bytea" && inFile[table+"."+column] == "BLOB":
					values = append(values, []byte(id+"\x00\xff"))
				case kind == "bytea":
					values = append(values, id+"\x00\xff'\\")
				default:
					values = append(values, id)
				}
				if strings.HasSuffix(table+"."+column, ".word_id") || column == "seq" && table != "audit_base" {
					values[len(values)-1] = n
				}
			}
			places := strings.Repeat(", ?", len(values))[2:]
			if _, err := tx.Exec("INSERT INTO "+table+" ("+strings.Join(columns[table], ", ")+") VALUES ("+places+")", values...); err != nil {
				t.Fatalf("%s: %v: %q", table, err, values)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// dump reads all rows, sorted.
func dump(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	tables, columns := columnsByTable()
	for _, table := range tables {
		list := strings.Join(columns[table], ", ")
		rows, err := db.Query("SELECT " + list + " FROM " + table + " ORDER BY " + list)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, to := make([]any, len(columns[table])), make([]any, len(columns[table]))
			for i := range values {
				to[i] = &values[i]
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			all[table] = append(all[table], fmt.Sprintf("%#v", values))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// copyInSteps copies a database, and is interrupted after each transaction.
func copyInSteps(t *testing.T, from, to string) (result store.TransferResult) {
	t.Helper()
	for attempts := 1; ; attempts++ {
		ctx, stop := context.WithCancel(t.Context())
		interrupted := false
		result, err := store.Transfer(ctx, from, to, false, func(p store.TransferProgress) {
			if p.Step != transfer.Verifying {
				interrupted = true
				stop()
			}
		})
		stop()
		if err == nil {
			if attempts < 40 || !result.Resumed {
				t.Errorf("%d attempts, and the last one was %+v", attempts, result)
			}
			return result
		}
		if !interrupted || attempts > 1000 {
			t.Fatalf("attempt %d: %v", attempts, err)
		}
		if err := opens(store.Open, to); err == nil || !strings.Contains(err.Error(), "sayso migrate --from again") {
			t.Fatalf("a server may open half of a database: %v", err)
		}
	}
}

// Every row of every table is copied to PostgreSQL and back, with an interruption after each
// transaction. Both engines find the same in transcripts afterwards, and can be written.
func TestTransferThereAndBack(t *testing.T) {
	t.Parallel()
	from, back := filepath.Join(memdir.New(t), "from.db"), filepath.Join(memdir.New(t), "back.db")
	there := postgrestest.Schema(t)
	if err := errors.Join(opens(store.Open, from), opens(store.Open, there)); err != nil {
		t.Fatal(err)
	}
	file, postgres := outsideOf(t, from), outsideOf(t, there)
	fill(t, file, postgres)
	want := dump(t, file)
	tables, _ := columnsByTable()
	for _, table := range tables {
		if len(want[table]) == 0 {
			t.Fatalf("the test has no row of %s", table)
		}
	}
	result := copyInSteps(t, from, there)
	if result.Tables != len(tables) || result.Rows < manyRows || result.Already {
		t.Errorf("the copy is %+v", result)
	}
	var indexed int
	if err := postgres.QueryRow("SELECT count(*) FROM transcript_index WHERE words @@ 'word7'::tsquery").Scan(&indexed); err != nil || indexed != 1 {
		t.Errorf("%d items are found in PostgreSQL: %v", indexed, err)
	}
	if _, err := postgres.Exec("INSERT INTO transcript_words (session_id, key) SELECT session_id, 'new' FROM sessions LIMIT 1"); err != nil {
		t.Errorf("numbers do not continue after those that were copied: %v", err)
	}
	if _, err := postgres.Exec("DELETE FROM transcript_words WHERE key = 'new'"); err != nil {
		t.Error(err)
	}
	copyInSteps(t, there, back)
	returned := outsideOf(t, back)
	if got := dump(t, returned); !reflect.DeepEqual(got, want) {
		for _, table := range tables {
			if !reflect.DeepEqual(got[table], want[table]) {
				t.Errorf("%s came back with %d rows of %d, the first of which is\n%.2000s\nnot\n%.2000s", table, len(got[table]), len(want[table]), got[table][0], want[table][0])
			}
		}
	}
	if err := returned.QueryRow("SELECT count(*) FROM transcript_index WHERE transcript_index MATCH 'word7'").Scan(&indexed); err != nil || indexed != 1 {
		t.Errorf("%d items are found in SQLite: %v", indexed, err)
	}
	if err := errors.Join(opens(store.Open, there), opens(store.Open, back)); err != nil {
		t.Error(err)
	}
	if result, err := store.Transfer(t.Context(), from, there, false, func(store.TransferProgress) {}); err != nil || !result.Already {
		t.Errorf("the same copy again: %+v, %v", result, err)
	}
	if _, err := file.Exec("UPDATE sessions SET title = title || ' ' WHERE session_id = (SELECT max(session_id) FROM sessions)"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Transfer(t.Context(), from, there, true, func(store.TransferProgress) {}); !errors.Is(err, transfer.ErrNotEmpty) {
		t.Errorf("copied into a database that has data: %v", err)
	}
}

// A source that changes while a copy is interrupted is noticed, and so is another source. Only what an
// interrupted copy left is discarded.
func TestTransferNoticesAnotherSource(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, to string, outside *sql.DB) {
		isFile := !strings.HasPrefix(to, "postgres")
		from, other := postgrestest.Schema(t), postgrestest.Schema(t)
		if !isFile {
			from, other = filepath.Join(memdir.New(t), "from.db"), filepath.Join(memdir.New(t), "other.db")
		}
		if err := errors.Join(opens(store.Open, from), opens(store.Open, other)); err != nil {
			t.Fatal(err)
		}
		source := outsideOf(t, from)
		set := func(name string) {
			t.Helper()
			if _, err := source.Exec("INSERT INTO settings (name, value, changed_by, changed_at) VALUES ('" + name + "', 'v', '', 0)"); err != nil {
				t.Fatal(err)
			}
		}
		set("m")
		none := func(store.TransferProgress) {}
		ctx, stop := context.WithCancel(t.Context())
		if _, err := store.Transfer(ctx, from, to, false, func(p store.TransferProgress) {
			if p.Table == "settings" {
				stop()
			}
		}); err == nil {
			t.Fatal("it was not interrupted")
		}
		if _, err := store.Transfer(t.Context(), other, to, false, none); !errors.Is(err, transfer.ErrOtherCopy) {
			t.Errorf("another source: %v", err)
		}
		set("a")
		if _, err := store.Transfer(t.Context(), from, to, false, none); !errors.Is(err, transfer.ErrDiffers) || !strings.Contains(err.Error(), "settings (2 rows and 1)") || !strings.Contains(err.Error(), "--start-over") {
			t.Errorf("a source that changed: %v", err)
		}
		if _, err := outside.Exec("UPDATE copying SET rows_copied = 0 WHERE table_name = ''"); err != nil {
			t.Fatal(err)
		}
		if isFile {
			if err := outside.Close(); err != nil { // the file is replaced
				t.Fatal(err)
			}
		}
		result, err := store.Transfer(t.Context(), from, to, true, none)
		if err != nil || result.Resumed || result.Rows != 2 {
			t.Errorf("from the start: %+v, %v", result, err)
		}
		if err := opens(store.Open, to); err != nil {
			t.Error(err)
		}
		if isFile {
			if info, err := os.Stat(to + "-wal"); err != nil || info.Size() != 0 {
				t.Errorf("the log is not as a server leaves it: %v", err)
			}
		}
	})
}

// One value that differs is found.
func TestTransferComparesEveryValue(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(memdir.New(t), "from.db"), postgrestest.Schema(t)
	if err := opens(store.Open, from); err != nil {
		t.Fatal(err)
	}
	file, postgres := outsideOf(t, from), outsideOf(t, to)
	if _, err := file.Exec("INSERT INTO users (user_id, name, role, created_at) VALUES ('u', 'Ada', 'admin', 1), ('v', 'Bob', 'admin', 1)"); err != nil {
		t.Fatal(err)
	}
	_, err := store.Transfer(t.Context(), from, to, false, func(p store.TransferProgress) {
		if p.Step == transfer.Indexing {
			if _, err := postgres.Exec("UPDATE users SET disabled = true WHERE user_id = 'v'"); err != nil {
				t.Error(err)
			}
		}
	})
	if !errors.Is(err, transfer.ErrDiffers) || !strings.Contains(err.Error(), "in users (2 rows and 2)") {
		t.Errorf("a value was changed: %v", err)
	}
	if err := opens(store.Open, to); !errors.Is(err, migrations.ErrIncomplete) {
		t.Errorf("a server may open a copy that differs: %v", err)
	}
}

func TestTransferRefuses(t *testing.T) {
	t.Parallel()
	file, empty := filepath.Join(memdir.New(t), "from.db"), filepath.Join(memdir.New(t), "none.db")
	if err := opens(store.Open, file); err != nil {
		t.Fatal(err)
	}
	none := func(store.TransferProgress) {}
	if _, err := store.Transfer(t.Context(), file, empty, false, none); !errors.Is(err, store.ErrSameEngine) {
		t.Errorf("between two files: %v", err)
	}
	if _, err := store.Transfer(t.Context(), postgrestest.Schema(t), empty, false, none); !errors.Is(err, migrations.ErrEmpty) {
		t.Errorf("from an empty database: %v", err)
	}
	if _, err := outsideOf(t, file).Exec("DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Transfer(t.Context(), file, postgrestest.Schema(t), false, none); !errors.Is(err, migrations.ErrOlder) || !strings.Contains(err.Error(), "sayso migrate") {
		t.Errorf("from an older version: %v", err)
	}
}
