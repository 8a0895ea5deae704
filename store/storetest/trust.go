package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func trusts(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}
	ada := pending.Actor{UserID: "u1", Name: "Ada", Device: "Firefox", Address: "192.0.2.1"}
	const folder = "/work/ \u00e4\xff" // paths are arbitrary bytes

	type entry struct {
		What, Folder, Digest string
		By                   struct{ Name, Address string }
		Items                struct{ Hash, Text string }
	}
	onRecord := func(t *testing.T, st store.Store) (list []entry) {
		t.Helper()
		must(t, account.WalkAudit(ctx, st, func(e account.AuditEntry) error {
			list = append(list, entry{})
			return json.Unmarshal(e.Body, &list[len(list)-1])
		}))
		return list
	}

	s.run("LatestTrustCounts", func(t *testing.T, st store.Store) {
		if _, known, err := st.Trust(ctx, folder); known || err != nil {
			t.Fatalf("a folder is trusted that nobody has seen: %v", err)
		}
		first := workspace.Trust{Folder: folder, Digest: "sha256:1", Items: json.RawMessage(`[{"text":"touch a"}]`), By: ada, At: after(1)}
		must(t, st.PutTrust(ctx, first))
		again := first
		again.By.Name, again.At = "Bob", after(2)
		must(t, st.PutTrust(ctx, again))
		want := first
		want.By.Device, want.By.Address = "", ""
		got, _, err := st.Trust(ctx, folder)
		must(t, err)
		equal(t, "trust", got, want)
		second := again
		second.Digest, second.Items = "sha256:2", json.RawMessage(`[]`)
		must(t, st.PutTrust(ctx, second))
		got, known, err := st.Trust(ctx, folder)
		must(t, err)
		if !known || got.Digest != "sha256:2" || got.By.Name != "Bob" {
			t.Errorf("got %+v", got)
		}
		if _, known, _ := st.Trust(ctx, folder+"/below"); known {
			t.Error("the folder below is trusted, too")
		}
		list := onRecord(t, st)
		if len(list) != 2 || list[0].What != "folder_trusted" || list[0].By.Name != "Ada" || list[0].By.Address != "192.0.2.1" ||
			list[0].Digest != "sha256:1" || list[0].Items.Text != string(first.Items) || list[1].By.Name != "Bob" {
			t.Errorf("on record: %+v", list)
		}
	})

	s.run("RevokeTrustOnce", func(t *testing.T, st store.Store) {
		bob := pending.Actor{UserID: "u2", Name: "Bob", Address: "192.0.2.2"}
		first := workspace.Trust{Folder: folder, Digest: "sha256:1", Items: json.RawMessage(`[{"text":"touch a"}]`), By: ada, At: after(1)}
		other := workspace.Trust{Folder: "/work/other", Digest: "sha256:1", Items: json.RawMessage(`[]`), By: ada, At: after(2)}
		must(t, st.PutTrust(ctx, first))
		must(t, st.PutTrust(ctx, other))
		all, err := st.AllTrusts(ctx)
		must(t, err)
		if len(all) != 2 || all[0].Folder != other.Folder || all[1].Folder != folder || string(all[1].Items) != string(first.Items) || all[1].By.Name != "Ada" {
			t.Fatalf("all: %+v", all)
		}
		stale := first
		stale.Digest = "sha256:0"
		for _, c := range []struct {
			t    workspace.Trust
			want bool
		}{{stale, false}, {first, true}, {first, false}} {
			if known, err := st.Distrust(ctx, c.t, bob, after(3)); known != c.want || err != nil {
				t.Errorf("%s: %t, %v", c.t.Digest, known, err)
			}
		}
		if _, known, err := st.Trust(ctx, folder); known || err != nil {
			t.Errorf("it is trusted still: %v", err)
		}
		if _, known, _ := st.Trust(ctx, other.Folder); !known {
			t.Error("another folder was distrusted, too")
		}
		must(t, st.PutTrust(ctx, first)) // it may be trusted again
		list := onRecord(t, st)
		if len(list) != 4 || list[2].What != "folder_distrusted" || list[2].By.Name != "Bob" || list[2].By.Address != "192.0.2.2" ||
			list[2].Digest != "sha256:1" || list[3].What != "folder_trusted" {
			t.Errorf("on record: %+v", list)
		}
	})

	s.run("TrustAndAnswersShareAChain", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		var writing sync.WaitGroup
		for i := range 8 {
			writing.Go(func() {
				if err := st.PutTrust(ctx, workspace.Trust{Folder: folder, Digest: string(rune('a' + i)), Items: json.RawMessage(`[]`), By: ada, At: after(i)}); err != nil {
					t.Error(err)
				}
			})
			writing.Go(func() {
				r, _, err := st.OpenRequest(ctx, bashRequest(id, string(rune('a'+i))))
				if err == nil {
					_, _, err = st.ResolveRequest(ctx, r.RequestID, approval(string(rune('a'+i))))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		writing.Wait()
		if n := len(onRecord(t, st)); n != 16 {
			t.Errorf("%d entries, want 16", n)
		}
	})

	s.run("SessionWithoutSettings", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		is := func(want bool) {
			t.Helper()
			if out, err := st.LeftOut(ctx, id); err != nil || out != want {
				t.Errorf("got %t, %v, want %t", out, err, want)
			}
		}
		is(false)
		must(t, st.LeaveOut(ctx, id, true))
		must(t, st.LeaveOut(ctx, id, true))
		is(true)
		must(t, st.LeaveOut(ctx, id, false))
		is(false)
		must(t, st.LeaveOut(ctx, id, true))
		must(t, st.DeleteSession(ctx, id))
		is(false)
		if err := st.LeaveOut(ctx, id, true); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("a session that is not there: %v", err)
		}
	})
}
