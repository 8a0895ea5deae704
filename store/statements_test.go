package store_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// TestStatements prepares every statement of both engines against a migrated database: the tables
// and columns exist and the types fit.
func TestStatements(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, dsn string, outside *sql.DB) {
		open(t, dsn)
		dialect := sqlstore.SQLite
		if strings.HasPrefix(dsn, "postgres") {
			dialect = sqlstore.Postgres
		}
		n := 0
		for statement := range sqlstore.Statements(dialect) {
			n++
			prepared, err := outside.Prepare(statement.Text(dialect))
			if err != nil {
				t.Errorf("%v:\n%s", err, statement.Text(dialect))
				continue
			}
			if err := prepared.Close(); err != nil {
				t.Error(err)
			}
		}
		if n < 100 {
			t.Errorf("only %d statements", n)
		}
	})
}
