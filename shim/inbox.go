package shim

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
)

// inboxBytes is the size of the buffer for short frames. Long bodies are read without it.
const inboxBytes = 4 << 10

var inboxes = sync.Pool{New: func() any { return new([inboxBytes]byte) }}

// An inbox reads from a socket through a buffer that it holds only while there is data in it,
// because most sessions of a server are idle most of the time.
type inbox struct {
	sock   *net.UnixConn
	buf    *[inboxBytes]byte
	unread []byte // part of buf
}

// await blocks until there is something to read.
func (r *inbox) await() error {
	if len(r.unread) > 0 {
		return nil
	}
	if r.buf != nil {
		inboxes.Put(r.buf)
		r.buf = nil
	}
	raw, err := r.sock.SyscallConn()
	if err != nil {
		return err
	}
	failed := error(nil)
	if err := raw.Read(func(fd uintptr) bool {
		buf := inboxes.Get().(*[inboxBytes]byte)
		n, err := syscall.Read(int(fd), buf[:])
		for errors.Is(err, syscall.EINTR) {
			n, err = syscall.Read(int(fd), buf[:])
		}
		if n > 0 {
			r.buf, r.unread = buf, buf[:n]
			return true
		}
		inboxes.Put(buf)
		if errors.Is(err, syscall.EAGAIN) {
			return false
		}
		if failed = err; err == nil {
			failed = io.EOF
		}
		return true
	}); err != nil {
		return err
	}
	return failed
}

// Read implements [io.Reader]. It may block.
func (r *inbox) Read(p []byte) (int, error) {
	if len(r.unread) == 0 {
		return r.sock.Read(p)
	}
	n := copy(p, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}
