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

// Instance is a cluster for programs that are not tests, with methods that make it fail.
type Instance struct{ cluster cluster }

// Start creates and starts a cluster. Each setting is one of the server, such as "fsync=off".
func Start(settings ...string) (*Instance, error) {
	i := &Instance{}
	return i, i.cluster.start(settings...)
}

// Close stops the cluster and removes its files.
func (i *Instance) Close() error { return i.cluster.stop() }

// DSN returns the address of a database in the cluster.
func (i *Instance) DSN() string { return i.cluster.address("postgres") }

// Stop ends the server without a checkpoint, like `pg_ctl stop -m immediate`. It returns once all
// its processes have ended.
func (i *Instance) Stop() error {
	pid, err := i.postmaster()
	if err != nil {
		return err
	}
	if err := signal(pid, syscall.SIGQUIT); err != nil {
		return err
	}
	return i.awaitExit()
}

// Start starts the server again after [Instance.Stop] and waits until it accepts connections.
func (i *Instance) Start() error {
	if _, err := i.cluster.stdin.Write([]byte("again\n")); err != nil {
		return fmt.Errorf("postgrestest: %w", err)
	}
	return i.Await()
}

// Await waits until the server accepts connections.
func (i *Instance) Await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return i.cluster.awaitAccepting(ctx)
}

// KillBackend kills one process that serves a client, with SIGKILL. The server then ends all others,
// discards their shared memory and recovers from its log. KillBackend returns when that has begun.
func (i *Instance) KillBackend() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
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
	if err := pollUntil(ctx, func() bool { return witness.Ping(ctx) != nil }); err != nil {
		return errors.New("postgrestest: the server does not notice that one of its processes is gone")
	}
	return nil
}

// Hang stops all processes of the server with SIGSTOP. resume continues them; it may be called
// repeatedly.
func (i *Instance) Hang() (resume func(), err error) {
	first, err := i.postmaster()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
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
		// The process of a client that disconnected may have ended.
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
			_ = syscall.Kill(pid, syscall.SIGCONT) // the process may have ended
		}
	}, err
}

// processes returns the ids of the server's processes that match a condition. It fails if there are
// none.
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

// pidFile returns the path of the file in which the server's first process stores its id.
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

// awaitExit waits until the server has removed its pid file, the last thing that it does.
func (i *Instance) awaitExit() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := pollUntil(ctx, func() bool {
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
