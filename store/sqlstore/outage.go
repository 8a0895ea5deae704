package sqlstore

import (
	"sync/atomic"

	"github.com/sayso-dev/sayso/pending"
)

// Outage notes when a store could not do what it was asked to, and announces when it can
// again.
type Outage struct {
	reads, writes atomic.Bool // the last one failed
	over          chan struct{}
}

// NewOutage returns the record of a store of which no call has failed.
func NewOutage() *Outage { return &Outage{over: make(chan struct{}, 1)} }

// Recovered implements store.Store.
func (o *Outage) Recovered() <-chan struct{} { return o.over }

// NoteRead notes how a read ended.
func (o *Outage) NoteRead(err error) {
	switch {
	case pending.IsTemporary(err):
		o.reads.Store(true)
	case err == nil && o.reads.Load() && o.reads.Swap(false) && !o.writes.Load():
		o.announce()
	}
}

// NoteWrite notes how a write ended.
func (o *Outage) NoteWrite(err error) {
	switch {
	case pending.IsTemporary(err):
		o.writes.Store(true)
	case err == nil && o.writes.Load() && o.writes.Swap(false):
		o.announce()
	}
}

func (o *Outage) announce() {
	select {
	case o.over <- struct{}{}:
	default: // one is unread already
	}
}
