package sqlite

import "sync/atomic"

// noProjects remembers that there are no projects, as where one person works alone:
// every answer asks, and the read is a tenth of what it takes. Only the server makes
// projects, and only one server has the database.
type noProjects struct {
	making atomic.Int32 // how many are being made
	made   atomic.Int64 // how often one was
	none   atomic.Int64 // made + 1 at the time when none was found
}

// creating is called before a project is created, and end when that has ended,
// in whatever way.
func (n *noProjects) creating() (end func()) {
	n.making.Add(1)
	return func() {
		n.made.Add(1) // first: nobody may believe what was found meanwhile
		n.making.Add(-1)
	}
}

// beginRead is called before a read, and foundNone when the read has found none.
func (n *noProjects) beginRead() (foundNone func()) {
	made := n.made.Load()
	return func() { n.none.Store(made + 1) }
}

// known reports whether there are none.
func (n *noProjects) known() bool {
	return n.making.Load() == 0 && n.none.Load() == n.made.Load()+1
}
