package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlitetest"
)

// TestOneTransactionIndexesSeveralSessions: each transaction writes the same pages of the index,
// and sessions that end together are the usual case.
func TestOneTransactionIndexesSeveralSessions(t *testing.T) {
	path := sqlitetest.New(t)
	ledger := sqlitetest.NewLedger(t, path)
	st, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	for n := range 20 {
		id := uuid.NewString()
		if err := st.CreateSession(t.Context(), session.Session{SessionID: id, CWD: "/work", CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		item := session.Item{Key: "k", At: time.Now(), Kind: session.ItemText, Body: fmt.Appendf(nil, `{"text":"common word%d"}`, n)}
		if err := st.PutItems(t.Context(), id, []session.Item{item}); err != nil {
			t.Fatal(err)
		}
	}
	ledger.Take()
	for more := true; more; {
		if more, err = st.IndexTranscripts(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	if n := ledger.Take().Transactions; n != 1 {
		t.Errorf("20 sessions were indexed in %d transactions, want 1", n)
	}
	found, _, err := st.SearchTranscripts(t.Context(), session.Search{Words: []string{"common"}, Limit: 100})
	if err != nil || len(found) != 20 {
		t.Errorf("%d items are found, %v, want 20", len(found), err)
	}
}

// SQLite forgets an interrupt that comes just before a statement starts.
func TestSearchStopsWheneverItIsCanceled(t *testing.T) {
	t.Parallel()
	path := sqlitetest.New(t)
	st := open(t, path)
	id := uuid.NewString()
	if err := st.CreateSession(t.Context(), session.Session{SessionID: id, CWD: "/work", CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	item := session.Item{Key: "k", At: time.Now(), Kind: session.ItemText, Body: []byte(`{"text":"heron"}`)}
	if err := st.PutItems(t.Context(), id, []session.Item{item}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.IndexTranscripts(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	db := outside(t, path)
	execute(t, db, "ALTER TABLE transcript_words RENAME TO other_words")
	execute(t, db, `CREATE VIEW transcript_words AS WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 100000000)
		SELECT -n AS word_id, '`+id+`' AS session_id, 'none' AS key FROM numbers`)
	for n := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(4*n)*time.Microsecond, cancel)
		began := time.Now()
		_, _, err := st.SearchTranscripts(ctx, session.Search{Words: []string{"heron"}, Limit: 5})
		if took := time.Since(began); took > 10*time.Second || !errors.Is(err, context.Canceled) {
			t.Fatalf("search %d took %v: %v", n, took, err)
		}
	}
}
