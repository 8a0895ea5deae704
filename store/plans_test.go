package store_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/store/sqlstore"
)

// growing are the tables that grow with use, by their names and their aliases in statements.
var growing = map[string]bool{
	"sessions": true, "s": true, "processes": true, "p": true, "transcript": true, "t": true,
	"transcript_words": true, "w": true, "requests": true, "messages": true, "audit": true, "commands": true,
}

// smallIndexes contain few rows of a growing table: those that run, wait or are behind.
var smallIndexes = []string{"processes_running", "processes_held", "processes_unindexed", "requests_answerable"}

// scansAllowed maps fragments of statements that may read a whole growing table to the reason.
var scansAllowed = map[string]string{
	"UPDATE sessions SET in_project":                    "an admin changed the folders of projects",
	"SELECT json_group_array(session_id) FROM sessions": "an admin changed the folders of projects",
	"WITH placed AS (UPDATE sessions":                   "an admin changed the folders of projects",
	"(s.title_folded,":                                  "a text may be anywhere in a title, and 100,000 titles are read in 25 ms",
	"AND NOT archived":                                  "an admin removed a runner",
	"DELETE FROM runners":                               "once, when a server starts; SQLite looks for sessions only of those that were not seen for a day",
	"UPDATE sessions SET runner_id":                     "once, after the upgrade of a database without runners",
	"SELECT seq, hash FROM audit ORDER BY seq DESC":     "it reads one row from the end",
	"sum(octet_length(body))":                           "an admin opened the page of what is stored, or every hour if sizes are limited; it reads the sizes of rows, not their texts",
	"SELECT pg_snapshot_xmin(":                          "the poll for changes of other servers; every 2 s it reads the transaction numbers of 10,000 rows in 2 ms",
}

// TestNoStatementReadsAGrowingTableWhole checks the plan of each statement in both engines. With
// scans disabled, PostgreSQL scans a table only if it has no usable index.
func TestNoStatementReadsAGrowingTableWhole(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, dsn string, outside *sql.DB) {
		open(t, dsn)
		explain := explainSQLite
		dialect := sqlstore.SQLite
		if strings.HasPrefix(dsn, "postgres") {
			explain, dialect = explainPostgres, sqlstore.Postgres
			for _, setting := range []string{"SET enable_seqscan = off", "SET plan_cache_mode = force_generic_plan"} {
				if _, err := outside.Exec(setting); err != nil {
					t.Fatal(err)
				}
			}
		}
		steps := 0
	statements:
		for statement := range sqlstore.Statements(dialect) {
			text := strings.Join(strings.Fields(statement.Text(dialect)), " ")
			for part := range scansAllowed {
				if strings.Contains(text, part) {
					continue statements
				}
			}
			scanned, n, err := explain(outside, text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			steps += n
			for _, table := range scanned {
				if growing[table] {
					t.Errorf("all of %s is read by: %s", table, text)
				}
			}
		}
		if steps < 100 {
			t.Errorf("the plans have only %d steps", steps)
		}
	})
}

var (
	parameter    = regexp.MustCompile(`\?|\$\d+`)
	sqliteScan   = regexp.MustCompile(`^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?`)
	postgresScan = regexp.MustCompile(`Seq Scan on (\w+)`)
)

// explainSQLite returns the tables that a statement reads completely, and the number of steps in
// its plan.
func explainSQLite(db *sql.DB, text string) (scanned []string, steps int, err error) {
	distinct := map[string]bool{}
	for i, name := range parameter.FindAllString(text, -1) {
		if name == "?" {
			name = fmt.Sprint(i)
		}
		distinct[name] = true
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+text, make([]any, len(distinct))...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			return nil, 0, err
		}
		steps++
		found := sqliteScan.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		small := false
		for _, index := range smallIndexes {
			small = small || found[2] == index
		}
		if !small {
			scanned = append(scanned, found[1])
		}
	}
	return scanned, steps, rows.Err()
}

// explainPostgres is [explainSQLite] for PostgreSQL.
func explainPostgres(db *sql.DB, text string) (scanned []string, steps int, err error) {
	if _, err := db.Exec("PREPARE explained AS " + text); err != nil {
		return nil, 0, err
	}
	defer func() { _, _ = db.Exec("DEALLOCATE explained") }()
	var parameters int
	if err := db.QueryRow("SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'explained'").Scan(&parameters); err != nil {
		return nil, 0, err
	}
	execute := "EXPLAIN EXECUTE explained"
	if parameters > 0 {
		execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", parameters), ", ") + ")"
	}
	rows, err := db.Query(execute)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, 0, err
		}
		steps++
		if found := postgresScan.FindStringSubmatch(line); found != nil {
			scanned = append(scanned, found[1])
		}
	}
	return scanned, steps, rows.Err()
}
