package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/postgrestest"
	"github.com/sayso-dev/sayso/store/storetest"
)

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, st *postgres.Store, sessionID string) {
	t.Helper()
	must(t, st.CreateSession(ctx, session.Session{SessionID: sessionID, CreatedAt: time.Now()}))
}

func request(id string) pending.Request {
	return pending.Request{RequestID: id, SessionID: "s1", ProcessID: "one", ToolInput: []byte("{}"), InputHash: "h", CreatedAt: time.Now()}
}

// carry opens a request of another process, with the answer to the request from.
func carry(st *postgres.Store, id, from string) error {
	r := request(id)
	r.ProcessID = "two"
	_, carried, err := st.CarryAnswer(ctx, r, from)
	if err == nil && !carried {
		err = errors.New("not carried")
	}
	return err
}

func ask(t testing.TB, st *postgres.Store, id string) {
	t.Helper()
	_, _, err := st.OpenRequest(ctx, request(id))
	must(t, err)
}

func answer(command string) pending.Resolution {
	return pending.Resolution{Status: pending.Answered, Answer: &pending.Answer{Decision: pending.Allow},
		Actor: pending.Actor{UserID: "u1"}, At: time.Now(), CommandID: command}
}

// outside connects to the database as another program would.
func outside(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(ctx, dsn)
	must(t, err)
	t.Cleanup(func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func exec(t testing.TB, conn *pgx.Conn, statement string) {
	t.Helper()
	_, err := conn.Exec(ctx, statement)
	must(t, err)
}

func TestCrash(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, postgrestest.Schema(t))
}

// TestEveryCommitIsDurable checks that every write is synced, whatever the defaults of the
// database. A trigger on every table records the setting at each commit.
func TestEveryCommitIsDurable(t *testing.T) {
	t.Parallel()
	for setting, durable := range map[string]string{"off": "on", "local": "on", "on": "on", "remote_apply": "remote_apply"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			dsn := postgrestest.Database(t, "synchronous_commit="+setting, "default_transaction_isolation=serializable")
			st, conn := open(t, dsn), outside(t, dsn)
			exec(t, conn, `CREATE TABLE noted (setting text, isolation text);
				CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					INSERT INTO noted VALUES (current_setting('synchronous_commit'), current_setting('transaction_isolation'));
					RETURN NULL; END $$`)
			for _, table := range []string{"users", "credentials", "commands", "sessions", "processes", "transcript", "messages", "requests", "marks", "runners"} {
				exec(t, conn, "CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON "+table+" EXECUTE FUNCTION note()")
			}
			noted := func(what string, write func() error) {
				t.Helper()
				exec(t, conn, "DELETE FROM noted")
				must(t, write())
				var settings, isolations []string
				must(t, conn.QueryRow(ctx, "SELECT array_agg(DISTINCT setting), array_agg(DISTINCT isolation) FROM noted").Scan(&settings, &isolations))
				if len(settings) != 1 || settings[0] != durable {
					t.Errorf("%s was written with synchronous_commit %v, want %s", what, settings, durable)
				}
				if len(isolations) != 1 || isolations[0] != "read committed" {
					t.Errorf("%s was written in %v", what, isolations)
				}
			}
			resolve := func(id string, res pending.Resolution) func() error {
				return func() error { _, _, err := st.ResolveRequest(ctx, id, res); return err }
			}
			now, title, hash := time.Now(), "t", []byte("hash")

			noted("a session", func() error { return st.CreateSession(ctx, session.Session{SessionID: "s1"}) })
			noted("a title", func() error { _, err := st.UpdateSession(ctx, "s1", session.Patch{Title: &title}); return err })
			for _, id := range []string{"r1", "r2", "r3", "r4"} {
				noted("a request", func() error { _, _, err := st.OpenRequest(ctx, request(id)); return err })
			}
			noted("an answer", resolve("r1", answer("c")))
			noted("a denial", resolve("r2", pending.Resolution{Status: pending.Denied, At: now}))
			noted("a withdrawal", resolve("r3", pending.Resolution{Status: pending.Withdrawn, At: now}))
			noted("a delivery", func() error { return st.SetDelivery(ctx, "r1", pending.Delivered) })
			noted("an orphaning", func() error { _, err := st.OrphanRequests(ctx, "s1", "x"); return err })
			noted("an orphan's answer", resolve("r4", answer("c")))
			noted("a state", func() error {
				_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: "s1", State: session.Starting})
				return err
			})
			noted("items", func() error { return st.PutItems(ctx, "s1", []session.Item{{Key: "k"}}) })
			noted("a message", func() error {
				_, err := st.QueueMessage(ctx, session.Message{MessageID: "m1", SessionID: "s1"})
				return err
			})
			noted("a sent message", func() error { _, err := st.MarkSent(ctx, "m1", now); return err })
			noted("a message put back", func() error { _, err := st.Requeue(ctx, "s1"); return err })
			noted("progress", func() error {
				_, err := st.SaveProgress(ctx, "s1", session.Progress{Items: []session.Item{{Key: "l"}},
					Process: &session.ProcessState{State: session.Starting}, Mark: &session.Mark{ProcessID: "one", Offset: 1}})
				return err
			})
			noted("a carried answer", func() error { return carry(st, "r5", "r4") })
			h := storetest.Runner(t, st)
			noted("a lease", func() error { _, err := st.TakeLease(ctx, h); return err })
			view := st.WithLease(storetest.TakeLease(t, st, h))
			noted("a state with a lease", func() error {
				_, err := view.SaveProcess(ctx, session.ProcessState{SessionID: "s1", State: session.UserTurn})
				return err
			})
			noted("a user", func() error { return st.PutUser(ctx, account.User{UserID: "u1", Name: "Ada"}) })
			noted("a credential", func() error {
				return st.AddCredential(ctx, account.Credential{CredentialID: "c1", UserID: "u1", Kind: account.Cookie, Hash: hash})
			})
			noted("a touch", func() error { return st.Touch(ctx, "c1", now) })
			noted("a use", func() error { _, _, err := st.UseOnce(ctx, account.Cookie, hash, now); return err })
			noted("a revocation", func() error { return st.RevokeCredential(ctx, "c1") })
			noted("an ack", func() error { _, err := st.SaveCommand(ctx, "u1", "c1", []byte("a"), now); return err })
			noted("a deletion", func() error { return st.DeleteSession(ctx, "s1") })
		})
	}
}

func TestServerWithoutFsyncIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := postgres.Open(ctx, postgrestest.Cluster(t, "fsync=off")); err == nil || !strings.Contains(err.Error(), "fsync") {
		t.Fatalf("got %v", err)
	}
}

func TestRefusesAnotherEncoding(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	exec(t, outside(t, dsn), "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
	address, err := url.Parse(dsn)
	must(t, err)
	address.Path = "/latin"
	if _, err := postgres.Open(ctx, address.String()); err == nil || !strings.Contains(err.Error(), "UTF8") {
		t.Fatalf("got %v", err)
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	open(t, dsn)
	exec(t, outside(t, dsn), "INSERT INTO migrations VALUES (999, 'future', 'x', 0)")
	if _, err := postgres.Open(ctx, dsn); !errors.Is(err, migrations.ErrNewer) || !strings.Contains(err.Error(), "newer sayso") {
		t.Fatalf("got %v", err)
	}
}

// TestOpenAtOnce lets several servers start at once on an empty database. All must succeed.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	var done sync.WaitGroup
	for range 6 {
		done.Go(func() {
			st, err := postgres.Open(ctx, dsn)
			if err != nil {
				t.Error(err)
				return
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

// TestDeadlockIsRetried makes the database roll a transaction back because of a deadlock. The store
// must run it again, without an error for the caller.
func TestDeadlockIsRetried(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t) // whose deadlock detection sees only this test
	// The transaction that waits this long is the one that looks for a deadlock and is rolled back.
	// That must be the answer, however slow the machine is.
	st, conn, watch := open(t, dsn+"&deadlock_timeout=2s"), outside(t, dsn), outside(t, dsn)
	exec(t, conn, "SET deadlock_timeout = '1h'")
	create(t, st, "s1")
	ask(t, st, "r1")

	// The answer locks the request and waits for the process; then this transaction, which has the
	// process, waits for the request.
	exec(t, conn, "BEGIN; UPDATE processes SET memory = 1 WHERE session_id = 's1'")
	type outcome struct {
		won bool
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		_, won, err := st.ResolveRequest(ctx, "r1", answer("c1"))
		done <- outcome{won, err}
	}()
	waitFor(t, watch, "SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.query LIKE 'WITH moved AS%' AND a.datname = current_database()")
	exec(t, conn, "UPDATE requests SET title = 'mine' WHERE request_id = 'r1'")
	exec(t, conn, "COMMIT")
	if got := <-done; got.err != nil || !got.won {
		t.Fatalf("won %v, error %v", got.won, got.err)
	}
	r, err := st.Request(ctx, "r1")
	must(t, err)
	if r.Title != "mine" || r.Status != pending.Answered {
		t.Fatalf("one of the two is lost: %+v", r)
	}
}

// TestCarryingRacesAnOpening opens a request while an answer is being carried over to the same
// request. The carrying must be rolled back.
func TestCarryingRacesAnOpening(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	st, conn, watch := open(t, dsn), outside(t, dsn), outside(t, dsn)
	create(t, st, "s1")
	for end, carried := range map[string]bool{"COMMIT": false, "ROLLBACK": true} {
		from, id := "from "+end, "to "+end
		ask(t, st, from)
		_, _, err := st.ResolveRequest(ctx, from, answer("c1"))
		must(t, err)
		exec(t, conn, `BEGIN; INSERT INTO requests (request_id, session_id, status, delivery, created_at, expires_at, request_type, source, asker_request_id,
			asker_tool_use_id, tool_name, input_hash, agent_id, agent_type, title, description, decision_reason, blocked_path)
			VALUES ('`+id+`', 's1', 'open', '', 0, 0, '', '', '', '', '', 'h', '', '', '', '', '', '')`)
		type outcome struct {
			stored  pending.Request
			carried bool
			err     error
		}
		done := make(chan outcome, 1)
		go func() {
			r := request(id)
			r.ProcessID = "two"
			stored, carried, err := st.CarryAnswer(ctx, r, from)
			done <- outcome{stored, carried, err}
		}()
		waitFor(t, watch, "SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.query LIKE 'WITH f AS%' AND a.datname = current_database()")
		exec(t, conn, end)
		got := <-done
		if got.err != nil || got.carried != carried || got.stored.RequestID != id || got.stored.Status.Final() != carried {
			t.Errorf("%s: carried %v, error %v, %+v", end, got.carried, got.err, got.stored)
		}
		old, err := st.Request(ctx, from)
		must(t, err)
		if want := map[bool]pending.Delivery{false: pending.Queued, true: pending.Carried}[carried]; old.Delivery != want {
			t.Errorf("%s: the answer is %s, want %s", end, old.Delivery, want)
		}
	}
}

// TestUsageMayTakeLong measures the database while a table answers later than calls may take.
func TestUsageMayTakeLong(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	st, conn, watch := open(t, dsn), outside(t, dsn), outside(t, dsn)
	st.SetCallTimeout(100 * time.Millisecond)
	exec(t, conn, "BEGIN; LOCK TABLE transcript")
	done := make(chan error, 1)
	go func() {
		_, err := st.Usage(ctx)
		done <- err
	}()
	waitFor(t, watch, waiting("SELECT session_id, CAST"))
	exec(t, watch, "SELECT pg_sleep(0.5)")
	exec(t, conn, "COMMIT")
	must(t, <-done)
}

// waitFor polls until a query returns true. The database has no notification for its own state.
func waitFor(t *testing.T, conn *pgx.Conn, question string) {
	t.Helper()
	limit := time.Now().Add(time.Minute)
	for {
		var yes bool
		must(t, conn.QueryRow(ctx, question).Scan(&yes))
		if yes {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("never true: %s", question)
		}
	}
}

// TestCancelledWhileWaiting ends the context of a caller that waits for a lock. Nothing may be changed.
func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	st, conn, watch := open(t, dsn), outside(t, dsn), outside(t, dsn)
	create(t, st, "s1")
	ask(t, st, "r1")
	exec(t, conn, "BEGIN; UPDATE processes SET memory = 1 WHERE session_id = 's1'")
	short, cancel := context.WithCancelCause(ctx)
	type outcome struct {
		won bool
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		_, won, err := st.ResolveRequest(short, "r1", answer("c1"))
		done <- outcome{won, err}
	}()
	waitFor(t, watch, "SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.query LIKE 'WITH moved AS%' AND a.datname = current_database()")
	cancel(errors.New("the caller has gone"))
	if got := <-done; got.won || !errors.Is(got.err, context.Canceled) || !errors.Is(got.err, store.ErrUnknownOutcome) {
		t.Fatalf("won %v, error %v", got.won, got.err)
	}
	exec(t, conn, "COMMIT")
	now, won, err := st.ResolveRequest(ctx, "r1", answer("c2"))
	must(t, err)
	if !won && now.Resolution.CommandID != "c1" {
		t.Fatalf("neither of the two answers is stored: %+v", now)
	}
}

// resolveTwice answers the request r1 while the connection fails, after which the request has the
// status stored. Then it repeats the command, which must find or give the answer.
func resolveTwice(t *testing.T, st store.Store, line *postgrestest.Proxy, effect postgrestest.Effect, stored pending.Status) {
	t.Helper()
	const command = "the-command-that-fails"
	line.Fail(postgrestest.Fault{Contains: command, Effect: effect}) // the store reads the request before it resolves it
	_, won, err := st.ResolveRequest(ctx, "r1", answer(command))
	if won || !errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatalf("won %v, error %v", won, err)
	}
	r, err := st.Request(ctx, "r1")
	must(t, err)
	if r.Status != stored {
		t.Fatalf("the request is %s, want %s", r.Status, stored)
	}
	now, won, err := st.ResolveRequest(ctx, "r1", answer(command))
	must(t, err)
	if now.Status != pending.Answered || now.Resolution.CommandID != command || won != (stored == pending.Open) {
		t.Fatalf("the same command again: won %v, %+v", won, now)
	}
}

// TestUnknownOutcome loses the reply to a commit. The store must report that it does not know the
// outcome, and a read must show it.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect postgrestest.Effect
		stored pending.Status
	}{
		"ReplyLost":   {postgrestest.LoseReply, pending.Answered},
		"RequestLost": {postgrestest.Cut, pending.Open},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := postgrestest.NewProxy(t, postgrestest.Schema(t))
			st := open(t, line.DSN()+"&pool_max_conns=1")
			create(t, st, "s1")
			for _, id := range []string{"warm", "r1"} {
				ask(t, st, id)
			}
			_, _, err := st.ResolveRequest(ctx, "warm", answer("c0")) // so that the statement is prepared
			must(t, err)

			resolveTwice(t, st, line, c.effect, c.stored)
		})
	}
}

// TestConnectionLoss stops the database. Calls must fail with an error that says so, and succeed
// again when it is back.
func TestConnectionLoss(t *testing.T) {
	t.Parallel()
	line := postgrestest.NewProxy(t, postgrestest.Schema(t))
	st := open(t, line.DSN())
	create(t, st, "s1")

	line.Fail(postgrestest.Fault{Effect: postgrestest.Cut})
	if _, err := st.ProcessState(ctx, "s1"); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("read: %v", err)
	}
	if _, err := st.ProcessState(ctx, "s1"); err != nil {
		t.Fatalf("read after: %v", err)
	}

	back := line.RefuseConnections()
	line.Hangup()
	if _, err := st.ProcessState(ctx, "s1"); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("read while it is away: %v", err)
	}
	if _, _, err := st.OpenRequest(ctx, request("r1")); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("write while it is away: %v", err)
	}
	if err := st.Ping(ctx); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("ping while it is away: %v", err)
	}
	back()
	ask(t, st, "r1")
	must(t, st.Ping(ctx))
}

// TestStalledConnection drops all data of a connection. Every call must end with an error that says
// so, and the store must work again by itself and announce it.
func TestStalledConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect postgrestest.Effect
		stored pending.Status
	}{
		"RepliesStall":  {postgrestest.StallReply, pending.Answered},
		"RequestsStall": {postgrestest.StallRequest, pending.Open},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := postgrestest.NewProxy(t, postgrestest.Schema(t))
			defer line.Hangup()
			st := open(t, line.DSN()+"&pool_max_conns=1") // a stalled connection must soon free its place
			create(t, st, "s1")
			ask(t, st, "r1")
			line.Fail(postgrestest.Fault{Effect: c.effect})
			if _, err := st.ProcessState(ctx, "s1"); !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("read: %v", err)
			}
			must(t, st.Ping(ctx))
			<-st.Recovered()

			resolveTwice(t, st, line, c.effect, c.stored)
			<-st.Recovered()
		})
	}
}
