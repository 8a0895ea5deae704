package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/store/postgrestest"
)

// beforeSecond calls a function once, before the second statement of a connection.
type beforeSecond struct {
	statements int
	do         func()
}

func (b *beforeSecond) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if b.statements++; b.statements == 2 {
		b.do()
	}
	return ctx
}

func (b *beforeSecond) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestLockThatIsFreedMeanwhileIsTaken lets a server whose connection was lost find its own old
// lock, which the database releases before the server has asked for the holder. The server must not
// take that lock for another server's.
func TestLockThatIsFreedMeanwhileIsTaken(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	first, err := Exclude(t.Context(), dsn, 0)
	if err != nil {
		t.Fatal(err)
	}
	again := &Exclusive{config: first.config.Copy(), name: first.name}
	again.config.Tracer = &beforeSecond{do: func() {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		free(t, first.config)
	}}
	if err := again.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// free waits until nobody holds the lock: the database releases that of a closed connection with a
// delay.
func free(t *testing.T, config *pgx.ConnConfig) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for {
		var pid int
		var name string
		err := conn.QueryRow(t.Context(), findHolder, lockClass).Scan(&pid, &name)
		if errors.Is(err, pgx.ErrNoRows) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
