package transfer

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/sayso-dev/sayso/migrations"
)

// table is a table to copy.
type table struct {
	name    string
	columns []string // sorted
	types   []string // of the columns, in the source
	key     []string // columns that identify a row
}

// placeholders returns the function that returns the n-th placeholder of a statement, from 1.
func (d Database) placeholders() func(n int) string {
	if d.Dialect == migrations.Postgres {
		return func(n int) string { return "$" + strconv.Itoa(n) }
	}
	return func(int) string { return "?" }
}

// keyOf returns the columns of the primary key of a table or, if it has none, of its first unique
// index.
func keyOf(ctx context.Context, d Database, name string) ([]string, error) {
	if d.Dialect == migrations.Postgres {
		return migrations.Texts(ctx, d.DB, `SELECT a.attname::text FROM (SELECT indrelid, indkey FROM pg_index
				WHERE indrelid = $1::text::regclass AND indisunique AND indpred IS NULL ORDER BY indisprimary DESC, indexrelid LIMIT 1) i
			CROSS JOIN unnest(i.indkey) WITH ORDINALITY k (number, place)
			JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number ORDER BY k.place`, name)
	}
	key, err := migrations.Texts(ctx, d.DB, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", name)
	if err != nil || len(key) > 0 {
		return key, err
	}
	return migrations.Texts(ctx, d.DB, `SELECT c.name FROM (SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial ORDER BY seq DESC LIMIT 1) i
		JOIN pragma_index_info(i.name) c ORDER BY c.seqno`, name)
}

// columnTypes returns the types of the columns of a table.
func columnTypes(ctx context.Context, d Database, t table) ([]string, error) {
	query := "SELECT name, type FROM pragma_table_info(?)"
	if d.Dialect == migrations.Postgres {
		query = `SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1`
	}
	rows, err := d.DB.QueryContext(ctx, query, t.name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			return nil, err
		}
		found[name] = kind
	}
	types := make([]string, len(t.columns))
	for i, c := range t.columns {
		types[i] = found[c]
	}
	return types, rows.Err()
}

// references returns the tables to which each table refers.
func references(ctx context.Context, d Database) (map[string][]string, error) {
	query := `SELECT m.name, f."table" FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`
	if d.Dialect == migrations.Postgres {
		query = migrations.SelectReferences
	}
	rows, err := d.DB.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	refers := map[string][]string{}
	for rows.Next() {
		var from, to string
		if err := rows.Scan(&from, &to); err != nil {
			return nil, err
		}
		refers[from] = append(refers[from], to)
	}
	return refers, rows.Err()
}

// scan returns the current row of rows: nil, int64, float64, bool, string or []byte for each column.
func scan(rows *sql.Rows, columns int) ([]any, error) {
	row := make([]any, columns)
	to := make([]any, columns)
	for i := range row {
		to[i] = &row[i]
	}
	return row, rows.Scan(to...)
}

// size returns the approximate size of a value, in bytes.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 8
}

// convert converts a value to the form that the driver expects for a column of this type.
func convert(v any, columnType string) any {
	switch columnType {
	case "boolean":
		if n, ok := v.(int64); ok {
			return n != 0
		}
	case "INTEGER":
		if b, ok := v.(bool); ok {
			return number(b)
		}
	case "text", "TEXT":
		if b, ok := v.([]byte); ok {
			return string(b)
		}
	case "bytea", "BLOB":
		switch b := v.(type) {
		case string:
			return append([]byte{}, b...) // never nil, which would be NULL
		case []byte:
			return append([]byte{}, b...)
		}
	}
	return v
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// encodeKey returns the key of a row as JSON. Texts are encoded in base64, because they may contain
// arbitrary bytes.
func (t table) encodeKey(row []any) string {
	key := make([]any, len(t.key))
	for i, place := range t.keyIndex() {
		switch v := row[place].(type) {
		case string:
			key[i] = base64.StdEncoding.EncodeToString([]byte(v))
		case []byte:
			key[i] = base64.StdEncoding.EncodeToString(v)
		default:
			key[i] = v
		}
	}
	text, err := json.Marshal(key)
	if err != nil {
		panic(fmt.Sprintf("transfer: the key of %s: %v", t.name, err)) // keys are texts and integers
	}
	return string(text)
}

// after returns the condition that selects the rows after a key, and its arguments.
func (t table) after(d Database, key string) (condition string, args []any, err error) {
	if key == "" {
		return "", nil, nil
	}
	decoder := json.NewDecoder(strings.NewReader(key))
	decoder.UseNumber()
	var values []any
	if err := decoder.Decode(&values); err != nil || len(values) != len(t.key) {
		return "", nil, fmt.Errorf("it is not known how far the copy is: %q", key)
	}
	places := make([]string, len(values))
	for i, place := range t.keyIndex() {
		places[i] = d.placeholders()(i + 1)
		switch v := values[i].(type) {
		case json.Number:
			n, err := v.Int64()
			if err != nil {
				return "", nil, err
			}
			args = append(args, n)
		case string:
			text, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				return "", nil, err
			}
			args = append(args, convert(text, t.types[place]))
		default:
			return "", nil, fmt.Errorf("it is not known how far the copy is: %q", key)
		}
	}
	return " WHERE (" + strings.Join(t.key, ", ") + ") > (" + strings.Join(places, ", ") + ")", args, nil
}

// maxArguments bounds the arguments of one statement. SQLite allows 32,766 and PostgreSQL 65,535.
const maxArguments = 10_000

// insert inserts rows. wrap maps some columns to the SQL around their placeholder, with %s for the
// placeholder.
func (d Database) insert(ctx context.Context, tx *sql.Tx, name string, columns []string, wrap map[string]string, rows [][]any) error {
	head := "INSERT INTO " + name + " (" + strings.Join(columns, ", ") + ") "
	if d.Dialect == migrations.Postgres {
		head += "OVERRIDING SYSTEM VALUE "
	}
	p := d.placeholders()
	for perStatement := maxArguments / len(columns); len(rows) > 0; {
		part := rows[:min(perStatement, len(rows))]
		rows = rows[len(part):]
		statement := []byte(head + "VALUES ")
		args := make([]any, 0, len(part)*len(columns))
		for i, row := range part {
			if i > 0 {
				statement = append(statement, ", "...)
			}
			for j, v := range row {
				separator := ", "
				if j == 0 {
					separator = "("
				}
				args = append(args, v)
				place := p(len(args))
				if around, ok := wrap[columns[j]]; ok {
					place = fmt.Sprintf(around, place)
				}
				statement = append(append(statement, separator...), place...)
			}
			statement = append(statement, ')')
		}
		if _, err := tx.ExecContext(ctx, string(statement), args...); err != nil {
			return err
		}
	}
	return nil
}

// sum is the sum of the hashes of rows. It does not depend on their order, because the engines sort
// texts differently.
type sum [4]uint64

func (s *sum) add(hash [sha256.Size]byte) {
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(hash[8*i:]), carry)
	}
}

// sumRows reads a whole table.
func sumRows(ctx context.Context, d Database, t table) (total sum, err error) {
	rows, err := d.DB.QueryContext(ctx, "SELECT "+strings.Join(t.columns, ", ")+" FROM "+t.name)
	if err != nil {
		return sum{}, err
	}
	defer rows.Close()
	var text []byte
	for rows.Next() {
		row, err := scan(rows, len(t.columns))
		if err != nil {
			return sum{}, err
		}
		text = text[:0]
		for _, v := range row {
			text = appendValue(text, v)
		}
		total.add(sha256.Sum256(text))
	}
	return total, rows.Err()
}

// appendValue appends a value in a form that is the same for both engines.
func appendValue(text []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(text, 0)
	case bool:
		return binary.LittleEndian.AppendUint64(append(text, 1), uint64(number(v)))
	case int64:
		return binary.LittleEndian.AppendUint64(append(text, 1), uint64(v))
	case float64:
		return binary.LittleEndian.AppendUint64(append(text, 2), math.Float64bits(v))
	case string:
		return append(binary.LittleEndian.AppendUint64(append(text, 3), uint64(len(v))), v...)
	case []byte:
		return append(binary.LittleEndian.AppendUint64(append(text, 3), uint64(len(v))), v...)
	}
	panic(fmt.Sprintf("transfer: a value of type %T", v)) // the schemas have no such column
}
