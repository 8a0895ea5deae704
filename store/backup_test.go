package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/memdir"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

type backedUp struct {
	name    string
	content []byte
}

func backUp(t *testing.T, dsn string) (files []backedUp) {
	t.Helper()
	err := store.Backup(t.Context(), dsn, func(name string, size int64, content io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(content, size))
		if int64(len(text)) != size {
			t.Errorf("%s has %d bytes, and %d were announced", name, len(text), size)
		}
		files = append(files, backedUp{name, text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// restore restores a backup, or undoes that when commit is false.
func restore(t *testing.T, dsn string, files []backedUp, commit bool) error {
	t.Helper()
	r, err := store.NewRestorer(t.Context(), dsn, "-before")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, f := range files {
		if err := r.Put(t.Context(), f.name, bytes.NewReader(f.content)); err != nil {
			return err
		}
	}
	if err := r.Check(t.Context()); err != nil || !commit {
		return err
	}
	return r.Commit(t.Context())
}

// another returns the address of an empty database of the same engine.
func another(t *testing.T, dsn string) string {
	if strings.HasPrefix(dsn, "postgres") {
		return postgrestest.Schema(t)
	}
	return filepath.Join(memdir.New(t), "restored.db")
}

// A backup that is made while others write has whole transactions, also when it is large. What is
// restored can be written.
func TestBackup(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, dsn string, _ *sql.DB) {
		ctx := t.Context()
		st := open(t, dsn)
		hello := session.Hello{RunnerID: uuid.NewString(), InstallationID: uuid.NewString()}
		if err := st.RegisterRunner(ctx, session.Runner{RunnerID: hello.RunnerID, InstallationID: hello.InstallationID}); err != nil {
			t.Fatal(err)
		}
		lease, err := st.TakeLease(ctx, hello)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.CreateSession(ctx, session.Session{SessionID: uuid.NewString(), Title: "tab\t, line\n, \\N and ü", CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		change := func(ctx context.Context, st store.Store, n int64) error {
			value := fmt.Sprint(n, strings.Repeat(" x", 50_000))
			return st.ChangeSetting(ctx, account.Setting{Name: "motto", Value: value, ChangedAt: time.Now()}, []byte(value))
		}
		var n atomic.Int64
		writing, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			var err error
			for err == nil && writing.Err() == nil {
				err = change(ctx, st, n.Add(1))
			}
			ended <- err
		}()
		for began := time.Now(); n.Load() < 60 && time.Since(began) < 2*time.Minute; { // 6 MB, so that PostgreSQL's has several parts
			time.Sleep(time.Millisecond)
		}
		before := n.Load()
		files := backUp(t, dsn)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}

		copied := another(t, dsn)
		for _, commit := range []bool{false, true} {
			if empty, err := store.IsEmpty(ctx, copied); err != nil || !empty {
				t.Fatalf("empty: %v, %v", empty, err)
			}
			if err := restore(t, copied, files, commit); err != nil {
				t.Fatal(err)
			}
		}
		restored := open(t, copied)
		settings, err := restored.Settings(ctx)
		if err != nil || len(settings) != 1 {
			t.Fatalf("%d settings, %v", len(settings), err)
		}
		var newest account.AuditEntry
		if err := account.WalkAudit(ctx, restored, func(e account.AuditEntry) error { newest = e; return nil }); err != nil {
			t.Fatal(err)
		}
		if string(newest.Body) != settings[0].Value || newest.Seq < before-1 {
			t.Errorf("the newest entry is %d %.10q and the setting %.10q, %d were there", newest.Seq, newest.Body, settings[0].Value, before)
		}
		sessions, _, err := restored.Sessions(ctx, session.Query{Limit: 10})
		if err != nil || len(sessions) != 1 || sessions[0].Title != "tab\t, line\n, \\N and ü" {
			t.Fatalf("%+v, %v", sessions, err)
		}
		if err := change(ctx, restored, 1); err != nil {
			t.Error(err)
		}
		if err := restored.CreateSession(ctx, session.Session{SessionID: uuid.NewString(), CreatedAt: time.Now()}); err != nil {
			t.Error(err)
		}
		hello.Machine = "another" // which a restored database accepts
		again, err := restored.TakeLease(ctx, hello)
		if err != nil || again.Epoch <= lease.Epoch {
			t.Errorf("epoch %d after %d, %v", again.Epoch, lease.Epoch, err)
		}
	})
}

// A database is replaced as a whole, and not at all by what is damaged.
func TestRestoreReplaces(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, dsn string, outside *sql.DB) {
		put := func(dsn, value string) {
			t.Helper()
			st, err := store.Open(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(st.ChangeSetting(t.Context(), account.Setting{Name: "motto", Value: value, ChangedAt: time.Now()}, []byte(value)), st.Close())
			if err != nil {
				t.Fatal(err)
			}
		}
		value := func() string {
			t.Helper()
			st, err := store.OpenReadOnly(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			all, err := st.Settings(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			return all[0].Value
		}
		put(dsn, "old")
		source := another(t, dsn)
		put(source, "new")
		files := backUp(t, source)

		if len(files) > 1 { // PostgreSQL
			if err := restore(t, dsn, files[len(files)-1:], true); err == nil {
				t.Error("restored a part of a backup")
			}
		} else {
			text := bytes.Clone(files[0].content)
			copy(text[len(text)/2:], bytes.Repeat([]byte("damage"), 2000))
			if err := restore(t, dsn, []backedUp{{files[0].name, text}}, true); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("restored a damaged database: %v", err)
			}
		}
		if got := value(); got != "old" {
			t.Errorf("after a restore that failed it is %q", got)
		}
		if err := restore(t, dsn, files, true); err != nil {
			t.Fatal(err)
		}
		if got := value(); got != "new" {
			t.Errorf("after a restore it is %q", got)
		}
		put(dsn, "newer") // also with the triggers and sequences of the tables
	})
}
