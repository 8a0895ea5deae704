package storetest

import (
	"slices"
	"testing"

	"github.com/sayso-dev/sayso/migrations"
)

// Columns compares the columns of an engine with those that both engines have.
// Each is "table.column type" with the type in words of [ColumnType], and
// " null" where it may be NULL.
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

// ColumnType maps the types of both dialects to what they hold.
var ColumnType = map[string]string{
	"INTEGER": "number", "bigint": "number", "boolean": "number", "REAL": "fraction", "double precision": "fraction",
	"TEXT": "text", "text": "text", "bytea": "text", "BLOB": "text",
}
