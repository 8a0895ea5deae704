package account_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

// trail is a log in memory.
type trail struct {
	base    account.AuditEntry
	entries []account.AuditEntry
	removed []int64 // by each call, how many
}

func (l *trail) add(body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	seq := l.base.Seq + 1
	if n := len(l.entries); n > 0 {
		seq = l.entries[n-1].Seq + 1
	}
	l.entries = append(l.entries, account.AuditEntry{Seq: seq, Body: text, Hash: []byte{1}})
}

func (l *trail) Audit(_ context.Context, after int64, limit int) (list []account.AuditEntry, err error) {
	for _, e := range l.entries {
		if e.Seq > after && len(list) < limit {
			list = append(list, e)
		}
	}
	return list, nil
}

func (l *trail) AuditBefore(_ context.Context, _ int64, limit int) ([]account.AuditEntry, error) {
	list := slices.Clone(l.entries[max(0, len(l.entries)-limit):])
	slices.Reverse(list)
	return list, nil
}

func (l *trail) AuditBase(context.Context) (account.AuditEntry, error) { return l.base, nil }

func (l *trail) RemoveAudit(_ context.Context, through account.AuditEntry, body []byte) error {
	before := len(l.entries)
	l.entries = slices.DeleteFunc(l.entries, func(e account.AuditEntry) bool { return e.Seq <= through.Seq })
	l.removed, l.base = append(l.removed, int64(before-len(l.entries))), through
	l.add(json.RawMessage(body))
	return nil
}

// TestLongAuditLogIsPrunedInParts: answers wait for each part, because each writes an entry.
func TestLongAuditLogIsPrunedInParts(t *testing.T) {
	t.Parallel()
	l, now := &trail{}, time.Now()
	for range 5000 {
		l.add(map[string]any{"what": "x", "at": now.AddDate(0, 0, -2)})
	}
	l.add(map[string]any{"what": "x", "at": now})
	n, err := account.PruneAudit(t.Context(), l, account.AuditRetention{Days: 1}, now)
	if err != nil || n != 5000 || len(l.removed) < 3 || slices.Max(l.removed) > 2000 {
		t.Errorf("removed %d in parts of %d, %v", n, l.removed, err)
	}
	if left := len(l.entries) - len(l.removed); left != 1 {
		t.Errorf("%d entries are left", left)
	}
}
