package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/memdir"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Around(m)) }

func open(t *testing.T, dsn string) store.Store {
	t.Helper()
	st, err := store.Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestOpenPath(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"bare": "", "scheme": "sqlite:"} {
		path := filepath.Join(memdir.New(t), name+" 100% a?b#c.db")
		if err := open(t, prefix+path).Ping(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("the file has another name: %v", err)
		}
	}
}

func TestOpenURL(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	for _, dsn := range []string{dsn, strings.Replace(dsn, "postgres://", "postgresql://", 1)} {
		if err := open(t, dsn).Ping(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenRefusesAnUnknownDatabase(t *testing.T) {
	t.Parallel()
	dsn := strings.Replace(postgrestest.Schema(t), "/postgres?", "/nowhere?", 1)
	if _, err := store.Open(context.Background(), dsn); !errors.Is(err, store.ErrDSN) {
		t.Fatalf("got %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	link := filepath.Join(folder, "link.db")
	if err := os.Symlink(filepath.Join(folder, "elsewhere.db"), link); err != nil {
		t.Fatal(err)
	}
	const secret = "hunter2"
	for _, c := range []struct {
		dsn  string
		want error
	}{
		{"", store.ErrDSN},
		{"sqlite:", store.ErrDSN},
		{"mysql://root:" + secret + "@localhost/sayso", store.ErrDSN},
		{"/tmp/a\x00b", store.ErrDSN},
		{folder, store.ErrDSN},
		{link, store.ErrDSN},
		{"postgres://sayso:" + secret + "@localhost:notaport/sayso", store.ErrDSN},
		{"postgres://sayso:" + secret + "%zz@localhost/sayso", store.ErrDSN},
		{"postgres://sayso:" + secret + " with space@local host/sayso", store.ErrDSN},
		{"postgres://localhost/sayso?password=" + secret + "&sslmode=nonsense", store.ErrDSN},
		{"postgres://sayso:" + secret + "@localhost/sayso?pool_max_conns=none", store.ErrDSN},
		{"postgres://sayso:" + secret + "@127.0.0.1:1/sayso?sslmode=disable", store.ErrUnavailable},
		{"postgres:///sayso?host=" + folder + "&user=sayso&password=" + secret, store.ErrUnavailable},
	} {
		st, err := store.Open(context.Background(), c.dsn)
		if !errors.Is(err, c.want) || st != nil {
			t.Errorf("%q: got %v and error %v, want %v", c.dsn, st, err, c.want)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error tells the password: %v", c.dsn, err)
		}
	}
}
