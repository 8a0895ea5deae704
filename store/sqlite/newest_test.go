package sqlite_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlitetest"
)

// TestCachedRequest checks that the cached request equals the row in the database, also after each
// kind of change.
func TestCachedRequest(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Microsecond)
	held := pending.Held{Actor: pending.Actor{UserID: "u", Name: "Ada"}, At: now, Until: now.Add(time.Second), CommandID: "c", Answer: pending.Answer{Decision: pending.Allow}}
	path := sqlitetest.In(t, t.TempDir())
	st := open(t, path)
	create(t, st, "s1")
	for name, change := range map[string]func(id string) error{
		"nothing":  func(string) error { return nil },
		"progress": func(string) error { _, err := st.SaveProgress(ctx, "s1", session.Progress{}); return err },
		"resolve": func(id string) error {
			_, _, err := st.ResolveRequest(ctx, id, pending.Resolution{Status: pending.Answered, At: now, Answer: &held.Answer})
			return err
		},
		"approve": func(id string) error {
			_, _, err := st.ApproveRequest(ctx, id, pending.Approval{Actor: held.Actor, At: now, CommandID: "c"})
			return err
		},
		"hold":   func(id string) error { _, _, err := st.HoldRequest(ctx, id, held); return err },
		"orphan": func(string) error { _, err := st.OrphanRequests(ctx, "s1", "gone"); return err },
		"extend": func(id string) error { _, _, err := st.ExtendRequest(ctx, id, now.Add(time.Hour)); return err },
	} {
		opened, _, err := st.OpenRequest(ctx, pending.Request{RequestID: name, SessionID: "s1", RequestType: pending.ToolApproval,
			ProcessID: "p", ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`), CreatedAt: now, ExpiresAt: now.Add(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := st.Request(ctx, name); err != nil || !reflect.DeepEqual(got, opened) {
			t.Errorf("%s: %+v, %v\nand was opened as\n%+v", name, got, err, opened)
		}
		if err := change(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := st.Request(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		all, err := st.AnswerableRequests(ctx, "s1") // reads the database
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range all {
			if want.RequestID == name && !reflect.DeepEqual(got, want) {
				t.Errorf("after %s: %+v\nand not\n%+v", name, got, want)
			}
		}
		if name == "resolve" && got.Status != pending.Answered {
			t.Errorf("after it was answered: %s", got.Status)
		}
	}
	// Whoever reads after a change was reported must see it.
	for range 5 {
		id := "r" + time.Now().String()
		if _, _, err := st.OpenRequest(ctx, pending.Request{RequestID: id, SessionID: "s1", ToolInput: []byte("{}"), CreatedAt: now}); err != nil {
			t.Fatal(err)
		}
		whileRead(t, func(after bool) {
			r, err := st.Request(ctx, id)
			if err != nil || after && r.Status != pending.Withdrawn {
				t.Errorf("%s, %v", r.Status, err)
			}
		}, func() error {
			_, _, err := st.ResolveRequest(ctx, id, pending.Resolution{Status: pending.Withdrawn, At: now})
			return err
		})
	}
	if err := st.DeleteSession(ctx, "s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Request(ctx, "nothing"); err == nil {
		t.Error("a request of a session that was deleted")
	}
}
