package sqlite

import "sync/atomic"

// noProjects caches the fact that there are no projects, as usual for a person who works alone. Each
// answer reads the projects, which takes ten times as long without the cache. The cache is correct
// because only this server can create projects.
type noProjects struct {
	creations atomic.Int32 // creations in progress
	created   atomic.Int64 // creations that have ended
	noneAt    atomic.Int64 // created + 1 at the time of the last read that found no project
}

// beginCreation must be called before a project is created, and end when that has succeeded or failed.
func (n *noProjects) beginCreation() (end func()) {
	n.creations.Add(1)
	return func() {
		n.created.Add(1) // before the decrement, so that a read during the creation cannot fill the cache
		n.creations.Add(-1)
	}
}

// beginRead must be called before a read, and foundNone if the read found no project.
func (n *noProjects) beginRead() (foundNone func()) {
	made := n.created.Load()
	return func() { n.noneAt.Store(made + 1) }
}

// known reports whether it is known that there are no projects.
func (n *noProjects) known() bool {
	return n.creations.Load() == 0 && n.noneAt.Load() == n.created.Load()+1
}
