package sqlstore

import (
	"iter"
	"strconv"
	"strings"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// Dialect is the SQL of one of the two databases.
type Dialect int

// The dialects.
const (
	SQLite Dialect = iota
	Postgres
)

// Statement is an SQL text that runs in a transaction. Defining a statement registers it, so that a
// test can prepare each one on both databases.
type Statement struct {
	texts     [2]string // by dialect; "" if the dialect does not have the statement
	unmatched error     // returned if no row changes; nil if that is no error
}

// In reports whether a dialect has the statement.
func (s *Statement) In(d Dialect) bool { return s.texts[d] != "" }

// Text returns the statement in a dialect, "" if the dialect does not have it.
func (s *Statement) Text(d Dialect) string {
	if d == SQLite {
		return limitClause.ReplaceAllString(unnumberPlaceholders(s.texts[d]), "LIMIT CAST($1 AS INTEGER)")
	}
	return s.texts[d]
}

// Unmatched returns the error with which the transaction fails if the statement changes no row, nil
// if it does not fail. A statement with such an error returns one row in PostgreSQL, the number of
// changed rows.
func (s *Statement) Unmatched() error { return s.unmatched }

// Query is a statement that only reads.
type Query struct {
	*Statement
	OnAnswerPath bool // runs for every answer and reads only a few rows
	Long         bool // may read many rows, and ends with its context; no answer waits for it
}

var statements []*Statement // all, in the order of their definition

// Statements yields all statements of a dialect, including queries.
func Statements(d Dialect) iter.Seq[*Statement] {
	return func(yield func(*Statement) bool) {
		for _, s := range statements {
			if s.In(d) && !yield(s) {
				return
			}
		}
	}
}

// Define registers a statement of one dialect.
func Define(d Dialect, text string) *Statement {
	s := &Statement{}
	s.texts[d] = text
	statements = append(statements, s)
	return s
}

// define registers a statement of both dialects.
func define(text string) *Statement { return defineBoth(text, text) }

// defineBoth registers a statement that differs by dialect.
func defineBoth(sqlite, postgres string) *Statement {
	s := Define(SQLite, sqlite)
	s.texts[Postgres] = postgres
	return s
}

// Require makes a transaction fail with err if the statement changes no row. PostgreSQL receives
// all statements of a transaction at once, so there the statement itself must fail, with
// [NoRowChanged].
func (s *Statement) Require(err error) *Statement {
	s.unmatched = err
	if text := s.texts[Postgres]; text != "" {
		s.texts[Postgres] = "WITH changed AS (" + text + " RETURNING 1) SELECT n / least(n, 1) FROM (SELECT count(*) AS n FROM changed) AS counted"
	}
	return s
}

// NoRowChanged is PostgreSQL's SQLSTATE for a division by zero. A required statement that changes
// no row computes 0/0.
const NoRowChanged = "22012"

// query registers a query of both dialects.
func query(text string) Query { return queryBoth(text, text) }

// queryBoth registers a query that differs by dialect.
func queryBoth(sqlite, postgres string) Query {
	return Query{Statement: defineBoth(sqlite, postgres)}
}

// onAnswerPath marks a query that every answer runs.
func (q Query) onAnswerPath() Query {
	q.OnAnswerPath = true
	return q
}

// long marks a query that may read many rows and ends with its context. No answer waits for it.
func (q Query) long() Query {
	q.Long = true
	return q
}

var placeholder = lazyregexp.New(`\$\d+`)

// limitClause matches a LIMIT that is a placeholder. SQLite reads the value of such a placeholder when it
// prepares the statement, and so prepares it again for each execution. In an expression it does
// not.
var limitClause = lazyregexp.New(`LIMIT (\?|\$\d+)`)

// unnumberPlaceholders replaces $1, $2, … with ? if each occurs once and in order. The SQLite driver looks up
// numbered placeholders by comparing names, which is slower.
func unnumberPlaceholders(text string) string {
	for i, name := range placeholder.FindAllString(text, -1) {
		if name != "$"+strconv.Itoa(i+1) {
			return text
		}
	}
	return placeholder.ReplaceAllLiteralString(text, "?")
}

// insertInto returns the insertion of a row with the given columns; the arguments are their values in
// the same order.
func insertInto(table, columns string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + placeholders(columns) + ")"
}

// countColumns returns the number of columns in a list.
func countColumns(columns string) int { return strings.Count(columns, ",") + 1 }

// placeholders returns "$1, $2, …" for a list of columns.
func placeholders(columns string) string {
	list := make([]string, countColumns(columns))
	for i := range list {
		list[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(list, ", ")
}

// assignments returns "a = $1, b = $2, …" for a list of columns.
func assignments(columns ...string) string {
	list := make([]string, len(columns))
	for i, name := range columns {
		list[i] = name + " = $" + strconv.Itoa(i+1)
	}
	return strings.Join(list, ", ")
}
