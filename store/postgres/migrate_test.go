package postgres_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/storetest"
)

// TestLongStepsSayHowFarTheyAre lets a step wait for a lock until it has said that it still runs.
func TestLongStepsSayHowFarTheyAre(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	db, err := sql.Open("pgx", dsn)
	must(t, err)
	defer db.Close()
	all, err := migrations.All(migrations.Postgres)
	must(t, err)
	execute := func(statement string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(ctx, statement, args...)
		must(t, err)
	}
	execute(migrations.CreateTable)
	for _, m := range all {
		if m.Name == "unindexed" { // it alters a table
			break
		}
		execute(m.SQL)
		execute("INSERT INTO migrations VALUES ($1, $2, $3, 0)", m.Number, m.Name, m.Checksum)
	}
	lock, err := db.BeginTx(ctx, nil)
	must(t, err)
	_, err = lock.ExecContext(ctx, "LOCK TABLE processes IN ACCESS EXCLUSIVE MODE")
	must(t, err)
	var long []migrations.Progress
	watched := migrations.WithProgress(ctx, time.Millisecond, func(p migrations.Progress) {
		if p.Elapsed == 0 {
			return
		}
		if long = append(long, p); len(long) == 3 {
			if err := lock.Rollback(); err != nil {
				t.Error(err)
			}
		}
	})
	must(t, migrations.Apply(watched, db, migrations.Postgres))
	if p := long[2]; p.Step != 1 || p.Name != "0043_unindexed" || p.Size == 0 || p.Elapsed <= long[0].Elapsed {
		t.Errorf("the long step said %+v", long)
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	open(t, dsn)
	rows, err := outside(t, dsn).Query(ctx, `SELECT table_name || '.' || column_name, data_type::text, is_nullable = 'NO'
		FROM information_schema.columns WHERE table_schema = current_schema() AND table_name <> 'transcript_index'`)
	must(t, err)
	var got []string
	for rows.Next() {
		var column, kind string
		var required bool
		must(t, rows.Scan(&column, &kind, &required))
		column += " " + storetest.ColumnType[kind]
		if !required {
			column += " null"
		}
		got = append(got, column)
	}
	must(t, rows.Err())
	storetest.Columns(t, got)
}
