package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Pooler is a PgBouncer in front of a cluster, with its own socket.
type Pooler struct {
	dir, database, user string
	port                int
	cmd                 *exec.Cmd
}

// NewPooler starts a PgBouncer for the duration of the test, and returns the address of a database
// through it. mode is a pool_mode.
func NewPooler(t testing.TB, dsn, mode string) string {
	t.Helper()
	p, err := StartPooler(dsn, mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.DSN()
}

// StartPooler starts a PgBouncer for a database of a cluster of this package.
func StartPooler(dsn, mode string) (_ *Pooler, err error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !exists(program) { // only root has it in PATH
			return nil, errors.New("postgrestest: PgBouncer is not installed; run `make setup`")
		}
	}
	address, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgrestest: %w", err)
	}
	as, err := serverUser()
	if err != nil {
		return nil, err
	}
	p := &Pooler{database: filepath.Base(address.Path), user: address.Query().Get("user")}
	if p.dir, err = createFolder(as); err != nil {
		return nil, fmt.Errorf("postgrestest: %w", err)
	}
	// PgBouncer only uses the port in the name of its socket.
	p.port = 6432
	config := fmt.Sprintf(`[databases]
%[1]s = host=%[2]s dbname=%[1]s user=%[6]s
[pgbouncer]
listen_addr =
listen_port = %[3]d
unix_socket_dir = %[4]s
auth_type = any
auth_file = %[4]s/users
pool_mode = %[5]s
default_pool_size = 50
max_client_conn = 200
logfile = %[4]s/log
pidfile = %[4]s/pid
`, p.database, address.Query().Get("host"), p.port, p.dir, mode, p.user)
	file := filepath.Join(p.dir, "pgbouncer.ini")
	err = errors.Join(os.WriteFile(file, []byte(config), 0o644), os.WriteFile(filepath.Join(p.dir, "users"), nil, 0o644))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("postgrestest: %w", err), os.RemoveAll(p.dir))
	}
	p.cmd = exec.Command(program, "-q", file)
	asUser(p.cmd, p.dir, as)
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("postgrestest: %w", err), os.RemoveAll(p.dir))
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var last error
	if pollUntil(ctx, func() bool {
		var conn net.Conn
		conn, last = net.Dial("unix", filepath.Join(p.dir, ".s.PGSQL."+strconv.Itoa(p.port)))
		if last == nil {
			_ = conn.Close()
		}
		return last == nil
	}) != nil {
		text, _ := os.ReadFile(filepath.Join(p.dir, "log"))
		return nil, errors.Join(fmt.Errorf("postgrestest: PgBouncer did not start: %w\n%s", last, text), p.Close())
	}
	return p, nil
}

// DSN returns the address of the database through the pooler.
func (p *Pooler) DSN() string {
	return "postgres:///" + p.database + "?" + url.Values{"host": {p.dir}, "port": {strconv.Itoa(p.port)}, "user": {p.user}}.Encode()
}

// Close stops the pooler.
func (p *Pooler) Close() error {
	err := p.cmd.Process.Signal(syscall.SIGQUIT) // immediately, even if clients are connected
	_ = p.cmd.Wait()                             // the exit code is then not 0
	return errors.Join(err, os.RemoveAll(p.dir))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
