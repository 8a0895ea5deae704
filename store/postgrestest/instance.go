package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Instance is a cluster for programs that are no tests, to let it fail.
type Instance struct{ cluster cluster }

// Start makes and starts a cluster. Every setting is one of the server, such as
// "fsync=off".
func Start(settings ...string) (*Instance, error) {
	i := &Instance{}
	return i, i.cluster.start(settings...)
}

// Close ends the cluster and removes it.
func (i *Instance) Close() error { return i.cluster.stop() }

// DSN returns the address of a database in the cluster.
func (i *Instance) DSN() string { return i.cluster.address("postgres") }

// Stop ends the server without a checkpoint, as `pg_ctl stop -m immediate` does, and
// returns once nothing of it runs.
func (i *Instance) Stop() error {
	pid, err := i.postmaster()
	if err != nil {
		return err
	}
	if err := signal(pid, syscall.SIGQUIT); err != nil {
		return err
	}
	return i.gone()
}

// Start starts the server again after [Instance.Stop] and waits until it accepts.
func (i *Instance) Start() error {
	if _, err := i.cluster.stdin.Write([]byte("again\n")); err != nil {
		return fmt.Errorf("postgrestest: %w", err)
	}
	return i.Await()
}

// Await waits until the server accepts.
func (i *Instance) Await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	return i.cluster.accepts(ctx)
}

// KillBackend kills one process that serves a client with SIGKILL. The server then ends
// all the others, forgets what they shared, and recovers from its log; it has begun to when
// this returns.
func (i *Instance) KillBackend() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	witness, err := pgx.Connect(ctx, i.DSN())
	if err != nil {
		return fmt.Errorf("postgrestest: %w", err)
	}
	defer witness.Close(ctx)
	backends, err := processes(ctx, witness, "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	if err != nil {
		return err
	}
	if err := signal(backends[0], syscall.SIGKILL); err != nil {
		return err
	}
	if err := until(ctx, func() bool { return witness.Ping(ctx) != nil }); err != nil {
		return errors.New("postgrestest: the server does not notice that one of its processes is gone")
	}
	return nil
}

// Hang stops every process of the server where it is; the function that it returns
// lets them go on, and may be called again.
func (i *Instance) Hang() (resume func(), err error) {
	first, err := i.postmaster()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, i.DSN())
	if err != nil {
		return nil, fmt.Errorf("postgrestest: %w", err)
	}
	others, err := processes(ctx, conn, "WHERE pid <> pg_backend_pid()")
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return nil, err
	}
	all := append([]int{first}, others...)
	for _, pid := range all {
		// A client that went away may have ended its process.
		if failed := syscall.Kill(pid, syscall.SIGSTOP); failed != nil && !errors.Is(failed, syscall.ESRCH) {
			err = errors.Join(err, fmt.Errorf("postgrestest: stop %d: %w", pid, failed))
		}
	}
	resumed := false
	return func() {
		if resumed {
			return
		}
		resumed = true
		for _, pid := range all {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
		}
	}, err
}

// processes returns the ids of the processes of the server that a condition selects,
// at least one.
func processes(ctx context.Context, conn *pgx.Conn, where string) (pids []int, err error) {
	rows, err := conn.Query(ctx, "SELECT pid FROM pg_stat_activity "+where+" ORDER BY backend_start")
	if err == nil {
		pids, err = pgx.CollectRows(rows, pgx.RowTo[int])
	}
	if err == nil && len(pids) == 0 {
		err = errors.New("no process is there " + where)
	}
	if err != nil {
		return nil, fmt.Errorf("postgrestest: %w", err)
	}
	return pids, nil
}

// pidFile is where the first process of the server notes its id.
func (i *Instance) pidFile() string { return filepath.Join(i.cluster.dir, "data", "postmaster.pid") }

func (i *Instance) postmaster() (int, error) {
	text, err := os.ReadFile(i.pidFile())
	if err != nil {
		return 0, fmt.Errorf("postgrestest: %w", err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(string(first))
	if err != nil {
		return 0, fmt.Errorf("postgrestest: %s: %w", i.pidFile(), err)
	}
	return pid, nil
}

// gone waits until the server has removed its file, which is the last that it does.
func (i *Instance) gone() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := until(ctx, func() bool {
		_, err := os.Stat(i.pidFile())
		return errors.Is(err, os.ErrNotExist)
	}); err != nil {
		return errors.New("postgrestest: the server does not stop")
	}
	return nil
}

func signal(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("postgrestest: signal %s to %d: %w", signal, pid, err)
	}
	return nil
}
