package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/sqlite"
)

const (
	everyWritePath = "SAYSO_SQLITE_EVERY_WRITE"
	readOnlyPath   = "SAYSO_SQLITE_READ_ONLY"
)

// everyWrite lets the disk be full at each page of each write in the life of a session. The write
// must change nothing, and must succeed once there is space.
func everyWrite(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	st, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	other, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	other.SetMaxOpenConns(1)
	now := time.Now()
	won := func(_ pending.Request, won bool, err error) error {
		if err == nil && !won {
			err = errors.New("nothing was done")
		}
		return err
	}
	request := func(id string) pending.Request {
		return pending.Request{RequestID: id, SessionID: "s1", ProcessID: "one", ToolInput: []byte("{}"), InputHash: "h", CreatedAt: now}
	}
	failures := 0
	for _, w := range []struct {
		what string
		do   func() error
	}{
		{"user", func() error { return st.PutUser(ctx, account.User{UserID: "u1", Name: "Ada"}) }},
		{"credential", func() error {
			return st.AddCredential(ctx, account.Credential{CredentialID: "c1", UserID: "u1", Kind: account.Cookie, Hash: []byte("hash")})
		}},
		{"runner", func() error { return st.RegisterRunner(ctx, session.Runner{RunnerID: "one"}) }},
		{"lease", func() error { _, err := st.TakeLease(ctx, session.Hello{RunnerID: "one"}); return err }},
		{"session", func() error { return st.CreateSession(ctx, session.Session{SessionID: "s1", CreatedAt: now}) }},
		{"message", func() error {
			_, err := st.QueueMessage(ctx, session.Message{MessageID: "m1", SessionID: "s1", Text: strings.Repeat("x", 20<<10)})
			return err
		}},
		{"process", func() error {
			_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: "s1", State: session.Starting, ProcessID: "one"})
			return err
		}},
		{"sent message", func() error { _, err := st.MarkSent(ctx, "m1", now); return err }},
		{"request", func() error { return won(st.OpenRequest(ctx, request("r1"))) }},
		{"answer", func() error {
			return won(st.ResolveRequest(ctx, "r1", pending.Resolution{Status: pending.Answered, Answer: &pending.Answer{Decision: pending.Allow},
				Actor: pending.Actor{UserID: "u1"}, At: now, CommandID: "c1"}))
		}},
		{"ack", func() error { _, err := st.SaveCommand(ctx, "u1", "c1", []byte("ack"), now); return err }},
		{"delivery", func() error { return st.SetDelivery(ctx, "r1", pending.Delivered) }},
		{"progress", func() error {
			_, err := st.SaveProgress(ctx, "s1", session.Progress{Items: []session.Item{{Key: "k", Kind: session.ItemText, Body: []byte(`"` + strings.Repeat("x", 20<<10) + `"`)}},
				Process: &session.ProcessState{State: session.Starting, ProcessID: "one"}, Mark: &session.Mark{ProcessID: "one", Offset: 1}})
			return err
		}},
		{"second request", func() error { return won(st.OpenRequest(ctx, request("r2"))) }},
		{"orphaning", func() error { _, err := st.OrphanRequests(ctx, "s1", "x"); return err }},
		{"revocation", func() error { return st.RevokeCredential(ctx, "c1") }},
		{"deletion", func() error { return st.DeleteSession(ctx, "s1") }},
	} {
		before, err := dump(other)
		if err != nil {
			return err
		}
		wal, err := os.Stat(path + "-wal")
		if err != nil {
			return err
		}
		for room := uint64(0); ; room += 2048 { // also in the middle of a page
			// A failed write leaves data behind the end of the log, which the next one overwrites.
			if err := limit(uint64(wal.Size()) + room); err != nil {
				return err
			}
			failed := w.do()
			if err := limit(^uint64(0)); err != nil {
				return err
			}
			after, err := dump(other)
			if err != nil {
				return err
			}
			if failed == nil {
				if after == before {
					return fmt.Errorf("%s: it changed nothing", w.what)
				}
				break
			}
			failures++
			if !errors.Is(failed, store.ErrUnavailable) || !errors.Is(failed, store.ErrReadOnly) {
				return fmt.Errorf("%s with room for %d bytes: %w", w.what, room, failed)
			}
			if after != before {
				return fmt.Errorf("%s with room for %d bytes failed and changed something:\n%s\n%s", w.what, room, before, after)
			}
			if room > 1<<20 {
				return fmt.Errorf("%s never succeeds: %w", w.what, failed)
			}
		}
	}
	if failures < 30 {
		return fmt.Errorf("only %d writes failed", failures)
	}
	last, err := dump(other)
	if err == nil {
		err = errors.Join(other.Close(), st.Close())
	}
	if err != nil {
		return err
	}
	again, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	if other, err = sql.Open("sqlite", path); err != nil {
		return err
	}
	reopened, err := dump(other)
	if reopened != last {
		err = errors.Join(err, errors.New("after a start there is something else"))
	}
	return errors.Join(err, other.Close(), again.Close())
}

// dump returns the whole content of a database.
func dump(db *sql.DB) (string, error) {
	var all strings.Builder
	tables, err := rows(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\\_fts%' ESCAPE '\\' ORDER BY name")
	if err != nil {
		return "", err
	}
	for _, table := range tables {
		found, err := rows(db, `SELECT * FROM "`+table+`"`)
		if err != nil {
			return "", fmt.Errorf("%s: %w", table, err)
		}
		fmt.Fprintln(&all, table, found)
	}
	return all.String(), nil
}

func rows(db *sql.DB, query string) (all []string, err error) {
	found, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		return nil, err
	}
	for found.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		if len(values) == 1 {
			all = append(all, fmt.Sprint(values[0]))
		} else {
			all = append(all, fmt.Sprint(values))
		}
	}
	return all, found.Err()
}

// limit sets the largest size of files of this process, in bytes.
func limit(bytes uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		return err
	}
	now.Cur = min(bytes, now.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now)
}

func TestDiskFullAtEveryWrite(t *testing.T) {
	t.Parallel()
	runChild(t, everyWritePath, filepath.Join(t.TempDir(), "sayso.db"))
}

// readOnly opens a database and writes to it, in a folder that was made read-only before or
// meanwhile.
func readOnly(path string) error {
	dir := filepath.Dir(path)
	st, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	if err := st.CreateSession(ctx, session.Session{SessionID: "s1"}); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		return err
	}
	// The files are open already, so it needs no new one.
	if err := st.CreateSession(ctx, session.Session{SessionID: "s2"}); err != nil {
		return fmt.Errorf("a write after the folder was made read-only: %w", err)
	}
	if err := errors.Join(st.Ping(ctx), st.Close()); err != nil {
		return err
	}
	if st, err = sqlite.Open(ctx, path); err != nil {
		return fmt.Errorf("a start in a read-only folder: %w", err)
	}
	for _, id := range []string{"s1", "s2"} {
		if _, err := st.Session(ctx, id); err != nil {
			return err
		}
	}
	if err := st.CreateSession(ctx, session.Session{SessionID: "s3"}); err != nil {
		return err
	}
	if err := st.Close(); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil {
			return err
		}
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		return err
	}
	st, err = sqlite.Open(ctx, path)
	if err == nil || st != nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "folder") {
		return fmt.Errorf("a start that cannot make its files: %w", err)
	}
	return os.Chmod(dir, 0o700)
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		runChild(t, readOnlyPath, filepath.Join(t.TempDir(), "sayso.db"))
		return
	}
	// Root can write anywhere, so the test uses another user.
	const nobody = 65534
	dir, err := os.MkdirTemp("/tmp", "sayso-readonly-")
	if err == nil {
		err = os.Chown(dir, nobody, nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	text := bytesOf(t, os.Args[0])
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), readOnlyPath+"="+filepath.Join(dir, "sayso.db"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
