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

// Statement is an SQL text that runs in a transaction. Every statement is listed
// when it is defined, so that a test prepares each one on both databases.
type Statement struct {
	texts     [2]string // by dialect; "" where the dialect has no such statement
	unmatched error     // fails the transaction when no row is changed; nil for none
}

// In reports whether a dialect has the statement.
func (s *Statement) In(d Dialect) bool { return s.texts[d] != "" }

// Text returns the statement in a dialect, "" where it has none.
func (s *Statement) Text(d Dialect) string {
	if d == SQLite {
		return limit.ReplaceAllString(unnumbered(s.texts[d]), "LIMIT CAST($1 AS INTEGER)")
	}
	return s.texts[d]
}

// Unmatched is the error that ends the transaction when the statement changes no
// row, nil when that is no error. PostgreSQL then returns one row with the number
// of changed rows.
func (s *Statement) Unmatched() error { return s.unmatched }

// Query is a statement that only reads.
type Query struct {
	*Statement
	OnAnswerPath bool // every answer runs it, and it reads a few rows at most
	Long         bool // it may read much, ends with its context, and no answer waits for it
}

var statements []*Statement // all, in the order of their definition

// Statements returns all statements of a dialect, queries included.
func Statements(d Dialect) iter.Seq[*Statement] {
	return func(yield func(*Statement) bool) {
		for _, s := range statements {
			if s.In(d) && !yield(s) {
				return
			}
		}
	}
}

// Define defines a statement of one dialect.
func Define(d Dialect, text string) *Statement {
	s := &Statement{}
	s.texts[d] = text
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
	return Query{Statement: defineBoth(sqlite, postgres)}
}

// onAnswerPath marks a query that every answer runs.
func (q Query) onAnswerPath() Query {
	q.OnAnswerPath = true
	return q
}

// long marks a query that may read much, that ends with its context, and for which no
// answer waits.
func (q Query) long() Query {
	q.Long = true
	return q
}

var parameter = lazyregexp.New(`\$\d+`)

// limit finds a limit that is a parameter. SQLite looks at the value of one while it
// prepares a statement, and so prepares it again for each execution, unless it is part of
// an expression.
var limit = lazyregexp.New(`LIMIT (\?|\$\d+)`)

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
