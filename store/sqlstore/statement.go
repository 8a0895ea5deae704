package sqlstore

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Dialect is the SQL of one of the two databases.
type Dialect int

// The dialects.
const (
	SQLite Dialect = iota
	Postgres
)

// Statement is an SQL text that runs in a transaction. Every statement is listed
// when it is defined, so that a test prepares each one on both databases.
type Statement struct {
	texts     [2]string // by dialect; "" where the dialect has no such statement
	unmatched error     // fails the transaction when no row is changed; nil for none
}

// Text returns the statement in a dialect, "" where it has none.
func (s *Statement) Text(d Dialect) string { return s.texts[d] }

// Unmatched is the error that ends the transaction when the statement changes no
// row, nil when that is no error. PostgreSQL then returns one row with the number
// of changed rows.
func (s *Statement) Unmatched() error { return s.unmatched }

// Query is a statement that only reads. SQLite prepares every one when it opens.
type Query struct {
	*Statement
	OnAnswerPath bool // every answer runs it, and it reads a few rows at most
}

var (
	statements []*Statement // all, in the order of their definition
	queries    []Query
)

// Statements returns all statements of a dialect, queries included.
func Statements(d Dialect) iter.Seq[*Statement] {
	return func(yield func(*Statement) bool) {
		for _, s := range statements {
			if s.texts[d] != "" && !yield(s) {
				return
			}
		}
	}
}

// Queries returns the queries of a dialect.
func Queries(d Dialect) []Query {
	return slices.DeleteFunc(slices.Clone(queries), func(q Query) bool { return q.texts[d] == "" })
}

// Define defines a statement of one dialect.
func Define(d Dialect, text string) *Statement {
	s := &Statement{}
	s.texts[d] = text
	if d == SQLite {
		s.texts[d] = unnumbered(text)
	}
	statements = append(statements, s)
	return s
}

// define defines a statement of both dialects.
func define(text string) *Statement { return defineBoth(text, text) }

// defineBoth defines a statement that differs by dialect.
func defineBoth(sqlite, postgres string) *Statement {
	s := Define(SQLite, sqlite)
	s.texts[Postgres] = postgres
	return s
}

// Require makes a statement fail the transaction with err unless it changes a row.
// PostgreSQL gets all statements of a transaction at once, so there the statement
// itself has to fail: 0/0 is [NoRowChanged].
func (s *Statement) Require(err error) *Statement {
	s.unmatched = err
	if text := s.texts[Postgres]; text != "" {
		s.texts[Postgres] = "WITH changed AS (" + text + " RETURNING 1) SELECT n / least(n, 1) FROM (SELECT count(*) AS n FROM changed) AS counted"
	}
	return s
}

// NoRowChanged is the SQLSTATE of PostgreSQL for a division by zero: a required
// statement changed nothing.
const NoRowChanged = "22012"

// query defines a query of both dialects.
func query(text string) Query { return queryBoth(text, text) }

// queryBoth defines a query that differs by dialect.
func queryBoth(sqlite, postgres string) Query {
	q := Query{Statement: defineBoth(sqlite, postgres)}
	queries = append(queries, q)
	return q
}

// onAnswerPath marks a query that every answer runs.
func (q Query) onAnswerPath() Query {
	q.OnAnswerPath = true
	return q
}

var parameter = regexp.MustCompile(`\$\d+`)

// unnumbered replaces $1, $2, … by ? where each stands once and in order: the
// SQLite driver looks up a numbered parameter by comparing names.
func unnumbered(text string) string {
	for i, name := range parameter.FindAllString(text, -1) {
		if name != "$"+strconv.Itoa(i+1) {
			return text
		}
	}
	return parameter.ReplaceAllLiteralString(text, "?")
}

// insert is the insertion of a row, whose arguments are the columns in their order.
func insert(table, columns string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + parameters(columns) + ")"
}

// count returns the number of columns in a list.
func count(columns string) int { return strings.Count(columns, ",") + 1 }

// parameters returns $1, $2, … for a list of columns.
func parameters(columns string) string {
	list := make([]string, count(columns))
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
