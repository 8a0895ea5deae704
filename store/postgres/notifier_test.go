package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// heard counts what a notifier announced, by session; "" counts NotifyAll.
type heard struct {
	mu     sync.Mutex
	counts map[string]int
	news   chan struct{} // capacity 1
}

func (h *heard) add(id string) {
	h.mu.Lock()
	h.counts[id]++
	h.mu.Unlock()
	select {
	case h.news <- struct{}{}:
	default:
	}
}

func (h *heard) count(id string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts[id]
}

// await waits until an id was announced more than before times, and returns how long that took.
func (h *heard) await(t *testing.T, id string, before int) time.Duration {
	t.Helper()
	start := time.Now()
	timeout := time.After(30 * time.Second)
	for h.count(id) <= before {
		select {
		case <-h.news:
		case <-timeout:
			t.Fatalf("nothing was announced of %q", id)
		}
	}
	return time.Since(start)
}

// listen runs a notifier for the duration of the test and waits until it listens.
func listen(t *testing.T, dsn string) (*postgres.Notifier, *heard) {
	t.Helper()
	n, err := postgres.NewNotifier(dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := &heard{counts: map[string]int{}, news: make(chan struct{}, 1)}
	n.ListenRemote(h.add)
	n.ListenItems(h.add)
	n.ListenAll(func() { h.add("") })
	for _, topic := range []session.Topic{session.TopicProjects, session.TopicDrafts} {
		n.ListenTopic(topic, func(key string) { h.add(string(topic) + " " + key) })
	}
	run, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := n.Run(run); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); done.Wait() })
	h.await(t, "", 0)
	return n, h
}

// newSession stores a session that runs nothing.
func newSession(t *testing.T, st *postgres.Store) string {
	t.Helper()
	id := uuid.NewString()
	must(t, st.CreateSession(ctx, session.Session{SessionID: id, ProjectID: "p", CWD: "/w", PermissionMode: "default", OwnerID: "u", CreatedAt: time.Now(), UpdatedAt: time.Now()}))
	return id
}

func rename(t *testing.T, st *postgres.Store, id, title string) {
	t.Helper()
	if _, err := st.UpdateSession(ctx, id, session.Patch{Title: &title}); err != nil {
		t.Fatal(err)
	}
}

// The times of these tests bound those of a busy machine; what they print is of this one.
func TestOtherServersHearOfChanges(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	st := openPatient(t, dsn)
	id := newSession(t, st)
	a, _ := listen(t, dsn)
	_, h := listen(t, dsn)

	fastest := time.Hour
	for i := range 10 {
		before := h.count(id)
		rename(t, st, id, fmt.Sprint(i))
		a.Notify(id)
		fastest = min(fastest, h.await(t, id, before))
	}
	if fastest > 100*time.Millisecond {
		t.Errorf("heard after %v, want 100 ms", fastest)
	}
	t.Logf("heard after %v", fastest)

	before := h.count(id)
	a.NotifyItems(id)
	h.await(t, id, before)
	before = h.count(id)
	a.NotifyDeferred(id)
	h.await(t, id, before)
}

func TestNotifierIgnoresItself(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	openPatient(t, dsn)
	a, own := listen(t, dsn)
	_, other := listen(t, dsn)
	id := uuid.NewString() // no row, so no poll finds it
	a.Notify(id)
	other.await(t, id, 0)
	a.Notify(id)
	other.await(t, id, 1)
	if n := own.count(id); n != 0 {
		t.Errorf("its own notification was announced %d times", n)
	}
}

// TestPollFindsWhatNobodyNotified changes rows without any notification, also in transactions that
// end in another order than they began.
func TestPollFindsWhatNobodyNotified(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	st := openPatient(t, dsn)
	early, late, deleted := newSession(t, st), newSession(t, st), newSession(t, st)
	_, h := listen(t, dsn)

	conn := outside(t, dsn)
	slow, err := conn.Begin(ctx)
	must(t, err)
	_, err = slow.Exec(ctx, "UPDATE processes SET version = version + 1 WHERE session_id = $1", early)
	must(t, err)
	before := h.count(late)
	rename(t, st, late, "changed after, committed before")
	took := h.await(t, late, before)
	t.Logf("polled after %v", took)
	if took > 10*time.Second {
		t.Errorf("polled after %v, want 2 s", took)
	}
	fresh := newSession(t, st)
	h.await(t, fresh, 0)
	// Its creation may have been announced more than once while transactions of other tests in
	// this cluster were older than it.
	before = h.count(early)
	must(t, slow.Commit(ctx))
	h.await(t, early, before)
	before = h.count(deleted)
	must(t, st.DeleteSession(ctx, deleted))
	h.await(t, deleted, before)
}

// between calls f before the second statement of a poll.
type between struct {
	f func()
	n int
}

func (b *between) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if b.n++; b.n == 2 {
		b.f()
	}
	return ctx
}
func (b *between) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestPollFindsWhatChangesWhileItLooks changes a row between the two statements of a poll.
func TestPollFindsWhatChangesWhileItLooks(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	openPatient(t, dsn)
	conn := outside(t, dsn)
	exec(t, conn, `INSERT INTO users (user_id, name, role, created_at, canonical_name) VALUES ('ada', 'Ada', 'admin', 1, 'ada')`)
	n, err := postgres.NewNotifier(dsn, slog.New(slog.DiscardHandler))
	must(t, err)
	heard := 0
	n.ListenTopic(session.TopicPeople, func(string) { heard++ })
	for again := true; again; again = heard > 0 { // while an older transaction runs, rows are announced again
		heard = 0
		must(t, n.Poll(ctx, conn))
	}
	config, err := pgx.ParseConfig(dsn)
	must(t, err)
	config.Tracer = &between{f: func() { exec(t, conn, "UPDATE users SET role = 'member'") }}
	polling, err := pgx.ConnectConfig(ctx, config)
	must(t, err)
	defer polling.Close(ctx)
	for range 2 {
		must(t, n.Poll(ctx, polling))
	}
	if heard == 0 {
		t.Error("nothing was announced")
	}
}

// TestPollFindsWhatWasDeleted deletes rows without any notification.
func TestPollFindsWhatWasDeleted(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	st := openPatient(t, dsn)
	conn := outside(t, dsn)
	id := newSession(t, st)
	for _, insert := range []string{
		`INSERT INTO users (user_id, name, role, created_at, canonical_name) VALUES ('ada', 'Ada', 'admin', 1, 'ada'), ('bo', 'Bo', 'member', 1, 'bo')`,
		`INSERT INTO drafts (user_id, session_id, request_id, value, changed_at) VALUES ('ada', '` + id + `', '', '{}', 1), ('ada', '` + id + `', 'r', '{}', 1), ('bo', '` + id + `', '', '{}', 1)`,
		`INSERT INTO projects (project_id, name, name_folded, version, created_at, body) VALUES ('a', 'a', 'a', 1, 1, '{}'), ('b', 'b', 'b', 1, 1, '{}')`,
		`INSERT INTO user_limits (user_id, body) VALUES ('ada', '{}')`,
	} {
		_, err := conn.Exec(ctx, insert)
		must(t, err)
	}
	// While a transaction of another test is older than these rows, each poll announces them again.
	var newest string
	must(t, conn.QueryRow(ctx, "SELECT pg_current_xact_id()::text").Scan(&newest))
	for older := true; older; time.Sleep(20 * time.Millisecond) {
		must(t, conn.QueryRow(ctx, "SELECT pg_snapshot_xmin(pg_current_snapshot()) <= $1::text::xid8", newest).Scan(&older))
	}
	_, h := listen(t, dsn)
	for _, c := range []struct{ remove, topic, other string }{
		{"DELETE FROM drafts WHERE user_id = 'ada' AND request_id = 'r'", "drafts ada", "drafts bo"},
		{"DELETE FROM drafts WHERE user_id = 'ada'", "drafts ada", "drafts bo"},
		{"DELETE FROM projects WHERE project_id = 'a'", "projects ", "drafts bo"},
		{"DELETE FROM user_limits", "projects ", "drafts bo"},
	} {
		before, other := h.count(c.topic), h.count(c.other)
		_, err := conn.Exec(ctx, c.remove)
		must(t, err)
		h.await(t, c.topic, before)
		if n := h.count(c.other); n != other {
			t.Errorf("%s announced %q", c.remove, c.other)
		}
	}
}

func TestNotifiesOfABurstAreMerged(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	st := openPatient(t, dsn)
	id := newSession(t, st)
	a, _ := listen(t, dsn)
	_, h := listen(t, dsn)
	conn := outside(t, dsn)
	var channel string
	must(t, conn.QueryRow(ctx, "SELECT 'sayso_' || to_hex(hashtext(current_schema()))").Scan(&channel))
	_, err := conn.Exec(ctx, "LISTEN "+channel)
	must(t, err)

	start := time.Now()
	for range 10_000 {
		a.Notify(id)
	}
	var ids []string
	for range 10_000 { // more than fit: whoever hears it polls
		ids = append(ids, uuid.NewString())
		a.Notify(ids[len(ids)-1])
	}
	before := h.count(id)
	rename(t, st, id, "the last one")
	a.Notify(id)
	h.await(t, id, before)
	took := time.Since(start)
	marker := uuid.NewString() // it has no row, so only a notification of few ids names it
	for h.count(marker) == 0 {
		a.Notify(marker)
		select {
		case <-h.news:
		case <-time.After(100 * time.Millisecond):
		}
	}
	n := 0
	for {
		waiting, cancel := context.WithTimeout(ctx, 10*time.Second)
		got, err := conn.WaitForNotification(waiting)
		cancel()
		must(t, err)
		n++
		if len(got.Payload) >= 8000 {
			t.Errorf("a notification of %d bytes", len(got.Payload))
		}
		if strings.HasSuffix(got.Payload, marker) {
			break
		}
	}
	limit := int(time.Since(start)/(50*time.Millisecond)) + 1
	t.Logf("%d notifications for 20,001 changes in %v", n, took)
	if n > limit {
		t.Errorf("%d notifications in %v, want at most %d", n, time.Since(start), limit)
	}
}

func TestLostConnectionAnnouncesEverything(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	st := openPatient(t, dsn)
	id := newSession(t, st)
	_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.UserTurn, StartedAt: time.Now(), StateChangedAt: time.Now()})
	must(t, err)
	a, _ := listen(t, dsn)
	_, h := listen(t, dsn)
	conn := outside(t, dsn)
	all, before := h.count(""), h.count(id)
	var killed int
	must(t, conn.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND query NOT LIKE '%pg_stat_activity%' AND pid <> pg_backend_pid() AND backend_type = 'client backend'`).Scan(&killed))
	if killed < 2 {
		t.Fatalf("killed %d connections", killed)
	}
	h.await(t, "", all)
	if h.count(id) == before {
		t.Error("a session that runs was not announced")
	}
	if n := h.count(""); n != all+1 {
		t.Errorf("everything was announced %d times", n-all)
	}
	marker := uuid.NewString()
	a.Notify(marker) // also while its connection is not back yet
	h.await(t, marker, 0)
}

// TestNotifierPollsBehindASharedConnection: what others change is found, and what changes here is heard.
func TestNotifierPollsBehindASharedConnection(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	st := openPatient(t, dsn)
	id := newSession(t, st)
	pooled := postgrestest.NewPooler(t, dsn, "transaction")
	a, h := listen(t, pooled)
	_, direct := listen(t, dsn)
	before := h.count(id)
	rename(t, st, id, "polled")
	h.await(t, id, before)
	marker := uuid.NewString()
	a.Notify(marker) // it can be heard, but not hear
	direct.await(t, marker, 0)
}
