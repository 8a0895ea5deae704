package shim_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/shim"
)

// What was written is known by its key, also when the shim did not live to say so.
func TestKeysOfWrittenLinesOutliveTheShim(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, "cat"))
	c := attach(t, h.Dir, 1, 0)
	for i := range 3 {
		if err := c.Write(within(t), fmt.Sprint("key ", i), []byte("line")); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Write(within(t), "", []byte("a line without a key")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(h.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-h.Done
	for key, want := range map[string]bool{"key 0": true, "key 1": true, "key 2": true, "key 3": false, "": false} {
		if got, err := shim.Wrote(h.Dir, key); got != want || err != nil {
			t.Errorf("%q: %t, %v; want %t", key, got, err, want)
		}
	}
}

// A line that the CLI cannot have read whole was not written.
func TestKeyOfALineThatCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, "read line; exec <&-; sleep 3600"))
	c := attach(t, h.Dir, 1, 0)
	if err := c.Write(within(t), "read", []byte("line")); err != nil {
		t.Fatal(err)
	}
	until(t, "the input is closed", func() error {
		err := c.Write(within(t), "unread", make([]byte, 1<<20)) // more than the pipe holds
		if errors.Is(err, shim.ErrInputClosed) {
			return nil
		}
		return fmt.Errorf("it was written: %w", err)
	})
	for key, want := range map[string]bool{"read": true, "unread": false} {
		if got, err := shim.Wrote(h.Dir, key); got != want || err != nil {
			t.Errorf("%q: %t, %v; want %t", key, got, err, want)
		}
	}
}

// A shim of a version that wrote no keys down has none, and half a key is none.
func TestKeysThatAreNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got, err := shim.Wrote(dir, "key"); got || err != nil {
		t.Errorf("without a file: %t, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "keys"), []byte("half a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := shim.Wrote(dir, "key"); got || err != nil {
		t.Errorf("half a key: %t, %v", got, err)
	}
	if err := os.Chmod(filepath.Join(dir, "keys"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := shim.Wrote(dir, "key"); err == nil && os.Getuid() != 0 {
		t.Error("a file that cannot be read is no error")
	}
}
