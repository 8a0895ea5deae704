package postgrestest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/store/postgrestest"
)

const orphan = "SAYSO_POSTGRESTEST_ORPHAN"

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Around(m)) }

// createFolder returns the folder of a cluster, by its address.
func createFolder(t *testing.T, dsn string) string {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return address.Query().Get("host")
}

func setting(t *testing.T, dsn, name string) string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var value string
	if err := conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestSettings(t *testing.T) {
	t.Parallel()
	plain, weak := postgrestest.Database(t), postgrestest.Database(t, "synchronous_commit=off")
	if plain == weak {
		t.Fatal("two tests share a database")
	}
	for _, c := range []struct{ dsn, name, want string }{
		{plain, "fsync", "on"}, {plain, "synchronous_commit", "on"}, {weak, "synchronous_commit", "off"},
		{postgrestest.Schema(t), "fsync", "on"},
	} {
		if got := setting(t, c.dsn, c.name); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
}

func TestClusterEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var dsn string
	t.Run("with a cluster", func(t *testing.T) {
		dsn = postgrestest.Cluster(t, "fsync=off")
		if got := setting(t, dsn, "fsync"); got != "off" {
			t.Errorf("fsync is %s", got)
		}
	})
	if _, err := os.Stat(createFolder(t, dsn)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the folder is still there: %v", err)
	}
}

// TestKilled kills a test program. No server and no folder may be left.
func TestKilled(t *testing.T) {
	if os.Getenv(orphan) != "" { // this is the program to be killed
		fmt.Println(createFolder(t, postgrestest.Schema(t)))
		select {}
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), orphan+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	if !scanner.Scan() {
		t.Fatalf("no cluster: %v", cmd.Wait())
	}
	dir := scanner.Text()
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it ended well")
	}
	limit := time.After(30 * time.Second)
	for {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond): // a process that is not a child does not notify us of its end
		case <-limit:
			t.Fatalf("%s is still there", dir)
		}
	}
}
