package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/config"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// localRunner is the runner inside this server, as stored in its state folder.
type localRunner struct {
	RunnerID       string `json:"runner_id"`
	InstallationID string `json:"installation_id"`
}

// forgetAfter is how long a runner inside a server stays known after its server is gone, if it has no
// sessions: each new pod brings another runner.
const forgetAfter = 24 * time.Hour

// takeRunner takes the lease of the runner inside this server if it has one, and forgets those of
// servers that are gone.
func (a *app) takeRunner(ctx context.Context) error {
	if a.settings.LocalRunner {
		if err := a.takeLease(ctx); err != nil {
			return err
		}
	} else {
		if n := running(a.shims); n > 0 {
			return fmt.Errorf("%s of this server still running; stop them with sayso kill-all%s, or leave out --local-runner=false", count(n, "session is", "sessions are"), a.stateFlag())
		}
		a.driving = a.store
	}
	if err := a.store.ForgetRunners(ctx, time.Now().Add(-forgetAfter)); err != nil {
		a.log.WarnContext(ctx, "cannot remove the machines of former servers from the list", "error", err)
	}
	return nil
}

// takeLease takes the lease of the runner inside this server, and passes its epoch to the shims. The
// state folder has a copy of the epoch. If the last epoch in the database is below the copy, the
// database is older than the sessions of this machine: a backup was restored, or it is another one.
func (a *app) takeLease(ctx context.Context) error {
	here, err := a.identifyRunner(ctx)
	if err != nil {
		return err
	}
	fences, _, err := a.shims.Fences(ctx)
	if err != nil {
		return err
	}
	hello := session.Hello{
		RunnerID: here.RunnerID, InstallationID: here.InstallationID, Name: a.settings.NodeID, Server: a.leaseServer(), Release: versionText(),
		Capacity: session.Capacity{Memory: memInfo("MemTotal"), Cores: runtime.NumCPU()},
		Fence:    slices.Max(append(slices.Collect(maps.Values(fences)), 0)),
	}
	if a.shared != nil { // a copy of a database file contains a copy of its runner
		hello.Machine = machine()
	}
	known, err := a.store.Runner(ctx, here.RunnerID)
	if errors.Is(err, session.ErrNoRunner) {
		if err = a.store.RegisterRunner(ctx, session.Runner{RunnerID: here.RunnerID, InstallationID: here.InstallationID, Name: hello.Name}); err == nil {
			known, err = a.store.Runner(ctx, here.RunnerID)
		}
	}
	if err != nil {
		return err
	}
	file := filepath.Join(a.settings.StateDir, "epoch")
	noted, err := readEpoch(file)
	if err != nil {
		a.log.WarnContext(ctx, "cannot tell whether the database is older than the sessions of this machine", "error", err)
	}
	if noted > known.Epoch {
		a.log.ErrorContext(ctx, "the database is older than the sessions of this machine, as after restoring a backup; sessions that run are recovered, and Claude may ask again what was answered since then",
			"database_last_used", startedAt(known.Epoch), "server_last_started", startedAt(noted))
	}
	hello.Fence = max(hello.Fence, noted) // no epoch is given twice, even if the clock went back
	lease, err := a.store.TakeLease(ctx, hello)
	switch {
	case errors.Is(err, store.ErrReadOnly):
		// The server starts even on a full disk. Its locks exclude other servers. Like the store, it
		// takes the epoch from the clock.
		a.log.WarnContext(ctx, "the disk is not writable; starting anyway", "error", err)
		a.driving = a.store
		lease.Epoch = max(uint64(time.Now().UnixMicro()), hello.Fence+1)
	case errors.Is(err, session.ErrOtherInstallation):
		return fmt.Errorf("the database refuses the runner of the state folder %s: %w; if this is a copy, give the server a separate state folder with --state-dir; "+
			"after a permanent move, run UPDATE runners SET machine = '' WHERE runner_id = '%s' in the database", a.settings.StateDir, err, here.RunnerID)
	case err != nil:
		return err
	default:
		a.lease = &lease
		a.driving = a.metrics.measured(store.WithLease(a.opened, lease))
		if err := os.WriteFile(file, fmt.Appendln(nil, lease.Epoch), 0o600); err != nil {
			a.log.WarnContext(ctx, "cannot store the epoch; restoring a database backup may go unnoticed", "error", err)
		}
	}
	a.runnerID, a.shims.Epoch = here.RunnerID, lease.Epoch
	if lease.Epoch == hello.Fence+1 { // both the clock and the database are behind the fence
		a.shims.Ahead = map[string]bool{}
		for processID, fence := range fences {
			a.shims.Ahead[processID] = fence > known.Epoch
		}
	}
	return nil
}

// identifyRunner returns the runner of the state folder, and creates one if there is none. If only
// one server can use the database, the runner in the database takes precedence, so that the database
// can be moved without the state folder.
func (a *app) identifyRunner(ctx context.Context) (localRunner, error) {
	file := filepath.Join(a.settings.StateDir, "runner.json")
	var here localRunner
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &here)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return localRunner{}, fmt.Errorf("cannot read which runner the state folder has: %s: %w", file, err)
	}
	if a.shared == nil {
		all, err := a.store.Runners(ctx)
		if err != nil {
			return localRunner{}, err
		}
		all = slices.DeleteFunc(all, func(r session.Runner) bool { return r.Remote })
		if len(all) == 1 {
			here = localRunner{all[0].RunnerID, all[0].InstallationID}
		}
	}
	known, knownErr := a.store.Runner(ctx, here.RunnerID)
	if here.RunnerID == "" || knownErr == nil && !known.RemovedAt.IsZero() {
		here = localRunner{uuid.NewString(), uuid.NewString()}
	}
	now, err := json.Marshal(here)
	if err == nil && !bytes.Equal(now, text) {
		err = config.Write(file, now)
	}
	if err != nil {
		a.log.WarnContext(ctx, "cannot store which runner the state folder has", "error", err)
	}
	return here, nil
}

// machine returns a hash that identifies this machine in the database without revealing its id. It
// returns "" if the machine has no id, as in containers.
func machine() string {
	id, err := os.ReadFile("/etc/machine-id")
	if text := strings.TrimSpace(string(id)); err == nil && len(text) == 32 {
		sum := sha256.Sum256([]byte("sayso runner " + text))
		return hex.EncodeToString(sum[:16])
	}
	return ""
}

// keepLease renews the lease until ctx ends. It fails with [session.ErrLeaseLost] when a server
// with a newer lease drives the runner; this server then detaches from the sessions.
func (a *app) keepLease(ctx context.Context) error { return renewLease(ctx, a.store, *a.lease) }

// renewLease renews a lease until ctx ends, or fails with [session.ErrLeaseLost].
func renewLease(ctx context.Context, st session.RunnerStore, l session.Lease) error {
	renewal := time.NewTicker(session.LeaseRenewal)
	defer renewal.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-renewal.C:
		}
		if err := st.RenewLease(ctx, l); errors.Is(err, session.ErrLeaseLost) {
			return err
		} // other errors are outages of the database, which are reported elsewhere
	}
}

// releaseTimeout bounds how long a stopping server takes to release its lease.
const releaseTimeout = time.Second

// releaseLease releases the lease, so that other servers see at once that nobody drives the runner.
func (a *app) releaseLease(ctx context.Context) {
	if a.lease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	if err := a.store.ReleaseLease(ctx, *a.lease); err != nil {
		a.log.Debug("cannot release the lease of the runner; it will expire", "error", err)
	}
}

// readEpoch returns the epoch in a file, 0 when it is missing.
func readEpoch(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// startedAt returns when the server of an epoch started, in RFC 3339. An epoch is a Unix time in
// microseconds, unless the clock went back.
func startedAt(epoch uint64) string {
	if epoch == 0 {
		return "never"
	}
	return time.UnixMicro(int64(epoch)).UTC().Format(time.RFC3339)
}
