// Package descriptors keeps file descriptors of this process free. Without any, a server
// can neither accept a connection, open its database nor look into a folder, so what
// would hold some for long is refused before that.
package descriptors

import (
	"syscall"

	"github.com/sayso-dev/sayso/internal/problem"
)

// Use is how many descriptors a process has open, and how many it can have.
type Use struct{ Open, Limit int }

// Current returns the use of this process. ok is false where it cannot be told.
//
// The limit is the hard one: the Go runtime raises the soft limit of a process to it at
// start, and gives the original one to the programs that the process starts.
func Current() (use Use, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return Use{}, false
	}
	const unlimited = 1 << 30
	open, ok := open()
	return Use{Open: open, Limit: int(min(limit.Cur, unlimited))}, ok
}

// A Reserve says how much may still be opened. It is safe for concurrent use.
type Reserve struct{ current func() (Use, bool) }

// NewReserve returns the reserve of this process.
func NewReserve() *Reserve { return &Reserve{current: Current} }

// size is how many descriptors are kept free of tabs and sessions: a quarter, but no more
// than a few connections of the database and a few starts of sessions at once take.
func (u Use) size() int { return min(max(u.Limit/4, 8), 64) }

// CheckConnection refuses what holds descriptors for long, such as a tab or a session, when
// that would touch the reserve.
func (r *Reserve) CheckConnection() error { return r.check(1) }

// CheckRequest refuses even what ends at once, such as an HTTP request, when half of the
// reserve is used.
func (r *Reserve) CheckRequest() error { return r.check(2) }

// MayAccept reports whether a connection can be accepted, be it only to refuse what is
// asked on it.
func (r *Reserve) MayAccept() bool { return r.check(4) == nil }

func (r *Reserve) check(part int) error {
	use, ok := r.current()
	if !ok || use.Limit-use.Open >= use.size()/part {
		return nil
	}
	return problem.New("no_descriptors", "limit", use.Limit) // and no count: the text of what waits must not change
}
