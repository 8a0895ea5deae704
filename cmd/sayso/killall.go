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

// shimsIn returns the folder of the shims.
func shimsIn(stateDir string) string { return filepath.Join(stateDir, "shims") }

// killAll ends the processes of all sessions, even while no server runs. Their transcripts
// stay, and they can be resumed.
func killAll(ctx context.Context, args []string, stdout io.Writer) error {
	s, rest, err := readSettings("kill-all", args, os.Getenv)
	if err != nil {
		return err
	}
	if err := noArguments(rest); err != nil {
		return err
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
