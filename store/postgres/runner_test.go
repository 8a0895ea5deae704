package postgres_test

import (
	"errors"
	"testing"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/storetest"
)

// waiting returns a query for whether a statement of this database waits for a lock.
func waiting(statement string) string {
	return "SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.query LIKE '" + statement +
		"%' AND a.datname = current_database()"
}

// TestLeaseWaitsForWrites stops a write of server A after it has compared its epoch. Server B must
// not get the lease before that write has committed, and A can renew its own meanwhile. Without the
// unique index the lock of the write does not keep B waiting, which shows that this test would
// notice.
func TestLeaseWaitsForWrites(t *testing.T) {
	t.Parallel()
	for name, withIndex := range map[string]bool{"AsItIs": true, "WithoutTheIndex": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := postgrestest.Database(t)
			a, b := openPatient(t, dsn), openPatient(t, dsn) // two servers
			conn, watch := outside(t, dsn), outside(t, dsn)
			if !withIndex {
				exec(t, conn, "DROP INDEX runners_lease")
			}
			create(t, a, "s1")
			h := storetest.Runner(t, a)
			lease := storetest.TakeLease(t, a, h)

			exec(t, conn, "BEGIN; UPDATE processes SET memory = 1 WHERE session_id = 's1'")
			written := make(chan error, 1)
			go func() {
				_, err := a.WithLease(lease).SaveProcess(ctx, session.ProcessState{SessionID: "s1", State: session.UserTurn, PID: 7})
				written <- err
			}()
			waitFor(t, watch, waiting("UPDATE processes"))
			must(t, a.RenewLease(ctx, lease)) // waits for nobody

			taken := make(chan error, 1)
			go func() {
				_, err := b.TakeLease(ctx, h)
				taken <- err
			}()
			if withIndex {
				waitFor(t, watch, waiting("UPDATE runners"))
			} else {
				must(t, <-taken) // although the write has not committed
			}
			exec(t, conn, "COMMIT")
			must(t, <-written)
			if withIndex {
				must(t, <-taken)
			}
			if state, err := b.ProcessState(ctx, "s1"); err != nil || state.PID != 7 {
				t.Errorf("the write is %+v, %v", state, err)
			}
			if err := a.SetDelivery(ctx, "none", "delivered"); errors.Is(err, store.ErrLeaseLost) {
				t.Error("a write that concerns no runner needs its lease")
			}
			if _, err := a.WithLease(lease).SaveProcess(ctx, session.ProcessState{SessionID: "s1", State: session.Dead}); !errors.Is(err, store.ErrLeaseLost) {
				t.Errorf("a write with the former lease: %v", err)
			}
			if err := a.RenewLease(ctx, lease); !errors.Is(err, store.ErrLeaseLost) {
				t.Errorf("renewing the former lease: %v", err)
			}
		})
	}
}

// TestWriteWaitsForALease lets a write of server A compare its epoch while server B takes the lease:
// the write must wait for the outcome, and be refused.
func TestWriteWaitsForALease(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	a := openPatient(t, dsn)
	conn, watch := outside(t, dsn), outside(t, dsn)
	create(t, a, "s1")
	h := storetest.Runner(t, a)
	lease := storetest.TakeLease(t, a, h)
	for _, end := range []string{"ROLLBACK", "COMMIT"} {
		exec(t, conn, "BEGIN; UPDATE runners SET lease_epoch = lease_epoch + 1")
		written := make(chan error, 1)
		go func() {
			_, err := a.WithLease(lease).SaveProcess(ctx, session.ProcessState{SessionID: "s1", State: session.UserTurn})
			written <- err
		}()
		waitFor(t, watch, waiting("WITH held"))
		exec(t, conn, end)
		if err := <-written; errors.Is(err, store.ErrLeaseLost) != (end == "COMMIT") || err != nil && end == "ROLLBACK" {
			t.Errorf("%s: %v", end, err)
		}
	}
}
