// Package embedded contains the program sayso-shim. It is embedded in releases of sayso and in
// builds of `make build` (build tag embedshim; scripts/build-shim). Other builds do not contain it,
// and run `sayso shim` instead.
package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// probeTimeout is how long the installed program may take to print its version.
const probeTimeout = 5 * time.Second

// Install writes the program into dir, unless dir already contains it, and returns its path. Without
// an embedded program it returns "". It usually blocks for milliseconds, at most for 5 s. It removes
// the programs of other builds, which does not affect running ones. An error means that programs in
// dir cannot be used, for example because the file system is mounted noexec.
func Install(dir string) (path string, err error) {
	if len(program) == 0 {
		return "", nil
	}
	return install(dir, program, strings.TrimSpace(sum))
}

// install writes the program, whose SHA-256 sum is sum, in hexadecimal. The sum is a parameter
// because computing it would read all pages of the embedded program, even if it is installed already.
func install(dir, program, sum string) (path string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("shim: install the program: %w", err)
		}
	}()
	if len(sum) != 2*sha256.Size {
		return "", fmt.Errorf("its sum is %q", sum)
	}
	path = filepath.Join(dir, "sayso-shim-"+sum[:16])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if !isIntact(path, sum) {
		if err := write(path, program); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	probe := exec.CommandContext(ctx, path, "version")
	probe.Env = []string{}
	if said, err := probe.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not run: %w: %s", path, err, said)
	}
	others, err := filepath.Glob(filepath.Join(dir, "sayso-shim-*"))
	if err != nil {
		return "", err
	}
	for _, other := range others {
		if other != path {
			_ = os.Remove(other) // if it fails, 3 MB stay in use
		}
	}
	return path, nil
}

// isIntact reports whether the file at path is the program, and complete: a power cut may have left
// only a part of it.
func isIntact(path, sum string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode() != 0o500 {
		return false
	}
	digest := sha256.New()
	_, err = io.Copy(digest, f)
	return err == nil && hex.EncodeToString(digest.Sum(nil)) == sum
}

// write writes an executable file atomically.
func write(path, program string) error {
	// If a child were forked while the file is open for writing, the file could not be executed
	// until that child closes it.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.CreateTemp(filepath.Dir(path), "sayso-shim-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(program)
	if err == nil {
		err = f.Chmod(0o500)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
