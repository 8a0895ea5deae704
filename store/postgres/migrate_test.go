package postgres_test

import (
	"testing"

	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/storetest"
)

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
