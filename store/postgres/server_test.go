package postgres_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// TestServersOfADatabase: a row counts until it expires, and with it the leases of its server.
func TestServersOfADatabase(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	st, db := openPatient(t, dsn), outside(t, dsn)
	a := session.Server{ServerID: uuid.NewString(), Name: "a", Release: "1", Address: "10.0.0.1:7000", Key: [32]byte{1}}
	b := session.Server{ServerID: uuid.NewString(), Name: "b", Address: "10.0.0.2:7000", Key: [32]byte{2}}
	for _, s := range []session.Server{a, b, a} {
		must(t, st.PutServer(ctx, s))
	}
	all, err := st.Servers(ctx)
	if must(t, err); len(all) != 2 || all[a.ServerID] != a || all[b.ServerID] != b {
		t.Errorf("the servers are %v", all)
	}
	r := session.Runner{RunnerID: uuid.NewString(), InstallationID: uuid.NewString(), Name: "r"}
	must(t, st.RegisterRunner(ctx, r))
	lease, err := st.TakeLease(ctx, session.Hello{RunnerID: r.RunnerID, InstallationID: r.InstallationID, Server: a.ServerID})
	must(t, err)
	drives := func(want string) {
		t.Helper()
		if all, err := st.Drivers(ctx); err != nil || all[r.RunnerID] != want {
			t.Errorf("the drivers are %v, %v; want %q", all, err, want)
		}
	}
	drives(a.ServerID)
	must(t, st.ReleaseLease(ctx, lease))
	drives("")
	_, err = st.TakeLease(ctx, session.Hello{RunnerID: r.RunnerID, InstallationID: r.InstallationID, Server: a.ServerID})
	must(t, err)
	drives(a.ServerID)
	must(t, st.RemoveServer(ctx, a.ServerID))
	drives("")
	if all, err := st.Servers(ctx); err != nil || len(all) != 1 {
		t.Errorf("the servers are %v, %v", all, err)
	}
	for _, proposal := range []string{"first", "second"} {
		if value, err := st.SharedSecret(ctx, "key", proposal); err != nil || value != "first" {
			t.Errorf("the secret is %q, %v", value, err)
		}
	}
	id := uuid.NewString()
	must(t, st.CreateSession(ctx, session.Session{SessionID: id, ProjectID: "p", CWD: "/w", PermissionMode: "default", OwnerID: "u", RunnerID: r.RunnerID, CreatedAt: time.Now(), UpdatedAt: time.Now()}))
	uses := func(want int, except ...string) {
		t.Helper()
		if all, _, err := st.Use(ctx, except); err != nil || len(all) != want || want > 0 && (all[id].Folder != "/w" || all[id].OwnerID != "u") {
			t.Errorf("except %q: %v, %v; want %d", except, all, err, want)
		}
	}
	uses(0)
	_, err = st.SaveProcess(ctx, session.ProcessState{SessionID: id, ProcessID: uuid.NewString(), State: session.Starting})
	must(t, err)
	uses(1)
	uses(1, "another")
	uses(0, r.RunnerID)
	_, mark, err := st.Use(ctx, nil)
	must(t, err)
	for i, want := range []bool{true, false} {
		if reserved, err := st.ReserveSession(ctx, mark, uuid.NewString(), project.SessionUse{Folder: "/w", OwnerID: "u"}); err != nil || reserved != want {
			t.Errorf("reservation %d: %v, %v", i, reserved, err)
		}
	}
	if all, now, err := st.Use(ctx, nil); err != nil || len(all) != 2 || now <= mark {
		t.Errorf("after a reservation: %v, %d, %v", all, now, err)
	}
	exec(t, db, "UPDATE reservations SET expires_at = 1")
	uses(1)
	if session.ServerTTL < 3*time.Second {
		t.Error("a row expires before it is renewed")
	}
}
