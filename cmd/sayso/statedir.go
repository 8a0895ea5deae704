package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// takeLock tries for a moment: a program that a killed server was just starting
// holds the lock until it has become that program.
func takeLock(lock *os.File) error {
	const patience, pause = 2 * time.Second, 20 * time.Millisecond
	for began := time.Now(); ; time.Sleep(pause) {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || time.Since(began) > patience {
			return err
		}
	}
}

// openStateDir makes the state folder, readable by its owner alone, and takes
// its lock. A second server on one folder would drive the same sessions, so it
// is refused. The lock lasts until the file is closed or the process ends.
func openStateDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	return hold(filepath.Join(dir, "lock"), "the state folder "+dir, "--state-dir")
}

// lockDatabase keeps a server with another state folder from the same SQLite
// file, which is there: each would take the sessions of the other for dead. It is
// nil for a database that is no file.
func lockDatabase(address string) (*os.File, error) {
	path, found := strings.CutPrefix(address, "sqlite:")
	if !found && strings.Contains(address, "://") {
		return nil, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return hold(path+".lock", "the database "+path, "--database")
}

// hold takes the lock at path, which stands for a thing that a setting names.
func hold(path, thing, setting string) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of %s: %w", thing, err)
	}
	if err := takeLock(lock); err != nil {
		holder, _ := os.ReadFile(path) // only to name it
		lock.Close()
		return nil, fmt.Errorf("another sayso server (process %s) uses %s; stop it, or give this one its own with %s",
			strings.TrimSpace(string(holder)), thing, setting)
	}
	if err := lock.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(lock, "%d\n", os.Getpid()) // a missing pid only makes the sentence above poorer
	}
	return lock, nil
}
