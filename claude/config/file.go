package config

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// staleLockAge is the age at which a lock counts as abandoned. The CLI renews its lock every
	// few seconds, and uses the same limit.
	staleLockAge   = 10 * time.Second
	lockRetryDelay = 50 * time.Millisecond
	maxAttempts    = 20
)

// Update calls edit to change a file; for a missing file, edit receives an empty object. The
// change is atomic, even if this program dies. Update keeps the mode and owner, and follows
// symbolic links. It loses no change of another program: it holds the CLI's own lock, and calls
// edit again if the file has changed meanwhile.
//
// It writes nothing if edit returns the same bytes or an error. Other errors are [ErrNotJSON],
// [ErrBusy], the cause of ctx and those of the file system; most name the file.
func Update(ctx context.Context, path string, edit func(data []byte) ([]byte, error)) error {
	real, err := resolveLinks(path)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, real+".lock")
	if err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	defer unlock()
	for range maxAttempts {
		before, info, err := read(real)
		if err != nil {
			return err
		}
		data := before
		if info == nil {
			data = []byte("{}\n")
		}
		if err := check(data); err != nil {
			return fmt.Errorf("%s %w; it was left as it is", path, err)
		}
		after, err := edit(data)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w; it was left as it is", path, err)
		case bytes.Equal(after, data):
			return nil
		}
		if err := check(after); err != nil { // a bug here must not break a person's file
			return fmt.Errorf("%s: the change %w; it was left as it is", path, err)
		}
		switch done, err := replace(real, before, info, after); {
		case err != nil:
			return err
		case done:
			return nil
		}
	}
	return fmt.Errorf("%s %w", path, ErrBusy)
}

// resolveLinks follows symbolic links to the file.
func resolveLinks(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(path); lerr == nil {
			return "", fmt.Errorf("%s is a link to a file that is not there: %w", path, err)
		}
		return path, nil
	}
	return real, err
}

// read returns the contents and attributes of a file, or nil for a missing one.
func read(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	data, err := ReadFile(path)
	return data, info, err
}

// maxFile bounds the files that are read, in bytes. CLIs write files of a few megabytes at most.
const maxFile = 64 << 20

// ReadFile reads a file that Claude could have replaced with a pipe, which would block, or with an
// endless device. It returns an error for anything but a regular file of up to 64 MiB.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is no regular file of up to %d MiB", path, maxFile>>20)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// replace replaces the contents before with after. done is false if the file has changed.
func replace(path string, before []byte, info fs.FileInfo, after []byte) (done bool, err error) {
	mode := fs.FileMode(0o600)
	if info != nil {
		mode = info.Mode().Perm()
	}
	temp, err := writeTemp(path, after, mode, info)
	if err != nil {
		return false, err
	}
	now, _, err := read(path)
	if err == nil && !bytes.Equal(now, before) {
		return false, os.Remove(temp)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return false, errors.Join(err, os.Remove(temp))
	}
	return true, syncDir(filepath.Dir(path))
}

// Write writes a file atomically and durably, readable only by its owner.
func Write(path string, data []byte) error {
	temp, err := writeTemp(path, data, 0o600, nil)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(path))
}

// Remove deletes a file durably. A missing file is not an error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// writeTemp writes a file next to path and syncs it. The file is readable only by its owner until
// its mode is set.
func writeTemp(path string, data []byte, mode fs.FileMode, like fs.FileInfo) (temp string, err error) {
	temp = path + ".sayso." + rand.Text()
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	_, err = f.Write(data)
	if like != nil && err == nil {
		if stat, ok := like.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
			err = f.Chown(int(stat.Uid), int(stat.Gid)) // root may edit a person's file
		}
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return temp, errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// lock acquires the lock that the CLI uses for the same file: a folder next to it.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	for began := time.Now(); ; {
		err := os.Mkdir(path, 0o700)
		if err == nil {
			return func() { _ = os.Remove(path) }, nil // an abandoned lock expires
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && time.Since(info.ModTime()) > staleLockAge:
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			continue
		case time.Since(began) > 2*staleLockAge:
			return nil, ErrBusy
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockRetryDelay):
		}
	}
}
