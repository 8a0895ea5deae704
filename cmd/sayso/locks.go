package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// handoverTimeout is how long a start waits for a server that is ending, as during an
// upgrade: as long as a server may take to end.
const handoverTimeout = shutdownGrace + 2*time.Second

// ending is what a stopping server writes to its locks, after its process id.
const ending = "ending"

// takeLock locks a file. It waits up to handoverTimeout for a server that is ending, and a moment
// for any other holder: after a kill, a program that the server was just starting holds the lock
// until its exec.
func takeLock(ctx context.Context, lock *os.File) error {
	const timeout, pause = 2 * time.Second, 20 * time.Millisecond
	for began := time.Now(); ; {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		wait := timeout
		if _, isEnding := holderOf(lock); isEnding {
			wait = handoverTimeout
		}
		if time.Since(began) > wait {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// holderOf returns the process that holds a lock, and whether it is ending.
func holderOf(lock *os.File) (process string, isEnding bool) {
	text := make([]byte, 100)
	n, _ := lock.ReadAt(text, 0) // an unreadable lock names no process
	process, _, isEnding = strings.Cut(strings.TrimSpace(string(text[:n])), " "+ending)
	return process, isEnding
}

// noteEnding tells a server that waits for these locks that they will be free soon.
func noteEnding(locks ...*os.File) {
	for _, lock := range locks {
		if lock != nil {
			_, _ = fmt.Fprintf(lock, " %s\n", ending) // without it, the next server waits only a moment
		}
	}
}

// openStateDir creates the state folder, readable by its owner alone, and locks it. It
// refuses a second server on the folder, which would drive the same sessions. The lock lasts
// until the file is closed or the process ends.
func openStateDir(ctx context.Context, dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	return lockFile(ctx, filepath.Join(dir, "lock"), "the state folder "+dir, "--state-dir")
}

// lockDatabase keeps a server with another state folder from using the same SQLite file,
// which may not exist yet: each would consider the sessions of the other dead. It returns nil
// for a database that is not a file.
func lockDatabase(ctx context.Context, address string) (*os.File, error) {
	path, found := strings.CutPrefix(address, "sqlite:")
	if !found && strings.Contains(address, "://") {
		return nil, nil
	}
	if path == "" {
		return nil, nil // the store refuses it
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("lock of the database: %w", err)
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("database folder: %w", err)
		}
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return lockFile(ctx, path+".lock", "the database "+path, "--database")
}

// lockFile locks the file at path. Its error names thing, which the lock protects, and the setting
// with which to choose another one.
func lockFile(ctx context.Context, path, thing, setting string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of %s: %w", thing, err)
	}
	err = takeLock(ctx, lock)
	if ctx.Err() != nil {
		lock.Close()
		return nil, ctx.Err()
	}
	if err != nil {
		holder, _ := holderOf(lock)
		lock.Close()
		return nil, fmt.Errorf("another sayso server (process %s) uses %s; stop it, or give this one its own with %s",
			holder, thing, setting)
	}
	if err := lock.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(lock, "%d", os.Getpid()) // without the pid, only the message above lacks the process
	}
	return lock, nil
}
