package main

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
)

// whileRead returns a context that ends once w has no reader: the other end of a pipe or a
// socket is closed. For a file it never ends.
func whileRead(ctx context.Context, w io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	file, ok := w.(*os.File)
	if !ok {
		return ctx, cancel
	}
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return ctx, cancel
	}
	fd := int(file.Fd())
	// Errors and hang-ups are always reported.
	if err := syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Fd: int32(fd)}); err != nil {
		_ = syscall.Close(poll)
		return ctx, cancel
	}
	go func() {
		defer syscall.Close(poll)
		for ctx.Err() == nil {
			n, err := syscall.EpollWait(poll, make([]syscall.EpollEvent, 1), 500) // ms, to notice the end of ctx
			if n > 0 {
				cancel()
			}
			if n > 0 || err != nil && !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	}()
	return ctx, cancel
}
