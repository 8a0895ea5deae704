package storetest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store"
)

// permanentApproval returns an approval with permanent rules.
func permanentApproval(commandID, permissions string) pending.Resolution {
	res := approval(commandID)
	res.Answer.UpdatedPermissions = json.RawMessage(permissions)
	return res
}

func grants(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}
	const touch = `[{"type":"addRules","behavior":"allow","destination":"localSettings","rules":[{"toolName":"Bash","ruleContent":"touch a *"},{"toolName":"Read"}]},
		{"type":"addDirectories","destination":"session","directories":["/x\u0000y"]},{"type":"setMode","mode":"acceptEdits","destination":"session"},
		{"type":"addRules","behavior":"deny","destination":"session","rules":[{"toolName":"Bash"}]}]`

	s.run("AnswerStoresItsGrants", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "touch a"))
		resolveRequest(t, st, r.RequestID, permanentApproval("c1", touch))
		_, again, err := st.ResolveRequest(ctx, r.RequestID, permanentApproval("c2", touch))
		must(t, err)
		if again {
			t.Fatal("a second answer won")
		}
		list, err := st.Grants(ctx, pending.GrantQuery{RequestID: r.RequestID})
		must(t, err)
		ses, err := st.Session(ctx, id)
		must(t, err)
		found := map[string]pending.Grant{}
		for _, g := range list {
			found[g.Rule] = g
			if g.SessionID != id || g.ProcessID != r.ProcessID || g.Folder != ses.CWD || g.By.Name != "Ada" || g.By.Device != "Chrome on Linux" || g.ToolName != "Bash" || g.At.IsZero() {
				t.Errorf("got %+v", g)
			}
		}
		if len(list) != 4 || found["Bash(touch a *)"].Scope != pending.ScopeLocal || found["Read"].Kind != pending.GrantRule ||
			found["/x\x00y"].Kind != pending.GrantDirectory || found["acceptEdits"].Kind != pending.GrantMode {
			t.Fatalf("got %+v", list)
		}
		must(t, st.UseGrants(ctx, []pending.GrantUse{{GrantID: found["Read"].GrantID, Uses: 2, LastAt: after(5)}, {GrantID: found["Read"].GrantID, Uses: 1, LastAt: after(4)}, {GrantID: "none", Uses: 1}}))
		one, err := st.Grants(ctx, pending.GrantQuery{GrantID: found["Read"].GrantID})
		must(t, err)
		if len(one) != 1 || one[0].Uses != 3 || !one[0].LastUsedAt.Equal(after(5)) {
			t.Errorf("got %+v", one)
		}
		for user, want := range map[string]int{r.SessionID: 0, list[0].By.UserID: 4} {
			if mine, err := st.Grants(ctx, pending.GrantQuery{UserID: user}); err != nil || len(mine) != want {
				t.Errorf("of %s: got %d, %v", user, len(mine), err)
			}
		}
	})

	s.run("GrantOutlivesItsSession", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		r := openRequest(t, st, bashRequest(id, "touch a"))
		resolveRequest(t, st, r.RequestID, permanentApproval("c1", touch))
		must(t, st.DeleteSession(ctx, id))
		if list, err := st.Grants(ctx, pending.GrantQuery{}); err != nil || len(list) != 4 {
			t.Errorf("got %d, %v", len(list), err)
		}
	})

	s.run("DenialStoresNoGrant", func(t *testing.T, st store.Store) {
		r := openRequest(t, st, bashRequest(newSession(t, st), "touch a"))
		_, _, err := st.ResolveRequest(ctx, r.RequestID, pending.Resolution{Status: pending.Withdrawn, At: after(3), Reason: "gone"})
		must(t, err)
		_, _, err = st.ResolveRequest(ctx, r.RequestID, permanentApproval("c1", touch))
		must(t, err)
		if list, err := st.Grants(ctx, pending.GrantQuery{All: true}); err != nil || len(list) != 0 {
			t.Errorf("got %+v, %v", list, err)
		}
	})

	s.run("RevokeOnceAndRecord", func(t *testing.T, st store.Store) {
		id, other := newSession(t, st), newSession(t, st)
		for _, session := range []string{id, id, other} {
			r := openRequest(t, st, bashRequest(session, "touch a"))
			resolveRequest(t, st, r.RequestID, permanentApproval("c"+r.RequestID, `[{"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Read"}]}]`))
		}
		list, err := st.Grants(ctx, pending.GrantQuery{})
		must(t, err)
		if len(list) != 3 {
			t.Fatalf("got %+v", list)
		}
		var mine pending.Grant
		for _, g := range list {
			if g.SessionID == id {
				mine = g
			}
		}
		by := pending.Actor{UserID: "u2", Name: "Bob", Device: "curl", Address: "192.0.2.9"}
		for i, want := range []int{2, 0} {
			if n, err := st.RevokeGrant(ctx, mine, by, after(10)); err != nil || n != want {
				t.Errorf("take back %d: got %d, %v, want %d", i, n, err, want)
			}
		}
		gone, err := st.Grants(ctx, pending.GrantQuery{RevokedSince: after(9)})
		must(t, err)
		live, err := st.Grants(ctx, pending.GrantQuery{})
		must(t, err)
		if len(gone) != 2 || gone[0].RevokedBy != "Bob" || !gone[0].RevokedAt.Equal(after(10)) || len(live) != 1 || live[0].SessionID != other {
			t.Errorf("gone %+v, live %+v", gone, live)
		}
		entries := readAudit(t, st)
		if last := entries[len(entries)-1]; len(entries) != 4 || last.What != "revoked" || last.By.Name != "Bob" || last.By.Address != "192.0.2.9" {
			t.Errorf("on record: %+v", entries)
		}
	})

	s.run("RevokeGrantFoundInAFile", func(t *testing.T, st store.Store) {
		g := pending.Grant{Kind: pending.GrantRule, Rule: "Bash(x)", Scope: pending.ScopeProject, Folder: "/work\xff", At: after(1)}
		g.GrantID = pending.FoundGrantID(g)
		for range 2 { // it may be written again
			if n, err := st.RevokeGrant(ctx, g, pending.Actor{Name: "Bob"}, after(2)); err != nil || n != 1 {
				t.Errorf("got %d, %v", n, err)
			}
		}
		list, err := st.Grants(ctx, pending.GrantQuery{All: true})
		must(t, err)
		if len(list) != 1 || list[0].Folder != g.Folder || list[0].RevokedBy != "Bob" || len(readAudit(t, st)) != 2 {
			t.Errorf("got %+v", list)
		}
	})
}
