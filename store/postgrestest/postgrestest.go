// Package postgrestest gives tests their own PostgreSQL. Each test program has one cluster, with a
// fresh database or schema for each test. The cluster is created on first use in a temporary folder,
// in memory if there is enough, and is reached through a socket in that folder.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Around(m)) }
//
// The cluster ends with the test program, even if the program is killed: a shell supervises the
// cluster and reads from a pipe that only the test program holds open.
package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/internal/memdir"
)

// startTimeout bounds the time to create and start a cluster.
const startTimeout = 60 * time.Second

// M runs the tests of a package, and stops its cluster after them.
type M struct{ m *testing.M }

// Around wraps the tests of a package, so that their cluster ends with them.
func Around(m *testing.M) M { return M{m} }

// Run runs the tests and then stops the cluster, if one was started.
func (m M) Run() int {
	code := m.m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "postgrestest:", err)
		return max(code, 1)
	}
	return code
}

// cluster is a running PostgreSQL.
type cluster struct {
	once    sync.Once
	failure error

	dir        string
	supervisor *exec.Cmd
	stdin      io.WriteCloser // closing it ends the cluster; each line starts the server again
	log        string         // path of the server's log

	mu        sync.Mutex
	databases int // number of databases and schemas created so far; guarded by mu
}

var shared cluster

// Database returns the address of a new database. It exists until the cluster ends, because
// dropping it would cost a checkpoint. Each option is a setting of the database, such as
// "synchronous_commit=off".
func Database(t testing.TB, options ...string) string {
	t.Helper()
	name := newName(t)
	admin(t, "CREATE DATABASE "+name)
	for _, option := range options {
		admin(t, "ALTER DATABASE "+name+" SET "+option)
	}
	return shared.address(name)
}

// Schema returns the address of a new schema in a database that other tests use too. It is many
// times faster than [Database], and sufficient for tests that use only their own tables.
func Schema(t testing.TB) string {
	t.Helper()
	name := newName(t)
	admin(t, "CREATE SCHEMA "+name)
	return shared.address("postgres") + "&search_path=" + name
}

// Cluster returns the address of a database in a separate cluster, which ends with the test. Each
// setting is one of the server, such as "fsync=off".
func Cluster(t testing.TB, settings ...string) string {
	t.Helper()
	return NewServer(t, settings...).DSN()
}

// newName starts the cluster if necessary and returns an unused name in it.
func newName(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.failure = shared.start() })
	if shared.failure != nil {
		t.Fatal(shared.failure)
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.databases++
	return "test" + strconv.Itoa(shared.databases)
}

// admin runs a statement outside the databases of the tests.
func admin(t testing.TB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := shared.run(ctx, statement); err != nil {
		t.Fatalf("postgrestest: %s: %v", statement, err)
	}
}

func (c *cluster) run(ctx context.Context, statement string) (err error) {
	conn, err := pgx.Connect(ctx, c.address("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

func (c *cluster) address(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {c.dir}, "user": {"sayso"}}.Encode()
}

// supervise runs the server and starts it again for each line on stdin. When stdin ends, it ends the
// server, which a test may have stopped with a signal, and removes its folder. Signals to the
// terminal's process group are meant for the tests, so supervise ignores them.
const supervise = `trap '' INT TERM HUP
dir=$1; shift
"$@" </dev/null >>"$dir/log" 2>&1 &
server=$!
while read -r again; do
	wait $server
	"$@" </dev/null >>"$dir/log" 2>&1 &
	server=$!
done
kill -CONT $server $(pgrep -P $server) 2>/dev/null
kill -INT $server 2>/dev/null
wait $server
rm -rf "$dir"`

// start creates the cluster and waits until it accepts connections.
func (c *cluster) start(settings ...string) (err error) {
	bin, err := findBinaries()
	if err != nil {
		return err
	}
	as, err := serverUser()
	if err != nil {
		return err
	}
	if c.dir, err = createFolder(as); err != nil {
		return fmt.Errorf("postgrestest: %w", err)
	}
	data := filepath.Join(c.dir, "data")
	c.log = filepath.Join(c.dir, "log")

	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "sayso", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	asUser(initdb, c.dir, as)
	if out, err := initdb.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("postgrestest: initdb: %w: %s", err, bytes.TrimSpace(out)), os.RemoveAll(c.dir))
	}

	c.supervisor = exec.Command("/bin/sh", "-c", supervise, "sh", c.dir, filepath.Join(bin, "postgres"), "-D", data)
	for _, setting := range append([]string{"listen_addresses=", "unix_socket_directories=" + c.dir, "max_connections=200", "max_wal_size=256MB"}, settings...) {
		c.supervisor.Args = append(c.supervisor.Args, "-c", setting)
	}
	asUser(c.supervisor, c.dir, as)
	c.stdin, err = c.supervisor.StdinPipe()
	if err == nil {
		err = c.supervisor.Start()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("postgrestest: %w", err), os.RemoveAll(c.dir))
	}
	if err := c.awaitAccepting(ctx); err != nil {
		return errors.Join(err, c.stop())
	}
	return nil
}

// awaitAccepting waits until the server accepts connections.
func (c *cluster) awaitAccepting(ctx context.Context) error {
	var last error
	if err := pollUntil(ctx, func() bool {
		last = c.run(ctx, "SELECT 1")
		return last == nil
	}); err != nil {
		text, unread := os.ReadFile(c.log)
		return errors.Join(fmt.Errorf("postgrestest: the server did not start: %w\n%s", last, text), unread)
	}
	return nil
}

// pollUntil polls until ok returns true or ctx ends.
func pollUntil(ctx context.Context, ok func() bool) error {
	for !ok() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// stop ends the cluster and removes its files.
func (c *cluster) stop() error {
	if c.supervisor == nil || c.supervisor.Process == nil {
		return nil
	}
	return errors.Join(c.stdin.Close(), c.supervisor.Wait())
}

// findBinaries returns the folder that contains initdb and postgres.
func findBinaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "postgres")); err == nil {
				return filepath.Dir(path), nil
			}
		}
	}
	var found []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("postgrestest: %w", err)
		}
		for _, dir := range dirs {
			if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
				found = append(found, dir)
			}
		}
	}
	if len(found) == 0 {
		return "", errors.New("postgrestest: PostgreSQL is not installed; run `make setup`")
	}
	return slices.Max(found), nil
}

// serverUser returns the user as which the server runs, nil for the current user. PostgreSQL refuses to
// run as root, so for root it is another user.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("postgrestest: user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("postgrestest: user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("postgrestest: root may not run PostgreSQL and there is no user postgres or nobody; run the tests as an ordinary user")
}

// socketName is the name that PostgreSQL gives its socket.
const socketName = "/.s.PGSQL.5432"

// createFolder creates the folder of the cluster, at a path short enough for a socket on every system.
func createFolder(as *syscall.Credential) (string, error) {
	base := memdir.Base() // a folder in which every user may write
	if base == os.TempDir() && (len(base)+len("/sayso-pg0000000000")+len(socketName) > 100 || as != nil) {
		base = "/tmp" // the server's user may have no access to our temporary folder
	}
	dir, err := os.MkdirTemp(base, "sayso-pg")
	if err != nil {
		return "", err
	}
	if as != nil {
		err = os.Chown(dir, int(as.Uid), int(as.Gid))
	}
	return dir, err
}

// asUser sets a command to run in a folder, as the owner of the cluster.
func asUser(cmd *exec.Cmd, dir string, as *syscall.Credential) {
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "TZ=UTC"}
	if runtime.GOOS == "darwin" {
		cmd.Env[2] = "LC_ALL=en_US.UTF-8" // otherwise macOS makes the server multithreaded, and it refuses to start
	}
	if as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
}
