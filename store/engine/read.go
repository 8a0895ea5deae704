package engine

import (
	"context"
	"fmt"
)

// Row is the current row of a read, of either engine's driver.
type Row interface{ Scan(dest ...any) error }

// Query is the read of a store: one statement, each of whose rows is given to each.
type Query func(ctx context.Context, what, text string, each func(Row) error, args ...any) error

// All is every row of a query, as read makes a value of one.
func All[T any](ctx context.Context, query Query, what, text string, read func(Row) (T, error), args ...any) (list []T, err error) {
	err = query(ctx, what, text, func(row Row) error {
		v, err := read(row)
		list = append(list, v)
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// One is the only row of a query; none is the error when there is no row.
func One[T any](ctx context.Context, query Query, what, text string, none error, read func(Row) (T, error), args ...any) (v T, err error) {
	list, err := All(ctx, query, what, text, read, args...)
	switch {
	case err != nil:
		return v, err
	case len(list) == 0:
		return v, fmt.Errorf("store: %s: %w", what, none)
	}
	return list[0], nil
}

// Value reads a row of one column.
func Value[T any](row Row) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}
