package storetest

import (
	"slices"
	"testing"

	"github.com/sayso-dev/sayso/migrations"
)

// Columns compares the columns of an engine with those that both engines must have. Each is
// "table.column type", with a type of [ColumnType], followed by " null" if it is nullable.
func Columns(t *testing.T, got []string) {
	t.Helper()
	want := migrations.Columns()
	for _, column := range want {
		if !slices.Contains(got, column) {
			t.Errorf("missing: %s", column)
		}
	}
	for _, column := range got {
		if !slices.Contains(want, column) {
			t.Errorf("not in columns.txt: %s", column)
		}
	}
}

// ColumnType maps the column types of both dialects to common names.
var ColumnType = map[string]string{
	"INTEGER": "number", "bigint": "number", "boolean": "number", "REAL": "fraction", "double precision": "fraction",
	"TEXT": "text", "text": "text", "bytea": "text", "BLOB": "text",
}
