package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// TestReadOnly lets a database refuse writes, as after a failover to a standby. The error must
// differ from that of an unreachable database, and reads must succeed.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	create(t, open(t, dsn), "s1")
	standby := open(t, dsn+"&default_transaction_read_only=on")
	must(t, standby.Ping(ctx))
	write := standby.CreateSession(ctx, session.Session{SessionID: "s2", CreatedAt: time.Now()})
	for what, err := range map[string]error{"a write": write, "a ping after it": standby.Ping(ctx)} {
		if !errors.Is(err, store.ErrReadOnly) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := standby.Session(ctx, "s1")
	must(t, err)
}
