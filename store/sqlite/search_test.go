package sqlite_test

import (
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
