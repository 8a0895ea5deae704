package sqlite_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlitetest"
)

// breakSync makes the file descriptor of the WAL point to /dev/null: writes succeed and syncs fail.
// So an operation fails exactly if it syncs.
func breakSync(t *testing.T, path string) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	replaced := 0
	for _, entry := range entries {
		name, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil || name != path+"-wal" {
			continue // another file, which may be closed by now
		}
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Dup3(int(null.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		replaced++
	}
	if replaced < 2 {
		t.Fatalf("the WAL is open %d times and should be by the writer and a reader", replaced)
	}
}

// TestDurabilityOfEachWrite checks which writes are synced: those of what a person said are, those of what an
// agent said are not.
func TestDurabilityOfEachWrite(t *testing.T) {
	t.Parallel()
	now := time.Now()
	hash := func(s string) []byte {
		sum := sha256.Sum256([]byte(s))
		return sum[:]
	}
	resolve := func(status pending.Status) func(st *sqlite.Store) error {
		return func(st *sqlite.Store) error {
			_, _, err := st.ResolveRequest(ctx, "r1", pending.Resolution{Status: status, At: now})
			return err
		}
	}
	newRequest := func(id string) pending.Request {
		return pending.Request{RequestID: id, SessionID: "s1", ProcessID: "one", ToolInput: []byte("{}"), CreatedAt: now}
	}
	// The first write creates a WAL to which the tested write appends. It must not write pages that
	// the tested write reads.
	elsewhere := func(st *sqlite.Store) error { return st.Touch(ctx, "c0", now) }
	inSessions := func(st *sqlite.Store) error {
		_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: "s0", State: session.Starting})
		return err
	}
	title := "new"
	for _, c := range []struct {
		name   string
		before func(st *sqlite.Store) error
		synced bool
		write  func(st *sqlite.Store) error
	}{
		{"Answer", elsewhere, true, resolve(pending.Answered)},
		{"Denial", elsewhere, true, resolve(pending.Denied)},
		{"Withdrawal", elsewhere, false, resolve(pending.Withdrawn)},
		{"Expiry", elsewhere, false, resolve(pending.Expired)},
		{"Request", elsewhere, false, func(st *sqlite.Store) error { _, _, err := st.OpenRequest(ctx, newRequest("r2")); return err }},
		{"Orphaning", elsewhere, false, func(st *sqlite.Store) error { _, err := st.OrphanRequests(ctx, "s1", "x"); return err }},
		{"Delivery", elsewhere, false, func(st *sqlite.Store) error { return st.SetDelivery(ctx, "r0", pending.Delivered) }},
		{"Session", elsewhere, false, func(st *sqlite.Store) error { return st.CreateSession(ctx, session.Session{SessionID: "s2"}) }},
		{"Patch", elsewhere, false, func(st *sqlite.Store) error {
			_, err := st.UpdateSession(ctx, "s1", session.Patch{Title: &title})
			return err
		}},
		{"Process", elsewhere, false, func(st *sqlite.Store) error {
			_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: "s1", State: session.Starting})
			return err
		}},
		{"Items", elsewhere, false, func(st *sqlite.Store) error {
			return st.PutItems(ctx, "s1", []session.Item{{Key: "k", Kind: session.ItemText}})
		}},
		{"Carrying", elsewhere, true, func(st *sqlite.Store) error {
			again := newRequest("r2")
			again.ProcessID = "two"
			_, carried, err := st.CarryAnswer(ctx, again, "r0")
			if err == nil && !carried {
				err = errors.New("not carried")
			}
			return err
		}},
		{"Lease", elsewhere, true, func(st *sqlite.Store) error { _, err := st.TakeLease(ctx, session.Hello{RunnerID: "one"}); return err }},
		{"Progress", elsewhere, false, func(st *sqlite.Store) error {
			_, err := st.SaveProgress(ctx, "s1", session.Progress{Items: []session.Item{{Key: "k", Kind: session.ItemText}},
				Process: &session.ProcessState{State: session.Starting}, Mark: &session.Mark{ProcessID: "one", Offset: 1}})
			return err
		}},
		{"Requeue", elsewhere, false, func(st *sqlite.Store) error {
			n, err := st.Requeue(ctx, "s1")
			if err == nil && n != 1 {
				err = errors.New("not put back")
			}
			return err
		}},
		{"Message", elsewhere, false, func(st *sqlite.Store) error {
			_, err := st.QueueMessage(ctx, session.Message{MessageID: "m1", SessionID: "s1"})
			return err
		}},
		{"User", inSessions, true, func(st *sqlite.Store) error { return st.PutUser(ctx, account.User{UserID: "u1", Name: "Bob"}) }},
		{"Credential", inSessions, true, func(st *sqlite.Store) error {
			return st.AddCredential(ctx, account.Credential{CredentialID: "c1", UserID: "u0", Hash: hash("1")})
		}},
		{"Use", inSessions, true, func(st *sqlite.Store) error {
			_, _, err := st.UseOnce(ctx, account.Cookie, hash("0"), now)
			return err
		}},
		{"Revocation", inSessions, true, func(st *sqlite.Store) error { return st.RevokeCredential(ctx, "c0") }},
		{"Touch", inSessions, false, func(st *sqlite.Store) error { return st.Touch(ctx, "c0", now) }},
		{"Command", inSessions, true, func(st *sqlite.Store) error {
			_, err := st.SaveCommand(ctx, "u0", "c0", []byte("ack"), now)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := sqlitetest.In(t, t.TempDir())
			st, err := sqlite.Open(ctx, path)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close() // fails, because its WAL is gone
			create(t, st, "s0")
			create(t, st, "s1")
			if err := st.RegisterRunner(ctx, session.Runner{RunnerID: "one"}); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"r0", "r1"} {
				if _, _, err := st.OpenRequest(ctx, newRequest(id)); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := st.ResolveRequest(ctx, "r0", pending.Resolution{Status: pending.Answered, At: now,
				Answer: &pending.Answer{Decision: pending.Allow}, Actor: pending.Actor{UserID: "u0"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := st.QueueMessage(ctx, session.Message{MessageID: "m0", SessionID: "s1"}); err != nil {
				t.Fatal(err)
			}
			if _, err := st.MarkSent(ctx, "m0", now); err != nil {
				t.Fatal(err)
			}
			if err := st.PutUser(ctx, account.User{UserID: "u0", Name: "Ada"}); err != nil {
				t.Fatal(err)
			}
			if err := st.AddCredential(ctx, account.Credential{CredentialID: "c0", Kind: account.Cookie, UserID: "u0", Hash: hash("0")}); err != nil {
				t.Fatal(err)
			}
			if _, err := outside(t, path).ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
				t.Fatal(err)
			}
			if err := c.before(st); err != nil {
				t.Fatal(err)
			}
			breakSync(t, path)

			err = c.write(st)
			if !c.synced {
				if err != nil {
					t.Fatalf("it synced: %v", err)
				}
				return
			}
			// After a failed sync every write must fail: a second sync could report success
			// wrongly.
			if !errors.Is(err, store.ErrBroken) || !errors.Is(err, store.ErrUnknownOutcome) {
				t.Fatalf("it did not sync: %v", err)
			}
			for what, call := range map[string]func() error{
				"the same write":   func() error { return c.write(st) },
				"a relaxed write":  func() error { return st.SetDelivery(ctx, "r0", pending.Delivered) },
				"whether it works": func() error { return st.Ping(ctx) },
			} {
				if err := call(); !errors.Is(err, store.ErrBroken) {
					t.Errorf("%s after the failure: %v", what, err)
				}
			}
		})
	}
}
