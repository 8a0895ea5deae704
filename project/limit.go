package project

import (
	"errors"
	"fmt"
)

// ErrLimit comes with details, see [LimitError].
var ErrLimit = errors.New("limit of the project reached")

// LimitError says in one sentence which limit stands in the way. It is an
// [ErrLimit].
type LimitError struct {
	Sentence string
}

func (e *LimitError) Error() string        { return e.Sentence }
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// Use is what sessions take at one moment.
type Use struct {
	Sessions int    // with a process
	Memory   uint64 // of their process trees, bytes
}

// Add counts one more session with a process.
func (u *Use) Add(memory uint64) {
	u.Sessions++
	u.Memory += memory
}

// Room says whether another process may start in a project: nil, or a
// [LimitError]. all is what its sessions take now, own what those of the person
// take for whom it is.
func (b *Book) Room(projectID string, all, own Use) error {
	p, ok := b.byID[projectID]
	if !ok {
		return nil
	}
	for _, l := range []struct {
		limits Limits
		use    Use
		whose  string
		yours  string
	}{{p.Limits, all, "All sessions of " + p.Name + " together", "of them"}, {p.EachLimit, own, "The sessions of one person in " + p.Name, "of yours"}} {
		switch {
		case l.limits.Sessions > 0 && l.use.Sessions >= l.limits.Sessions:
			return &LimitError{Sentence: fmt.Sprintf("%s may be %d at once, and so many run. End one %s first.", l.whose, l.limits.Sessions, l.yours)}
		case l.limits.Memory > 0 && l.use.Memory >= l.limits.Memory:
			return &LimitError{Sentence: fmt.Sprintf("%s may take %d MB of memory, and they take %d MB. End one %s first.", l.whose, l.limits.Memory>>20, l.use.Memory>>20, l.yours)}
		}
	}
	return nil
}
