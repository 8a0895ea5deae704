// Package descriptors keeps some file descriptors of this process free. A server without
// free descriptors cannot accept connections, open its database or read a folder. So it
// refuses tabs and sessions, which hold descriptors for a long time, before that happens.
package descriptors

import (
	"syscall"

	"github.com/sayso-dev/sayso/internal/problem"
)

// Use is the number of open descriptors of a process and its limit.
type Use struct{ Open, Limit int }

// Current returns the use of this process. ok is false if the system does not report it.
//
// The limit is the hard one: at startup, the Go runtime raises the soft limit of the process
// to it. Programs that the process starts get the original soft limit.
func Current() (use Use, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return Use{}, false
	}
	const unlimited = 1 << 30
	open, ok := open()
	return Use{Open: open, Limit: int(min(limit.Cur, unlimited))}, ok
}

// Reserve checks whether more descriptors may be opened. It is safe for concurrent use.
type Reserve struct{ current func() (Use, bool) }

// NewReserve returns the reserve of this process.
func NewReserve() *Reserve { return &Reserve{current: Current} }

// size returns how many descriptors tabs and sessions must leave free: a quarter of the limit,
// but no more than some database connections and simultaneous session starts need.
func (u Use) size() int { return min(max(u.Limit/4, 8), 64) }

// CheckConnection fails if the reserve is reached. Call it before opening something
// long-lived, such as a tab or a session.
func (r *Reserve) CheckConnection() error { return r.check(1) }

// CheckRequest fails if half of the reserve is used. Call it for something short-lived,
// such as an HTTP request.
func (r *Reserve) CheckRequest() error { return r.check(2) }

// MayAccept reports whether a connection can be accepted, even if only to refuse its requests:
// less than three quarters of the reserve are used.
func (r *Reserve) MayAccept() bool { return r.check(4) == nil }

func (r *Reserve) check(part int) error {
	use, ok := r.current()
	if !ok || use.Limit-use.Open >= use.size()/part {
		return nil
	}
	return problem.New("no_descriptors", "limit", use.Limit) // without a count, so that the text shown while sessions wait stays the same
}
