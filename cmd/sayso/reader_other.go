//go:build !linux

package main

import (
	"context"
	"io"
	"os"
	"time"
)

// whileRead returns a context that ends once w has no reader. On this system only the end of
// the parent process is detected: this process then has another parent.
func whileRead(ctx context.Context, _ io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		look := time.NewTicker(500 * time.Millisecond)
		defer look.Stop()
		for os.Getppid() == parent {
			select {
			case <-look.C:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, cancel
}
