package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/store"
)

// nextEpoch returns the epoch of this server, which is above those of all previous servers.
// The state folder has a copy. A database whose last epoch is below the copy is older than
// the sessions of this machine: a backup was restored, or another database is used.
func (a *app) nextEpoch(ctx context.Context) (uint64, error) {
	last, err := a.store.LastEpoch(ctx)
	if err != nil {
		return 0, err
	}
	file := filepath.Join(a.settings.StateDir, "epoch")
	noted, err := readEpoch(file)
	if err != nil {
		a.log.WarnContext(ctx, "cannot tell whether the database is older than the sessions of this machine", "error", err)
	}
	if noted > last {
		a.log.ErrorContext(ctx, "the database is older than the sessions of this machine, as after restoring a backup; sessions that run are recovered, and Claude may ask again what was answered since then",
			"database_last_used", startedAt(last), "server_last_started", startedAt(noted))
	}
	epoch, err := a.store.NextEpoch(ctx)
	if errors.Is(err, store.ErrReadOnly) {
		// The server starts on a full disk, too. The store would also use the clock.
		a.log.WarnContext(ctx, "the disk takes no writes; the server starts all the same", "error", err)
		return uint64(time.Now().UnixMicro()), nil
	}
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(file, fmt.Appendln(nil, epoch), 0o600); err != nil {
		a.log.WarnContext(ctx, "a restored backup of the database may go unnoticed", "error", err)
	}
	return epoch, nil
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

// startedAt returns when the server of an epoch started. An epoch is a time in microseconds
// unless the clock went back.
func startedAt(epoch uint64) string {
	if epoch == 0 {
		return "never"
	}
	return time.UnixMicro(int64(epoch)).UTC().Format(time.RFC3339)
}
