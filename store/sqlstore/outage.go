package sqlstore

import (
	"errors"
	"sync/atomic"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Outage records whether the last read and the last write of a store failed, and announces when
// they succeed again.
type Outage struct {
	reads, writes atomic.Bool // whether the last one failed
	recovered     chan struct{}
}

// NewOutage returns an Outage for a store that has not failed.
func NewOutage() *Outage { return &Outage{recovered: make(chan struct{}, 1)} }

// Recovered implements store.Store.
func (o *Outage) Recovered() <-chan struct{} { return o.recovered }

// NoteRead records the result of a read.
func (o *Outage) NoteRead(err error) {
	switch {
	case pending.IsTemporary(err):
		o.reads.Store(true)
	case err == nil && o.reads.Load() && o.reads.Swap(false) && !o.writes.Load():
		o.announce()
	}
}

// NoteWrite records the result of a write.
func (o *Outage) NoteWrite(err error) {
	switch {
	case errors.Is(err, session.ErrLeaseLost): // the database works
	case pending.IsTemporary(err):
		o.writes.Store(true)
	case err == nil && o.writes.Load() && o.writes.Swap(false):
		o.announce()
	}
}

func (o *Outage) announce() {
	select {
	case o.recovered <- struct{}{}:
	default: // an announcement is already waiting
	}
}
