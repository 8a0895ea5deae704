package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/sayso-dev/sayso/shim"
)

// shimsIn is where the shims of a state folder have theirs.
func shimsIn(stateDir string) string { return filepath.Join(stateDir, "shims") }

// killAll ends the process of every session, also while no server runs. What the
// sessions said stays, and they can be resumed.
func killAll(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, rest, err := readSettings("kill-all", args, os.Getenv, stderr)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("kill-all takes no argument %q", rest[0])
	}
	bundles, err := shim.List(shimsIn(s.StateDir))
	if err != nil {
		return err
	}
	var ending sync.WaitGroup
	failed := make([]error, len(bundles))
	for i, b := range bundles {
		ending.Go(func() { failed[i] = shim.Destroy(ctx, b.Dir) })
	}
	ending.Wait()
	fmt.Fprintf(stdout, "Sessions stopped: %d\n", len(bundles))
	return errors.Join(failed...)
}
