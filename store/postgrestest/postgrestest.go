// Package postgrestest gives tests a PostgreSQL of their own: one cluster for
// each test program, made on first use in a temporary folder, in memory where there
// is enough, and reached by a socket in it, and a fresh database or schema for each
// test.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Around(m)) }
//
// The cluster ends with the test program, however that ends: a shell that supervises it
// reads a pipe that only the program holds open.
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

// startLimit is how long a cluster may take to be made and to accept.
const startLimit = 60 * time.Second

// M is a test program with a cluster.
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
	stdin      io.WriteCloser // closing it ends the cluster, a line starts it again
	log        string         // path of the server's log

	mu   sync.Mutex
	made int // databases and schemas so far; guarded by mu
}

var shared cluster

// Database returns the address of a fresh database. It stays until the cluster
// ends, because dropping one costs a checkpoint. Every option is a setting of the
// database, such as "synchronous_commit=off".
func Database(t testing.TB, options ...string) string {
	t.Helper()
	name := fresh(t)
	admin(t, "CREATE DATABASE "+name)
	for _, option := range options {
		admin(t, "ALTER DATABASE "+name+" SET "+option)
	}
	return shared.address(name)
}

// Schema returns the address of a fresh schema in a database that other tests
// use too: as good as a fresh one for what only looks at its own tables, and
// many times quicker.
func Schema(t testing.TB) string {
	t.Helper()
	name := fresh(t)
	admin(t, "CREATE SCHEMA "+name)
	return shared.address("postgres") + "&search_path=" + name
}

// Cluster returns the address of a database in a cluster that the test has for
// itself and that ends with it. Every setting is one of the server, such as
// "fsync=off".
func Cluster(t testing.TB, settings ...string) string {
	t.Helper()
	return NewServer(t, settings...).DSN()
}

// fresh starts the cluster if need be and returns a name that was not used in it.
func fresh(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.failure = shared.start() })
	if shared.failure != nil {
		t.Fatal(shared.failure)
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.made++
	return "test" + strconv.Itoa(shared.made)
}

// admin runs a statement outside the databases of the tests.
func admin(t testing.TB, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
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

// supervise runs the server, once more for each line of its stdin, and ends it, and its
// folder, when that pipe ends. A test may have left it stopped. A signal to the terminal's process group is for the tests, not for it.
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

// start makes the cluster and waits until it accepts.
func (c *cluster) start(settings ...string) (err error) {
	bin, err := binaries()
	if err != nil {
		return err
	}
	as, err := owner()
	if err != nil {
		return err
	}
	if c.dir, err = folder(as); err != nil {
		return fmt.Errorf("postgrestest: %w", err)
	}
	data := filepath.Join(c.dir, "data")
	c.log = filepath.Join(c.dir, "log")

	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
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
	if err := c.accepts(ctx); err != nil {
		return errors.Join(err, c.stop())
	}
	return nil
}

// accepts waits until the server takes connections.
func (c *cluster) accepts(ctx context.Context) error {
	var last error
	if err := until(ctx, func() bool {
		last = c.run(ctx, "SELECT 1")
		return last == nil
	}); err != nil {
		text, unread := os.ReadFile(c.log)
		return errors.Join(fmt.Errorf("postgrestest: the server did not start: %w\n%s", last, text), unread)
	}
	return nil
}

// until looks again and again until ok, or until ctx ends.
func until(ctx context.Context, ok func() bool) error {
	for !ok() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// stop ends the cluster and removes it.
func (c *cluster) stop() error {
	if c.supervisor == nil || c.supervisor.Process == nil {
		return nil
	}
	return errors.Join(c.stdin.Close(), c.supervisor.Wait())
}

// binaries finds the folder with initdb and postgres.
func binaries() (string, error) {
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

// owner is who the server runs as: it refuses to run as root, so for root
// another user; nil for ourselves.
func owner() (*syscall.Credential, error) {
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

// socketName is the name PostgreSQL gives its socket.
const socketName = "/.s.PGSQL.5432"

// folder makes the folder of the cluster, where the path of the socket is short
// enough for every system.
func folder(as *syscall.Credential) (string, error) {
	base := memdir.Base() // everybody may write there
	if base == os.TempDir() && (len(base)+len("/sayso-pg0000000000")+len(socketName) > 100 || as != nil) {
		base = "/tmp" // a folder of ours may be closed to another user
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

// asUser prepares a command to run in the folder as its owner.
func asUser(cmd *exec.Cmd, dir string, as *syscall.Credential) {
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "TZ=UTC"}
	if runtime.GOOS == "darwin" {
		cmd.Env[2] = "LC_ALL=en_US.UTF-8" // the server is multithreaded without it and refuses
	}
	if as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
}
